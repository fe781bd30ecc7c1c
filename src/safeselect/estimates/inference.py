"""Inference from one gap: a p-value and a confidence bound.

Each result is an enclosed real number, rounded to 64 significant bits on the safe side: lower
bounds are rounded down, p-values up.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from safeselect.estimates.gaps import read_gap
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, rational, read_choice

# Tails beyond this many nats are not distinguished: e**-2000 stands for everything smaller.
_MOST_NATS = 2000
_PRECISION = 256
_HALVINGS = 80


def gap_p_value(
    gap: Number, *, rate: Number, noise: Literal["exponential", "laplace", "gumbel"]
) -> Fraction:
    """Return a p-value for the hypothesis that another candidate's score is at least as large as
    the winner's.

    Valid after selection: given the winner, it bounds the probability of a gap this large.

    Method: in the worst case two scores are equal, and either may lead. The p-value is twice the
        probability that the difference of their noises exceeds the gap. With x = rate * gap it is
        e**-x for exponential noise, (1 + x/2) e**-x for Laplace noise (`docs/mathematics.md`,
        section 13), 2 / (1 + e**x) for Gumbel noise (Ding et al. 2023, Theorem 7).
    Exactness: rounded up, and never below e**-2000.  The mechanisms round gaps down, which makes
        the p-value larger: the safe side.

    Args:
        gap: the gap below the best candidate: `gap` of a selection, or the first of `gaps`.
        rate: rate of the noise per score unit.
        noise: "exponential" (`permute_and_flip_with_gap`, `top_k_with_gaps`), "laplace", or
            "gumbel" (`exponential_mechanism_with_gap`).

    Raises:
        ParameterError: gap is negative, or a number or a word is wrong.

    Example:
        >>> from safeselect.estimates import gap_p_value
        >>> f"{float(gap_p_value(10, rate='0.5', noise='exponential')):.4f}"  # e**-5
        '0.0067'
    """
    read_choice(noise, "noise", tuple(_OF_EQUALS))
    nats = min(read_gap(gap) * rational(rate, "rate"), Fraction(_MOST_NATS))
    one, tail = Fraction(1), _OF_EQUALS[noise]
    return rounded_up(lambda bits: 2 * tail(nats, one, one, bits))


def gap_confidence_bound(
    gap: Number,
    *,
    threshold: Number,
    alpha: Number,
    threshold_rate: Number,
    value_rate: Number,
    noise: Literal["exponential", "laplace"],
) -> Fraction:
    """Return a lower confidence bound on a value for which a session answered "above".

    The bound is threshold + gap - t, where t is a noise quantile. Its confidence is marginal,
    not conditional.

    For each query, the probability that the answer is "above" *and* the value lies below its bound
    is at most alpha.  Given the answer "above", the bound may always fail: for a value far below
    the threshold, the answer is almost never "above", but when it is, the bound repeats the
    mistake. For n queries, whatever their answers, the probability of any failure is at most n
    alpha.  An adaptive session has two branches, each with its own alpha, so there it is 2n alpha.

    Method: the gap's noise is the value's noise minus the threshold's, each with mean 0.  t is its
        quantile (Ding et al. 2023, Lemma 3; exponential noise: `docs/mathematics.md`,
        section 13).
    Exactness: t is rounded up.  Rounding the gap down makes the bound smaller: the safe side.

    Args:
        gap: gap of one answer of a sparse vector session.
        threshold: threshold of the session.
        alpha: probability of failure, between 0 and 1.
        threshold_rate: split * epsilon / sensitivity of the session.
        value_rate: (1 - split) epsilon / (c k sensitivity), c = 2, or 1 if monotonic; half of it
            for "top" answers of an adaptive session.
        noise: noise of the session; "geometric" is not supported.

    Raises:
        ParameterError: gap is negative, or a number or a word is wrong.

    Example:
        >>> from safeselect.estimates import gap_confidence_bound
        >>> bound = gap_confidence_bound(
        ...     30,
        ...     threshold=100,
        ...     alpha="0.05",
        ...     threshold_rate="0.2",
        ...     value_rate="0.1",
        ...     noise="exponential",
        ... )
        >>> f"{float(bound):.2f}"
        '109.10'
    """
    read_choice(noise, "noise", tuple(TAILS))
    above = read_gap(gap) + rational(threshold, "threshold", signed=True)
    chance = rational(alpha, "alpha", below=1)
    rates = rational(threshold_rate, "threshold_rate"), rational(value_rate, "value_rate")
    return above - _quantile(noise, chance, *rates)


def _exponential_tail(t: Fraction, first: Fraction, second: Fraction, precision: int) -> Interval:
    # Both means are subtracted: the difference exceeds t where the uncentred one exceeds u.
    u = t + 1 / second - 1 / first
    if u >= 0:
        return first / (first + second) * Interval.of(-u * second, precision).exp()
    return 1 - second / (first + second) * Interval.of(u * first, precision).exp()


def _laplace_tail(t: Fraction, first: Fraction, second: Fraction, precision: int) -> Interval:
    # The lemma's quotient, rearranged: nothing cancels, and equal rates need no special case.
    slow, apart = min(first, second), abs(first - second)
    width = Interval.of(t, precision)
    if apart:
        width = -Interval.of(-apart * t, precision).expm1() / apart
    tail = Interval.of(-slow * t, precision).exp() / 2
    return tail * (1 + slow * slow / (first + second) * width)


def _gumbel_tail(t: Fraction, rate: Fraction, _: Fraction, precision: int) -> Interval:
    return 1 / (1 + Interval.of(rate * t, precision).exp())


TAILS = {"exponential": _exponential_tail, "laplace": _laplace_tail}
"""P(noise of the value - noise of the threshold > t), each of mean 0, for t >= 0; enclosed."""
_OF_EQUALS = {**TAILS, "gumbel": _gumbel_tail}


def _quantile(noise: str, alpha: Fraction, first: Fraction, second: Fraction) -> Fraction:
    """Return a t >= 0 with tail(t) <= alpha, certified; it is about 2**-80 t above the least."""

    def enough(t: Fraction) -> bool:
        return bool(TAILS[noise](t, first, second, _PRECISION).upper <= alpha)

    if enough(Fraction(0)):
        return Fraction(0)
    low, high = Fraction(0), 1 / min(first, second)
    while not enough(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high

"""What many releases cost together: the product accountant.

Each guarantee bounds M(a) = E[(likelihood ratio)**(a - 1)] for every order a > 1.  The bounds of
adaptively chosen mechanisms multiply, and for every order

    delta(epsilon) <= product M_i(a) * exp(-(a - 1) epsilon) * (a - 1)**(a - 1) / a**a

(Canonne, Kamath and Steinke 2020, Proposition 12).  The order may be chosen to make this small
because the guarantees are fixed in advance; were they themselves chosen after seeing releases, the
order would have to be fixed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from safeselect._exact import Interval, argmin, integer, rational, rounded_up
from safeselect.errors import ParameterError
from safeselect.guarantees import (
    ApproximateDP,
    BoundedRange,
    Guarantee,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
    log_order_constant,
)

__all__ = ["composed_epsilon", "epsilon_at_order", "log_moment"]

_MOST_PARTS = 2**63 - 1


def log_moment(guarantee: Guarantee, excess: Fraction, precision: int) -> Interval:
    """Enclose ln M(a) at the order a = 1 + excess, excess > 0.

    Raises:
        ParameterError: the guarantee is ApproximateDP, which bounds no moment.
    """
    if isinstance(guarantee, ApproximateDP):
        raise ParameterError("an ApproximateDP guarantee has no Rényi moments to compose")
    if isinstance(guarantee, ZeroConcentratedDP):
        return Interval.of((1 + excess) * excess * guarantee.rho, precision)
    if not guarantee.epsilon:
        return Interval.of(0, precision)
    if isinstance(guarantee, BoundedRange):
        return _bounded_range(guarantee.epsilon, excess, precision)
    leading = Interval.of(excess * guarantee.epsilon, precision)
    one = Interval.of(1, precision)
    # e**-(2a - 1) epsilon: what the reflected outcome adds
    reflected = (-Interval.of((1 + 2 * excess) * guarantee.epsilon, precision)).exp()
    if isinstance(guarantee, LaplaceDominated):
        share = Interval.of(excess / (1 + 2 * excess), precision)
        return leading + (one - share + share * reflected).log()
    if isinstance(guarantee, PureDP):
        apart = one + (-Interval.of(guarantee.epsilon, precision)).exp()
        return leading + ((one + reflected) / apart).log()
    assert_never(guarantee)


def _bounded_range(epsilon: Fraction, excess: Fraction, precision: int) -> Interval:
    """The exact moment of the worst mechanism of bounded range, at its worst offset.

    M(a) = (a-1)**(a-1) / a**a * A**a / (B**(a-1) (1 - e**-epsilon)), A = 1 - e**(-a epsilon),
    B = e**-epsilon - e**(-a epsilon).  Source: `docs/mathematics.md`, section 3.
    """
    order = 1 + excess
    log_a = (-Interval.of(-order * epsilon, precision).expm1()).log()
    log_b = (-Interval.of(-excess * epsilon, precision).expm1()).log() - Interval.of(
        epsilon, precision
    )
    return (
        log_order_constant(excess, precision)
        + Interval.of(order, precision) * log_a
        - Interval.of(excess, precision) * log_b
        - (-Interval.of(-epsilon, precision).expm1()).log()
    )


def epsilon_at_order(
    parts: Sequence[tuple[Guarantee, int]], delta: Fraction, excess: Fraction, precision: int
) -> Interval:
    """Enclose the epsilon that the product accountant certifies at one order, a = 1 + excess."""
    total = log_order_constant(excess, precision) - Interval.of(delta, precision).log()
    for guarantee, count in parts:
        total = total + Interval.of(count, precision) * log_moment(guarantee, excess, precision)
    return total / Interval.of(excess, precision)


def composed_epsilon(parts: Sequence[tuple[Guarantee, int]], delta: object) -> Fraction:
    """An epsilon such that all the parts together are (epsilon, delta)-DP.

    The parts, (guarantee, how many of them), are fixed in advance; mechanisms and data may be
    chosen adaptively.  Rounded up to 64 significant bits; certified at the order used.  Where all
    parts are pure it is never more than the sum of their epsilons, which holds without delta.

    Raises:
        ParameterError: delta is not in (0, 1), a count is not a positive integer, or a part has no
            Rényi moments.
    """
    at = rational(delta, "delta", below=1)
    for _, count in parts:
        integer(count, "the count of a part", minimum=1, maximum=_MOST_PARTS)
    best = argmin(lambda excess: epsilon_at_order(parts, at, excess, 96), Fraction(8))
    bound = rounded_up(lambda precision: epsilon_at_order(parts, at, best, precision))
    pure = [(guarantee.pure, count) for guarantee, count in parts]
    if all(each is not None for each, _ in pure):
        bound = min(bound, sum((each.epsilon * n for each, n in pure if each), Fraction(0)))
    return max(Fraction(0), bound)

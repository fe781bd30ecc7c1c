"""The smallest delta of a composition with a known worst case, exactly.

At every epsilon it is A - e**epsilon B, where A and B are the probabilities under one data set and
its neighbour that the loss, ln(likelihood ratio), exceeds epsilon.  For equal pure guarantees both
are binomial tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from gmpy2 import mpfr

from safeselect.accounting.search import short_up
from safeselect.exact.interval import Interval, above_zero, contexts

MOST_EQUAL = 10**6
"""The optimum is computed for at most so many equal guarantees; the work grows like the root."""

_MOST_STEPS = 60  # of a search with a certified result; 5 are usual
_PRECISION = 128
_ROUGH = 80  # of one step of a search
_CLOSE = Fraction(
    1, 2**36
)  # relative slack in delta and in 1 - delta with which a search is content


# The two tails (A, B) of the loss of a composition, at an epsilon, to a precision: the smallest
# delta there is A - e**epsilon B.
Tails = Callable[[Fraction, int], tuple[Interval, Interval]]


def equal_pure(each: Fraction, count: int) -> Tails:
    """`count` mechanisms of epsilon `each`, adaptively chosen: randomized responses are worst.

    The loss is (count - 2 i) each where i answers were flipped.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.
    """

    def tails(epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        most = -((epsilon / each - count) // 2) - 1  # flips, with a loss above epsilon
        own = Interval.of(each, precision)
        log_kept = -(1 + (-own).exp()).log()
        log_flipped = log_kept - own
        return (
            binomial_below(count, most, log_flipped, log_kept),
            binomial_below(count, most, log_kept, log_flipped),
        )

    return tails


def smallest_delta(tails: Tails, epsilon: Fraction) -> Fraction:
    """A - e**epsilon B, rounded up to 64 significant bits."""
    bound = above_zero(lambda precision: _delta_at(tails, epsilon, precision)[0])
    return min(Fraction(1), bound)


def exceeds(tails: Tails, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the smallest delta at this epsilon is surely more."""
    return bool(_delta_at(tails, epsilon)[0].lower > delta)


def smallest_epsilon(tails: Tails, delta: Fraction, most: Fraction) -> Fraction | None:
    """Nearly the least epsilon of 64 bits with a smallest delta that is surely at most `delta`.

    None where `most` is not surely enough.  Newton steps on ln(delta) stay between an epsilon that
    is not enough and one that was checked to be enough.  The latter is returned.
    """
    low, high, tried = Fraction(0), short_up(most), False
    at, slack = high, _CLOSE * delta * (1 - delta)
    for number in range(_MOST_STEPS):
        value, slope = _delta_at(tails, at)
        if value.upper <= delta:
            high = at
            if value.lower >= delta - 2 * slack:
                break
        elif number == 0:
            return None
        else:
            low = at
        step = (value / (delta - slack)).log() * value / slope
        following = short_up(at + step.fractions()[1]) if step.bounded else low
        if not (low or tried or low < following):
            # The steps point below zero, which may be enough.
            if _delta_at(tails, low)[0].upper <= delta:
                return low
            tried = True
        at = following if low < following < high else short_up((low + high) / 2)
        if not low < at < high:
            break
    return high


def newton_epsilon(tails: Tails, delta: Fraction, at: Fraction) -> Fraction:
    """About the least epsilon with a smallest delta of at most `delta`: one Newton step from `at`.

    It is at most `at` where `at` is surely enough, and only there.
    """
    value, slope = _delta_at(tails, at, _ROUGH)
    is_enough = value.upper <= delta
    step = (value / delta).log() * value / slope
    moved = at + step.fractions()[1] if step.bounded else Fraction(0) if is_enough else 2 * at
    return min(moved, at) if is_enough else max(moved, at * (1 + _CLOSE))


def _delta_at(
    tails: Tails, epsilon: Fraction, precision: int = _PRECISION
) -> tuple[Interval, Interval]:
    """Enclosures of delta, and of how fast it falls."""
    above, below = tails(epsilon, precision)
    falls = Interval.of(epsilon, max(precision, _PRECISION)).exp() * below
    return above - falls, falls


_GUARD = 16  # bits more for a sum of many terms
_LOOK_EVERY = 8  # terms between two looks at whether the rest still matters


def binomial_below(trials: int, last: int, log_hit: Interval, log_miss: Interval) -> Interval:
    """Enclose P(X <= last) for X ~ Bin(trials, q), given ln(q) and ln(1 - q).

    The sum starts at the largest term and walks away from it until a geometric series bounds the
    rest.  It takes of the order of sqrt(trials) terms.

    Requires: 0 < q < 1; trials below 2**62, so that counts are exact at the precision used.
    """
    precision = log_hit.precision
    if last < 0:
        return Interval.of(0, precision)
    if last >= trials:
        return Interval.of(1, precision)
    odds = (log_hit - log_miss).exp()
    # Start at the largest term in the sum.  Any start gives an enclosure; this one a short walk.
    hit, _ = log_hit.exp().scaled(64)
    start = min(last, (trials * hit) >> 64)
    first = _term(trials, start, log_hit, log_miss)
    down = ((i, trials - i + 1) for i in range(start, 0, -1))
    up = ((trials - i, i + 1) for i in range(start, last))
    return first * (1 + _walk(down, 1 / odds) + _walk(up, odds))


def _term(trials: int, hits: int, log_hit: Interval, log_miss: Interval) -> Interval:
    """Enclose P(X = hits)."""
    precision = log_hit.precision

    def log_factorial(number: int) -> Interval:
        low, high = contexts(precision)
        argument = mpfr(number + 1, 0, low)  # exact: below 2**63
        return Interval(low.lngamma(argument), high.lngamma(argument), precision)

    misses = trials - hits
    return (
        log_factorial(trials)
        - log_factorial(hits)
        - log_factorial(misses)
        + hits * log_hit
        + misses * log_miss
    ).exp()


def _walk(steps: Iterable[tuple[int, int]], factor: Interval) -> Interval:
    """Enclose the sum over j >= 1 of prod_{i <= j} (above_i / below_i) * factor.

    Everything is rounded down, so the sum is too small; by how much at most follows from the number
    of terms.

    Requires: above_i / below_i falls with i.
    """
    precision = factor.precision
    down, up = contexts(precision + _GUARD)
    last, total, number = mpfr(1, 0, down), mpfr(0, 0, down), 0
    # A term lies below the true one by at most this factor a step: three roundings, and the width
    # of the factor; one more rounding is that of the sum.  (1 + x)**n is at most e**(n x).
    lost = up.add(
        up.sub(up.div(factor.upper, factor.lower), 1), Fraction(1, 2 ** (precision + _GUARD - 4))
    )
    enough = Fraction(1, 2**precision)
    for number, (above, below) in enumerate(steps, 1):
        last = down.div(down.mul(down.mul(last, factor.lower), above), below)
        total = down.add(total, last)
        if number % _LOOK_EVERY:
            continue
        # Later ratios are smaller than this one, so the rest is below a geometric series.
        ratio = up.div(up.mul(factor.upper, above), below)
        room = down.sub(1, ratio)
        if room > 0:
            rest = up.div(up.mul(last, ratio), room)
            if rest <= up.mul(total, enough):
                total_above = up.add(total, rest)
                break
    else:
        total_above = total
    return Interval(total, up.mul(total_above, up.exp(up.mul(number, lost))), precision)

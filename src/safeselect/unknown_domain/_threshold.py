"""The offset: how far above the first count that is left out the bottom lies.

Both offsets are public: they depend on parameters only.  Each is rounded up once and is exact from
then on.  Proofs: `docs/mathematics.md`, section 15.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from safeselect.exact.interval import Interval, rounded_up
from safeselect.promises.guarantees import ApproximateDP


@lru_cache(maxsize=1 << 14)
def gumbel_offset(
    epsilon: Fraction, odds: Fraction, m: int, grid: Fraction, significant: int = 64
) -> int:
    """Return the least s >= 0 such that s * grid >= ln(m / odds) / epsilon, in grid steps.

    With Gumbel noise of scale 1/epsilon, if m items lie this far below the threshold, some item
    beats it with probability at most odds / (1 + odds).

    Args:
        odds: delta / (1 - delta) for the delta that the threshold may cost.
        significant: bits to which the quotient is rounded up before it is rounded up to the grid.
    """

    def offset(precision: int) -> Interval:
        rate = Interval.of(epsilon * grid, precision)
        return Interval.of(m / odds, precision).log() / rate

    whole = rounded_up(offset, significant)
    return max(0, -(-whole.numerator // whole.denominator))


def laplace_failure(epsilon: Fraction, t: int, precision: int) -> Interval:
    """Enclose P(X - Y >= t), t >= 0, for independent discrete Laplace X, Y of scale 1/epsilon.

    a**t (t (1 - a) + (1 + a + 2 a**2) / (1 + a)) / (1 + a)**2 with a = e**-epsilon.
    """
    one, count = Interval.of(1, precision), Interval.of(t, precision)
    a, rest = (-Interval.of(epsilon, precision)).exp(), -Interval.of(-epsilon, precision).expm1()
    sides = one + a
    inner = count * rest + (sides + a * a + a * a) / sides
    return (-Interval.of(epsilon * t, precision)).exp() * inner / (sides * sides)


@lru_cache(maxsize=256)
def laplace_offset(epsilon: Fraction, delta: Fraction, m: int) -> int:
    """Return the least tau >= 0 such that m * P(X - Y > tau) <= delta.

    X and Y are integers, so "> tau" is ">= tau + 1".  The comparison uses the upper end of a
    128-bit enclosure, so it is certified.
    """

    def allowed(tau: int) -> bool:
        chance = laplace_failure(epsilon, tau + 1, 128) * Interval.of(m, 128)
        return bool(chance.bounded and chance.fractions()[1] <= delta)

    high = 1
    while not allowed(high):
        high *= 2
    low = -1  # not allowed, or not tried
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return high


def published_guarantee(
    each: Fraction, outcomes: int, odds: Fraction, rest: Fraction
) -> ApproximateDP:
    """Return the guarantee of Theorem 2 of Durfee and Rogers (2019); see `PayWhatYouGet.published`.

    Args:
        each: epsilon of a draw.
        outcomes: how many draws there are.
        odds: the odds that a bottom fails, summed over all queries.
        rest: the part of delta that pays for composition.

    Raises:
        ParameterError: the theorem's delta is 1 or more.
    """
    summed, delta = outcomes * each, rest + 2 * odds
    if not rest:
        return ApproximateDP(summed, delta)

    def root(precision: int, inside: Fraction) -> Interval:
        return (-Interval.of(rest, precision).log() * Interval.of(inside, precision)).sqrt()

    def pure(precision: int) -> Interval:
        e = Interval.of(each, precision)
        middle = e.expm1() / (e.exp() + Interval.of(1, precision))
        return Interval.of(summed, precision) * middle + root(precision, 2 * summed * each)

    def ranged(precision: int) -> Interval:
        return Interval.of(summed * each / 2, precision) + root(precision, summed * each / 2)

    return ApproximateDP(min(summed, rounded_up(pure), rounded_up(ranged)), delta)

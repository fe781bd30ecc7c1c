"""Enclosures of the distribution function of the binomial law."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from gmpy2 import mpfr

from safeselect.exact.interval import Interval, contexts

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
    one = Interval.of(1, precision)
    return first * (one + _walk(down, one / odds) + _walk(up, odds))


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
        + Interval.of(hits, precision) * log_hit
        + Interval.of(misses, precision) * log_miss
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

"""How much the probability of an event of one private run may change on neighbouring data."""

from __future__ import annotations

from fractions import Fraction

from safeselect.exact.interval import Interval
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP
from safeselect.promises.with_delta import ZeroConcentratedDP

Base = PureDP | LaplaceDominated | BoundedRange | ZeroConcentratedDP
"""What one run may guarantee."""

_UNIT = Fraction(1, 1 << 32)


def change_of(base: Base, ratio: Interval) -> Interval:
    """Enclose a delta of (ln ratio, delta)-DP of one run, ratio >= 1."""
    precision = ratio.precision
    one = Interval.of(1, precision)
    if isinstance(base, ZeroConcentratedDP):
        return _of_zcdp(base.rho, ratio)
    whole = Interval.of(base.epsilon, precision).exp()
    if isinstance(base, PureDP):
        return _positive((whole - ratio) / (whole + one))
    part = _positive(one - (ratio / whole).sqrt())
    if isinstance(base, LaplaceDominated) or not base.epsilon:
        return part
    return part * part / (one - one / whole)


def _of_zcdp(rho: Fraction, ratio: Interval) -> Interval:
    """By Canonne, Kamath and Steinke (2020), or by Pinsker's inequality; never above 1."""
    precision, log = ratio.precision, ratio.log()
    own = Interval.of(rho, precision)
    pinsker = (own / Interval.of(2, precision)).sqrt()
    ends = [Fraction(1), pinsker.fractions()[1]]
    order = round((log.fractions()[1] + rho) / (2 * rho) / _UNIT) * _UNIT if rho else _UNIT
    if order > 1 + _UNIT:
        b = Interval.of(order, precision)
        less = Interval.of(order - 1, precision)
        exponent = less * (b * own - log) + less * (less / b).log() - b.log()
        ends.append(exponent.exp().fractions()[1])
    return Interval.of(min(ends), precision)


def _positive(bound: Interval) -> Interval:
    zero = Interval.of(0, bound.precision)
    return Interval(max(bound.lower, zero.lower), max(bound.upper, zero.upper), bound.precision)

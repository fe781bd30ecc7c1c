"""Published closed forms, for comparison; `compose` is never worse than any of them.

All are rounded up to 64 significant bits.
"""

from __future__ import annotations

from fractions import Fraction

from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.exact.parameters import integer, rational
from safeselect.promises.guarantees import BoundedRange

_MOST = 2**62


def dong_durfee_rogers_epsilon(epsilon: object, k: object, delta: object) -> Fraction:
    """An epsilon for k adaptive mechanisms of bounded range: k rho + epsilon sqrt(k ln(1/delta)/2),
    rho their zCDP parameter, which is also their largest Kullback-Leibler divergence.

    Source: Dong, Durfee and Rogers (2020); by Hoeffding's lemma and Chernoff's bound.
    """
    each, count, at = _read(epsilon, k, delta)
    rho = BoundedRange(each).zcdp.rho
    return rounded_up(
        lambda precision: (
            Interval.of(count * rho, precision)
            + _deviation(each, Fraction(count, 2), at, precision)
        )
    )


def _read(epsilon: object, k: object, delta: object) -> tuple[Fraction, int, Fraction]:
    return (
        rational(epsilon, "epsilon"),
        integer(k, "k", minimum=1, maximum=_MOST),
        rational(delta, "delta", below=1),
    )


def _deviation(
    epsilon: Fraction, count: Fraction | int, delta: Fraction, precision: int
) -> Interval:
    """Enclose epsilon sqrt(count ln(1/delta))."""
    inside = Interval.of(count, precision) * -Interval.of(delta, precision).log()
    return Interval.of(epsilon, precision) * inside.sqrt()


def bun_steinke_epsilon(rho: object, delta: object) -> Fraction:
    """The epsilon of rho-zCDP at a delta: rho + 2 sqrt(rho ln(1/delta)).

    Source: Bun and Steinke (2016), Proposition 1.3.
    """
    own, at = rational(rho, "rho"), rational(delta, "delta", below=1)

    def bound(precision: int) -> Interval:
        root = (Interval.of(own, precision) * -Interval.of(at, precision).log()).sqrt()
        return Interval.of(own, precision) + root + root

    return rounded_up(bound)


def bun_steinke_rho(epsilon: object, delta: object) -> Fraction:
    """The rho with `bun_steinke_epsilon` equal to epsilon, rounded down.

    It is (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))**2.
    """
    at, rest = rational(epsilon, "epsilon"), rational(delta, "delta", below=1)

    def root(precision: int) -> Interval:
        slack = -Interval.of(rest, precision).log()
        difference = (slack + Interval.of(at, precision)).sqrt() - slack.sqrt()
        return difference * difference

    return rounded_down(root)

"""Published closed forms, for comparison; `compose` is never worse than any of them.

All are rounded up to 64 significant bits.  The Gaussian limit is not a bound, and its docstring
says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.accounting.repetition import Repetition
from safeselect.accounting.theorems.search import argmin
from safeselect.errors import ParameterError
from safeselect.exact.interval import (
    Interval,
    above_zero,
    log_order_constant,
    rounded_down,
    rounded_up,
)
from safeselect.exact.parameters import integer, rational
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, ZeroConcentratedDP

_MOST = 2**62


def durfee_rogers_epsilon(epsilon: object, k: object, delta: object) -> Fraction:
    """An epsilon for k adaptive mechanisms of bounded range: the least of k epsilon,
    k epsilon tanh(epsilon/2) + epsilon sqrt(2 k ln(1/delta)) and k epsilon**2 / 2 + epsilon
    sqrt(k ln(1/delta) / 2).

    Source: Durfee and Rogers (2019), Theorem 1.
    """
    each, count, at = _read(epsilon, k, delta)

    def strong(precision: int) -> Interval:
        own, one = Interval.of(each, precision), Interval.of(1, precision)
        tanh = -(-own).expm1() / (one + (-own).exp())
        return Interval.of(count, precision) * own * tanh + _deviation(
            each, 2 * count, at, precision
        )

    def ranged(precision: int) -> Interval:
        mean = Interval.of(count * each * each / 2, precision)
        return mean + _deviation(each, Fraction(count, 2), at, precision)

    return min(count * each, rounded_up(strong), rounded_up(ranged))


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


def bun_steinke_delta(rho: object, epsilon: object) -> Fraction:
    """The delta of rho-zCDP at an epsilon above rho: exp(-(epsilon - rho)**2 / (4 rho)); else 1.

    Source: Bun and Steinke (2016), Lemma 3.5.
    """
    own, at = rational(rho, "rho"), rational(epsilon, "epsilon", zero=True)
    if at <= own:
        return Fraction(1)
    return above_zero(
        lambda precision: Interval.of(-((at - own) ** 2) / (4 * own), precision).exp()
    )


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


def renyi_delta(rho: object, epsilon: object, order: object = None) -> Fraction:
    """The delta of rho-zCDP at an epsilon and a Rényi order, by default a nearly best one.

    exp((a - 1)(a rho - epsilon)) (a - 1)**(a - 1) / a**a for the order a, at most 1.
    Source: Canonne, Kamath and Steinke (2020), Corollary 13.
    """
    own, at = rational(rho, "rho"), rational(epsilon, "epsilon", zero=True)

    def log_delta(excess: Fraction, precision: int) -> Interval:
        leading = Interval.of(excess * ((1 + excess) * own - at), precision)
        return leading + log_order_constant(excess, precision)

    if order is None:
        excess = argmin(lambda x: log_delta(x, 96), Fraction(8))
    else:
        excess = rational(order, "order") - 1
        if excess <= 0:
            raise ParameterError("order must be greater than 1")
    return min(Fraction(1), above_zero(lambda precision: log_delta(excess, precision).exp()))


@dataclass(frozen=True, slots=True)
class GaussianLimit:
    """mu-GDP in the limit of many small losses: asymptotic, **not a guarantee**.

    No theorem bounds its distance from a finite composition, so it can be neither charged nor
    composed.  It is a quick estimate of the result of `compose`.

    Attributes:
        mu: rational, rounded to 64 significant bits.
    """

    mu: Fraction

    def delta(self, epsilon: object) -> Fraction:
        """The limit's delta: N(mu/2 - epsilon/mu) - e**epsilon N(-mu/2 - epsilon/mu)."""
        at = rational(epsilon, "epsilon", zero=True)

        def value(precision: int) -> Interval:
            return GaussianDP(self.mu * self.mu).tails(at, precision)[0]

        return rounded_up(value)


def gaussian_limit(guarantees: Iterable[AnyGuarantee]) -> GaussianLimit:
    """The Gaussian limit of a composition: mu**2 = sum epsilon**2 / 4 for bounded range, epsilon**2
    for pure and Laplace-dominated guarantees, 2 rho for zCDP, mu**2 for Gaussian-DP.  Asymptotic,
    not a guarantee.

    Source: Dong, Durfee and Rogers (2020); Dong, Roth and Su (2022).

    Raises:
        ParameterError: a part is ApproximateDP, or nothing costs anything.
    """
    square = Fraction(0)
    for guarantee in guarantees:
        if isinstance(guarantee, ApproximateDP):
            raise ParameterError("an ApproximateDP guarantee has no Gaussian limit")
        if isinstance(guarantee, Repetition):
            raise ParameterError("a guarantee of repeated runs has no Gaussian limit")
        if isinstance(guarantee, (ZeroConcentratedDP, GaussianDP)):
            square += 2 * guarantee.zcdp.rho
        else:
            square += guarantee.epsilon**2 / (4 if isinstance(guarantee, BoundedRange) else 1)
    if not square:
        raise ParameterError("a Gaussian limit needs at least one guarantee that costs something")
    return GaussianLimit(rounded_up(lambda precision: Interval.of(square, precision).sqrt()))

"""Five kinds of guarantee, and the theorems that lead from one to another.

An arrow means "implies"; the docstring of the method that goes that way names the theorem:

    BoundedRange(e) -> LaplaceDominated(e) -> PureDP(e) -> ZeroConcentratedDP -> ApproximateDP

Every value is an exact rational.  Where a theorem gives an irrational number, it is rounded up to
64 significant bits.  So no stated cost is below the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from safeselect.exact.interval import Interval, above_zero
from safeselect.exact.parameters import Number, rational
from safeselect.promises.with_delta import ApproximateDP, ZeroConcentratedDP


@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-DP: no event is more than e**epsilon times as likely on a neighbour.

    Args:
        epsilon: rational, at least 0.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))

    @property
    def pure(self) -> PureDP:
        """Itself."""
        return self

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """(epsilon tanh(epsilon/2))-zCDP: randomized response is the worst case.

        Source: Bun and Steinke (2016), Proposition 3.3, in its tight form.
        """
        return _concentrated(self, lambda one, e: -(e * (-e).expm1()) / (one + (-e).exp()))

    def approximate(self, delta: Number) -> ApproximateDP:
        """The smallest epsilon at this delta; the inverse of `delta`.

        Source: Kairouz, Oh and Viswanath (2015): randomized response dominates.
        """
        return _approximate(
            self, delta, lambda one, e, d, _: e + (one - d * (one + (-e).exp())).log()
        )

    def delta(self, epsilon: Number) -> Fraction:
        """The smallest delta of (epsilon, delta)-DP: (e**own - e**epsilon) / (1 + e**own)."""
        return _delta(self, epsilon, lambda one, own, less: -less.expm1() / (one + (-own).exp()))


@dataclass(frozen=True, slots=True)
class LaplaceDominated:
    """No better distinguished from a neighbour than Laplace(0, 1) from Laplace(epsilon, 1).

    It holds for permute-and-flip, for report-noisy-max with continuous noise and for every release
    of gaps.  Reason: on the straight line from one score vector to its neighbour, an event's
    probability p moves at a speed of at most epsilon min(p, 1 - p).  The Laplace distribution
    function moves at exactly this speed (`docs/mathematics.md`, lemma L0).

    Args:
        epsilon: rational, at least 0.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))

    @property
    def pure(self) -> PureDP:
        """epsilon-DP: the ratio of the two Laplace densities is at most e**epsilon."""
        return PureDP(self.epsilon)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """(epsilon + e**-epsilon - 1)-zCDP, tight for the Laplace mechanism.

        Source: Harrison and Manurangsi (2025); the Rényi divergences are those of Mironov (2017).
        """
        return _concentrated(self, lambda _, e: e + (-e).expm1())

    def approximate(self, delta: Number) -> ApproximateDP:
        """The smallest epsilon at this delta: own epsilon + 2 ln(1 - delta), or 0."""
        return _approximate(self, delta, lambda _, e, d, rest: e + (rest.log() + rest.log()))

    def delta(self, epsilon: Number) -> Fraction:
        """The smallest delta at this epsilon: 1 - e**((epsilon - own epsilon) / 2)."""
        return _delta(self, epsilon, lambda one, own, less: -(less / (one + one)).expm1())


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """The logarithm of the likelihood ratio lies in some interval of length epsilon.

    The exponential mechanism has this property (Dong, Durfee and Rogers 2020).  It holds for the
    selection alone: a release of the gap as well loses it.

    Args:
        epsilon: rational, at least 0.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))

    @property
    def pure(self) -> PureDP:
        """epsilon-DP: the interval contains 0."""
        return PureDP(self.epsilon)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """(x - 1 - ln x)-zCDP with x = epsilon / (e**epsilon - 1), at most epsilon**2 / 8.

        Source: Cesar and Rogers (2021) for epsilon**2 / 8, `docs/mathematics.md` for the rest.
        """

        def rho(one: Interval, e: Interval) -> Interval:
            rest = -(-e).expm1()  # 1 - e**-epsilon
            return e * (-e).exp() / rest - one - (e.log() - e - rest.log())

        return _concentrated(self, rho)

    def approximate(self, delta: Number) -> ApproximateDP:
        """The smallest epsilon at this delta; the inverse of `delta`."""

        def bound(one: Interval, e: Interval, d: Interval, _: Interval) -> Interval:
            log = (one - (-(d * (-e).expm1())).sqrt()).log()
            return e + (log + log)

        return _approximate(self, delta, bound)

    def delta(self, epsilon: Number) -> Fraction:
        """The smallest delta at this epsilon: (1 - e**((s - own) / 2))**2 / (1 - e**-own).

        Source: Dong, Durfee and Rogers (2020), the case of one mechanism.
        """

        def bound(one: Interval, own: Interval, less: Interval) -> Interval:
            root = (less / (one + one)).expm1()
            return -(root * root / (-own).expm1())

        return _delta(self, epsilon, bound)


_Pure = PureDP | LaplaceDominated | BoundedRange
Guarantee = _Pure | ZeroConcentratedDP | ApproximateDP
_Formula = Callable[..., Interval]  # of enclosures of some numbers


_one = lru_cache(maxsize=64)(lambda bits: Interval.of(1, bits))


def _enclosed(formula: _Formula, *numbers: Fraction) -> Fraction:
    """The formula of 1 and these numbers, rounded up; 0 where it is surely not positive."""
    return above_zero(lambda bits: formula(_one(bits), *(Interval.of(n, bits) for n in numbers)))


def _concentrated(
    guarantee: _Pure, rho: Callable[[Interval, Interval], Interval]
) -> ZeroConcentratedDP:
    """The bound on rho, a formula of 1 and epsilon, as a guarantee."""
    epsilon = guarantee.epsilon
    return ZeroConcentratedDP(_enclosed(rho, epsilon) if epsilon else epsilon)


def _approximate(
    guarantee: _Pure,
    delta: Number,
    bound: Callable[[Interval, Interval, Interval, Interval], Interval],
) -> ApproximateDP:
    """The bound on epsilon, a formula of 1, epsilon, delta and 1 - delta, as a guarantee."""
    at = rational(delta, "delta", below=1)
    # Where epsilon = 0 already suffices, the logarithm in `bound` may not exist.
    if not guarantee.epsilon or guarantee.delta(0) <= at:
        return ApproximateDP(Fraction(0), at)
    # The guarantee's own epsilon holds without any delta, so rounding up must not exceed it.
    epsilon = _enclosed(bound, guarantee.epsilon, at, 1 - at)
    return ApproximateDP(min(guarantee.epsilon, epsilon), at)


def _delta(
    guarantee: _Pure, epsilon: Number, bound: Callable[[Interval, Interval, Interval], Interval]
) -> Fraction:
    """The bound on delta, a formula of 1, own epsilon and epsilon less own epsilon.

    Where the guarantee's own epsilon is no larger, 0.
    """
    at = rational(epsilon, "epsilon", zero=True)
    if at >= guarantee.epsilon:
        return Fraction(0)
    return min(Fraction(1), _enclosed(bound, guarantee.epsilon, at - guarantee.epsilon))

"""Guarantees that hold for every event: pure, Laplace-dominated and of bounded range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.exact import Interval, rational
from safeselect.promises.relaxed import ApproximateDP, ZeroConcentratedDP, above_zero, read_delta

__all__ = ["BoundedRange", "LaplaceDominated", "PureDP"]


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

        def rho(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            return -(epsilon * (-epsilon).expm1()) / (one + (-epsilon).exp())

        return ZeroConcentratedDP(above_zero(rho) if self.epsilon else Fraction(0))

    def approximate(self, delta: object) -> ApproximateDP:
        """The smallest epsilon at this delta; the inverse of `delta`.

        Source: Kairouz, Oh and Viswanath (2015): randomized response dominates.
        """
        at = read_delta(delta)

        def bound(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            return epsilon + (one - Interval.of(at, precision) * (one + (-epsilon).exp())).log()

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta of (epsilon, delta)-DP: (e**own - e**epsilon) / (1 + e**own)."""
        at = rational(epsilon, "epsilon", zero=True)
        if at >= self.epsilon:
            return Fraction(0)

        def bound(precision: int) -> Interval:
            own, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            return -Interval.of(at - self.epsilon, precision).expm1() / (one + (-own).exp())

        return min(Fraction(1), above_zero(bound))


@dataclass(frozen=True, slots=True)
class LaplaceDominated:
    """No better distinguished from a neighbour than Laplace(0, 1) from Laplace(epsilon, 1).

    Holds for permute-and-flip, for report-noisy-max with continuous noise and for every release of
    gaps: walk from one score vector to its neighbour along the straight line; an event's
    probability p moves at a speed of at most epsilon min(p, 1 - p), which is what the Laplace
    distribution function does (`docs/mathematics.md`, lemma L0).

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

        def rho(precision: int) -> Interval:
            epsilon = Interval.of(self.epsilon, precision)
            return epsilon + (-epsilon).expm1()

        return ZeroConcentratedDP(above_zero(rho) if self.epsilon else Fraction(0))

    def approximate(self, delta: object) -> ApproximateDP:
        """The smallest epsilon at this delta: own epsilon + 2 ln(1 - delta), or 0."""
        at = read_delta(delta)

        def bound(precision: int) -> Interval:
            return Interval.of(self.epsilon, precision) + _twice(
                Interval.of(1 - at, precision).log()
            )

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta at this epsilon: 1 - e**((epsilon - own epsilon) / 2)."""
        at = rational(epsilon, "epsilon", zero=True)
        if at >= self.epsilon:
            return Fraction(0)
        return min(
            Fraction(1),
            above_zero(lambda precision: -Interval.of((at - self.epsilon) / 2, precision).expm1()),
        )


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """The logarithm of the likelihood ratio lies in some interval of length epsilon.

    The exponential mechanism's own property (Dong, Durfee and Rogers 2020).  It holds for the
    selection alone: as soon as a gap is released too it is lost.

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

        Source: Cesar and Rogers (2021) for epsilon**2 / 8; the tight value holds for every order
        (`docs/mathematics.md`).
        """

        def rho(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            rest = -(-epsilon).expm1()  # 1 - e**-epsilon
            log_x = epsilon.log() - epsilon - rest.log()
            return epsilon * (-epsilon).exp() / rest - one - log_x

        return ZeroConcentratedDP(above_zero(rho) if self.epsilon else Fraction(0))

    def approximate(self, delta: object) -> ApproximateDP:
        """The smallest epsilon at this delta; the inverse of `delta`."""
        at = read_delta(delta)

        def bound(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            root = -(Interval.of(at, precision) * (-epsilon).expm1())
            return epsilon + _twice((one - root.sqrt()).log())

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta at this epsilon: (1 - e**((s - own) / 2))**2 / (1 - e**-own).

        Source: Dong, Durfee and Rogers (2020), the case of one mechanism.
        """
        at = rational(epsilon, "epsilon", zero=True)
        if at >= self.epsilon:
            return Fraction(0)

        def bound(precision: int) -> Interval:
            root = Interval.of((at - self.epsilon) / 2, precision).expm1()
            return -(root * root / Interval.of(-self.epsilon, precision).expm1())

        return min(Fraction(1), above_zero(bound))


def _twice(interval: Interval) -> Interval:
    return interval + interval


def _epsilon_or_zero(
    guarantee: PureDP | LaplaceDominated | BoundedRange,
    delta: Fraction,
    bound: Callable[[int], Interval],
) -> Fraction:
    # At epsilon = 0 already covered: the logarithm in `bound` may not even exist there.
    if not guarantee.epsilon or guarantee.delta(0) <= delta:
        return Fraction(0)
    # Rounding up must not lead above what holds without any delta.
    return min(guarantee.epsilon, above_zero(bound))

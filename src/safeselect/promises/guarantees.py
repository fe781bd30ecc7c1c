"""What is promised: five kinds of guarantee and the theorems that lead from one to another.

An arrow means "implies", by the theorem named in the docstring of the method that goes that way:

    BoundedRange(e) -> LaplaceDominated(e) -> PureDP(e) -> ZeroConcentratedDP -> ApproximateDP

The first three hold for every event.  The last two hold on average, or up to a small probability.
Every value is an exact rational.  Where a theorem gives an irrational number it is rounded up to
64 significant bits, so that what is printed is never less than what is owed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, argmin, rounded_up
from safeselect.exact.parameters import rational

__all__ = [
    *("ApproximateDP", "BoundedRange", "Guarantee", "LaplaceDominated", "PureDP"),
    *("ZeroConcentratedDP", "above_zero", "log_order_constant"),
]

# A bound closer to zero is rounded up to this, because it would not fit into a guarantee.
_SMALLEST = Fraction(1, 2**4000)


def above_zero(bound: Callable[[int], Interval]) -> Fraction:
    """The bound rounded up, or zero where it is surely not positive."""
    low_precision = bound(128)
    if low_precision.bounded and low_precision.upper <= 0:
        return Fraction(0)
    return max(_SMALLEST, rounded_up(bound))


def _read_delta(value: object) -> Fraction:
    return rational(value, "delta", below=1)


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP:
    """rho-zCDP: the Rényi divergence of every order a > 1 is at most a rho (Bun and Steinke 2016).

    Args:
        rho: rational, at least 0.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", rational(self.rho, "rho", zero=True))

    @property
    def pure(self) -> None:
        """None: no pure guarantee follows."""
        return None

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """Itself."""
        return self

    def approximate(self, delta: object) -> ApproximateDP:
        """An epsilon at this delta, for a nearly best order; certified at the order used.

        Source: Canonne, Kamath and Steinke (2020), Proposition 12 and Corollary 13.
        """
        at = _read_delta(delta)
        if not self.rho:
            return ApproximateDP(Fraction(0), at)

        def bound(excess: Fraction, precision: int) -> Interval:
            return self._epsilon_at(excess, at, precision)

        guess = rounded_up(
            lambda precision: (
                -Interval.of(at, precision).log() / Interval.of(self.rho, precision)
            ).sqrt(),
            8,
        )
        best = argmin(lambda excess: bound(excess, 96), guess)
        return ApproximateDP(above_zero(lambda precision: bound(best, precision)), at)

    def _epsilon_at(self, excess: Fraction, delta: Fraction, precision: int) -> Interval:
        """Order a = 1 + excess: a rho + (ln(1/delta) + excess ln(excess) - a ln(a)) / excess."""
        rest = log_order_constant(excess, precision) - Interval.of(delta, precision).log()
        return Interval.of((1 + excess) * self.rho, precision) + rest / Interval.of(
            excess, precision
        )


@dataclass(frozen=True, slots=True)
class ApproximateDP:
    """(epsilon, delta)-differential privacy.

    Args:
        epsilon: rational, at least 0.
        delta: rational, greater than 0 (with 0 it would be `PureDP`), less than 1.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "delta", rational(self.delta, "delta", below=1))

    @property
    def pure(self) -> None:
        """None: no pure guarantee follows."""
        return None

    @property
    def zcdp(self) -> None:
        """None: no zCDP guarantee follows."""
        return None

    def approximate(self, delta: object) -> ApproximateDP:
        """The same epsilon at any larger delta.

        Raises:
            ParameterError: the delta asked for is smaller than its own.
        """
        at = _read_delta(delta)
        if at < self.delta:
            raise ParameterError(f"delta must be at least {self.delta}, the guarantee's own")
        return ApproximateDP(self.epsilon, at)


def log_order_constant(excess: Fraction, precision: int) -> Interval:
    """ln((a - 1)**(a - 1) / a**a) for the Rényi order a = 1 + excess.

    The constant of the conversion to (epsilon, delta): the maximum of (x - e**epsilon) / x**a.
    """
    order = Interval.of(1 + excess, precision)
    below = Interval.of(excess, precision)
    return below * below.log() - order * order.log()


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
        at = _read_delta(delta)

        def bound(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            return epsilon + (one - Interval.of(at, precision) * (one + (-epsilon).exp())).log()

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta of (epsilon, delta)-DP: (e**own - e**epsilon) / (1 + e**own)."""

        def bound(at: Fraction, precision: int) -> Interval:
            own, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            return -Interval.of(at - self.epsilon, precision).expm1() / (one + (-own).exp())

        return _delta_or_zero(self, epsilon, bound)


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
        at = _read_delta(delta)

        def bound(precision: int) -> Interval:
            return Interval.of(self.epsilon, precision) + _twice(
                Interval.of(1 - at, precision).log()
            )

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta at this epsilon: 1 - e**((epsilon - own epsilon) / 2)."""

        def bound(at: Fraction, precision: int) -> Interval:
            return -Interval.of((at - self.epsilon) / 2, precision).expm1()

        return _delta_or_zero(self, epsilon, bound)


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
        at = _read_delta(delta)

        def bound(precision: int) -> Interval:
            epsilon, one = Interval.of(self.epsilon, precision), Interval.of(1, precision)
            root = -(Interval.of(at, precision) * (-epsilon).expm1())
            return epsilon + _twice((one - root.sqrt()).log())

        return ApproximateDP(_epsilon_or_zero(self, at, bound), at)

    def delta(self, epsilon: object) -> Fraction:
        """The smallest delta at this epsilon: (1 - e**((s - own) / 2))**2 / (1 - e**-own).

        Source: Dong, Durfee and Rogers (2020), the case of one mechanism.
        """

        def bound(at: Fraction, precision: int) -> Interval:
            root = Interval.of((at - self.epsilon) / 2, precision).expm1()
            return -(root * root / Interval.of(-self.epsilon, precision).expm1())

        return _delta_or_zero(self, epsilon, bound)


def _twice(interval: Interval) -> Interval:
    return interval + interval


def _epsilon_or_zero(
    guarantee: PureDP | LaplaceDominated | BoundedRange,
    delta: Fraction,
    bound: Callable[[int], Interval],
) -> Fraction:
    """The bound on epsilon at this delta, as far as it is one."""
    # At epsilon = 0 already covered: the logarithm in `bound` may not even exist there.
    if not guarantee.epsilon or guarantee.delta(0) <= delta:
        return Fraction(0)
    # Rounding up must not lead above what holds without any delta.
    return min(guarantee.epsilon, above_zero(bound))


def _delta_or_zero(
    guarantee: PureDP | LaplaceDominated | BoundedRange,
    epsilon: object,
    bound: Callable[[Fraction, int], Interval],
) -> Fraction:
    """The bound on delta at this epsilon, or 0 where the guarantee's own epsilon is no larger."""
    at = rational(epsilon, "epsilon", zero=True)
    if at >= guarantee.epsilon:
        return Fraction(0)
    return min(Fraction(1), above_zero(lambda precision: bound(at, precision)))


Guarantee = PureDP | LaplaceDominated | BoundedRange | ZeroConcentratedDP | ApproximateDP

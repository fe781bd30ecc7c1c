"""Guarantees that hold up to a small probability or on average: zCDP and (epsilon, delta)-DP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact import Interval, argmin, rational, rounded_up

__all__ = ["ApproximateDP", "ZeroConcentratedDP", "log_order_constant"]


# A bound closer to zero is rounded up to this, because it would not fit into a guarantee.
_SMALLEST = Fraction(1, 2**4000)


def above_zero(bound: Callable[[int], Interval]) -> Fraction:
    """The bound rounded up, or zero where it is surely not positive."""
    low_precision = bound(128)
    if low_precision.bounded and low_precision.upper <= 0:
        return Fraction(0)
    return max(_SMALLEST, rounded_up(bound))


def read_delta(value: object) -> Fraction:
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
        at = read_delta(delta)
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
        at = read_delta(delta)
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

"""Two kinds of guarantee that state no epsilon without a delta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, above_zero, log_order_constant
from safeselect.exact.parameters import Number, rational


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP:
    """rho-zCDP: the Rényi divergence of every order a > 1 is at most a rho (Bun and Steinke 2016).

    Args:
        rho: rational, at least 0.
    """

    rho: Fraction
    pure: ClassVar[None] = None
    """No pure guarantee follows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", rational(self.rho, "rho", zero=True))

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """Itself."""
        return self

    def approximate(self, delta: Number) -> ApproximateDP:
        """An epsilon at this delta, for a nearly best order; certified at the order used.

        Source: Canonne, Kamath and Steinke (2020), Proposition 12 and Corollary 13.
        """
        at = rational(delta, "delta", below=1)
        if not self.rho:
            return ApproximateDP(Fraction(0), at)
        # The derivative of `bound` is (rho x**2 + ln(1 + x) - ln(1/delta)) / x**2 at x = a - 1, and
        # its root is below sqrt(ln(1/delta) / rho).  The bound holds at every order, so an order
        # near the best is enough.
        _, step = (-Interval.of(at, 96).log() / Interval.of(self.rho, 96)).sqrt().fractions()
        excess = Fraction(0)
        while step > excess / 2**20:
            step /= 2
            tried = excess + step
            rising = Interval.of(self.rho * tried**2, 96) + Interval.of((1 + tried) * at, 96).log()
            if rising.lower <= 0:
                excess = tried

        def bound(precision: int) -> Interval:
            # Order a = 1 + excess: a rho + (ln(1/delta) + excess ln(excess) - a ln(a)) / excess
            rest = log_order_constant(excess, precision) - Interval.of(at, precision).log()
            whole = Interval.of((1 + excess) * self.rho, precision)
            return whole + rest / Interval.of(excess, precision)

        return ApproximateDP(above_zero(bound), at)


@dataclass(frozen=True, slots=True)
class ApproximateDP:
    """(epsilon, delta)-differential privacy.

    Args:
        epsilon: rational, at least 0.
        delta: rational, greater than 0 (with 0 it would be `PureDP`), less than 1.
    """

    epsilon: Fraction
    delta: Fraction
    pure: ClassVar[None] = None
    """No pure guarantee follows."""
    zcdp: ClassVar[None] = None
    """No zCDP guarantee follows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "delta", rational(self.delta, "delta", below=1))

    def approximate(self, delta: Number) -> ApproximateDP:
        """The same epsilon at any larger delta.

        Raises:
            ParameterError: the delta asked for is smaller than the guarantee's own.
        """
        at = rational(delta, "delta", below=1)
        if at < self.delta:
            raise ParameterError(f"delta must be at least {self.delta}, the guarantee's own")
        return ApproximateDP(self.epsilon, at)

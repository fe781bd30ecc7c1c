"""Five kinds of guarantee, and the theorems that lead from one to another.

An arrow means "implies"; the docstring of the method that goes that way names the theorem:

    BoundedRange(e) -> LaplaceDominated(e) -> PureDP(e) -> ZeroConcentratedDP -> ApproximateDP

Every value is an exact rational.  Where a theorem gives an irrational number, it is rounded up to
64 significant bits.  So no stated cost is below the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, above_zero, log_order_constant
from safeselect.exact.parameters import Number, exact_text, rational

STATED = "stated_"
"""How the name of a law begins whose guarantee is a caller's word; see `StatedLaw`."""

Content = str | list["Content"] | dict[str, "Content"]


class Sealed:
    """What has a guarantee: the classes of this library, for which its theorems are proved."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
            raise TypeError(f"{cls.__mro__[1].__name__} cannot be subclassed; use it as it is")


@dataclass(frozen=True, slots=True)
class _OfEpsilon(Sealed):
    """What the three guarantees that an epsilon states have in common; each has its formulas."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon", zero=True))

    @property
    def pure(self) -> PureDP:
        """epsilon-DP: so bounded is the ratio of two Laplace densities; and a range contains 0."""
        return PureDP(self.epsilon)

    def delta(self, epsilon: Number) -> Fraction:
        """Return the smallest delta for the given epsilon; 0 if this is at least self.epsilon."""
        at = rational(epsilon, "epsilon", zero=True)
        if at >= self.epsilon:
            return Fraction(0)
        return min(Fraction(1), _enclosed(self.profile, self.epsilon, at - self.epsilon))

    def profile(self, own: Interval, less: Interval) -> Interval:
        """Return an enclosure of this delta, for own = self.epsilon and less = epsilon - own."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PureDP(_OfEpsilon):
    """The guarantee epsilon-DP: no event is more than e**epsilon times as likely on a neighbouring
    data set.

    Args:
        epsilon: rational, at least 0.
    """

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The implied zCDP guarantee, with rho = epsilon * tanh(epsilon / 2).

        Randomized response is the worst case.

        Source: Bun and Steinke (2016), Proposition 3.3, in its tight form.
        """
        return _concentrated(self, lambda e: e * -(-e).expm1() / (1 + (-e).exp()))

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return the ApproximateDP guarantee that follows from this one, with the given delta and
        the smallest possible epsilon.

        This method is the inverse of `delta`.

        Source: Kairouz, Oh and Viswanath (2015): randomized response dominates.
        """
        return _approximate(self, delta, lambda e, d, _: e + (1 - d * (1 + (-e).exp())).log())

    def profile(self, own: Interval, less: Interval) -> Interval:
        """Return an interval that contains the smallest delta for a given epsilon.

        The arguments are own = self.epsilon and less = epsilon - own, which is negative. The delta
        is (e**own - e**epsilon) / (1 + e**own).
        """
        return -less.expm1() / (1 + (-own).exp())


@dataclass(frozen=True, slots=True)
class LaplaceDominated(_OfEpsilon):
    """The guarantee that neighbouring data sets are no easier to distinguish than Laplace(0, 1) and
    Laplace(epsilon, 1).

    It holds for permute-and-flip, for report-noisy-max with continuous noise and for releases of
    gaps, except those of sessions with geometric noise.  Reason: on the straight line from one
    score vector to its neighbour, an event's probability p moves at a speed of at most epsilon
    min(p, 1 - p).  The Laplace distribution function moves at exactly this speed
    (`docs/mathematics.md`, lemma L0).

    Args:
        epsilon: rational, at least 0.
    """

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The implied zCDP guarantee, with rho = epsilon + e**-epsilon - 1.

        It is tight for the Laplace mechanism.

        Source: Harrison and Manurangsi (2025); the Rényi divergences are those of Mironov (2017).
        """
        return _concentrated(self, lambda e: e + (-e).expm1())

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return the ApproximateDP guarantee that follows from this one, with the given delta and
        the smallest possible epsilon.

        This epsilon is max(0, self.epsilon + 2 ln(1 - delta)).
        """
        return _approximate(self, delta, lambda e, _, rest: e + 2 * rest.log())

    def profile(self, own: Interval, less: Interval) -> Interval:
        """Return an interval that contains the smallest delta for a given epsilon.

        The arguments are own = self.epsilon and less = epsilon - own, which is negative. The delta
        is 1 - e**((epsilon - own) / 2).
        """
        return -(less / 2).expm1()


@dataclass(frozen=True, slots=True)
class BoundedRange(_OfEpsilon):
    """The guarantee that, for two neighbouring data sets, the logarithms of all likelihood ratios
    lie in an interval of length epsilon.

    The exponential mechanism has this property (Dong, Durfee and Rogers 2020).  It holds for the
    selection alone: releasing the gap as well loses it.

    Args:
        epsilon: rational, at least 0.
    """

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The implied zCDP guarantee, with rho = x - 1 - ln x, where x = epsilon / (e**epsilon -
        1).

        This rho is at most epsilon**2 / 8.

        Source: Cesar and Rogers (2021) for epsilon**2 / 8, `docs/mathematics.md` for the rest.
        """

        def rho(e: Interval) -> Interval:
            y = e / -(-e).expm1()  # x + epsilon = x e**epsilon, so y - ln y = x - ln x
            return y - 1 - y.log()

        return _concentrated(self, rho)

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return the ApproximateDP guarantee that follows from this one, with the given delta and
        the smallest possible epsilon.

        This method is the inverse of `delta`.
        """
        return _approximate(
            self, delta, lambda e, d, _: e + 2 * (1 - (d * -(-e).expm1()).sqrt()).log()
        )

    def profile(self, own: Interval, less: Interval) -> Interval:
        """Return an interval that contains the smallest delta for a given epsilon.

        The arguments are own = self.epsilon and less = epsilon - own, which is negative. The delta
        is (1 - e**((epsilon - own) / 2))**2 / (1 - e**-own).

        Source: Dong, Durfee and Rogers (2020), the case of one mechanism.
        """
        root = (less / 2).expm1()
        return -(root * root / (-own).expm1())


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP(Sealed):
    """The guarantee rho-zCDP: the outputs on neighbouring data sets have a Rényi divergence of at
    most alpha * rho for each order alpha > 1.

    Source: Bun and Steinke (2016).

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
        """The guarantee itself."""
        return self

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return an ApproximateDP guarantee that follows from this one, with the given delta.

        Its epsilon is certified at a nearly optimal order.

        Source: Canonne, Kamath and Steinke (2020), Proposition 12 and Corollary 13.
        """
        at = rational(delta, "delta", below=1)
        if not self.rho:
            return ApproximateDP(Fraction(0), at)
        # The derivative of `bound` is (rho x**2 + ln(1 + x) - ln(1/delta)) / x**2 at x = a - 1, and
        # its root is below sqrt(ln(1/delta) / rho).  The bound holds at every order, so an order
        # near the best is enough.
        _, step = (-Interval.of(at, 96).log() / self.rho).sqrt().fractions()
        excess = Fraction(0)
        while step > excess / 2**20:
            step /= 2
            tried = excess + step
            rising = self.rho * tried**2 + Interval.of((1 + tried) * at, 96).log()
            if rising.lower <= 0:
                excess = tried

        def bound(precision: int) -> Interval:
            # Order a = 1 + excess: a rho + (ln(1/delta) + excess ln(excess) - a ln(a)) / excess
            rest = log_order_constant(excess, precision) - Interval.of(at, precision).log()
            return (1 + excess) * self.rho + rest / excess

        return ApproximateDP(above_zero(bound), at)


@dataclass(frozen=True, slots=True)
class ApproximateDP(Sealed):
    """The guarantee (epsilon, delta)-DP: the probabilities p and q of an event on two neighbouring
    data sets satisfy p <= e**epsilon * q + delta.

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
        """Return a guarantee with the same epsilon and the given delta, which must not be smaller
        than the delta of this guarantee.

        Raises:
            ParameterError: the requested delta is smaller than that of the guarantee.
        """
        at = rational(delta, "delta", below=1)
        if at < self.delta:
            raise ParameterError(f"delta must be at least {exact_text(self.delta)}, the stated one")
        return ApproximateDP(self.epsilon, at)


_Pure = PureDP | LaplaceDominated | BoundedRange
Guarantee = _Pure | ZeroConcentratedDP | ApproximateDP
Family = type[BoundedRange] | type[LaplaceDominated] | type[PureDP]
_Formula = Callable[..., Interval]  # of enclosures of some numbers


def _enclosed(formula: _Formula, *numbers: Fraction) -> Fraction:
    """The formula of these numbers, rounded up; 0 where it is surely not positive."""
    return above_zero(lambda bits: formula(*(Interval.of(n, bits) for n in numbers)))


def _concentrated(guarantee: _Pure, rho: Callable[[Interval], Interval]) -> ZeroConcentratedDP:
    """The bound on rho, a formula of epsilon, as a guarantee."""
    epsilon = guarantee.epsilon
    # It is never above epsilon, so rounding up must not exceed that.
    return ZeroConcentratedDP(min(epsilon, _enclosed(rho, epsilon)) if epsilon else epsilon)


def _approximate(guarantee: _Pure, delta: Number, bound: _Formula) -> ApproximateDP:
    """The bound on epsilon, a formula of epsilon, delta and 1 - delta, as a guarantee."""
    at = rational(delta, "delta", below=1)
    # Where epsilon = 0 already suffices, the logarithm in `bound` may not exist.
    if not guarantee.epsilon or guarantee.delta(0) <= at:
        return ApproximateDP(Fraction(0), at)
    # The guarantee's own epsilon holds without any delta, so rounding up must not exceed it.
    epsilon = _enclosed(bound, guarantee.epsilon, at, 1 - at)
    return ApproximateDP(min(guarantee.epsilon, epsilon), at)


def guarantee_record(guarantee: Any) -> dict[str, Content]:
    """A guarantee as content: its type and its numbers, or the guarantee that it is about."""
    given = ((field.name, getattr(guarantee, field.name)) for field in fields(guarantee))
    texts = {n: exact_text(v) if isinstance(v, Fraction) else guarantee_record(v) for n, v in given}
    return {"type": type(guarantee).__name__, **texts}

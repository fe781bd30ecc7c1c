"""Caps for releases whose guarantees are themselves chosen after seeing earlier releases.

Then a bound may not be picked to fit what was released.  What is added up, and how much of it there
may be, is fixed before anything is released, and a step beyond the cap is refused.  Whatever is
refused, and whenever one stops, all together keep the promise made at the opening.

Each filter names its amounts, all of which only add up:

    costs(guarantee)   what one release takes of each amount, rounded up
    caps               the most there may be of each
    guarantee          what is promised if no cap is ever exceeded

`charged` adds a release to what was spent, or refuses it.  Nothing is remembered here: the caller
keeps what was spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from safeselect._exact import Interval, decimal, rational, rounded_down
from safeselect.accounting.orders import log_moment
from safeselect.errors import BudgetError, ParameterError
from safeselect.guarantees import (
    ApproximateDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    above_zero,
    log_order_constant,
)

__all__ = [
    "Amounts",
    "ApproximateFilter",
    "EpsilonFilter",
    "Filter",
    "OrderFilter",
    "RhoFilter",
    "charged",
]

Amounts = tuple[Fraction, ...]


class Filter(Protocol):
    """What is added up, and how much of it there may be."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the amounts, for messages."""
        ...

    @property
    def caps(self) -> Amounts:
        """The most there may be of each."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """Promised by all releases together."""
        ...

    def costs(self, guarantee: Guarantee) -> Amounts:
        """What a release takes.

        Raises:
            ParameterError: guarantees of this kind cannot be added up here.
        """
        ...


@dataclass(frozen=True, slots=True)
class EpsilonFilter:
    """A total epsilon for guarantees that need no delta.

    Source: Rogers, Roth, Ullman and Vadhan (2016): basic composition is a filter.

    Args:
        epsilon: the cap; positive rational.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))

    @property
    def names(self) -> tuple[str, ...]:
        return ("epsilon",)

    @property
    def caps(self) -> Amounts:
        return (self.epsilon,)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon)

    def costs(self, guarantee: Guarantee) -> Amounts:
        if guarantee.pure is None:
            raise _unfit(guarantee, "a total epsilon")
        return (guarantee.pure.epsilon,)


@dataclass(frozen=True, slots=True)
class RhoFilter:
    """A total rho for guarantees that imply zCDP.

    Source: Feldman and Zrnic (2021); Whitehouse, Ramdas, Rogers and Wu (2023).

    Args:
        rho: the cap; positive rational.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", rational(self.rho, "rho"))

    @property
    def names(self) -> tuple[str, ...]:
        return ("rho",)

    @property
    def caps(self) -> Amounts:
        return (self.rho,)

    @property
    def guarantee(self) -> ZeroConcentratedDP:
        return ZeroConcentratedDP(self.rho)

    def costs(self, guarantee: Guarantee) -> Amounts:
        if guarantee.zcdp is None:
            raise _unfit(guarantee, "a total rho")
        return (guarantee.zcdp.rho,)


@dataclass(frozen=True, slots=True)
class ApproximateFilter:
    """A total epsilon and a total delta, for pure and (epsilon, delta) guarantees.

    Source: Rogers, Roth, Ullman and Vadhan (2016): basic composition is a filter.

    Args:
        epsilon: the cap on the sum of the epsilons; positive rational.
        delta: the cap on the sum of the deltas; rational between 0 and 1.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", rational(self.delta, "delta", below=1))

    @property
    def names(self) -> tuple[str, ...]:
        return ("epsilon", "delta")

    @property
    def caps(self) -> Amounts:
        return (self.epsilon, self.delta)

    @property
    def guarantee(self) -> ApproximateDP:
        return ApproximateDP(self.epsilon, self.delta)

    def costs(self, guarantee: Guarantee) -> Amounts:
        if isinstance(guarantee, ApproximateDP):
            return guarantee.epsilon, guarantee.delta
        if guarantee.pure is None:
            raise _unfit(guarantee, "a total epsilon and delta")
        return guarantee.pure.epsilon, Fraction(0)


@dataclass(frozen=True, slots=True)
class OrderFilter:
    """An (epsilon, delta) total kept by the Rényi moments of one order, fixed at the opening.

    The sum of the ln M_i(order) may reach (order - 1) epsilon + ln(delta) - ln c, where
    c = (order - 1)**(order - 1) / order**order.  The product of the likelihood ratios to the power
    order - 1, each divided by its bound, is a supermartingale whatever is chosen next, so the bound
    holds at this order; at the order that fits the releases best it would not
    (`docs/mathematics.md`, section 14).

    `compose(plan, delta).order` is a good order for a plan that nobody is bound to follow.

    Source: Feldman and Zrnic (2021).

    Args:
        order: rational greater than 1.
        epsilon, delta: what is promised.

    Raises:
        ParameterError: a parameter is not as above, or the order leaves nothing to spend.
    """

    order: Fraction
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        order = rational(self.order, "order")
        if order <= 1:
            raise ParameterError(f"order must be greater than 1, got {order}")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", rational(self.delta, "delta", below=1))
        if self._log_cap(128).lower <= 0:
            raise ParameterError(
                "order leaves nothing to spend: (order - 1) epsilon must exceed ln(1/delta) by "
                "more than order ln(order) - (order - 1) ln(order - 1) allows; take a larger order"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return ("log_moment",)

    @property
    def caps(self) -> Amounts:
        return (rounded_down(self._log_cap),)

    @property
    def guarantee(self) -> ApproximateDP:
        return ApproximateDP(self.epsilon, self.delta)

    def costs(self, guarantee: Guarantee) -> Amounts:
        if isinstance(guarantee, ApproximateDP):
            raise _unfit(guarantee, "the moments of one order")
        return (above_zero(lambda precision: log_moment(guarantee, self.order - 1, precision)),)

    def _log_cap(self, precision: int) -> Interval:
        excess = self.order - 1
        return (
            Interval.of(excess * self.epsilon, precision)
            + Interval.of(self.delta, precision).log()
            - log_order_constant(excess, precision)
        )


def charged(filter_: Filter, spent: Amounts | None, guarantee: Guarantee) -> Amounts:
    """What is spent after one more release; `spent` is what was before, None at the opening.

    Raises:
        ParameterError: guarantees of this kind cannot be added up here.
        BudgetError: a cap would be exceeded.  Nothing is charged then.
    """
    costs = filter_.costs(guarantee)
    before = (Fraction(0),) * len(costs) if spent is None else spent
    after = tuple(have + cost for have, cost in zip(before, costs, strict=True))
    for name, have, cost, cap in zip(filter_.names, before, costs, filter_.caps, strict=True):
        if have + cost > cap:
            raise BudgetError(
                f"this release would take {name} beyond its cap: about {decimal(have)} of "
                f"{decimal(cap)} are spent, {decimal(cost)} asked for"
            )
    return after


def _unfit(guarantee: Guarantee, budget: str) -> ParameterError:
    return ParameterError(f"{budget} cannot be charged with {type(guarantee).__name__}")

"""How many users an item needs to show, where the items are private too; before any data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from safeselect.accounting.cost import rounded_text
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, integer
from safeselect.mechanisms.unknown import (
    CountNoise,
    laplace_failure,
    laplace_offset,
    plan_list,
    read_contributions,
    read_places,
    read_total,
)
from safeselect.planning._numbers import aligned, decimal, each_of
from safeselect.promises.guarantees import ApproximateDP
from safeselect.selection._results import presented

_CHANCE = Fraction(19, 20)  # to show
COMPETING = 10  # times k: the default of k_bar, also of `top_items`


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """What one epsilon buys in an unknown domain.

    Attributes:
        epsilon: the total cost, with delta.
        noise_rate: the rate of the noise of a count, per user.
        offset: how far the bottom lies above the (k_bar + 1)-th count, before noise.
        users: so many users more than the (k_bar + 1)-th item an item needs to beat the bottom with
            probability 19/20; rounded up.
        standard_deviation: of a released count; None where no counts are released.
    """

    epsilon: Fraction
    noise_rate: Fraction
    offset: Fraction
    users: int
    standard_deviation: Fraction | None


@dataclass(frozen=True, slots=True)
class ItemPlans:
    """Plans for several epsilons, in their order; `print` shows a table.

    Attributes:
        k, k_bar, delta, max_contributions, max_groups: as asked.
        plans: one for each epsilon.
    """

    k: int
    k_bar: int
    delta: Fraction
    max_contributions: int | None
    max_groups: int
    plans: tuple[ItemPlan, ...]

    plot = presented("plot_items", "A matplotlib figure of users against epsilon.")

    def to_dict(self) -> dict[str, list[Fraction | int | None]]:
        """The columns epsilon, users, offset and standard_deviation, exact."""
        return {
            "epsilon": [plan.epsilon for plan in self.plans],
            "users": [plan.users for plan in self.plans],
            "offset": [plan.offset for plan in self.plans],
            "standard_deviation": [plan.standard_deviation for plan in self.plans],
        }

    def __str__(self) -> str:
        groups = "" if self.max_groups == 1 else f", a user in {self.max_groups} groups at most"
        cap = self.max_contributions
        counts = "no counts" if cap is None else f"counts, each user for {cap} items at most"
        title = (
            f"top {self.k} of an unknown domain, {self.k_bar} items compete, "
            f"delta = {rounded_text(self.delta)}; {counts}{groups}"
        )
        rows = [("epsilon", "an item needs about", "noise rate", "standard deviation of a count")]
        for plan in self.plans:
            deviation = plan.standard_deviation
            rows.append(
                (
                    rounded_text(plan.epsilon),
                    f"{plan.users} users",
                    decimal(plan.noise_rate),
                    "-" if deviation is None else rounded_text(deviation),
                )
            )
        legend = (
            f"users more than the item in place {self.k_bar + 1} has, to show with probability "
            "0.95; 0 if there is no such item"
        )
        return "\n".join([title, *aligned(rows), legend])


def explain_items(
    k: int,
    epsilons: Number | Iterable[Number],
    delta: Number,
    *,
    k_bar: int | None = None,
    max_contributions: int | None = None,
    max_groups: int = 1,
) -> ItemPlans:
    """Return how many users an item needs to show, for several epsilons; no data is touched.

    Args:
        k, k_bar, delta, max_contributions: as for `tables.top_items`.
        epsilons: total costs to compare, one or several.
        max_groups: as for `tables.top_items_by_group`; 1 also where there are no groups.

    Raises:
        ParameterError: a parameter is wrong, or there is no epsilon.

    Example:
        >>> from safeselect.planning import explain_items
        >>> print(explain_items(5, ["0.5", 1, 2], "1e-7"))
        top 5 of an unknown domain, 50 items compete, delta = 1e-7; no counts
        epsilon  an item needs about  noise rate...
        0.5      214 users            0.1112...
        1        110 users            0.2189...
        2        56 users             0.4308...
        users more than the item in place 51 has, to show with probability 0.95; 0 if ...
    """
    count = integer(k, "k", minimum=1, maximum=2**20)
    places = read_k_bar(count, k_bar)
    cap = read_contributions(max_contributions)
    groups = integer(max_groups, "max_groups", minimum=1, maximum=2**31 - 1)
    totals = [read_total(each, delta) for each in each_of(epsilons)]
    plans = [plan_items(total, count, places, cap, groups) for total in totals]
    return ItemPlans(count, places, read_total(1, delta).delta, cap, groups, tuple(plans))


def read_k_bar(k: int, k_bar: object) -> int:
    """How many items compete: one number, with its default."""
    stated = COMPETING * k if k_bar is None else integer(k_bar, "k_bar", minimum=1, maximum=2**20)
    _, places, _ = read_places(k, stated)
    return places


def plan_items(total: ApproximateDP, k: int, k_bar: int, cap: int | None, groups: int) -> ItemPlan:
    """What one total buys; the arguments are those of `explain_items`, read and checked."""
    if cap is None:
        query, _ = plan_list(total, (k, k_bar, k_bar), None, draws=groups * k, lists=groups)
        each = query.epsilon
        offset = query.offset_in_counts(k_bar)
        # Item and bottom have Gumbel noise: the difference is logistic.
        users = ceil(offset + rounded_up(_log_odds) / each)
        return ItemPlan(total.epsilon, each, offset, users, None)
    each = total.epsilon / groups / cap
    offset = Fraction(1 + laplace_offset(each, total.delta / groups, min(k_bar, cap)))
    deviation = CountNoise.of(total.epsilon / groups, cap).standard_deviation
    return ItemPlan(total.epsilon, each, offset, ceil(offset) + _lead(each), deviation)


def _log_odds(bits: int) -> Interval:
    return Interval.of(_CHANCE / (1 - _CHANCE), bits).log()


def _lead(rate: Fraction) -> int:
    """The least t such that the noise of the bottom exceeds an item's by t at most 1 time in 20."""

    def enough(t: int) -> bool:
        chance = laplace_failure(rate, t, 128)
        return bool(chance.bounded and chance.fractions()[1] <= 1 - _CHANCE)

    high = 1
    while not enough(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high

"""How many users a key needs to be kept by `select_partitions`; before any data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.cost import rounded_text
from safeselect.exact.parameters import Number
from safeselect.mechanisms.keys import Terms
from safeselect.planning._numbers import aligned, decimal, each_of
from safeselect.promises.guarantees import ApproximateDP
from safeselect.selection._results import presented

_CHANCES = Fraction(1, 2), Fraction(19, 20)


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """What one epsilon buys where keys are kept one by one.

    Attributes:
        epsilon: the total cost, with delta.
        each: what the decision about one key costs.
        even_odds: the fewest users with which a key is kept with probability 1/2 or more.
        users: the same for 19/20.
        certain: the fewest users with which a key is always kept.
        standard_deviation: of the noise of a count, rounded up to a thousandth; None where no
            counts are released.
        noise_95: with counts, (low, high) between which the noise of a count lies with probability
            0.95 or more, before any key is left out: the users are the count less so much.
    """

    epsilon: Fraction
    each: ApproximateDP
    even_odds: int
    users: int
    certain: int
    standard_deviation: Fraction | None
    noise_95: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class KeyPlans:
    """Plans for several epsilons, in their order; `print` shows a table.

    Attributes:
        delta, max_partitions, pre_threshold, with_counts: as asked.
        plans: one for each epsilon.
    """

    delta: Fraction
    max_partitions: int
    pre_threshold: int
    with_counts: bool
    plans: tuple[KeyPlan, ...]

    plot = presented("plot_items", "A matplotlib figure of users against epsilon.")

    def to_dict(self) -> dict[str, list[Fraction | int | None]]:
        """The columns epsilon, even_odds, users, certain and standard_deviation, exact."""
        return {
            "epsilon": [plan.epsilon for plan in self.plans],
            "even_odds": [plan.even_odds for plan in self.plans],
            "users": [plan.users for plan in self.plans],
            "certain": [plan.certain for plan in self.plans],
            "standard_deviation": [plan.standard_deviation for plan in self.plans],
        }

    def __str__(self) -> str:
        most = self.max_partitions
        keys = "1 key" if most == 1 else f"{most} keys"
        least = "" if self.pre_threshold == 1 else f", never below {self.pre_threshold} users"
        title = (
            f"keys kept one by one, a user counts for {keys} at most, "
            f"delta = {rounded_text(self.delta)}{least}"
        )
        rows = [("epsilon", "a key needs about", "even odds", "always", "standard deviation")]
        for plan in self.plans:
            deviation = plan.standard_deviation
            rows.append(
                (
                    rounded_text(plan.epsilon),
                    f"{plan.users} users",
                    str(plan.even_odds),
                    str(plan.certain),
                    "-" if deviation is None else decimal(deviation),
                )
            )
        legend = (
            "users as they are counted, to be kept with probability 0.95, 0.5 and 1; standard "
            "deviation of a count"
        )
        return "\n".join([title, *aligned(rows), legend])


def explain_keys(
    epsilons: Number | Iterable[Number],
    delta: Number,
    *,
    max_partitions: int = 1,
    pre_threshold: int = 1,
    with_counts: bool = False,
) -> KeyPlans:
    """Return how many users a key needs to be kept, for several epsilons; no data is touched.

    Exactness: read off the table that `select_partitions` draws from.

    Args:
        epsilons: total costs to compare, one or several.
        delta, max_partitions, pre_threshold, with_counts: as for `select_partitions`.

    Raises:
        ParameterError: a parameter is wrong, or there is no epsilon.

    Example:
        >>> from safeselect.planning import explain_keys
        >>> print(explain_keys(["0.5", 1], "1e-6", with_counts=True))
        keys kept one by one, a user counts for 1 key at most, delta = 0.000001
        epsilon  a key needs about  even odds  always  standard deviation
        0.5      30 users           26         51      2.822
        1        16 users           14         28      1.380
        users as they are counted, to be kept with probability 0.95, 0.5 and 1; ...
    """
    plans = []
    for epsilon in each_of(epsilons):
        terms = Terms.read(epsilon, delta, max_partitions, pre_threshold, with_counts)
        plans.append(plan_keys(terms))
    shared = terms.max_partitions, terms.pre_threshold, terms.with_counts
    return KeyPlans(terms.total.delta, *shared, tuple(plans))


def plan_keys(terms: Terms) -> KeyPlan:
    """What these terms buy."""
    table, above = terms.table, terms.pre_threshold - 1
    even_odds, users = map(table.first_row, _CHANCES)
    found = terms.total.epsilon, terms.each, even_odds + above, users + above, table.certain + above
    if not terms.with_counts:
        return KeyPlan(*found, None, None)
    return KeyPlan(*found, table.standard_deviation, table.noise_95)

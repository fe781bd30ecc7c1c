"""In how many groups to count a user: few lose users, many share the budget; before any data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from safeselect.accounting.cost import PrivacyCost, rounded_text
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.mechanisms.unknown import read_contributions, read_total
from safeselect.planning._numbers import aligned, decimal, each_of
from safeselect.planning.items import plan_items, read_k_bar
from safeselect.promises.guarantees import ApproximateDP
from safeselect.scores.reading import flag
from safeselect.selection._results import presented
from safeselect.selection._table import TABLE, read_choice

Need = Callable[[int], tuple[Fraction, Fraction | None]]
"""max_groups -> users that an item needs, as they are counted; standard deviation of a count."""
_MOST = 2**31 - 1
_CHANCE = Fraction(19, 20)  # of two items, to come out in their order


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What one `max_groups` does at one epsilon.

    Attributes:
        epsilon: the total cost.
        max_groups: in how many groups a user is counted at most.
        kept: the share of pairs of user and group that are counted.
        users: so many users, counted or not, an item of a group needs about: see `GroupPlans`.
        standard_deviation: of a released count; None where no counts are released.
    """

    epsilon: Fraction
    max_groups: int
    kept: Fraction
    users: int
    standard_deviation: Fraction | None


@dataclass(frozen=True, slots=True)
class GroupPlans:
    """Plans for each epsilon and each `max_groups`; `print` shows a table.

    Where the domain is unknown, `users` is how many users more than the item in place k_bar + 1 an
    item needs, to show with probability 0.95. Where candidates are known, it is by how many users
    one of two items must lead, to come out before the other with probability 0.95.

    Attributes:
        k, groups: as asked.
        groups_per_user: number of groups -> share of the users, as stated.
        known: whether the candidates are known.
        plans: for each epsilon in its order, and there by `max_groups`.
    """

    k: int
    groups: int
    groups_per_user: Mapping[int, Fraction]
    known: bool
    plans: tuple[GroupPlan, ...]

    plot = presented("plot_groups", "A matplotlib figure of users against max_groups.")

    def best(self, epsilon: Number | None = None) -> GroupPlan:
        """The plan with the fewest users; of equal ones that which counts users in most groups.

        Args:
            epsilon: one of those asked about; needed if there are several.

        Raises:
            ParameterError: there are several, or not this one.
        """
        asked = {plan.epsilon for plan in self.plans}
        if epsilon is None and len(asked) > 1:
            raise ParameterError("say for which of the epsilons: best(epsilon=...)")
        chosen = min(asked) if epsilon is None else rational(epsilon, "epsilon")
        if chosen not in asked:
            raise ParameterError(f"epsilon must be one of those asked, got {describe(epsilon)}")
        mine = [plan for plan in self.plans if plan.epsilon == chosen]
        return min(mine, key=lambda plan: (plan.users, -plan.max_groups))

    def to_dict(self) -> dict[str, list[Fraction | int | None]]:
        """The columns epsilon, max_groups, kept, users and standard_deviation, exact."""
        names = "epsilon", "max_groups", "kept", "users", "standard_deviation"
        return {name: [getattr(plan, name) for plan in self.plans] for name in names}

    def __str__(self) -> str:
        listed = ", ".join(
            f"{decimal(100 * share)} % in {groups}"
            for groups, share in self.groups_per_user.items()
        )
        title = f"top {self.k} in each of {self.groups} groups; users, as stated: {listed}"
        rows = [("epsilon", "max_groups", "counted", "an item needs about", "")]
        for plan in self.plans:
            rows.append(
                (
                    rounded_text(plan.epsilon),
                    str(plan.max_groups),
                    f"{decimal(100 * plan.kept)} %",
                    f"{plan.users} users",
                    "best" if plan == self.best(plan.epsilon) else "",
                )
            )
        legend = (
            "users of all: by so many an item must lead another, to come before it with "
            "probability 0.95"
            if self.known
            else "users of all: so many more than the first item that does not compete, to show "
            "with probability 0.95"
        )
        return "\n".join([title, *aligned(rows), legend])


def explain_groups(
    k: int,
    epsilons: Number | Iterable[Number],
    delta: Number | None = None,
    *,
    groups: int,
    groups_per_user: int | Mapping[int, int],
    known: bool = False,
    k_bar: int | None = None,
    max_contributions: int | None = None,
    mechanism: str | None = None,
) -> GroupPlans:
    """Return what each `max_groups` does to lists by group, from *public* facts; touches no data.

    Method: a user of m groups counts in C of them, chosen by a hash that knows no sizes, so a group
        keeps the share min(m, C) / m of such users.  The noise is that of C lists.  An item needs
        so many counted users as the noise asks for, divided by the share of pairs that is kept.

    Args:
        k, delta, k_bar, max_contributions, mechanism: as for `top_items_by_group`.
        epsilons: total costs to compare, one or several.
        groups: how many groups there are.
        groups_per_user: in how many groups a usual user is; or number of groups -> number of users
            who are in so many.  From last year's figures, another market, or a guess; not from the
            table itself, whose distribution is private.
        known: whether the candidates are known, so that no bottom is needed.

    Raises:
        ParameterError: a parameter is wrong, or there is no epsilon.

    Example:
        >>> from safeselect.planning import explain_groups
        >>> plans = explain_groups(5, [1], "1e-7", groups=12, groups_per_user={1: 50, 12: 50})
        >>> plans.best().max_groups
        12
        >>> explain_groups(5, [1], "1e-7", groups=12, groups_per_user=1).best().max_groups
        1
    """
    count = integer(k, "k", minimum=1, maximum=2**20)
    size = integer(groups, "groups", minimum=1, maximum=_MOST)
    shares = read_groups_per_user(groups_per_user)
    plans = []
    for epsilon in each_of(epsilons):
        if flag(known, "known"):
            if (k_bar, max_contributions) != (None, None):
                raise ParameterError("k_bar and max_contributions go with an unknown domain")
            cost = PrivacyCost.read(epsilon=epsilon, rho=None, delta=delta)
            spent, need = cost.epsilon, need_known(cost, count, mechanism)
        else:
            total = read_total(epsilon, delta)
            places, cap = read_k_bar(count, k_bar), read_contributions(max_contributions)
            spent, need = total.epsilon, need_unknown(total, count, places, cap)
        for most, kept, (users, deviation) in _tried(size, shares, need):
            plans.append(GroupPlan(spent or Fraction(0), most, kept, ceil(users), deviation))
    return GroupPlans(count, size, shares, known, tuple(plans))


def best_max_groups(groups: int, shares: Mapping[int, Fraction], need: Need) -> int:
    """In how many groups to count a user, so that an item needs the fewest users."""
    tried = _tried(groups, shares, need)
    _, best = min((ceil(users), -most) for most, _, (users, _) in tried)
    return -best


def read_groups_per_user(groups_per_user: object) -> Mapping[int, Fraction]:
    """Read in how many groups users are: a number, or number of groups -> number of users.

    Returns:
        Number of groups -> share of the users.
    """
    if not isinstance(groups_per_user, Mapping):
        return {integer(groups_per_user, "groups_per_user", minimum=1, maximum=_MOST): Fraction(1)}
    users = {
        integer(each, "a number of groups", minimum=1, maximum=_MOST): integer(
            count, "a number of users", minimum=0, maximum=2**63 - 1
        )
        for each, count in groups_per_user.items()
    }
    every = sum(users.values())
    if not every:
        raise ParameterError("groups_per_user must name at least one user")
    return {each: Fraction(count, every) for each, count in sorted(users.items()) if count}


def need_known(cost: PrivacyCost, k: int, mechanism: object) -> Need:
    """By how many counted users one of two items must lead, where candidates are known.

    The other one wins with probability exp(-r t) / 2 by permute-and-flip, and 1 / (1 + exp(r t)) by
    the exponential mechanism, for a lead of t and noise of rate r.
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", ("permute_and_flip", "exponential"))
    name: Any = mechanism or ("permute_and_flip" if cost.is_pure else "exponential")
    missed = 1 - _CHANCE
    odds = 1 / (2 * missed) if name == "permute_and_flip" else _CHANCE / missed

    def need(most: int) -> tuple[Fraction, None]:
        rate = TABLE[name].calibrate(name, cost, Fraction(1), k, most).noise_rate.rate
        return rounded_up(lambda bits: Interval.of(odds, bits).log()) / rate, None

    return need


def need_unknown(total: ApproximateDP, k: int, k_bar: int, cap: int | None) -> Need:
    """How many counted users more than the first item that does not compete an item needs."""

    def need(most: int) -> tuple[Fraction, Fraction | None]:
        plan = plan_items(total, k, k_bar, cap, most)
        return Fraction(plan.users), plan.standard_deviation

    return need


def _tried(
    groups: int, shares: Mapping[int, Fraction], need: Need
) -> Iterator[tuple[int, Fraction, tuple[Fraction, Fraction | None]]]:
    """For each number of groups worth trying: the share that is kept, and what an item needs."""
    pairs = sum((share * min(each, groups) for each, share in shares.items()), Fraction(0))
    doubled = {1 << power for power in range(groups.bit_length())}
    for most in sorted({min(each, groups) for each in shares} | doubled | {groups}):
        counted = (share * min(each, most) for each, share in shares.items())
        kept = sum(counted, Fraction(0)) / pairs
        users, deviation = need(most)
        yield most, kept, (users / kept, deviation)

"""How many users an item, a key or a group needs.  Before any data.

A small cap on a user's items or groups hides users, a large one costs noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import Any

from safeselect.accounting.cost import PrivacyCost, rounded_text
from safeselect.errors import ParameterError
from safeselect.estimates.explain import aligned, decimal
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, describe, integer, rational, read_choice, read_exact
from safeselect.mechanisms.keys import Terms
from safeselect.mechanisms.table import calibrate
from safeselect.mechanisms.unknown import (
    laplace_offset,
    plan_of_list,
    read_contributions,
    read_places,
    read_total,
)
from safeselect.mechanisms.weighted_keys import WeightedTerms
from safeselect.promises.guarantees import ApproximateDP
from safeselect.release.page import Section, as_part
from safeselect.scores.reading import flag

_CHANCE = Fraction(19, 20)  # to show, to be kept, or of two items to come out in their order
COMPETING = 10  # times k: the default of k_bar, also of `top_items`
_MOST = 2**31 - 1
Need = Callable[[int], tuple[Fraction, Fraction | None]]
"""max_groups -> users needed for an item, as they are counted; standard deviation of a count."""
Column = list[Fraction | int | str | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The expected result of a call, computed from public numbers alone.

    A plan is for one value of epsilon and, with groups, for one value of `max_groups`.

    Attributes:
        epsilon: total cost.
        users: number of users with which an item or a key is released with probability 19/20,
            rounded up. For items it is the lead over the (k_bar + 1)-th item. For groups it
            includes users that are not counted; see `explain_groups`.
        standard_deviation: standard deviation of a released count; None if no counts are released.
        noise_rate: for items, the rate of the noise of a count, per user.
        offset: for items, the distance of the bottom above the (k_bar + 1)-th count, before noise.
        even_odds: for keys, the smallest number of users with which a key is kept with probability
            1/2 or more.
        certain: for keys, the smallest number of users with which a key is always kept.
        max_groups: largest number of groups in which a user is counted.
        kept: for groups, the share of pairs of user and group that are counted.
        noise: with `keys_per_user`, the law of keys: "table" or "gaussian".
        max_partitions: with `keys_per_user`, the cap with which this law needs the fewest users.
    """

    epsilon: Fraction
    users: int
    standard_deviation: Fraction | None = None
    noise_rate: Fraction | None = None
    offset: Fraction | None = None
    even_odds: int | None = None
    certain: int | None = None
    max_groups: int | None = None
    kept: Fraction | None = None
    noise: str | None = None
    max_partitions: int | None = None


_SHOWN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "epsilon": ("epsilon", rounded_text),
    "max_groups": ("max_groups", str),
    "noise": ("noise", str),
    "max_partitions": ("max_partitions", str),
    "kept": ("counted", lambda kept: f"{decimal(100 * kept)} %"),
    "users": ("users needed", str),
    "even_odds": ("even odds", str),
    "certain": ("always", str),
    "noise_rate": ("noise rate", decimal),
    "offset": ("offset", decimal),
    "standard_deviation": ("standard deviation", rounded_text),
}
"""The columns of plans, each where it has values: its heading, and how a value is written."""


@dataclass(frozen=True, slots=True)
class Plans:
    """A table of the expected results of calls that differ in epsilon or in another parameter.

    Each row is a `Plan`. `print` shows the table.

    Attributes:
        title: one line that describes the query.
        plans: a plan for each epsilon or, with groups, for each epsilon and each `max_groups`.
        legend: one line that describes the columns of the table.
    """

    title: str
    plans: tuple[Plan, ...]
    legend: str

    def best(self, epsilon: Number | None = None) -> Plan:
        """Return the plan that requires the fewest users.

        Ties are broken in favour of more groups.

        Args:
            epsilon: one of the compared values; required if there are several.

        Raises:
            ParameterError: epsilon is missing although there are several, or is not one of them.
        """
        asked = {plan.epsilon for plan in self.plans}
        if epsilon is None and len(asked) > 1:
            raise ParameterError("the table has several epsilons; pass one: best(epsilon=...)")
        chosen = min(asked) if epsilon is None else rational(epsilon, "epsilon")
        if chosen not in asked:
            raise ParameterError(f"epsilon must be a value in the table, got {describe(epsilon)}")
        return _best(plan for plan in self.plans if plan.epsilon == chosen)

    def to_dict(self) -> dict[str, Column]:
        """Return the table as a dict that maps each column name to a list of exact values."""
        columns = {name: [getattr(plan, name) for plan in self.plans] for name in _SHOWN}
        return {name: column for name, column in columns.items() if column[0] is not None}

    def __str__(self) -> str:
        return "\n".join([self.title, *aligned(self._rows()), self.legend])

    def _repr_html_(self) -> str:
        return as_part(Section(self.title, {}, {self.legend: self._rows()})).text

    def _rows(self) -> list[tuple[str, ...]]:
        columns = [
            [_SHOWN[name][0], *map(_SHOWN[name][1], column)]
            for name, column in self.to_dict().items()
        ]
        if len({plan.epsilon for plan in self.plans}) < len(self.plans):
            best = ["best" if plan == self.best(plan.epsilon) else "" for plan in self.plans]
            columns.append(["", *best])
        return list(zip(*columns, strict=True))


def _best(plans: Iterable[Plan]) -> Plan:
    return min(plans, key=lambda plan: (plan.users, -(plan.max_groups or 1)))


def _each_of(epsilons: Number | Iterable[Number]) -> list[Number]:
    """One epsilon or several, as a list; text is one number.

    Raises:
        ParameterError: there is none.
    """
    one = isinstance(epsilons, str) or not isinstance(epsilons, Iterable)
    found: list[Any] = [epsilons] if one else [*epsilons]  # type: ignore[misc]  # told by `one`
    if not found:
        raise ParameterError("pass at least one epsilon")
    return found


def explain_items(
    k: int,
    epsilons: Number | Iterable[Number],
    delta: Number,
    *,
    k_bar: int | None = None,
    max_contributions: int | None = None,
    with_counts: bool = False,
    max_groups: int = 1,
) -> Plans:
    """Return the lead, in users, that an item must have in order to be released with probability
    0.95, for each given epsilon.

    It is the lead over the item in place k_bar + 1, or over 0 if there is no such item.

    Args:
        k, k_bar, delta, max_contributions, with_counts: as for `tables.top_items`.
        epsilons: one or several total costs to compare.
        max_groups: as for `tables.top_items_by_group`; 1 without groups.

    Raises:
        ParameterError: a parameter is wrong, or epsilons is empty.

    Example:
        >>> from safeselect.estimates import explain_items
        >>> print(explain_items(5, ["0.5", 1, 2], "1e-7"))
        top 5 of an unknown domain, 50 items considered, delta = 1e-7; no counts
        epsilon  users needed  noise rate...
        0.5      214           0.1112...
        1        110           0.2189...
        2        56            0.4308...
        lead in users over the item in place 51 (0 if none) to be shown ...
    """
    count = integer(k, "k", minimum=1, maximum=2**20)
    places = read_k_bar(count, k_bar)
    cap = read_contributions(max_contributions)
    groups = integer(max_groups, "max_groups", minimum=1, maximum=2**31 - 1)
    totals = [read_total(each, delta) for each in _each_of(epsilons)]
    uncapped = flag(with_counts, "with_counts") and cap is None
    if uncapped and groups > 1:
        raise ParameterError("with_counts requires max_contributions if max_groups is above 1")
    plans = [plan_items(total, count, places, cap, groups, uncapped) for total in totals]
    counts = "counts, all items of each user" if uncapped else "no counts"
    if cap is not None:
        counts = f"counts, each user for at most {cap} items"
    return Plans(
        f"top {count} of an unknown domain, {places} items considered, delta = "
        f"{rounded_text(totals[0].delta)}; {counts}"
        + ("" if groups == 1 else f", each user in at most {groups} groups"),
        tuple(plans),
        f"lead in users over the item in place {places + 1} (0 if none) to be shown with "
        "probability 0.95",
    )


def read_k_bar(k: int, k_bar: object) -> int:
    """How many items compete: one number, with its default."""
    stated = COMPETING * k if k_bar is None else integer(k_bar, "k_bar", minimum=1, maximum=2**20)
    _, places, _ = read_places(k, stated)
    return places


def plan_items(
    total: ApproximateDP, k: int, k_bar: int, cap: int | None, groups: int, uncapped: bool = False
) -> Plan:
    """What one total buys; the arguments are those of `explain_items`, read and checked.

    Args:
        uncapped: whether counts are released without a cap; then there are no groups.
    """
    places, capped = (k, k_bar, k_bar), cap is not None
    plan = plan_of_list(total, places, cap, laplace=capped, with_counts=uncapped, lists=groups)
    each, offset = read_exact(plan.said["noise_rate"]), read_exact(plan.said["offset"])
    deviation = plan.said.get("noise_deviation")
    if capped:
        # The bottom's noise exceeds an item's by so many users, or more, at most 1 time in 20.
        users = int(offset) + 1 + laplace_offset(each, 1 - _CHANCE, 1)
    else:
        # Item and bottom have Gumbel noise: the difference is logistic.
        users = ceil(offset + _log(_CHANCE / (1 - _CHANCE)) / each)
    noise = None if deviation is None else read_exact(deviation)
    return Plan(total.epsilon, users, noise, each, offset)


def _log(odds: Fraction) -> Fraction:
    return rounded_up(lambda bits: Interval.of(odds, bits).log())


def explain_keys(
    epsilons: Number | Iterable[Number],
    delta: Number,
    *,
    max_partitions: int = 1,
    pre_threshold: int = 1,
    with_counts: bool = False,
    keys_per_user: int | Mapping[int, int] | None = None,
) -> Plans:
    """Return the number of users that a key must have in order to be kept with probability 0.95,
    for each given epsilon.

    With `keys_per_user` it compares the two laws of `tables.select_keys`. The facts are public, and
    no data is read. For each `noise` the result has the cap with which a key needs the fewest
    users. With a cap, not all keys of a user count; a weight reduces the user's part in each key.

    Exactness: the numbers come from the table that `select_partitions` uses.

    Args:
        epsilons: total costs to compare, one or several.
        delta, max_partitions, pre_threshold, with_counts: as for `select_partitions`.
        keys_per_user: number of keys that a typical user has, or a mapping from such numbers to
            numbers of users. Do not take it from the table itself, whose distribution is private.

    Raises:
        ParameterError: a parameter is wrong, or epsilons is empty.

    Example:
        >>> from safeselect.estimates import explain_keys
        >>> print(explain_keys(["0.5", 1], "1e-6", with_counts=True))
        keys kept independently, each user counts for at most 1 key, delta = 0.000001
        epsilon  users needed  even odds  always  standard deviation
        0.5      30            26         51      2.822
        1        16            14         28      1.38
        counted users needed to be kept with probability 0.95, 0.5 and 1; ...
        >>> explain_keys(1, "1e-6", keys_per_user=100).best().noise
        'gaussian'
    """
    if keys_per_user is not None:
        if (max_partitions, pre_threshold, with_counts) != (1, 1, False):
            raise ParameterError(
                "keys_per_user cannot be used with max_partitions, pre_threshold or with_counts"
            )
        return _both_laws(_each_of(epsilons), delta, _read_per_user(keys_per_user, "keys"))
    asked = max_partitions, pre_threshold, with_counts
    every = [Terms.read(epsilon, delta, *asked) for epsilon in _each_of(epsilons)]
    terms = every[0]
    most, least = terms.max_partitions, terms.pre_threshold
    return Plans(
        f"keys kept independently, each user counts for at most {most} "
        f"{'key' if most == 1 else 'keys'}, delta = {rounded_text(terms.total.delta)}"
        + ("" if least == 1 else f", never below {least} users"),
        tuple(map(plan_keys, every)),
        "counted users needed to be kept with probability 0.95, 0.5 and 1"
        + "; standard deviation of a count" * terms.with_counts,
    )


def _both_laws(epsilons: Iterable[Number], delta: Number, shares: Mapping[int, Fraction]) -> Plans:
    """For each epsilon and each law of keys the cap that needs the fewest users."""
    totals = [read_total(each, delta) for each in epsilons]
    size = max(shares)
    caps = sorted({1 << power for power in range(size.bit_length())} | {*shares})
    laws = {"table": _by_table, "gaussian": _by_weights}
    plans: list[Plan] = []
    for total in totals:
        for noise, need in laws.items():
            tried = []
            for cap in caps:
                with suppress(ParameterError):  # a cap that this cost does not permit
                    users = ceil(need(total, cap, shares) * _counted(shares, size))
                    tried.append(Plan(total.epsilon, users, noise=noise, max_partitions=cap))
            plans += [_best(tried)] if tried else []
    if not plans:
        raise ParameterError("epsilon is too small for either kind of noise; use a larger epsilon")
    return Plans(
        f"keys, users as stated: {_listed(shares)}, delta = {rounded_text(totals[0].delta)}",
        tuple(plans),
        "users, before any cap, who must have a key for it to be kept with probability 0.95",
    )


def _by_table(total: ApproximateDP, cap: int, shares: Mapping[int, Fraction]) -> Fraction:
    """Users needed for a key, for each key that a user has on average."""
    terms = Terms.read(total.epsilon, total.delta, cap, 1, False)
    return terms.table.first_row(_CHANCE) / _counted(shares, cap)


def _by_weights(total: ApproximateDP, cap: int, shares: Mapping[int, Fraction]) -> Fraction:
    """The same, where users count by weights."""
    terms = WeightedTerms.read(total.epsilon, total.delta, cap)
    held = [(share, min(each, cap)) for each, share in shares.items()]
    weighed = [share * keys * isqrt(terms.squared // keys) for share, keys in held]
    return terms.needed(_CHANCE) / sum(weighed, Fraction(0))


def plan_keys(terms: Terms) -> Plan:
    """What these terms buy."""
    table, above = terms.table, terms.pre_threshold - 1
    even_odds, users = map(table.first_row, (Fraction(1, 2), _CHANCE))
    return Plan(
        terms.total.epsilon,
        users + above,
        table.noise.deviation if terms.with_counts else None,
        even_odds=even_odds + above,
        certain=table.certain + above,
    )


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
) -> Plans:
    """Compare values of `max_groups`, the largest number of groups in which a user is counted.

    The comparison uses *public* facts and reads no data.

    Method: a user of m groups counts in C of them. A hash chooses these groups independently of
        their size, so a group keeps the share min(m, C) / m of such users. The noise is that of C
        lists. The number of users that an item needs is the number of counted users that the noise
        requires, divided by the share of pairs that is kept.

    Returns:
        Plans for each epsilon in the given order, and for each `max_groups`. In an unknown domain,
        `users` is the lead in users over the item in place k_bar + 1 with which an item is released
        with probability 0.95. With known candidates, it is the lead in users with which one of two
        items is ranked before the other with probability 0.95.

    Args:
        k, delta, k_bar, max_contributions, mechanism: as for `top_items_by_group`.
        epsilons: one or several total costs to compare.
        groups: number of groups.
        groups_per_user: number of groups that a typical user belongs to, or a mapping from such
            numbers to numbers of users. Take it from last year's figures, another market, or a
            guess; not from the table itself, whose distribution is private.
        known: whether the candidates are known, so that no bottom is needed.

    Raises:
        ParameterError: a parameter is wrong, or epsilons is empty.

    Example:
        >>> from safeselect.estimates import explain_groups
        >>> plans = explain_groups(5, [1], "1e-7", groups=12, groups_per_user={1: 50, 12: 50})
        >>> plans.best().max_groups
        12
        >>> explain_groups(5, [1], "1e-7", groups=12, groups_per_user=1).best().max_groups
        1
    """
    count = integer(k, "k", minimum=1, maximum=2**20)
    size = integer(groups, "groups", minimum=1, maximum=_MOST)
    shares = read_groups_per_user(groups_per_user)
    plans: list[Plan] = []
    for epsilon in _each_of(epsilons):
        if flag(known, "known"):
            if (k_bar, max_contributions) != (None, None):
                raise ParameterError("k_bar and max_contributions cannot be used with known=True")
            cost = PrivacyCost.read(epsilon=epsilon, rho=None, delta=delta)
            spent, need = cost.epsilon, need_known(cost, count, mechanism)
        else:
            total = read_total(epsilon, delta)
            places, cap = read_k_bar(count, k_bar), read_contributions(max_contributions)
            spent, need = total.epsilon, need_unknown(total, count, places, cap)
        plans += _tried(spent or Fraction(0), size, shares, need)
    leads = (
        "lead another to be ranked above it"
        if known
        else "lead the first unconsidered item to be shown"
    )
    return Plans(
        f"top {count} in each of {size} groups; users as stated: {_listed(shares)}",
        tuple(plans),
        f"users, before any cap, by which an item must {leads} with probability 0.95",
    )


def _listed(shares: Mapping[int, Fraction]) -> str:
    return ", ".join(f"{decimal(100 * share)} % in {each}" for each, share in shares.items())


def best_max_groups(groups: int, shares: Mapping[int, Fraction], need: Need) -> int:
    """In how many groups to count a user, so that an item needs the fewest users."""
    return _best(_tried(Fraction(0), groups, shares, need)).max_groups or 1


def read_groups_per_user(groups_per_user: object) -> Mapping[int, Fraction]:
    """Read in how many groups users are: a number, or a mapping from such numbers to users.

    Returns:
        Number of groups -> share of the users.
    """
    return _read_per_user(groups_per_user, "groups")


def _read_per_user(stated: object, what: str) -> Mapping[int, Fraction]:
    name = f"{what}_per_user"
    if not isinstance(stated, Mapping):
        return {integer(stated, name, minimum=1, maximum=_MOST): Fraction(1)}
    users = {
        integer(each, f"a number of {what}", minimum=1, maximum=_MOST): integer(
            count, "a number of users", minimum=0, maximum=2**63 - 1
        )
        for each, count in stated.items()
    }
    every = sum(users.values())
    if not every:
        raise ParameterError(f"{name} must include at least one user")
    return {each: Fraction(count, every) for each, count in sorted(users.items()) if count}


def need_known(cost: PrivacyCost, k: int, mechanism: object) -> Need:
    """By how many counted users one of two items must lead, where candidates are known.

    The other one wins with probability exp(-r t) / 2 by permute-and-flip, and 1 / (1 + exp(r t)) by
    the exponential mechanism, for a lead of t and noise of rate r.
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", ("permute_and_flip", "exponential"))
    name = str(mechanism or ("permute_and_flip" if cost.is_pure else "exponential"))
    missed = 1 - _CHANCE
    odds = 1 / (2 * missed) if name == "permute_and_flip" else _CHANCE / missed

    def need(most: int) -> tuple[Fraction, None]:
        one = Fraction(1)
        rate = calibrate(f"top_k_many_{name}", cost, one, one, k, most).noise_rate.rate
        return _log(odds) / rate, None

    return need


def need_unknown(total: ApproximateDP, k: int, k_bar: int, cap: int | None) -> Need:
    """How many counted users more than the first item that does not compete an item needs."""

    def need(most: int) -> tuple[Fraction, Fraction | None]:
        plan = plan_items(total, k, k_bar, cap, most)
        return Fraction(plan.users), plan.standard_deviation

    return need


def _tried(
    epsilon: Fraction, groups: int, shares: Mapping[int, Fraction], need: Need
) -> list[Plan]:
    """A plan for each number of groups that is worth trying."""
    doubled = {1 << power for power in range(groups.bit_length())}
    plans = []
    for most in sorted({min(each, groups) for each in shares} | doubled | {groups}):
        kept = _counted(shares, most) / _counted(shares, groups)
        users, deviation = need(most)
        plans.append(Plan(epsilon, ceil(users / kept), deviation, max_groups=most, kept=kept))
    return plans


def _counted(shares: Mapping[int, Fraction], most: int) -> Fraction:
    """For how many groups a user counts on average; for so many at most."""
    return sum((share * min(each, most) for each, share in shares.items()), Fraction(0))

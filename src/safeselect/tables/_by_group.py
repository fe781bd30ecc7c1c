"""From a table to the best items of each group, in one release with one charge.

A user is counted in at most `max_groups` groups, chosen by a hash of the user and the group, so a
user changes what is computed in so many groups only.  The release costs as many draws as those
groups make, not as many as all groups make: in the others nothing depends on the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Literal

from safeselect.accounting.cost import PrivacyCost, caution
from safeselect.errors import InputError, ParameterError
from safeselect.estimates.users import (
    Need,
    best_max_groups,
    need_known,
    need_unknown,
    read_groups_per_user,
    read_k_bar,
)
from safeselect.exact.parameters import Number, describe, integer
from safeselect.mechanisms.groups import (
    ALL,
    GroupedTopK,
    Tables,
    plan_known,
    plan_unknown,
    release_by_group,
)
from safeselect.mechanisms.unknown import read_contributions, read_total
from safeselect.promises.records import exact_text
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Scope, read_ledger, unit_of
from safeselect.scores.counts import check_unit
from safeselect.selection._table import Peeled
from safeselect.tables._keyed import Keyed, open_keyed
from safeselect.tables._keys import read_labels, warn_if_same
from safeselect.tables._sql import AMONG_CANDIDATES, GROUPED_COUNTS


def top_items_by_group(
    table: object,
    *,
    group: str,
    item: str,
    user: str,
    k: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    groups: Iterable[str | int] | None = None,
    groups_are_public: bool = False,
    max_groups: int | Literal["all"] | None = None,
    groups_per_user: int | Mapping[int, int] | None = None,
    candidates: Iterable[str | int] | None = None,
    k_bar: int | None = None,
    max_contributions: int | None = None,
    mechanism: Peeled | None = None,
    unit: str | None = None,
    memory: str | None = None,
    progress: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> GroupedTopK:
    """Choose, for each group of a public list, the k items with the most distinct users.

    A user is counted in at most `max_groups` groups, chosen by a fixed hash; the adapter enforces
    it.  With 1, each group gets the whole budget, and a user of several groups counts in one of
    them; with more, users count in more groups, and each gets a part.  "all" drops nobody.

    Guarantee: that of `max_groups` lists together: ApproximateDP(epsilon, delta) where the domain
        is unknown, otherwise that of `top_k_many` with max_rows=max_groups.  It is one release.
    Neighbours: tables that differ by all rows of one user.
    Method: unknown domain: `unknown_domain_top_k` in each group, with the noise of max_groups k
        draws, and delta shared by the bottoms of max_groups groups; with `max_contributions`, each
        group gets epsilon / max_groups and delta / max_groups.  Known candidates: `top_k_many`.

    Args:
        group: the column that says to which group a row belongs.
        groups: the groups, all different; made without looking at the table.  Rows of others are
            dropped before the hash chooses.
        groups_are_public: assert instead that the set of groups in the table is public.
        max_groups: in how many groups a user counts at most; 1 by default.
        groups_per_user: instead, in how many groups a usual user is, or number of groups -> number
            of users who are in so many; a *public* fact, such as last year's figures. Then
            max_groups is that with which an item needs the fewest users: `explain_groups`.
        candidates: the items to choose from in each group; without them the items are private too.
        max_contributions: in an unknown domain, the most items of a group for which a user counts;
            the result has noisy counts too.
        k_bar: how many items compete in each group of an unknown domain; 10 k by default.
        mechanism: as for `top_k_many`, where the candidates are known.
        table, item, user, k, epsilon, delta, rho, unit, memory, progress, source, ledger: as for
            `top_items`.

    Returns:
        GroupedTopK: a row for each group, in the order of `groups`.

    Raises:
        InputError, ParameterError, BudgetError, SourceError: as for `top_items`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import top_items_by_group
        >>> trips = pyarrow.table(
        ...     {
        ...         "month": ["May"] * 1000 + ["June"] * 1000,
        ...         "city": ["Rome"] * 1000 + ["Oslo"] * 1000,
        ...         "rider": range(2000),
        ...     }
        ... )
        >>> found = top_items_by_group(
        ...     trips,
        ...     group="month",
        ...     groups=["May", "June", "July"],
        ...     item="city",
        ...     user="rider",
        ...     k=1,
        ...     epsilon=1,
        ...     delta="1e-9",
        ... )
        >>> found["June"], found["July"]
        (('Oslo',), ())
    """
    scope = read_ledger(ledger, monotonic=True)
    check_unit(unit, unit_of(scope))
    warn_if_same(item, user)
    if isinstance(group, str) and group in (item, user):
        what = "item" if group == item else "user"
        caution(f"group and {what} are the same column, so that every group has one {what}")
    count = integer(k, "k", minimum=1, maximum=2**20)
    stated = None if groups is None else read_labels(groups, "group")
    if (stated is None) is not groups_are_public:
        raise ParameterError(
            "say which groups there are: groups=[...], a list made without looking at the table, "
            "or groups_are_public=True if the set of groups in the table is public knowledge"
        )
    known = None if candidates is None else read_labels(candidates)
    if known is not None and (k_bar, max_contributions) != (None, None):
        raise ParameterError("k_bar and max_contributions go with an unknown domain")
    if known is None and mechanism is not None:
        raise ParameterError("mechanism goes with known candidates")
    bytes_from = resolve(source)
    with ExitStack() as stack:
        keyed = stack.enter_context(open_keyed(table, item, user, memory, progress, group))
        public = keyed.groups() if stated is None else stated
        # Cell -> label as it was stated.
        read_as = public if stated is None else keyed.as_read(stated, "grp")
        items = {} if known is None else dict(zip(keyed.as_read(known), known, strict=True))
        names = dict(zip(read_as, public, strict=True))
        if not public:
            raise InputError("the table has no group, and its set of groups is public")
        stated_facts = groups_per_user, len(public)
        if known is not None:
            cost = PrivacyCost.read(epsilon=epsilon, rho=rho, delta=delta)
            changed = _read_max_groups(
                max_groups, *stated_facts, need_known(cost, count, mechanism)
            )
            plan = plan_known(cost, known, count, changed, mechanism)
        else:
            if rho is not None:
                raise ParameterError("an unknown domain needs epsilon and delta, not rho")
            bound, total = read_contributions(max_contributions), read_total(epsilon, delta)
            places = read_k_bar(count, k_bar)
            changed = _read_max_groups(
                max_groups, *stated_facts, need_unknown(total, count, places, bound)
            )
            plan = plan_unknown(total, (count, places), changed, bound)
        sql = GROUPED_COUNTS.format(
            groups=changed,
            places=plan.places,
            contributions=ALL if max_contributions is None else max_contributions,
            known="" if known is None else AMONG_CANDIDATES,
        )
        parameters = {"k": str(count)}
        parameters |= {} if known is None else {"candidates": str(len(known))}
        if groups_per_user is not None:
            parameters["groups_per_user"] = _stated(groups_per_user)
        if max_contributions is not None:
            parameters["max_contributions"] = str(max_contributions)

        def read() -> Tables:
            return _read(stack, keyed, sql, names, None if known is None else items)

        return release_by_group(
            plan, public, changed, parameters, bytes_from, read, unit=unit, scope=scope
        )


def _read_max_groups(max_groups: object, per_user: object, size: int, need: Need) -> int:
    """In how many groups a user counts at most: as stated, or the best for the stated facts."""
    if per_user is not None:
        if max_groups is not None:
            raise ParameterError("say either max_groups or groups_per_user, which chooses it")
        return best_max_groups(size, read_groups_per_user(per_user), need)
    if max_groups is None:
        return 1
    if isinstance(max_groups, str) and max_groups == "all":
        return size
    if isinstance(max_groups, str):
        raise ParameterError(f"max_groups must be an integer or 'all', got {describe(max_groups)}")
    # No user is in more groups than there are.
    return min(size, integer(max_groups, "max_groups", minimum=1, maximum=2**31 - 1))


def _read(
    opened: ExitStack,
    keyed: Keyed,
    sql: str,
    groups: Mapping[str, str],
    known: Mapping[str, str] | None,
) -> Tables:
    """The counts of each group; closes the table, so that nothing is open while noise is drawn.

    Args:
        groups, known: from what a cell holds to the label as it was stated.
    """
    found: dict[str, dict[str, int]] = {name: {} for name in groups.values()}
    with opened:
        cells = keyed.fetch_grouped(sql, [*groups], None if known is None else [*known])
        for group, item, users in cells:
            found[groups[group]][item if known is None else known[item]] = users
    return found


def _stated(per_user: object) -> str:
    """The stated facts as text: the share of users in so many groups."""
    facts = read_groups_per_user(per_user)
    return ", ".join(
        "users" * (share == 1) + f"{exact_text(share)} of users" * (share != 1) + f" in {groups}"
        for groups, share in facts.items()
    )

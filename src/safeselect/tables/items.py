"""From a table to counts of users, and in one call to a release: of items, of keys, of a cap.

Where there are groups, a user is counted in at most `max_groups` of them, chosen by a hash of the
user and the group, so a user changes what is computed in so many groups only.  The release costs as
many draws as those groups make, not as many as all groups make: in the others nothing depends on
the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from safeselect.accounting.cost import PrivacyCost, caution, rounded_text
from safeselect.errors import InputError, ParameterError
from safeselect.estimates.users import (
    COMPETING,
    Need,
    best_max_groups,
    need_known,
    need_unknown,
    read_groups_per_user,
    read_k_bar,
)
from safeselect.exact.parameters import Number, exact_text, integer, rational, read_choice
from safeselect.ledger import Scope
from safeselect.mechanisms.groups import Tables, plan_known, plan_unknown, release_by_group
from safeselect.mechanisms.keys import KeyTerms, Terms, release_keys
from safeselect.mechanisms.select import permute_and_flip, top_k
from safeselect.mechanisms.table import Mechanism, Peeled
from safeselect.mechanisms.unknown import (
    read_contributions,
    read_places,
    read_total,
    unknown_domain_top_k,
)
from safeselect.mechanisms.weighted_keys import KeyNoise, WeightedTerms
from safeselect.randomness.source import Source, resolve
from safeselect.release import results
from safeselect.release.call import is_replaced
from safeselect.release.display import library
from safeselect.release.results import Selection, TopK
from safeselect.scores.counts import Counts
from safeselect.scores.reading import flag
from safeselect.tables.keys import (
    Keyed,
    check_scope,
    closing_after,
    open_keyed,
    read_labels,
    warn_if_same,
)
from safeselect.tables.sql import ITEMS_PER_USER, counts_of_groups, counts_of_items

_NEEDS_DELTA = (
    "an unknown domain requires epsilon and delta; or pass candidates=, a list made without "
    "looking at the data, or candidates_are_public=True if the set of items in the table is "
    "public knowledge"
)
_DEAR = 16  # for a cap: 8 nats between neighbouring caps that do as well


def count_distinct_users(
    table: object,
    *,
    item: str,
    user: str,
    candidates: Iterable[str | int] | None = None,
    places: int | None = None,
    max_contributions: int | None = None,
    unit: str | None = None,
) -> Counts:
    """Count the distinct users of each item, or only of the items with the largest counts.

    Neighbours: adding or removing all rows of one user moves every count by at most 1, all in the
        same direction. Therefore select with `sensitivity=1, monotonic=True`. With
        `max_contributions`, one user moves at most that many counts.

    Args:
        table: the path of a .csv, .tsv, .csv.gz, .tsv.gz or .parquet file, a pandas or polars
            DataFrame, a pyarrow Table, a DuckDB relation, such as `connection.table("trips")`, a
            `TableAs` of one of these, or a Spark DataFrame, such as `spark.table("trips")`, which
            is counted in Spark.
        item: column of the candidates. Each item is a string; a number stands for its shortest
            plain decimal. Read items as text (`dtype=str`), so that no reader changes them.
        user: column that identifies the user of each row; users are protected.
        candidates: the items to count, all different, as a list or a column. Other items are
            dropped, and a candidate without rows counts 0. Choose them without looking at the file.
            With None, every item in the table is counted. You then assert that this set of items is
            public, or pass the counts to `select_partitions`.
        places: number of largest counts; not with candidates. None returns all. For
            `unknown_domain_top_k`, pass k_bar + 1.
        max_contributions: largest number of items for which a user is counted, chosen by a fixed
            hash of user and item; not with candidates. None counts all.
        unit: unit of privacy, in the words of the ledger's scope, such as "one rider". A mechanism
            then refuses a scope that protects another unit.

    Returns:
        Counts: users of each label, private, in the order of the labels or of `candidates`;
        with `places`, the largest first, equal ones by their labels, and fewer if the table has no
        more items.  Labels are text, numbers in plain decimal form.

    Raises:
        InputError: the table, a column or a candidate cannot be used.
        ParameterError: an argument is wrong.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import count_distinct_users
        >>> trips = pyarrow.table({"city": ["Oslo", "Rome", "Rome"], "rider": [1, 1, 2]})
        >>> dict(count_distinct_users(trips, item="city", user="rider"))  # made-up data
        {'Oslo': 1, 'Rome': 2}
    """
    warn_if_same(item=item, user=user)
    cap = read_contributions(max_contributions)
    if (cap, places) != (None, None) and candidates is not None:
        raise ParameterError("max_contributions and places can be used only without candidates")
    limit = None if places is None else integer(places, "places", minimum=1, maximum=2**31 - 1)
    public = None if candidates is None else read_labels(candidates)
    with open_keyed(table, item, user) as keyed:
        if limit is not None:
            found = keyed.largest(limit, cap)
        elif public is None:
            found = dict(keyed.fetch(counts_of_items(contributions=cap)))
        else:
            unread = _public(keyed, public, None)
            found = dict(zip(unread.labels, unread.read().tolist(), strict=True))
    return Counts(found, places=limit or "all", max_contributions=cap, unit=unit)


def _public(keyed: Keyed, candidates: list[str] | None, unit: str | None) -> Any:
    """The counts of public candidates; with None the items of the table are public, and read now.

    Users are looked at only when the counts are read.
    """
    labels = keyed.public("item") if candidates is None else candidates
    read_as = labels if candidates is None else keyed.as_read(candidates)

    arrow = library("pyarrow.compute", "tables")

    def read() -> NDArray[np.int64]:
        sql = counts_of_items(among=candidates is not None, places=0)
        users, found = keyed.columns(sql, candidates=candidates and read_as)
        # An item that came after the public list was read counts in a place of its own.
        places = arrow.index_in(found, arrow.cast(read_as, found.type))
        counts = np.zeros(len(read_as) + 1, dtype=np.int64)
        counts[arrow.fill_null(places, len(read_as)).to_numpy()] = users.to_numpy()
        return counts[:-1]

    return keyed.unread(len(labels), read, unit, tuple(labels))


def top_items(
    table: object,
    *,
    item: str,
    user: str,
    k: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    candidates: Iterable[str | int] | None = None,
    candidates_are_public: bool = False,
    k_bar: int | tuple[int, int] | None = None,
    max_contributions: int | None = None,
    with_counts: bool = False,
    mechanism: Mechanism | None = None,
    rows: int | None = None,
    unit: str | None = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[str]:
    """From a table, choose up to k items with many distinct users, as the command
    `safeselect top-k` does.

        best = top_items("trips.parquet", item="city", user="rider", k=10, epsilon=1, delta="1e-9")

    Without `candidates` or `candidates_are_public`, the items of the table are private too.  The
    `k_bar` largest counts then go to `unknown_domain_top_k`, which may return fewer than k items.
    Otherwise all counts go to `top_k`.

    Guarantee, neighbours: those of `unknown_domain_top_k` or of `top_k` with sensitivity=1 and
        monotonic=True; tables that differ by all rows of one user are neighbours.

    Args:
        table, item, user, unit: as for `count_distinct_users`.
        k: number of items; in an unknown domain, the largest number of items.
        epsilon, delta, rho: total cost; an unknown domain requires epsilon and delta.
        candidates: the items to choose from, listed without looking at the table.
        candidates_are_public: assert instead that the set of items in the table is public.
        k_bar: number of items that compete in an unknown domain, or a pair, as for
            `unknown_domain_top_k` (default: 10 k).
        max_contributions: in an unknown domain, the largest number of items for which a user is
            counted; the result then has noisy counts, too.
        with_counts: release noisy counts without such a cap, so that all items of all users count.
        mechanism: as for `top_k`, with known candidates.
        rows: number of rows of the table, if it is public; a `SafeSelectWarning` reports a delta
            above 1 / rows.
        source, ledger: as for `top_k`.

    Returns:
        TopK, without an order for "laplace".

    Raises:
        InputError: the table, a column or a candidate cannot be used.
        ParameterError: a parameter is wrong; nothing was charged.
        BudgetError, SourceError: as for `top_k`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import top_items
        >>> trips = pyarrow.table({"city": ["Rome"] * 1000 + ["Oslo"], "rider": range(1001)})
        >>> cities = ["Oslo", "Rome"]
        >>> top_items(trips, item="city", user="rider", k=1, epsilon=1, candidates=cities).labels
        ('Rome',)
    """
    _check_total(epsilon, delta, rho, rows)
    scope = check_scope(unit, ledger, monotonic=True)
    warn_if_same(item=item, user=user)
    count = integer(k, "k", minimum=1, maximum=2**20)
    if flag(candidates_are_public, "candidates_are_public") and candidates is not None:
        raise ParameterError("candidates_are_public cannot be used with candidates")
    if candidates is not None or candidates_are_public:
        if flag(with_counts, "with_counts") or (k_bar, max_contributions) != (None, None):
            raise ParameterError(
                "k_bar, max_contributions and with_counts cannot be used with known candidates"
            )
        public = None if candidates is None else read_labels(candidates)
        with open_keyed(table, item, user) as keyed:
            return top_k(
                _public(keyed, public, unit),
                k=count,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                sensitivity=1,
                monotonic=True,
                mechanism=mechanism,
                source=source,
                ledger=scope,
            )
    if epsilon is None or delta is None:
        raise ParameterError(_NEEDS_DELTA)
    if mechanism is not None:
        raise ParameterError("mechanism requires known candidates; omit it, or pass candidates")
    competing = COMPETING * count if k_bar is None else k_bar
    _, _, most = read_places(count, competing)
    limit, cap = most + 1, read_contributions(max_contributions)
    with open_keyed(table, item, user) as keyed:
        return unknown_domain_top_k(
            keyed.unread(limit, lambda: keyed.largest(limit, cap), unit),
            k=count,
            k_bar=competing,
            epsilon=epsilon,
            delta=delta,
            max_contributions=max_contributions,
            with_counts=with_counts,
            places=limit,
            source=source,
            ledger=scope,
        )


def _check_total(epsilon: object, delta: object, rho: object, rows: object) -> None:
    """Refuse now what the mechanism would refuse after a long count."""
    for name, value in (("epsilon", epsilon), ("rho", rho)):
        if value is not None:
            rational(value, name)
    _warn_delta(None if delta is None else rational(delta, "delta", below=1), rows)


def _warn_delta(delta: Fraction | None, rows: object) -> None:
    """Warn if delta is above one over the number of rows that the caller stated."""
    if rows is None:
        return
    rows = integer(rows, "rows", minimum=1, maximum=2**63 - 1)
    if delta is not None and delta * rows > 1:
        caution(
            f"delta={rounded_text(delta)} is above 1/{rows} (one divided by the number of rows); "
            "this permits revealing one person's data in full, so choose a much smaller delta"
        )


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
    source: Source | None = None,
    ledger: Scope | None = None,
) -> results.Groups[str]:
    """From a table, choose up to k items with many distinct users for each group in a public list
    of groups.

    A user is counted in at most `max_groups` groups, which a fixed hash chooses. With 1, each group
    gets the whole budget, and a user of several groups counts in one of them. With more, users
    count in more groups, and each group gets a part of the budget. With "all", users count in all
    their groups.

    Guarantee: that of `max_groups` lists together: ApproximateDP(epsilon, delta) where the domain
        is unknown, otherwise that of `select_many` with max_rows=max_groups.  It is one release.
    Neighbours: tables that differ by all rows of one user.
    Method: unknown domain: `unknown_domain_top_k` in each group, with the noise of max_groups k
        draws, and delta shared by the bottoms of max_groups groups; with `max_contributions`, each
        group gets epsilon / max_groups and delta / max_groups.  Known candidates: `select_many`.

    Args:
        group: column of the group of each row.
        groups: the groups, all different, listed without looking at the table. Rows of other groups
            are dropped before the hash chooses.
        groups_are_public: assert instead that the set of groups in the table is public.
        max_groups: largest number of groups in which a user counts (default: 1).
        groups_per_user: instead of max_groups, the number of groups that a typical user belongs to,
            or a mapping from such numbers to numbers of users. It must be a *public* fact, such as
            last year's figures. max_groups is then the value with which an item needs the fewest
            users, as in `explain_groups`.
        candidates: the items to choose from in each group; without them the items are private, too.
        max_contributions: in an unknown domain, the largest number of items of a group for which a
            user counts; the result then has noisy counts, too.
        k_bar: number of items that compete in each group of an unknown domain (default: 10 k).
        mechanism: as for `select_many`, with known candidates.
        table, item, user, k, epsilon, delta, rho, unit, source, ledger: as for `top_items`.

    Returns:
        Groups: a row for each group, in the order of `groups`.

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
    scope = check_scope(unit, ledger, monotonic=True)
    warn_if_same(item=item, user=user)
    warn_if_same(group=group, item=item)
    warn_if_same(group=group, user=user)
    count = integer(k, "k", minimum=1, maximum=2**20)
    stated = None if groups is None else read_labels(groups, "group")
    if (stated is None) is not flag(groups_are_public, "groups_are_public"):
        raise ParameterError(
            "pass either groups=[...], a list made without looking at the table, or "
            "groups_are_public=True if the set of groups in the table is public knowledge"
        )
    known = None if candidates is None else read_labels(candidates)
    if known is not None and (k_bar, max_contributions) != (None, None):
        raise ParameterError("k_bar and max_contributions cannot be used with known candidates")
    if known is None and mechanism is not None:
        raise ParameterError("mechanism requires known candidates; omit it, or pass candidates")
    bytes_from = resolve(source)
    with open_keyed(table, item, user, group) as keyed:
        public = keyed.public("grp") if stated is None else stated
        # Cell -> label as it was stated.
        read_as = public if stated is None else keyed.as_read(stated, "grp")
        names = dict(zip(read_as, public, strict=True))
        items = {} if known is None else dict(zip(keyed.as_read(known), known, strict=True))
        if not public:
            raise InputError("the table has no groups; pass a table with groups, or groups=[...]")
        stated_facts = max_groups, groups_per_user, len(public)
        if known is not None:
            cost = PrivacyCost.read(epsilon=epsilon, rho=rho, delta=delta)
            changed = _read_max_groups(*stated_facts, need_known(cost, count, mechanism))
            plan = plan_known(cost, known, count, changed, mechanism)
        else:
            if rho is not None:
                raise ParameterError("an unknown domain requires epsilon and delta, not rho")
            bound, total = read_contributions(max_contributions), read_total(epsilon, delta)
            places = read_k_bar(count, k_bar)
            changed = _read_max_groups(*stated_facts, need_unknown(total, count, places, bound))
            plan = plan_unknown(total, (count, places), changed, bound)
        sql = counts_of_groups(
            groups=None if changed == len(public) else changed,
            places=plan.places,
            contributions=max_contributions,
            among=known is not None,
        )
        parameters = {"k": str(count)}
        parameters |= {} if known is None else {"candidates": str(len(known))}
        if groups_per_user is not None:
            parameters["groups_per_user"] = _stated(groups_per_user)
        if max_contributions is not None:
            parameters["max_contributions"] = str(max_contributions)

        def read() -> Tables:
            found: dict[str, dict[str, int]] = {name: {} for name in public}
            listed = {"groups": read_as, "candidates": [*items] or None}
            for cell, each, users in keyed.fetch(sql, "item", "person", "grp", **listed):
                found[names[cell]][items.get(each, each)] = users
            return found

        once = closing_after(keyed.opened, read)
        return release_by_group(
            plan, public, changed, parameters, bytes_from, once, unit=unit, scope=scope
        )


def _read_max_groups(max_groups: object, per_user: object, size: int, need: Need) -> int:
    """In how many groups a user counts at most: as stated, or the best for the stated facts."""
    if per_user is not None:
        if max_groups is not None:
            raise ParameterError("omit max_groups: groups_per_user determines it")
        return best_max_groups(size, read_groups_per_user(per_user), need)
    if max_groups is None:
        return 1
    if isinstance(max_groups, str) and max_groups == "all":
        return size
    # No user is in more groups than there are.
    return min(size, integer(max_groups, "max_groups", minimum=1, maximum=2**31 - 1))


def _stated(per_user: object) -> str:
    """The stated facts as text: the share of users in so many groups."""
    return ", ".join(
        "users" * (share == 1) + f"{exact_text(share)} of users" * (share != 1) + f" in {groups}"
        for groups, share in read_groups_per_user(per_user).items()
    )


def select_keys(
    table: object,
    *,
    item: str,
    user: str,
    epsilon: Number,
    delta: Number,
    max_partitions: int = 1,
    pre_threshold: int = 1,
    with_counts: bool = False,
    noise: KeyNoise = "table",
    rows: int | None = None,
    unit: str | None = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> results.TopK[str]:
    """Release the items of a table that have enough distinct users, as the command `safeselect
    keys` does.

        kept = select_keys("trips.parquet", item="city", user="rider", epsilon=1, delta="1e-9")

    The engine counts the distinct users of each item. Each user counts for at most `max_partitions`
    items, which a fixed hash of user and item chooses. `select_partitions` then decides about the
    items.

    With noise="gaussian" a user of m items adds the weight floor(sqrt(V / m)) to each of them. An
    item is kept if the sum of its weights plus discrete Gaussian noise reaches a threshold. V and
    the threshold are public. This law keeps more items than the table if most users have five or
    more; `estimates.explain_keys` compares the two.

    Guarantee, neighbours: those of `select_partitions`; tables that differ by all rows of one user
        are neighbours. With noise="gaussian" the parts are ZeroConcentratedDP(V / (2 sigma**2)) and
        a separate delta of at most delta / 2 (`docs/mathematics.md`, Theorem 19.4).

    Args:
        table, item, user, unit: as for `count_distinct_users`.
        epsilon, delta, pre_threshold, with_counts, source, ledger: as for `select_partitions`.
        max_partitions: largest number of items for which a user is counted. With one, each item
            loses users that count for other items. With more, each decision gets a smaller share of
            epsilon. With noise="gaussian" a larger cap costs little; a few hundred is reasonable.
        noise: "table" for the law of `select_partitions`; "gaussian" for weights, without
            pre_threshold and with_counts.
        rows: as for `top_items`.

    Returns:
        TopK: the kept items, in the order of their labels, not of their counts; the list can be
            empty.

    Raises:
        InputError: the table or a column cannot be used.
        ParameterError: a parameter is wrong; nothing was charged.
        BudgetError, SourceError: as for `select_partitions`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import select_keys
        >>> trips = pyarrow.table({"city": ["Rome"] * 1000 + ["Oslo"], "rider": range(1001)})
        >>> select_keys(trips, item="city", user="rider", epsilon=1, delta="1e-9").labels
        ('Rome',)
    """
    # What `select_partitions` would refuse is refused before the table is looked at.
    terms: KeyTerms
    read_choice(noise, "noise", get_args(KeyNoise))
    if noise == "table":
        terms = Terms.read(epsilon, delta, max_partitions, pre_threshold, with_counts)
    elif flag(with_counts, "with_counts") or pre_threshold != 1:
        raise ParameterError("with_counts and pre_threshold cannot be used with noise='gaussian'")
    else:
        terms = WeightedTerms.read(epsilon, delta, max_partitions)
    _warn_delta(terms.total.delta, rows)
    scope = check_scope(unit, ledger, monotonic=True)
    warn_if_same(item=item, user=user)
    bytes_from = resolve(source)
    # A replay needs the same thresholds for the same keys.
    places = 0 if bytes_from.production else None
    sql = counts_of_items(
        contributions=terms.max_partitions,
        least=terms.pre_threshold,
        places=places,
        squared=terms.squared,
    )
    library("pyarrow", "tables")
    with open_keyed(table, item, user) as keyed:
        counts = keyed.unread(0, partial(keyed.columns, sql), unit)
        return release_keys(terms, counts, None, bytes_from, scope)


def choose_cap(
    table: object,
    *,
    item: str,
    user: str,
    epsilon: Number,
    most: int,
    share: Number = "0.95",
    unit: str | None = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[int]:
    """Use a differentially private mechanism to choose a cap on the number of items per user.

    The cap covers all items of about the stated share of users.

    The cap is a private quantile of the number of items per user. Among similar caps the smallest
    is preferred: each additional item must be needed by 16 / epsilon users.

    Guarantee, method: those of `permute_and_flip` with the scores -|t users(D) - s users| - c D for
        share = s / t, users(D) being how many users have D items or fewer.  A user moves a score by
        at most m = max(s, t - s), and a replaced user by at most m = t; c = 16 m / epsilon,
        rounded up, is public.
    Neighbours: tables that differ by all rows of one user; if the ledger's scope has "replace_one",
        tables in which all rows of one user are replaced.

    Args:
        table, item, user, unit: as for `count_distinct_users`.
        epsilon: cost of this choice alone.
        most: largest cap that can be chosen, public, at most 10 000.
        share: share of users who should lose no item, between 0 and 1; a fraction whose denominator
            is at most a million.
        source, ledger: as for `top_k`.

    Returns:
        Selection: its label is the cap, from 1 to `most`.

    Raises:
        InputError, ParameterError, BudgetError, SourceError: as for `top_items`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import choose_cap
        >>> pairs = [(place, rider) for rider in range(900) for place in range(rider % 3 + 1)]
        >>> trips = pyarrow.table({"city": [a for a, _ in pairs], "rider": [b for _, b in pairs]})
        >>> cap = choose_cap(trips, item="city", user="rider", epsilon=2, most=20, share="0.9")
        >>> 3 <= cap.label <= 5  # 3 nearly always
        True
    """
    warn_if_same(item=item, user=user)
    largest = integer(most, "most", minimum=1, maximum=10_000)
    low, whole = rational(share, "share", below=1).as_integer_ratio()
    integer(whole, "the denominator of share", minimum=1, maximum=10**6)
    scope = check_scope(unit, ledger, monotonic=False)
    change = whole if is_replaced(scope) else max(low, whole - low)
    each = -(-_DEAR * change // rational(epsilon, "epsilon"))
    with open_keyed(table, item, user) as keyed:

        def read() -> list[int]:
            found = dict(keyed.fetch(ITEMS_PER_USER.format(most=largest + 1)))
            users, below, scores = sum(found.values()), 0, []
            for cap in range(1, largest + 1):
                below += found.get(cap, 0)
                scores.append(-abs(whole * below - low * users) - each * cap)
            return scores

        return permute_and_flip(
            keyed.unread(largest, read, unit),
            labels=range(1, largest + 1),
            epsilon=epsilon,
            sensitivity=change,
            source=source,
            ledger=scope,
        )

"""Counts the users of each item of a table, by the rules of `tables`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer
from safeselect.scores.containers import Unread
from safeselect.scores.counts import Counts
from safeselect.tables._keyed import open_keyed
from safeselect.tables._keys import read_labels, warn_if_same
from safeselect.tables._sql import (
    CAPPED_COUNTS,
    COUNT_CANDIDATES,
    COUNT_DISTINCT_USERS,
    LARGEST_CAPPED_COUNTS,
    LARGEST_COUNTS,
)


def count_distinct_users(
    table: object,
    *,
    item: str,
    user: str,
    candidates: Iterable[str | int] | None = None,
    max_contributions: int | None = None,
    unit: str | None = None,
    memory: str | None = None,
    progress: bool = False,
) -> Counts:
    """Count the distinct users of each item.

    Neighbours: adding or removing all rows of one user moves every count by at most 1, and all in
        the same direction: select with `sensitivity=1, monotonic=True`.

    Args:
        table: the path of a .csv, .csv.gz or .parquet file, a pandas or polars DataFrame, a pyarrow
            Table, a DuckDB relation, such as `connection.table("trips")`, or a Spark DataFrame,
            such as `spark.table("trips")`, which is counted where it is.
        item: the column that holds the candidates.  Each is a text, and a number its shortest plain
            decimal; read items as text (`dtype=str`), so that no reader changes them.
        user: the column that says whose row it is; users are protected.
        candidates: the items to count, all different, as a list or a column.  Other items are
            dropped, and a candidate without rows counts 0.  Choose them without looking at the
            file.  With None, every item found in the table is counted; the caller thereby asserts
            that this set of items is public, or passes the counts to `select_partitions`.
        max_contributions: the most items for which a user is counted, chosen by a fixed hash of
            user and item; not with candidates.  None counts all.
        unit: who is protected, in the words of the ledger's scope, such as "one rider"; a mechanism
            then refuses a scope that protects another unit.
        memory: the most memory that DuckDB may use, such as "2GB"; beyond it DuckDB writes to a
            private directory, which is removed afterwards.
        progress: show on standard error, if it is a terminal, how far DuckDB's count is.

    Returns:
        Counts: label -> number of users, private, in the order of the labels or of `candidates`;
        labels are text, numbers in plain decimal form.

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
    warn_if_same(item, user)
    if max_contributions is not None:
        if candidates is not None:
            raise ParameterError(
                "max_contributions goes without candidates: users are bounded over all items"
            )
        capped = open_capped(
            table,
            item=item,
            user=user,
            max_contributions=max_contributions,
            least=1,
            memory=memory,
            progress=progress,
        )
        with capped as unread:
            counts = unread.read()
    elif candidates is None:
        with open_keyed(table, item, user, memory, progress) as keyed:
            counts = dict(keyed.fetch(COUNT_DISTINCT_USERS))
    else:
        with open_counts(
            table, item=item, user=user, candidates=candidates, memory=memory, progress=progress
        ) as unread:
            counts = dict(zip(unread.labels or (), unread.read(), strict=True))
    return Counts(
        counts, places="all", max_contributions=max_contributions, order="label", unit=unit
    )


@contextmanager
def open_counts(
    table: object,
    *,
    item: str,
    user: str,
    candidates: Iterable[str | int] | None,
    memory: str | None,
    progress: bool,
) -> Iterator[Unread]:
    """Open a table whose candidates are public, for the length of a `with` block.

    Columns are looked at now, and so are the items of the table if they are the candidates.  Users
    are looked at only when the counts are read.

    Args, Raises: as for `count_distinct_users`.
    """
    public = None if candidates is None else read_labels(candidates)
    with open_keyed(table, item, user, memory, progress) as keyed:
        labels = keyed.items() if public is None else public
        read_as = labels if public is None else keyed.as_read(public)

        def read() -> list[int]:
            if public is None:
                found = dict(keyed.fetch(COUNT_DISTINCT_USERS))
            else:
                found = dict(keyed.fetch(COUNT_CANDIDATES, candidates=read_as))
            return [found.get(label, 0) for label in read_as]

        yield Unread(len(labels), read, tuple(labels))


def largest_counts(
    table: object,
    *,
    item: str,
    user: str,
    places: int,
    max_contributions: int | None = None,
    unit: str | None = None,
    memory: str | None = None,
    progress: bool = False,
) -> Counts:
    """Count the distinct users of each item, and return the largest counts.

    For `unknown_domain_top_k`, ask for k_bar + 1 places.  Equal counts are in the order of their
    labels.

    Neighbours: as for `count_distinct_users`; with `max_contributions`, one user moves at most so
        many counts.

    Args:
        places: how many counts.
        max_contributions: the most items for which a user is counted, chosen by a fixed hash of
            user and item; None counts all.
        table, item, user, unit, memory, progress: as for `count_distinct_users`.

    Returns:
        Counts: label -> number of users; both are private.  There are fewer than `places`, or none,
        if the table has no more items.

    Raises:
        InputError, ParameterError: as for `count_distinct_users`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import largest_counts
        >>> trips = pyarrow.table({"city": ["Oslo", "Rome", "Rome"], "rider": [1, 1, 2]})
        >>> dict(largest_counts(trips, item="city", user="rider", places=1))  # made-up data
        {'Rome': 2}
    """
    warn_if_same(item, user)
    with open_largest(
        table,
        item=item,
        user=user,
        places=places,
        max_contributions=max_contributions,
        memory=memory,
        progress=progress,
    ) as unread:
        found = unread.read()
    return Counts(found, places=unread.size, max_contributions=max_contributions, unit=unit)


@contextmanager
def open_largest(
    table: object,
    *,
    item: str,
    user: str,
    places: int,
    max_contributions: int | None,
    memory: str | None,
    progress: bool,
) -> Iterator[Unread]:
    """Open a table of which the largest counts will be read, for the length of a `with` block.

    Args, Raises: as for `largest_counts`.
    """
    limit = integer(places, "places", minimum=1, maximum=2**31 - 1)
    sql = LARGEST_COUNTS.format(places=limit)
    if max_contributions is not None:
        cap = integer(max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)
        sql = LARGEST_CAPPED_COUNTS.format(places=limit, contributions=cap)
    with open_keyed(table, item, user, memory, progress) as keyed:
        yield Unread(limit, lambda: dict(keyed.fetch(sql)))


@contextmanager
def open_capped(
    table: object,
    *,
    item: str,
    user: str,
    max_contributions: int,
    least: int,
    memory: str | None,
    progress: bool,
) -> Iterator[Unread]:
    """Open a table of which all counts of `least` users or more will be read.

    A user counts for `max_contributions` items at most.

    Args, Raises: as for `count_distinct_users`.
    """
    cap = integer(max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)
    sql = CAPPED_COUNTS.format(contributions=cap, least=least)
    with open_keyed(table, item, user, memory, progress) as keyed:
        # How many there are is private, and nobody asks.
        yield Unread(0, lambda: dict(keyed.fetch(sql)))


def until_read(opened: ExitStack, unread: Unread, unit: str | None) -> Any:
    """Return the same with its unit, closing what is open after the read, before any noise.

    Type checkers take it for any kind of scores or counts: the call knows the class, and asks it.
    """

    def read() -> Any:
        with opened:
            return unread.read()

    return replace(unread, read=read, unit=unit)

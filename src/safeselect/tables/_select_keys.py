"""From a table to a release in one call: all keys that may be shown."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Literal

from safeselect.exact.parameters import Number, integer
from safeselect.ledger import Scope
from safeselect.mechanisms.keys import SelectedPartitions, Terms, select_partitions
from safeselect.randomness.source import Source
from safeselect.release.call import read_ledger, unit_of
from safeselect.scores.counts import check_unit
from safeselect.tables._counting import open_capped, until_read
from safeselect.tables._keys import warn_if_same
from safeselect.tables._top_items import opened_by, warn_delta


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
    rows: int | None = None,
    unit: str | None = None,
    engine: Literal["duckdb", "spark"] = "duckdb",
    memory: str | None = None,
    progress: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> SelectedPartitions:
    """Keep the items of a table that may be shown, as `safeselect keys` does.

        kept = select_keys("trips.parquet", item="city", user="rider", epsilon=1, delta="1e-9")

    The engine counts the distinct users of each item, each user for `max_partitions` items at most,
    chosen by a fixed hash of user and item; `select_partitions` does the rest.

    Guarantee, neighbours: those of `select_partitions`; tables that differ by all rows of one user
        are neighbours.

    Args:
        table, item, user, memory, progress, unit: as for `count_distinct_users`.
        epsilon, delta, pre_threshold, with_counts, source, ledger: as for `select_partitions`.
        max_partitions: for how many items a user is counted at most.  With one, each item loses
            users that count elsewhere; with more, each decision gets a smaller share of epsilon.
        rows, engine: as for `top_items`.

    Returns:
        SelectedPartitions: the items that are kept, in the order of their labels, perhaps none.

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
    terms = Terms.read(epsilon, delta, max_partitions, pre_threshold, with_counts)
    if rows is not None:
        warn_delta(terms.total.delta, integer(rows, "rows", minimum=1, maximum=2**63 - 1))
    check_unit(unit, unit_of(read_ledger(ledger, monotonic=True)))
    warn_if_same(item, user)
    opened = opened_by(table, engine, memory)
    with ExitStack() as stack:
        counts = open_capped(
            stack.enter_context(opened),
            item=item,
            user=user,
            max_contributions=terms.max_partitions,
            least=terms.pre_threshold,
            memory=memory,
            progress=progress,
        )
        return select_partitions(
            until_read(stack, stack.enter_context(counts), unit),
            epsilon=epsilon,
            delta=delta,
            max_partitions=max_partitions,
            pre_threshold=pre_threshold,
            with_counts=with_counts,
            source=source,
            ledger=ledger,
        )

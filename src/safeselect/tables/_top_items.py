"""From a table to a release in one call: the items with the most distinct users."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from fractions import Fraction
from typing import Any, Literal

from safeselect.accounting.cost import caution, rounded_text
from safeselect.errors import ParameterError
from safeselect.estimates.users import COMPETING
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.ledger import Scope
from safeselect.mechanisms.unknown import DiscoveredTopK, read_places, unknown_domain_top_k
from safeselect.randomness.source import Source
from safeselect.release.call import read_ledger, unit_of
from safeselect.scores.counts import check_unit
from safeselect.scores.reading import exactly_one
from safeselect.selection import TopK, TopSet, top_k
from safeselect.selection._table import Mechanism
from safeselect.tables._counting import open_counts, open_largest, until_read
from safeselect.tables._keys import warn_if_same
from safeselect.tables._spark_local import parquet_on_spark

_NEEDS_DELTA = (
    "the domain is unknown, which needs epsilon and delta; or pass candidates=, a list made "
    "without looking at the data, or candidates_are_public=True if the set of items in the table "
    "is public knowledge"
)


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
    mechanism: Mechanism | None = None,
    rows: int | None = None,
    unit: str | None = None,
    engine: Literal["duckdb", "spark"] = "duckdb",
    memory: str | None = None,
    progress: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK | TopSet | DiscoveredTopK:
    """Choose the k items of a table with the most distinct users, as `safeselect top-k` does.

        best = top_items("trips.parquet", item="city", user="rider", k=10, epsilon=1, delta="1e-9")

    Without `candidates` or `candidates_are_public`, the items of the table are private too.  The
    `k_bar` largest counts then go to `unknown_domain_top_k`, which may return fewer than k items.
    Otherwise all counts go to `top_k`.

    Guarantee, neighbours: those of `unknown_domain_top_k` or of `top_k` with sensitivity=1 and
        monotonic=True; tables that differ by all rows of one user are neighbours.

    Args:
        table, item, user, memory, progress, unit: as for `count_distinct_users`.
        k: how many items, at most where the domain is unknown.
        epsilon, delta, rho: total cost; an unknown domain needs epsilon and delta.
        candidates: the items to choose from, made without looking at the table.
        candidates_are_public: assert instead that the set of items in the table is public.
        k_bar: how many items compete in an unknown domain, or a pair, as for
            `unknown_domain_top_k`; 10 k by default.
        max_contributions: in an unknown domain, the most items for which a user is counted; the
            result has noisy counts too.
        mechanism: as for `top_k`, where the candidates are known.
        rows: how many rows the table has, if that is public; a `SafeSelectWarning` says if delta
            is above 1 / rows.
        engine: the engine that counts a file: "duckdb", or "spark" for a Spark session on this
            machine.
        source, ledger: as for `top_k`.

    Returns:
        DiscoveredTopK where the domain is unknown, otherwise TopK, or TopSet for "laplace".

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
    check_unit(unit, unit_of(read_ledger(ledger, monotonic=True)))
    warn_if_same(item, user)
    count = integer(k, "k", minimum=1, maximum=2**20)
    opened = opened_by(table, engine, memory)
    if _is_known(candidates, candidates_are_public):
        if (k_bar, max_contributions) != (None, None):
            raise ParameterError("k_bar and max_contributions go with an unknown domain")
        with ExitStack() as stack:
            counts = open_counts(
                stack.enter_context(opened),
                item=item,
                user=user,
                candidates=candidates,
                memory=memory,
                progress=progress,
            )
            held: Any = until_read(stack, stack.enter_context(counts), unit)
            by: Any = mechanism
            found: TopK | TopSet = top_k(
                held,
                k=count,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                sensitivity=1,
                monotonic=True,
                mechanism=by,
                source=source,
                ledger=ledger,
            )
            return found
    if epsilon is None or delta is None:
        raise ParameterError(_NEEDS_DELTA)
    if mechanism is not None:
        raise ParameterError("mechanism goes with known candidates")
    competing = COMPETING * count if k_bar is None else k_bar
    _, _, most = read_places(count, competing)
    with ExitStack() as stack:
        largest = open_largest(
            stack.enter_context(opened),
            item=item,
            user=user,
            places=most + 1,
            max_contributions=max_contributions,
            memory=memory,
            progress=progress,
        )
        return unknown_domain_top_k(
            until_read(stack, stack.enter_context(largest), unit),
            k=count,
            k_bar=competing,
            epsilon=epsilon,
            delta=delta,
            max_contributions=max_contributions,
            places=most + 1,
            source=source,
            ledger=ledger,
        )


def _is_known(candidates: object, are_public: object) -> bool:
    if not isinstance(are_public, bool):
        raise ParameterError(
            f"candidates_are_public must be True or False, got {describe(are_public)}"
        )
    if are_public and candidates is not None:
        raise ParameterError("candidates_are_public goes without candidates")
    return are_public or candidates is not None


def _check_total(epsilon: object, delta: object, rho: object, rows: object) -> None:
    """Refuse now what the mechanism would refuse after a long count."""
    if (epsilon is None) == (rho is None):
        exactly_one({"epsilon": epsilon, "rho": rho}, "write for example epsilon=1")
    for name, value in (("epsilon", epsilon), ("rho", rho)):
        if value is not None:
            rational(value, name)
    slack = None if delta is None else rational(delta, "delta", below=1)
    if rows is not None:
        stated = integer(rows, "rows", minimum=1, maximum=2**63 - 1)
        if slack is not None:
            warn_delta(slack, stated)


def opened_by(table: object, engine: object, memory: str | None) -> AbstractContextManager[Any]:
    """Return the table, on the engine that counts."""
    if engine not in ("duckdb", "spark"):
        raise ParameterError(f"engine must be 'duckdb' or 'spark', got {describe(engine)}")
    if engine == "duckdb":
        return nullcontext(table)
    if not isinstance(table, (str, os.PathLike)):
        raise ParameterError(
            f"engine='spark' goes with the path of a file, got {type(table).__name__}; a Spark "
            "DataFrame is counted where it is"
        )
    return parquet_on_spark(table, memory=memory)


def warn_delta(delta: Fraction, rows: int) -> None:
    """Warn if delta is above one over the number of rows that the caller stated."""
    if delta * rows > 1:
        caution(
            f"delta={rounded_text(delta)} is above 1/{rows}, one over the number of rows: it would "
            "allow to show somebody's data outright; choose it far below"
        )

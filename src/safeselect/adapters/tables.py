"""Counts and scores from files, frames, DuckDB and Spark; what is asked of the data is in `_sql`.

An engine counts, safeselect randomises: what comes out of this file is exact and *private*.  Hand
it to a mechanism; do not print it.

- A row whose item or user is NULL is dropped.  In a CSV file an empty cell is NULL and everything
  else is text: "7", "07" and " 7" are three users.
- Keys are integers or strings by their declared type; floats, booleans, dates and nested types
  are refused, because which of their values are equal is a matter of representation.
- The order of the answer is the order of the candidates, or of the labels, never of the rows: a
  file may be sorted by what is private.
- A file that is no table at all (a row with missing cells, an open quote, text that is not UTF-8)
  is refused as a whole, in one sentence that quotes nothing.  That is a fault of the program that
  wrote it; no cell that is written correctly can cause it, up to DuckDB's 2 MB a line.  Of the
  last line alone DuckDB lets more than 30 MB pass, and leaves it out.
- A CSV file has at most 10 000 columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal

import numpy as np

from safeselect._exact import integer
from safeselect.adapters._duckdb import Table, open_table
from safeselect.adapters._files import shown
from safeselect.adapters._spark import SparkTable, is_spark, open_spark
from safeselect.adapters._sql import (
    COUNT_CANDIDATES,
    COUNT_DISTINCT_USERS,
    LARGEST_CAPPED_COUNTS,
    LARGEST_COUNTS,
)
from safeselect.errors import InputError, ParameterError, ScoreError
from safeselect.mechanisms._columns import as_names

__all__ = ["count_distinct_users", "largest_counts", "read_candidates", "read_scores"]

_SCORES = "SELECT CAST(label AS STRING) AS label, score FROM safeselect_rows ORDER BY label"

_INTEGERS = frozenset(
    sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
_TEXT = "VARCHAR"
_NOTHING = '"NULL"'  # a column without a single value, of no declared type

_PLAIN_INTEGER = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_INTEGER_CELL = re.compile(r" *[+-]?[0-9]{1,1234} *", re.ASCII)
_DECIMAL_CELL = re.compile(
    r" *[+-]?(?:[0-9]{1,1234}(?:\.[0-9]{0,1234})?|\.[0-9]{1,1234})(?:[eE][+-]?[0-9]{1,4})? *",
    re.ASCII,
)


def count_distinct_users(
    table: object,
    *,
    item: str,
    user: str,
    candidates: Iterable[str | int] | None = None,
    memory: str | None = None,
    progress: bool = False,
) -> dict[str, int]:
    """Count, for each item, the distinct users that have a row with it.

    Neighbours: adding or removing all rows of one user moves every count by at most 1, and all in
        the same direction: select with `sensitivity=1, monotonic=True`.

    Args:
        table: the path of a .csv, .csv.gz or .parquet file, a pandas or polars DataFrame, a pyarrow
            Table, a DuckDB relation, such as `connection.table("trips")`, or a Spark DataFrame,
            such as `spark.table("trips")`, which is counted where it is.
        item: the column that holds the candidates.
        user: the column that says whose row it is: the one who is protected.
        candidates: the items to count, all different, as a list or a column: other items are
            dropped, and a candidate without rows counts 0.  Choose them without looking at the
            file.  With None every item found in the table is counted: who does so asserts that this
            set of items is public.
        memory: the most that DuckDB may use, such as "2GB"; what is more goes to a private
            directory on disk, removed afterwards.
        progress: tell on standard error, if it is a terminal, how far DuckDB's count is.

    Returns:
        label -> number of users, private; labels are text, integers in plain decimal form.

    Raises:
        InputError: the table, a column or a candidate cannot be used.
        ParameterError: an argument of the wrong type.
    """
    labels = None if candidates is None else _labels(candidates)
    with _keyed(table, item, user, memory, progress) as rows:
        if labels is None:
            return dict(rows.fetch(COUNT_DISTINCT_USERS))
        if rows.types["item"] in _INTEGERS:
            _require_plain_integers(labels, item)
        rows.store_candidates(labels)
        found = dict(rows.fetch(COUNT_CANDIDATES))
    return {label: found.get(label, 0) for label in labels}


def largest_counts(
    table: object,
    *,
    item: str,
    user: str,
    places: int,
    max_contributions: int | None = None,
    memory: str | None = None,
    progress: bool = False,
) -> dict[str, int]:
    """Count the distinct users of each item, and return the largest counts.

    What `unknown_domain_top_k` wants: ask for k_bar + 1 places.  Equal counts are in the order of
    their labels.

    Neighbours: as for `count_distinct_users`; with `max_contributions`, one user moves at most so
        many counts.

    Args:
        places: how many counts.
        max_contributions: count each user for so many items at most, chosen by a fixed hash of user
            and item; None counts all.
        table, item, user, memory, progress: as for `count_distinct_users`.

    Returns:
        label -> number of users, private, and so are the labels; fewer than `places`, or none,
        where there are no more items.

    Raises:
        InputError, ParameterError: as for `count_distinct_users`.
    """
    limit = integer(places, "places", minimum=1, maximum=2**31 - 1)
    sql = LARGEST_COUNTS.format(places=limit)
    if max_contributions is not None:
        cap = integer(max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)
        sql = LARGEST_CAPPED_COUNTS.format(places=limit, contributions=cap)
    with _keyed(table, item, user, memory, progress) as rows:
        return dict(rows.fetch(sql))


def read_candidates(path: str | os.PathLike[str]) -> list[str]:
    """Read a public list of candidates: UTF-8 text, one a line, all different.

    Raises:
        InputError: no such file, not UTF-8, an empty line, a repeated line, or no line at all.
    """
    lines: list[str] | None = None
    try:
        with open(path, "rb") as file:
            lines = file.read().decode("utf-8-sig").split("\n")
    except (OSError, ValueError):
        pass
    if lines is None:
        raise InputError(f"{shown(path)} cannot be read as a list of candidates in UTF-8")
    if lines[-1] == "":
        lines.pop()
    labels = [line.removesuffix("\r") for line in lines]
    if "" in labels:
        raise InputError(f"line {labels.index('') + 1} of {shown(path)} is empty")
    return _labels(labels)


def read_scores(
    path: str | os.PathLike[str], *, label: str, score: str, decimals: bool = False
) -> tuple[list[str], list[int | float | Decimal]]:
    """Read ready scores, one candidate a row, in the order of the labels.

    Args:
        path: a .csv, .csv.gz or .parquet file.
        label: the column with the candidates' names, which are public and all different.
        score: the column with the scores; text is read as exact integers.
        decimals: read text as exact decimals instead; a grid is then needed to select.

    Returns:
        The labels, and the scores, private: integers, decimals or floats by the declared type.

    Raises:
        InputError: the file or a column cannot be used, or a label is NULL.
        ScoreError: the scores are not numbers by their declared type, or a cell is not a number.
    """
    with open_table(path, {"label": label, "score": score}) as table:
        _require_key(table, "label", label)
        kind = table.types["score"]
        number = (*_INTEGERS, "FLOAT", "DOUBLE", _TEXT)
        if kind not in number and not kind.startswith("DECIMAL("):
            raise ScoreError(f"scores must be numbers, but column {shown(score)} holds {kind}")
        rows = table.fetch(_SCORES)
    labels, scores = [row[0] for row in rows], [row[1] for row in rows]
    if None in labels:
        raise InputError(f"column {shown(label)} has a row without a label")
    # Counted before any conversion; a missing score has no safe stand-in.
    if any(value is None for value in scores):
        raise ScoreError(f"column {shown(score)} has a row without a score")
    if kind == _TEXT:
        scores = _parse(scores, decimals, score)
    elif kind == "FLOAT":
        scores = [np.float32(value) for value in scores]  # so that 0.1 reads as 0.1
    return labels, scores


def _parse(cells: list[str], decimals: bool, column: str) -> list[int] | list[Decimal]:
    form = _DECIMAL_CELL if decimals else _INTEGER_CELL
    if not all(form.fullmatch(cell) for cell in cells):
        wanted = "decimals such as 1.25" if decimals else "integers; decimals need a grid"
        raise ScoreError(f"every score in column {shown(column)} must be a number: {wanted}")
    if decimals:
        return [Decimal(cell.strip()) for cell in cells]
    # By way of Decimal, whose constructor is exact: int() has a limit that anyone may lower.
    return [int(Decimal(cell.strip())) for cell in cells]


def _labels(candidates: Iterable[str | int]) -> list[str]:
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise ParameterError(
            f"candidates must be a list of strings or integers, got {type(candidates).__name__}"
        )
    labels: list[str] = []
    seen: dict[str, int] = {}
    for place, candidate in enumerate(as_names(candidates, "candidates"), 1):
        if isinstance(candidate, bool) or not isinstance(candidate, (str, int)):
            kind = type(candidate).__name__
            raise ParameterError(f"candidate {place} must be a string or an integer, got {kind}")
        if isinstance(candidate, int) and candidate.bit_length() > 128:
            raise InputError(f"candidate {place} is larger than any integer column can hold")
        label = str(candidate)
        if not label.isascii() and label != label.encode("utf-8", "replace").decode("utf-8"):
            raise InputError(f"candidate {place} is not text that UTF-8 can hold")
        if label in seen:
            raise InputError(f"candidate {place} repeats candidate {seen[label]}")
        seen[label] = place
        labels.append(label)
    if not labels:
        raise InputError("the list of candidates is empty")
    return labels


@contextmanager
def _keyed(
    table: object, item: str, user: str, memory: str | None, progress: bool
) -> Iterator[Table | SparkTable]:
    """A table with the two columns that are counted."""
    columns = {"item": item, "person": user}
    opened = (
        open_spark(table, columns)
        if is_spark(table)
        else open_table(table, columns, memory=memory, progress=progress)
    )
    with opened as rows:
        for ours, name in columns.items():
            _require_key(rows, ours, name)
        yield rows


def _require_key(table: Table | SparkTable, name: str, column: str) -> None:
    # Without what follows in brackets: for some types that is a list of values.
    kind = table.types[name].partition("(")[0]
    if kind not in (_TEXT, _NOTHING) and kind not in _INTEGERS:
        raise InputError(
            f"column {shown(column)} must hold integers or strings, but holds {kind}; which values "
            "are equal must not depend on how they are represented"
        )


def _require_plain_integers(labels: list[str], column: str) -> None:
    for place, label in enumerate(labels, 1):
        if not _PLAIN_INTEGER.fullmatch(label):
            raise InputError(
                f"candidate {place} is not an integer in plain decimal form, but column "
                f"{shown(column)} holds integers"
            )

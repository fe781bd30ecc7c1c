"""Counts and scores from files, frames, DuckDB and Spark; what is asked of the data is in `_sql`.

An engine counts, safeselect randomises: what comes out of this file is exact and *private*, but for
the release of `top_items`.  Hand it to a mechanism; do not print it.

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
- A call with a ledger is charged between columns and rows: what a table is called and declares is
  told for nothing; whatever is wrong with its rows is one sentence, and paid for.  Labels of ready
  scores, and items that are said to be public, are read before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal

from safeselect.adapters._counting import (
    INTEGERS,
    TEXT,
    count_distinct_users,
    largest_counts,
    read_labels,
    require_key,
    until_read,
)
from safeselect.adapters._duckdb import Table, open_table
from safeselect.adapters._files import shown
from safeselect.adapters._top_items import top_items
from safeselect.errors import InputError, ScoreError
from safeselect.mechanisms._columns import Unread

__all__ = [
    "count_distinct_users",
    "largest_counts",
    "open_scores",
    "read_candidates",
    "read_scores",
    "top_items",
]

_LABELS = "SELECT CAST(label AS STRING) AS label FROM safeselect_rows ORDER BY label"
_SCORES = "SELECT CAST(label AS STRING) AS label, score FROM safeselect_rows ORDER BY label"

_NUMBERS = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", TEXT, '"NULL"')
_CELL = re.compile(
    r" *[+-]?(?:[0-9]{1,1234}(?:\.[0-9]{0,1234})?|\.[0-9]{1,1234})(?:[eE][+-]?[0-9]{1,4})? *",
    re.ASCII,
)


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
    return read_labels(labels)


def read_scores(
    path: str | os.PathLike[str], *, label: str, score: str
) -> tuple[list[str], list[int | float | Decimal]]:
    """Read ready scores, one candidate a row, in the order of the labels.

    Args:
        path: a .csv, .csv.gz or .parquet file.
        label: the column with the candidates' names, which are public.
        score: the column with the scores.

    Returns:
        The labels, and the scores, private, by the declared type: integers; text and DECIMAL as
        exact decimals; FLOAT and DOUBLE as the binary numbers that they are.

    Raises:
        InputError: the file or a column cannot be used, or a label is NULL.
        ScoreError: the scores are not numbers by their declared type, or a cell is not a number.
    """
    with open_scores(path, label=label, score=score) as (labels, scores):
        return labels, scores.read()


@contextmanager
def open_scores(
    path: str | os.PathLike[str], *, label: str, score: str
) -> Iterator[tuple[list[str], Unread]]:
    """Open ready scores for the length of a `with` block: labels are read now, which are public.

    How many rows there are is public too.  What the column of scores declares and what it holds is
    looked at when they are read, and then the table is closed.

    Args, Raises: as for `read_scores`.
    """
    with ExitStack() as stack:
        table = stack.enter_context(open_table(path, {"label": label, "score": score}))
        declared = table.types["label"]
        if declared is not None:
            require_key(declared, label)
        require_key(table.load("label")["label"], label)
        labels = [row[0] for row in table.fetch(_LABELS)]
        if None in labels:
            raise InputError(f"column {shown(label)} has a row without a label")
        unread = Unread(len(labels), lambda: _read_scores(table, labels, score))
        yield labels, until_read(stack, unread)


def _read_scores(
    table: Table, labels: list[str], column: str
) -> list[int] | list[float] | list[Decimal]:
    kind = table.load("label", "score")["score"]
    if kind not in _NUMBERS and not kind.startswith("DECIMAL("):
        raise ScoreError(f"scores must be numbers, but column {shown(column)} holds {kind}")
    rows = table.fetch(_SCORES)
    if [row[0] for row in rows] != labels:
        raise InputError("the table changed while it was read")
    scores = [row[1] for row in rows]
    # Counted before any conversion; a missing score has no safe stand-in.
    if any(value is None for value in scores):
        raise ScoreError(f"column {shown(column)} has a row without a score")
    return _parsed(scores, column) if kind == TEXT else scores


def _parsed(cells: list[str], column: str) -> list[Decimal]:
    if not all(_CELL.fullmatch(cell) for cell in cells):
        raise ScoreError(
            f"every score in column {shown(column)} must be a number, such as 7 or 1.25"
        )
    return [Decimal(cell.strip()) for cell in cells]

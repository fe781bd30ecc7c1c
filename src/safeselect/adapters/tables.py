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
"""

from __future__ import annotations

import os
import re
from decimal import Decimal

import numpy as np

from safeselect.adapters._counting import (
    INTEGERS,
    TEXT,
    count_distinct_users,
    largest_counts,
    read_labels,
    require_key,
)
from safeselect.adapters._duckdb import open_table
from safeselect.adapters._files import shown
from safeselect.adapters._top_items import top_items
from safeselect.errors import InputError, ScoreError

__all__ = ["count_distinct_users", "largest_counts", "read_candidates", "read_scores", "top_items"]

_SCORES = "SELECT CAST(label AS STRING) AS label, score FROM safeselect_rows ORDER BY label"

_INTEGER_CELL = re.compile(r" *[+-]?[0-9]{1,1234} *", re.ASCII)
_DECIMAL_CELL = re.compile(
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
        require_key(table, "label", label)
        kind = table.types["score"]
        number = (*INTEGERS, "FLOAT", "DOUBLE", TEXT)
        if kind not in number and not kind.startswith("DECIMAL("):
            raise ScoreError(f"scores must be numbers, but column {shown(score)} holds {kind}")
        rows = table.fetch(_SCORES)
    labels, scores = [row[0] for row in rows], [row[1] for row in rows]
    if None in labels:
        raise InputError(f"column {shown(label)} has a row without a label")
    # Counted before any conversion; a missing score has no safe stand-in.
    if any(value is None for value in scores):
        raise ScoreError(f"column {shown(score)} has a row without a score")
    if kind == TEXT:
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

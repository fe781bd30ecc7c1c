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

from safeselect.adapters._counting import count_distinct_users, largest_counts
from safeselect.adapters._files import shown
from safeselect.adapters._keys import read_labels
from safeselect.adapters._ready_scores import read_scores
from safeselect.adapters._top_items import top_items
from safeselect.errors import InputError

__all__ = [
    "count_distinct_users",
    "largest_counts",
    "read_candidates",
    "read_scores",
    "top_items",
]


def read_candidates(path: str | os.PathLike[str]) -> list[str]:
    r"""Read a public list of candidates: UTF-8 text, one a line, all different.

    Returns:
        The lines, in their order, without their ends.

    Raises:
        InputError: no such file, not UTF-8, an empty line, a repeated line, or no line at all.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from safeselect.adapters.tables import read_candidates
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "items.txt")
        ...     _ = file.write_bytes(b"tea\nmilk\n")
        ...     read_candidates(file)
        ['tea', 'milk']
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

"""Counts and scores from files, frames, DuckDB and Spark; `_sql` has every query on the data.

An engine counts, and safeselect randomises.  The results of this module are exact and *private*,
except for the releases of `top_items`, `select_keys` and `table_quantiles`.  Pass them to a
mechanism; do not print them.

- A row whose item or user is NULL is dropped.  In a CSV file an empty cell is NULL and everything
  else is text: "7", "07" and " 7" are three users.
- An item, and a group, is a text: a number of any type is its shortest plain decimal, so that 1,
  1.0 and True are "1".  What a reader made of `007` or `1.50` cannot be seen: read items as text.
- Users are integers or strings by their declared type.  Floats are read as the integers they are;
  one that is not whole is refused.  Dates and nested types are refused for all keys, because the
  equality of their values depends on their representation.
- The result is in the order of the candidates, or of the labels, never of the rows: a file may be
  sorted by private values.
- A file that is not a table (a row with missing cells, an open quote, text that is not UTF-8) is
  refused as a whole, in one sentence that quotes nothing.  The program that wrote it is at fault:
  a correctly written cell cannot cause it, up to DuckDB's 2 MB a line.  DuckDB skips a last line
  of more than 30 MB without an error.
- A CSV file has at most 10 000 columns.
- A call with a ledger is charged after the columns and before the rows are read.  Errors about the
  table's name and declared columns cost nothing.  All errors about its rows have one sentence, and
  the charge stands.  Labels of ready scores, and items declared public, are read before the charge.
"""

from __future__ import annotations

import os

from safeselect.errors import InputError
from safeselect.mechanisms.groups import GroupedTopK
from safeselect.tables._by_group import top_items_by_group
from safeselect.tables._cap import choose_cap
from safeselect.tables._counting import count_distinct_users, largest_counts
from safeselect.tables._described import TableAs
from safeselect.tables._files import shown
from safeselect.tables._keys import read_labels
from safeselect.tables._quantiles import table_quantiles
from safeselect.tables._ready_scores import read_scores
from safeselect.tables._select_keys import select_keys
from safeselect.tables._top_items import top_items

__all__ = [
    "GroupedTopK",
    "TableAs",
    "choose_cap",
    "count_distinct_users",
    "largest_counts",
    "read_candidates",
    "read_scores",
    "select_keys",
    "table_quantiles",
    "top_items",
    "top_items_by_group",
]


def read_candidates(path: str | os.PathLike[str], *, what: str = "candidate") -> list[str]:
    r"""Read a public list of candidates, or of groups: UTF-8 text, one a line, all different.

    Args:
        path: of the file.
        what: "candidate" or "group", for messages.

    Returns:
        The lines, in their order, without their ends.

    Raises:
        InputError: no such file, not UTF-8, an empty line, a repeated line, a carriage return that
            ends no line, or no line at all.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from safeselect.tables import read_candidates
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "items.txt")
        ...     _ = file.write_bytes(b"tea\nmilk\n")
        ...     read_candidates(file)
        ['tea', 'milk']
    """
    lines: list[str] | None = None
    if not os.path.lexists(path):
        raise InputError(f"{shown(path)} does not exist; it should list {what}s, one a line")
    try:
        with open(path, "rb") as file:
            lines = file.read().decode("utf-8-sig").split("\n")
    except (OSError, ValueError):
        pass
    if lines is None:
        raise InputError(f"{shown(path)} cannot be read as a list of {what}s in UTF-8")
    if lines[-1] == "":
        lines.pop()
    labels = [line.removesuffix("\r") for line in lines]
    if "" in labels:
        raise InputError(f"line {labels.index('') + 1} of {shown(path)} is empty")
    for place, label in enumerate(labels, 1):
        if "\r" in label:  # old Macs end lines so: one label would hold them all
            raise InputError(
                f"line {place} of {shown(path)} holds a carriage return; end lines with a line feed"
            )
    return read_labels(labels, what)

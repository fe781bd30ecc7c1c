"""Ready scores from a table, by the rules of `tables`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal

from safeselect.errors import InputError, ScoreError
from safeselect.scores.containers import Unread
from safeselect.tables._counting import until_read
from safeselect.tables._duckdb import Table, open_table
from safeselect.tables._files import shown
from safeselect.tables._keys import INTEGERS, TEXT, require_key

_LABELS = "SELECT CAST(label AS STRING) AS label FROM safeselect_rows ORDER BY label"
_SCORES = "SELECT CAST(label AS STRING) AS label, score FROM safeselect_rows ORDER BY label"

_NUMBERS = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", TEXT, '"NULL"')
_CELL = re.compile(
    r" *[+-]?(?:[0-9]{1,1234}(?:\.[0-9]{0,1234})?|\.[0-9]{1,1234})(?:[eE][+-]?[0-9]{1,4})? *",
    re.ASCII,
)


def read_scores(
    path: str | os.PathLike[str], *, label: str, score: str
) -> tuple[list[str], list[int | float | Decimal]]:
    r"""Read ready scores, one candidate a row, in the order of the labels.

    Args:
        path: a .csv, .csv.gz or .parquet file.
        label: the column with the candidates' names, which are public.
        score: the column with the scores.

    Returns:
        The labels, and the scores, which are private.  By the declared type the scores are
        integers, exact decimals (text and DECIMAL) or binary floats (FLOAT and DOUBLE).

    Raises:
        InputError: the file or a column cannot be used, or a label is NULL.
        ScoreError: the declared type is not one of numbers, or a cell is not a number.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from safeselect.tables import read_scores
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "scores.csv")
        ...     _ = file.write_bytes(b"name,score\ntea,7\nmilk,1.25\n")
        ...     read_scores(file, label="name", score="score")
        (['milk', 'tea'], [Decimal('1.25'), Decimal('7')])
    """
    with open_scores(path, label=label, score=score) as (labels, scores):
        return labels, scores.read()


@contextmanager
def open_scores(
    path: str | os.PathLike[str], *, label: str, score: str
) -> Iterator[tuple[list[str], Unread]]:
    """Open ready scores for the length of a `with` block; read the labels, which are public.

    The number of rows is public too.  The type and the cells of the column of scores are looked at
    when the scores are read; then the table is closed.

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
        yield labels, until_read(stack, unread, None)


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
    # Checked before any conversion; a missing score has no safe replacement.
    if any(value is None for value in scores):
        raise ScoreError(f"column {shown(column)} has a row without a score")
    return _parsed(scores, column) if kind == TEXT else scores


def _parsed(cells: list[str], column: str) -> list[Decimal]:
    if not all(_CELL.fullmatch(cell) for cell in cells):
        raise ScoreError(
            f"every score in column {shown(column)} must be a number, such as 7 or 1.25"
        )
    return [Decimal(cell.strip()) for cell in cells]

"""From a table to numbers: ready scores, and quantiles of one value for each user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

from safeselect.accounting.cost import PrivacyCost
from safeselect.errors import InputError, ParameterError, ScoreError
from safeselect.exact.parameters import Number, read_choice
from safeselect.ledger import Scope
from safeselect.mechanisms.quantiles import Grid, Later, Neighbours, Ties, release_quantiles
from safeselect.randomness.source import Source
from safeselect.release.results import Numbers
from safeselect.scores.candidates import Unread
from safeselect.tables.duckdb import Table, open_table
from safeselect.tables.files import shown
from safeselect.tables.keys import check_scope, closing_after, warn_if_same
from safeselect.tables.sql import (
    ADDED,
    DATES,
    FLOATS,
    INTEGERS,
    LABELS_AND_SCORES,
    LABELS_OF_SCORES,
    NAN,
    NEAR_DECIMAL,
    SHORTEST,
    TEXT,
    VALUES_OF_USERS,
    WHOLE_TEXT,
)

Of = Literal["smallest", "largest", "sum"]
"""Which value of a user counts."""

_RULES = {"smallest": "MIN", "largest": "MAX", "sum": "SUM"}
_MOST = 10**18
_NEAR = "TRY_CAST(value AS DOUBLE)"  # NULL of a text that is no number
_FAR = 2**53  # from here on doubles skip integers

_SCORES = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", TEXT, '"NULL"')
_CELL = re.compile(
    r" *[+-]?(?:[0-9]{1,1234}(?:\.[0-9]{0,1234})?|\.[0-9]{1,1234})(?:[eE][+-]?[0-9]{1,4})? *",
    re.ASCII,
)


@contextmanager
def open_scores(path: object, *, label: str, score: str) -> Iterator[tuple[list[str], Any]]:
    r"""Open a table of scores, for use in a `with` block.

    Each row of the table is one candidate.

    The labels and their number are public, and the labels are read immediately. The type and the
    cells of the column of scores are read when a mechanism reads the scores. It does this once, and
    then the table is closed.

    Args:
        path: as the table of `count_distinct_users`; not a Spark DataFrame.
        label: column of the public names of the candidates.
        score: column of the scores.

    Returns:
        The labels in order, and the private scores, which are not read yet. The declared type
        determines whether scores are integers, exact decimals (text and DECIMAL) or binary floats
        (FLOAT and DOUBLE).

    Raises:
        InputError: the file or a column cannot be used, or a label is NULL.
        ScoreError: the declared type is not numeric, or a cell is not a number.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from safeselect import top_k
        >>> from safeselect.tables import open_scores
        >>> given = {"sensitivity": 1, "monotonic": True, "epsilon": 1, "k": 1}
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "scores.csv")
        ...     _ = file.write_bytes(b"name,score\ntea,7\nmilk,900\n")
        ...     with open_scores(file, label="name", score="score") as (labels, scores):
        ...         top_k(scores, labels=labels, **given).labels
        ('milk',)
    """
    with ExitStack() as stack:
        table = stack.enter_context(open_table(path, {"label": label, "score": score}))
        table.load("label")
        labels = [row[0] for row in table.fetch(LABELS_OF_SCORES)]
        if None in labels:
            raise InputError(f"column {shown(label)} has a row without a label")
        read = closing_after(stack, lambda: _read_scores(table, labels, score))
        yield labels, Unread(len(labels), read)


def _read_scores(
    table: Table, labels: list[str], column: str
) -> list[int] | list[float] | list[Decimal]:
    kind = table.load("label", "score")["score"]
    if kind not in _SCORES and not kind.startswith("DECIMAL("):
        raise ScoreError(f"scores must be numbers, but column {shown(column)} contains {kind}")
    rows = table.fetch(LABELS_AND_SCORES)
    if [row[0] for row in rows] != labels:
        raise InputError("the table changed while it was being read")
    scores = [row[1] for row in rows]
    # Checked before any conversion; a missing score has no safe replacement.
    if any(value is None for value in scores):
        raise ScoreError(f"column {shown(column)} has a row without a score")
    if kind != TEXT:
        return scores
    if not all(_CELL.fullmatch(cell) for cell in scores):
        raise ScoreError(f"scores in column {shown(column)} must be numbers, such as 7 or 1.25")
    return [Decimal(cell.strip()) for cell in scores]


def table_quantiles(
    table: object,
    *,
    value: str,
    user: str,
    of: Of,
    quantiles: Iterable[Number],
    lowest: Number | date | None = None,
    highest: Number | date | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add_remove",
    ties: Ties = "interval",
    unit: str | None = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[Any, Fraction]:
    """Release quantiles of a column of a table. Each user contributes at most one value.

        fares = {"value": "fare", "user": "rider", "of": "largest"}
        grid = {"lowest": 0, "highest": 500, "step": "0.5"}
        found = table_quantiles("trips.parquet", quantiles=["1/2"], epsilon=1, **fares, **grid)

    The engine takes one value for each user, by a public rule, and passes it to `quantiles`. A row
    is dropped if its user or value is NULL, or if its value is NaN or text that is not a number or
    a date. An error would reveal a cell of one user. A user without remaining rows does not count.

    Guarantee, law: those of `quantiles`.
    Neighbours: tables that differ by all rows of one user, or, with "replace_one", in which all
        rows of one user are replaced.

    Args:
        table, user, unit: as for `count_distinct_users`; not a Spark DataFrame.
        value: column of values: integers, decimals, floats or dates. In a CSV file, cells of up to
            38 digits are integers, other numbers are floats, and dates are written as in
            2024-02-29. Numbers of different types are equal if their values are equal.
        of: rule for the value of a user: the "smallest", the "largest", or the "sum" of the
            numbers. In sums, each number is rounded to ten decimal places and clamped to -10^18 and
            10^18.
        quantiles: as for `quantiles`: one or several, all different.
        lowest, highest, step, epsilon, delta, rho, neighbours, ties, source, ledger: as for
            `quantiles`.  A ledger is charged once the columns are checked, before a row is read.

    Returns:
        Numbers: `values` in the order of `quantiles`, which are their labels.

    Raises:
        InputError: the table or a column cannot be used.
        ParameterError: a parameter is wrong; nothing was charged.
        ScoreError, BudgetError, SourceError: as for `quantiles`.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import table_quantiles
        >>> trips = pyarrow.table({"fare": [7, 9, 8] * 300, "rider": range(900)})
        >>> given = {"lowest": 0, "highest": 99, "step": 1, "epsilon": 4, "of": "largest"}
        >>> table_quantiles(trips, value="fare", user="rider", quantiles=["1/2"], **given).value
        8
    """
    warn_if_same(item=value, user=user)
    read_choice(of, "of", get_args(Of))
    dated = isinstance(lowest, date) or isinstance(highest, date)
    if dated and of == "sum":
        raise ParameterError("dates have no sum; use of='smallest' or of='largest'")
    grid = Grid.read(lowest, highest, step)
    paid = PrivacyCost.read(epsilon=epsilon, delta=delta, rho=rho)
    scope = check_scope(unit, ledger, monotonic=False)
    with ExitStack() as stack:
        columns = {"value": value, "person": user}
        rows = stack.enter_context(open_table(table, columns, dated=dated))
        _check(rows.types, columns, dated)

        def read() -> list[object]:
            cell = _cell(rows.load("value", "person")["value"], of, dated)
            sql = VALUES_OF_USERS.format(rule=_RULES[of], cell=cell)
            return [_number(each) for (each,) in rows.fetch(sql)]

        later = Later(closing_after(stack, read), unit)
        treated = neighbours, 1, ties
        return release_quantiles(later, quantiles, grid, paid, treated, source, scope)


def _check(types: Mapping[str, str | None], columns: Mapping[str, str], dated: bool) -> None:
    """Refuse declared types that do not fit; of pandas, where values decide on types, none is."""
    kind = types["value"]
    if kind is None:
        return
    name = shown(columns["value"])
    number = kind in INTEGERS | FLOATS or kind.startswith("DECIMAL")
    if not number and kind not in (*DATES, TEXT, '"NULL"'):
        raise InputError(f"column {name} contains {kind}; values must be numbers or dates")
    if kind not in (TEXT, '"NULL"') and number is dated:
        raise ParameterError(
            f"column {name} contains {'numbers' if number else 'dates'}, so lowest and highest "
            f"must be {'numbers' if number else 'dates'}"
        )


def _cell(kind: str, of: str, dated: bool) -> str:
    """One value, as SQL; NULL where there is none."""
    if kind != TEXT and dated is not (kind in DATES):
        return "NULL"
    if dated:
        day = "TRY_CAST(value AS DATE)"
        within = f"LEAST(GREATEST({day}, DATE '0001-01-01'), DATE '9999-12-31')"  # as in Python
        return f"CASE WHEN {day} IS NOT NULL THEN {within} END"
    cell = _added(kind) if of == "sum" else "value"
    if kind not in (*FLOATS, TEXT):
        return f"CASE WHEN value IS NOT NULL THEN {cell} END"
    if of != "sum":
        # In order: by the double, and beyond 2**53 by the integer of a text.
        whole = f"COALESCE({WHOLE_TEXT}, TRY_CAST({_NEAR} AS HUGEINT))"
        cell = f"row({_NEAR}, {whole})" if kind == TEXT else _NEAR
    return f"CASE WHEN value IS NOT NULL AND NOT {NAN.format(cell=_NEAR)} THEN {cell} END"


def _added(kind: str) -> str:
    """What a number adds to a sum, as SQL."""
    whole, number, text = "TRY_CAST(value AS HUGEINT)", "0", "NULL"  # an integer
    if kind in (*FLOATS, TEXT):
        whole = f"CAST(trunc(LEAST(GREATEST({_NEAR}, -1e18), 1e18)) AS HUGEINT)"
        whole = f"COALESCE({WHOLE_TEXT}, {whole})" if kind == TEXT else whole
        number, text = _NEAR, SHORTEST.format(near=_NEAR)
    elif kind.startswith("DECIMAL"):
        whole, number = "CAST(trunc(value) AS HUGEINT)", "value"
        places = int(kind[:-1].rpartition(",")[2])
        near = NEAR_DECIMAL.format(
            units="CAST(replace(CAST(value AS VARCHAR), '.', '') AS HUGEINT)",
            fives=f"CAST({5**places} AS HUGEINT)",
            twos=f"CAST({2**places} AS DOUBLE)",
        )
        text = f"COALESCE({SHORTEST.format(near=near)}, CAST(value AS VARCHAR))"
    cut = f"GREATEST(LEAST({whole}, {_MOST}), -{_MOST})"  # NULL is an integer beyond every HUGEINT
    return ADDED.format(cut=cut, number=number, text=text)


def _number(found: object) -> object:
    """The number of a cell; of text the integer that it is, where no double tells it apart."""
    if not isinstance(found, tuple):
        return found
    near, whole = found
    return near if whole is None or abs(near) < _FAR else whole

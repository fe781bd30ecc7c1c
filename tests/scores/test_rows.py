"""Rows of other engines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from safeselect import Counts, ParameterError
from safeselect.scores.rows import hard_texts
from safeselect.tables.dialects import check_statement

duckdb = pytest.importorskip("duckdb")
Rows = list[tuple[str, int]]


@pytest.fixture(scope="module")
def check() -> Rows:
    found: Rows = duckdb.execute(check_statement("duckdb")).fetchall()
    return found


def test_engines_without_the_character_of_code_0_pass() -> None:
    lines = check_statement("duckdb").splitlines()
    kept = [line for line in lines if "'6100" not in line]  # texts with it
    assert len(lines) - len(kept) == len(hard_texts(null=True)) - len(hard_texts(null=False)) == 2
    Counts.from_rows([], check=duckdb.execute("\n".join(kept)).fetchall(), places="all")


def _without(rows: Rows) -> Rows:
    return rows[:-1]


def _reordered(rows: Rows) -> Rows:
    return rows[1:] + rows[:1]


def _merged(rows: Rows) -> Rows:
    return [(label.casefold(), users) for label, users in rows]


def _off_by_one(rows: Rows) -> Rows:
    return [(rows[0][0], rows[0][1] + 1), *rows[1:]]


@pytest.mark.parametrize("spoil", [_without, _reordered, _merged, _off_by_one, lambda _: []])
def test_a_check_that_differs_is_refused(check: Rows, spoil: Callable[[Rows], Rows]) -> None:
    with pytest.raises(ParameterError, match="check="):
        Counts.from_rows([], check=spoil(check), places="all")


def test_the_largest_rows_whatever_their_order_and_number(check: Rows) -> None:
    rows = [("b", np.int64(2)), ("a", 2), ("c", 5), ("c", 4), ("d", 0)]
    counts = Counts.from_rows(rows, check=check, places=3, unit="one rider")
    assert [*counts.items()] == [("c", 5), ("a", 2), ("b", 2)]
    assert (counts.places, counts.unit) == (3, "one rider")


@pytest.mark.parametrize(
    "row", [("secret", 1.0), (None, 4711), (4711,), 4711, ("secret", 1, 2), ("secret", "4711")]
)
def test_rows_that_are_no_counts_are_not_quoted(check: Rows, row: object) -> None:
    with pytest.raises(ParameterError, match="pairs") as caught:
        Counts.from_rows([row], check=check, places="all")  # type: ignore[list-item]
    assert "4711" not in str(caught.value)
    assert "secret" not in str(caught.value)

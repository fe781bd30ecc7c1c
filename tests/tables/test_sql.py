"""The counts that an unknown domain needs: the largest, in a fixed order, with a cap per user."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from table_sources import kept

from safeselect import InputError, ParameterError
from safeselect.tables import TableAs, count_distinct_users, keys
from safeselect.tables.duckdb import Table, open_table
from safeselect.tables.sql import HINT, USERS_OR_ROWS, counts_of_items

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

Rows = list[tuple[Any, Any]]


def table(rows: Rows) -> Any:
    return pa.table({"item": [i for i, _ in rows], "user": [u for _, u in rows]})


def largest(rows: Rows, places: int, cap: int | None = None) -> list[tuple[str, int]]:
    columns = {"item": "item", "user": "user"}
    with pytest.MonkeyPatch.context() as patch:  # so small a table gives a hint, too
        patch.setattr(keys, "HINT", HINT.replace(" USING SAMPLE 2% (system)", ""))
        found = count_distinct_users(table(rows), **columns, places=places, max_contributions=cap)
    return list(found.items())


def plain(
    rows: Rows, places: int, cap: int | None, hashed: Callable[[str], str] | None = None
) -> list[tuple[str, int]]:
    """The same in Python, in the order of (count, label)."""
    counts = kept(rows, cap, hashed)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].encode()))[:places]


CELLS: list[list[Any]] = [
    ["a", "b", " a", "A", "é", "", *"cdefgh"],
    [1.0, 2.5, -0.0, 1e22, float("nan"), *map(float, range(3, 9))],
    [*range(-3, 9)],
]


def some_rows(given: random.Random, items: list[Any], users_are: Any) -> Any:
    """Few users and items, so that counts are often equal; some users have many rows."""
    items, size = items[: given.choice([1, 2, 5, 12])], given.choice([0, 1, 4, 20, 60])
    # A user that is NaN is none, whatever the engine does first.
    none = float("nan") if users_are == pa.float64() else None
    users = [none, *range(given.choice([2, 9, 40]))]
    rows = [(given.choice([None, *items * 4]), given.choice([None, *users])) for _ in range(size)]
    kind = pa.array(items).type
    return pa.table(
        {
            "item": pa.array([item for item, _ in rows], kind),
            "user": pa.array([user for _, user in rows], users_are),
        }
    )


def test_a_proof_from_rows_is_the_plain_count_of_the_rows_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the files are replaced after the hint; ties, doubles, NULLs, tidying."""
    path, proved, plainly, tries = tmp_path / "t.parquet", 0, 0, 10_000 if LONG else 45
    asked, columns = Table.fetch, {"item": "item", "user": "user"}
    monkeypatch.setattr(keys, "HINT", HINT.replace(" USING SAMPLE 2% (system)", ""))
    replaced: list[Any] = []

    def fetch(self: Table, sql: str, *parameters: object) -> Any:
        nonlocal plainly
        if sql == USERS_OR_ROWS and replaced:
            parquet.write_table(replaced.pop(), path)
        plainly += "LIMIT" in sql and "safeselect_hint" not in sql
        return asked(self, sql, *parameters)

    for seed in range(tries):
        given = random.Random(seed)
        cells, places = CELLS[seed % 3], given.choice([1, 2, 3, 9])
        kind = given.choice([pa.int64(), pa.float64()])
        before = after = some_rows(given, cells, kind)
        parquet.write_table(before, path)
        if given.random() < 0.5:
            after = some_rows(given, cells, kind)
            replaced.append(after)
        form = TableAs(path, trim=True, casefold=True) if seed % 2 else TableAs(path)
        monkeypatch.setattr(Table, "fetch", fetch)
        plainly = 0
        found = count_distinct_users(form, **columns, places=places)
        proved += not plainly
        monkeypatch.setattr(Table, "fetch", asked)
        if replaced:  # there was no hint
            after = before
        replaced.clear()
        whole = count_distinct_users(replace(form, table=after), **columns)
        order = sorted(whole.items(), key=lambda pair: (-pair[1], pair[0].encode()))
        assert [*found.items()] == order[:places], seed
    assert tries / 4 < proved < tries * 0.9
    assert largest([*product("bcde", (1, 1, 2)), ("a", 1), ("a", 2)], 1) == [("a", 2)]


@pytest.mark.parametrize("rare", [0.5, 2.0**60])
def test_a_user_of_a_rare_item_is_refused_as_ever(
    rare: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "HINT", HINT.replace(" USING SAMPLE 2% (system)", ""))
    users = [*map(float, range(50)), rare]
    parquet.write_table(
        pa.table({"item": ["a"] * 50 + ["rare"], "user": users}), tmp_path / "t.parquet"
    )
    monkeypatch.setattr(keys, "_HINTED", 1)
    with pytest.raises(InputError, match="not whole"):
        count_distinct_users(tmp_path / "t.parquet", item="item", user="user", places=1)


TEXT = st.one_of(st.none(), st.sampled_from(["a", "B", "b", "é", "z", "", " a", "𝔘", "￿"]))


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT), max_size=40),
    st.integers(1, 9),
    st.sampled_from([None, 1, 2, 3]),
)
def test_counts_are_those_of_plain_python(rows: Rows, places: int, cap: int | None) -> None:
    assert largest(rows, places, cap) == plain(rows, places, cap)


def test_integers_are_ordered_as_the_text_they_are_released_as() -> None:
    rows = [(9, 1), (10, 1), (-3, 1), (10, 2)]
    assert largest(rows, 9) == [("10", 2), ("-3", 1), ("9", 1)]
    assert largest(rows, 9, 1) == plain(rows, 9, 1)


@pytest.mark.parametrize("items", [(9, 10, -3, 0), ("é", "B", "b", "\uffff", "\U0001d518")])
def test_items_of_equal_hash_are_in_the_order_of_their_text(items: tuple[Any, ...]) -> None:
    rows = [(item, user) for user in range(3) for item in items[user:] * 2]
    hash_, constant = "LEFT(md5(", "LEFT(CONCAT("
    for cap in (1, 2, 3):
        query = counts_of_items(places=9, contributions=cap)
        assert query.count(hash_) == 1
        query = query.replace(hash_, constant)
        with open_table(table(rows), {"item": "item", "person": "user"}) as opened:
            assert set(opened.load("item", "person")) == {"item", "person"}
            found = opened.fetch(query.replace("), 12)", "), 0)"))
        assert found == plain(rows, 9, cap, lambda _: "")


def test_one_user_moves_few_counts_and_only_upwards() -> None:
    others: Rows = [(item, user) for item, user in product("abcdefgh", range(9)) if (user * 7) % 5]
    for mine in ("a", "abc", "abcdefgh"):
        for cap in (1, 2, 5):
            before = dict(largest(others, 99, cap))
            after = dict(largest([*others, *((item, 77) for item in mine * 2)], 99, cap))
            changes = [after[item] - before.get(item, 0) for item in after]
            assert set(changes) <= {0, 1}
            assert sum(changes) == min(cap, len(mine))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"places": 0}, "places must be between 1"),
        ({"places": "3"}, "places must be an integer"),
        ({"max_contributions": 0}, "max_contributions must be between 1"),
        ({"max_contributions": True}, "max_contributions must be an integer"),
    ],
)
def test_wrong_numbers(change: dict[str, Any], message: str) -> None:
    call = {"item": "item", "user": "user", "places": 3, **change}
    with pytest.raises(ParameterError, match=message):
        count_distinct_users("missing.csv", **call)
    with pytest.raises(InputError, match="does not exist"):
        count_distinct_users("missing.csv", item="item", user="user", places=3)

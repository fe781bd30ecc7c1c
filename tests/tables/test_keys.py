"""In a table an item is a text: what a user's rows do follows from their text alone.

A column has one type for all its users.  One user's text makes a column of numbers one of objects,
one missing cell makes integers floats; nobody else's counts may move by that.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from decimal import Decimal
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from table_sources import SOURCES

from safeselect import InputError
from safeselect.mechanisms.items import item
from safeselect.tables import count_distinct_users, select_keys, table_quantiles, top_items
from safeselect.tables.keys import open_keyed
from safeselect.tables.sql import counts_of_groups

KEYS = {"item": "city", "user": "rider"}
THREE = ("item", "person", "grp")
ALIKE = (935124, 2399654)
"""Items of which user 1 has the same 48 bits of md5."""
ODD: list[Any] = ["x", None, float("nan"), 1.5, True, Decimal("2.50"), pd.Timestamp("2020-01-01")]
ODD += [[1], b"x", "\ud800", 10**30, 1e300, pd.NA, pd.NaT]
OTHERS = [[1, 2, *ALIKE], [1.5, 2.5, 1e-7, -0.5], [1.0, -0.0, 1e22, 3.0], ["1", "b", "", " "]]
OTHERS += [[True, False] * 2, [Decimal("1.50"), Decimal("2"), Decimal("-0.05"), Decimal(0)]]


def counted(items: list[Any], riders: list[Any], cap: int | None) -> Counter[str]:
    # pandas makes texts of Arrow's where it can, in which there is no half of a character.
    kind = object if "\ud800" in map(item, items) else None
    frame = pd.DataFrame({"city": pd.Series(items, dtype=kind), "rider": riders})
    return Counter(dict(count_distinct_users(frame, **KEYS, max_contributions=cap)))


@pytest.mark.claim("C2")
@pytest.mark.parametrize("cap", [None, 2])
@pytest.mark.parametrize("others", OTHERS)
def test_one_more_user_moves_no_count_but_its_own(others: list[Any], cap: int | None) -> None:
    """Whatever its item is, and whatever pandas then makes of the column."""
    items, riders = others * 2, [1, 1, 1, 1, 2, 2, 3, 3]
    before = counted(items, riders, cap)
    assert set(before) <= set(map(item, others))
    for cell in ODD:
        text = item(cell)
        own = before + Counter([text] if text not in (None, "\ud800", item(1e300)) else [])
        assert counted([*items, cell], [*riders, 9], cap) == own
        assert counted([cell, *items], [9, *riders], cap) == own


@pytest.mark.claim("C2")
def test_a_text_of_one_user_leaves_the_keys_of_all_others() -> None:
    """(1, 2) against ('1', '2') told of that user with a probability of nearly 1."""
    many = 300
    for items in ([1, 2], [1.5, 2.5], [True, False], [1.0, 2.0]):
        rows = pd.DataFrame({"city": items * many, "rider": range(2 * many)})
        more = pd.DataFrame({"city": ["x"], "rider": [2 * many]})
        cost = {"epsilon": 8, "delta": "1e-6"}
        for table in (rows, pd.concat([rows, more]), pd.concat([more, rows])):
            kept = select_keys(table, **KEYS, **cost).labels
            best = top_items(table, **KEYS, k=2, k_bar=3, **cost).labels
            assert kept == tuple(sorted(set(best))) == tuple(sorted(item(each) for each in items))


def test_the_two_items_are_alike_to_the_hash() -> None:
    bits = {md5(f"1 {each}".encode(), usedforsecurity=False).hexdigest()[:12] for each in ALIKE}
    assert len(bits) == 1


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", SOURCES)
def test_the_cap_follows_from_a_user_s_own_rows(name: str, tmp_path: Path) -> None:
    """User 1 has two items of one hash; another user's text makes the column one of texts."""
    options = {**KEYS, "max_contributions": 1}
    for items, more, riders in ((ALIKE, [], [1, 1]), (ALIKE[::-1], ["x"], [1, 1, 2])):
        table = SOURCES[name](tmp_path, {"city": [*items, *more], "rider": riders})
        for found in (
            count_distinct_users(table, **options),
            count_distinct_users(table, **options, places=9),
        ):
            assert {each: n for each, n in found.items() if each != "x"} == {"2399654": 1}


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", SOURCES)
def test_the_cap_in_groups_does_too(name: str, tmp_path: Path) -> None:
    """Items of one hash within a group, and groups of one hash for a user."""
    sql = counts_of_groups(places=9, contributions=1, groups=1)
    plain, mixed = ([*ALIKE], [7, 7], [1, 1]), ([*ALIKE, "x"], [7, 7, 7], [1, 1, 2])
    for (alike, same, riders), within in ((plain, True), (mixed, False)):
        months, cities = (same, alike) if within else (alike, same)
        table = SOURCES[name](tmp_path, {"city": cities, "rider": riders, "month": months})
        with open_keyed(table, "city", "rider", "month") as keyed:
            found = keyed.fetch(sql, *THREE, groups=["7", *map(str, ALIKE)])
        kept = [row for row in found if "x" not in row]
        assert kept == [("7", "2399654", 1) if within else ("2399654", "7", 1)]


@pytest.mark.parametrize("wide", [False, True])
def test_floats_in_sql_are_what_they_are_in_python(tmp_path: Path, wide: bool) -> None:
    """Random bits, decimals of few places, whole numbers, small ones; and single floats."""
    rng = random.Random(6)
    values = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(3000)]
    values += [rng.randrange(10**7) / 10 ** rng.randrange(10) for _ in range(3000)]
    values += [float(rng.randrange(2 ** rng.randrange(1, 127))) for _ in range(2000)]
    values += [0.0, -0.0, 5e-324, 1e15, 1e16, 1e-4, 1e-5, 2.0**126, 2.0**127, -(2.0**127), np.inf]
    kind = pa.float64() if wide else pa.float32()
    with np.errstate(over="ignore"):
        column = pa.array(np.array(values, np.float64 if wide else np.float32), kind)
    exact = [each.as_py() for each in column]
    texts = [None if each is None or abs(each) >= 2.0**127 else item(each) for each in exact]
    wanted = Counter(text for text in texts if text is not None)
    rows = pa.table({"city": column, "rider": range(len(exact))})
    assert Counter(dict(count_distinct_users(rows, **KEYS))) == wanted
    parquet.write_table(rows, tmp_path / "t.parquet")
    assert Counter(dict(count_distinct_users(tmp_path / "t.parquet", **KEYS))) == wanted
    frame = pd.DataFrame({"city": exact, "rider": range(len(exact))})
    assert Counter(dict(count_distinct_users(frame, **KEYS))) == wanted
    objects = pd.concat([frame, pd.DataFrame({"city": ["x"], "rider": [-1]})])
    assert Counter(dict(count_distinct_users(objects, **KEYS))) == wanted + Counter("x")


@pytest.mark.claim("C2")
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_nan_is_no_item_whatever_the_bounds_of_its_file(kind: Any, tmp_path: Path) -> None:
    """Arrow's bounds leave NaN out; by them DuckDB answers comparisons, and isnan."""
    path = tmp_path / "t.parquet"
    for numbers in ([], [2.5], [2.0], [2.5, 3.5], [-7.5], [0.0], [2.5, np.inf], [2.0**127]):
        cells = [float("nan")] * 9 + numbers * 2
        column = pa.array(np.array(cells, kind.to_pandas_dtype()))
        parquet.write_table(pa.table({"city": column, "rider": range(len(cells))}), path)
        texts = [item(number) for number in numbers if abs(number) < 2**127]
        assert dict(count_distinct_users(path, **KEYS)) == dict.fromkeys(texts, 2)
        assert dict(count_distinct_users(path, **KEYS, places=9)) == dict.fromkeys(texts, 2)
        riders = pa.array(np.array([np.nan, 1, 2] * 9), kind)
        parquet.write_table(pa.table({"city": ["a"] * 27, "rider": riders}), path)
        assert dict(count_distinct_users(path, **KEYS)) == {"a": 2}


@pytest.mark.parametrize("of", ["smallest", "largest", "sum"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_nan_is_no_value_either(kind: Any, of: Any, tmp_path: Path) -> None:
    path, options = tmp_path / "t.parquet", {"value": "fare", "user": "rider", "of": of}
    grid: dict[str, Any] = {"lowest": -9, "highest": 9, "step": "0.5", "epsilon": 9}
    for low, high in ((2.5, 2.5), (2.0, 2.0), (2.5, 3.5), (2.5, np.inf)):
        cells = [np.nan, -np.nan] * 200 + [low] * 150 + [high] * 50
        rows = pa.table({"fare": pa.array(np.array(cells), kind), "rider": range(600)})
        parquet.write_table(rows, path)
        assert table_quantiles(path, **options, **grid, quantiles=["1/2"]).value == low


DECIMALS = ["1.50", "2.00", "0.00", "-0.05", "100.00", "-10.10", "0.01", "12345678.90"]


@pytest.mark.parametrize("scale", [0, 2, 10, 28])
def test_decimals_and_truths_of_every_source(scale: int, tmp_path: Path) -> None:
    cells = [Decimal(each) for each in DECIMALS if scale or Decimal(each) % 1 == 0]
    column = pa.array([*cells, None], pa.decimal128(38, scale))
    rows = pa.table({"city": column, "rider": range(len(column))})
    wanted = Counter(item(each) for each in cells)
    for table in (rows, pl.from_arrow(rows), duckdb.connect().from_arrow(rows)):
        assert Counter(dict(count_distinct_users(table, **KEYS))) == wanted
    parquet.write_table(rows, tmp_path / "t.parquet")
    assert Counter(dict(count_distinct_users(tmp_path / "t.parquet", **KEYS))) == wanted
    truths = pa.table({"city": [True, False, None, True], "rider": [1, 2, 3, 4]})
    assert dict(count_distinct_users(truths, **KEYS)) == {"0": 1, "1": 2}
    assert dict(count_distinct_users(truths, **KEYS, candidates=[1, 7])) == {"1": 2, "7": 0}


def test_a_number_of_a_public_list_is_written_plainly(tmp_path: Path) -> None:
    prices = pa.table({"city": [1.5, 2.0, -0.25], "rider": [1, 2, 3]})
    found = count_distinct_users(prices, **KEYS, candidates=["1.5", 2, "-0.25", "7.5"])
    assert dict(found) == {"1.5": 1, "2": 1, "-0.25": 1, "7.5": 0}
    for wrong in ("1.50", "2.0", "1e3", ".5", "01.5", "-0", "x"):
        with pytest.raises(InputError, match="candidate 2 is not a number in plain decimal form"):
            count_distinct_users(prices, **KEYS, candidates=["1.5", wrong])


def test_a_public_item_that_one_column_lacks_is_no_error_for_the_other() -> None:
    """What pandas makes of a column is private: a list is not held against it."""
    for items in ([1, 2], [1, 2, "x"], [1, 2, None]):
        frame = pd.DataFrame({"city": items, "rider": range(len(items))})
        assert dict(count_distinct_users(frame, **KEYS, candidates=[1, "y"])) == {"1": 1, "y": 0}


def test_files_whose_columns_have_other_types_hold_the_same_items(tmp_path: Path) -> None:
    """One user's text made one of the files a column of texts."""
    columns = {"a": [1, 2], "b": ["1", "x"], "c": [1.0, None], "d": [True, False]}
    for name, items in columns.items():
        rows = pa.table({"city": items, "rider": [f"{name}1", f"{name}2"]})
        parquet.write_table(rows, tmp_path / f"{name}.parquet")
    found = count_distinct_users([tmp_path / f"{name}.parquet" for name in columns], **KEYS)
    assert dict(found) == {"0": 1, "1": 4, "2": 1, "x": 1}


def test_users_of_several_kinds_are_one_by_their_text() -> None:
    riders = [1, 1.0, "1", True, Decimal("1.0"), "bob", None, float("nan"), [1], b"x"]
    frame = pd.DataFrame({"city": ["a"] * len(riders), "rider": pd.Series(riders, dtype=object)})
    assert dict(count_distinct_users(frame, **KEYS)) == {"a": 2}
    assert dict(count_distinct_users(frame, **KEYS, max_contributions=1)) == {"a": 2}

"""Tables in memory count as files do, and no word of another library's messages comes out."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest

from safeselect import InputError, ParameterError
from safeselect.adapters.tables import count_distinct_users, largest_counts, read_scores

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

ROWS = [("Oslo", 1), ("Oslo", 2), ("Oslo", 1), ("Rome", 2), (None, 1), ("Rome", None), ("Bern", 3)]
EXPECTED = {"Bern": 1, "Oslo": 2, "Rome": 1}
PRIVATE = "Zebedee-4711"


def relation(rows: list[Any]) -> Any:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE trips (day INTEGER, "a ""city""" VARCHAR, rider BIGINT)')
    connection.executemany("INSERT INTO trips VALUES (1, ?, ?)", rows)
    return connection.table("trips").project('"a ""city""" AS city, rider')


def frame(rows: list[Any], **types: Any) -> Any:
    found = pd.DataFrame(rows, columns=["city", "rider"])
    return found.astype({"rider": "Int64", **types})


FRAMES = {
    "pandas": frame,
    "pandas object": lambda rows: frame(rows, city=object),
    "pandas string": lambda rows: frame(rows, city="string"),
    "pandas category": lambda rows: frame(rows, city="category"),
    "polars": lambda rows: pl.DataFrame(rows, schema=["city", "rider"], orient="row"),
    "polars categorical": lambda rows: pl.DataFrame(
        rows, schema={"city": pl.Categorical, "rider": pl.UInt8}, orient="row"
    ),
    "arrow": lambda rows: pa.table({"city": [r[0] for r in rows], "rider": [r[1] for r in rows]}),
    "arrow dictionary": lambda rows: pa.table(
        {"city": pa.array([r[0] for r in rows]).dictionary_encode(), "rider": [r[1] for r in rows]}
    ),
    "duckdb": relation,
}


@pytest.mark.parametrize("form", FRAMES)
def test_frames_count_as_files_do(form: str) -> None:
    table = FRAMES[form](ROWS)
    assert count_distinct_users(table, item="city", user="rider") == EXPECTED
    largest = largest_counts(table, item="city", user="rider", places=2)
    assert list(largest.items()) == [("Oslo", 2), ("Bern", 1)]
    one = largest_counts(table, item="city", user="rider", places=9, max_contributions=1)
    assert sum(one.values()) == 3


@pytest.mark.parametrize("form", FRAMES)
def test_a_frame_without_values_is_empty_and_not_wrong(form: str) -> None:
    if form != "duckdb":
        for rows in ([], [(None, None)], [(None, 1)]):
            if rows or not form.startswith("arrow d"):
                assert count_distinct_users(FRAMES[form](rows), item="city", user="rider") == {}
    untyped = pd.DataFrame({"city": [], "rider": []})
    assert count_distinct_users(untyped, item="city", user="rider") == {}


def test_another_connection_s_settings_mean_nothing() -> None:
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'NOCASE'")
    connection.execute("CREATE TABLE t AS SELECT unnest(['a', 'A']) AS city, 1 AS rider")
    connection.execute("CREATE TYPE mood AS ENUM ('a', 'A')")
    both = {"A": 1, "a": 1}
    assert count_distinct_users(connection.table("t"), item="city", user="rider") == both
    mood = connection.sql("SELECT city::mood AS city, rider FROM t")
    assert count_distinct_users(mood, item="city", user="rider") == both


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"city": ["a"], "rider": [0.5]}), "'rider' must hold .* but holds DOUBLE"),
        (pd.DataFrame({"city": [True], "rider": [1]}), "'city' must hold .* but holds BOOLEAN"),
        (pl.DataFrame({"city": [[PRIVATE]], "rider": [1]}), "'city' must hold"),
        (pa.table({"city": [{PRIVATE: 1}], "rider": [1]}), "'city' must hold .* but holds STRUCT;"),
        (pd.DataFrame({"city": [PRIVATE, 7], "rider": [1, 2]}), "cannot be read: keys are"),
        (pd.DataFrame({"city": [PRIVATE, object()], "rider": [1, 2]}), "cannot be read: keys are"),
        (pd.DataFrame({"town": [PRIVATE], "rider": [1]}), "the table has no column named 'city'"),
        (pd.DataFrame([[PRIVATE, PRIVATE, 1]], columns=["city", "city", "rider"]), "more than one"),
    ],
)
def test_other_columns_are_refused_without_a_cell(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        count_distinct_users(table, item="city", user="rider")
    assert PRIVATE not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "table", [7, None, {"city": ["a"]}, [("a", 1)], pl.LazyFrame({"city": []})]
)
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(ParameterError, match=r"a table must be the path of a file, .* got"):
        count_distinct_users(table, item="city", user="rider")


def test_a_relation_that_cannot_be_computed_says_nothing() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'Zebedee-4711' AS city, 1 AS rider")
    broken = connection.sql("SELECT city::INTEGER AS city, rider FROM t")
    with pytest.raises(InputError, match=r"the table cannot be read|keys are integers") as caught:
        count_distinct_users(broken, item="city", user="rider")
    assert PRIVATE not in str(caught.value)
    assert caught.value.__context__ is None


def test_without_pyarrow_one_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"city": ["a"], "rider": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="pip install pyarrow"):
        count_distinct_users(table, item="city", user="rider")


def test_scores_may_come_from_a_frame() -> None:
    table = pd.DataFrame({"name": ["b", "a"], "n": [1, 2]})
    assert read_scores(table, label="name", score="n") == (["a", "b"], [2, 1])

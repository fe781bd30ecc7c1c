"""Statements for other engines, each on a real one: the counts of a file, in the same order.

DuckDB and PostgreSQL run here; Spark with `make spark`, ClickHouse with `make clickhouse`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from itertools import pairwise

import numpy as np
import pytest
from postgres import needs_postgres, running_server

from safeselect import Counts, ParameterError
from safeselect.tables import count_distinct_users
from safeselect.tables.dialects import DIALECTS, check_statement, hard_texts, statement

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

Rows = list[tuple[str, int]]
Cells = list[tuple[str | None, int | None]]
Run = Callable[[str], Rows]
WORDS = ("Zürich", "zurich", "A\u030a", "Å", "a", "a ", "Rome", "rome ", "-", "ß", "ss", "")
WHOLE = ("1.0", "1")  # two labels


@contextmanager
def _duckdb(cells: Cells) -> Iterator[Run]:
    with duckdb.connect() as connection:
        connection.execute("SET default_collation = NOCASE")  # the statement compares bytes
        connection.execute("CREATE TABLE trips (city VARCHAR COLLATE NOCASE, rider BIGINT)")
        connection.executemany("INSERT INTO trips VALUES (?, ?)", cells)
        yield lambda sql: connection.execute(sql).fetchall()


@contextmanager
def _postgres(cells: Cells) -> Iterator[Run]:
    import psycopg

    loose = "provider = icu, locale = 'und-u-ks-level1', deterministic = false"
    with running_server() as it, psycopg.connect(it.conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE COLLATION loose ({loose})")
        connection.execute("CREATE TABLE trips (city text COLLATE loose, rider integer)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO trips VALUES (%s, %s)", cells)
        yield lambda sql: connection.execute(sql.encode()).fetchall()


@contextmanager
def _spark(cells: Cells) -> Iterator[Run]:
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[2]").getOrCreate()
    session.createDataFrame(cells, "city string, rider int").createOrReplaceTempView("trips")
    yield lambda text: [tuple(row) for row in session.sql(text).collect()]
    session.stop()


@contextmanager
def _clickhouse(cells: Cells) -> Iterator[Run]:
    session = pytest.importorskip("chdb.session").Session()
    session.query("CREATE TABLE trips (city Nullable(String), rider Nullable(Int32)) ORDER BY ()")
    lines = "\n".join(json.dumps(row) for row in cells)
    session.query(f"INSERT INTO trips FORMAT JSONCompactEachRow {lines}")

    def run(sql: str) -> Rows:
        printed = str(session.query(sql, "JSONCompactEachRow"))
        return [(label, int(users)) for label, users in map(json.loads, printed.splitlines())]

    yield run
    session.close()


ENGINES = {"duckdb": _duckdb, "postgres": _postgres, "spark": _spark, "clickhouse": _clickhouse}


def _cells() -> Cells:
    draw, cities = random.Random(7), [*WORDS, *WHOLE, *map(str, range(150))]
    drawn = [(draw.choice(cities), draw.randrange(300)) for _ in range(6000)]
    return [*drawn, (None, 1), ("Oslo", None)]


def test_which_engines_are_tested() -> None:
    assert [name for name, form in DIALECTS.items() if form.tested] == [*ENGINES]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _expected(texts: list[str]) -> list[tuple[str, int]]:
    """Each text is an item of all users up to itself; a user counts for 7 items."""
    counts: dict[str, int] = {}
    for place, user in enumerate(texts[1:], 1):
        read = (_bytes(text).decode("utf-8", "replace") for text in texts[place:])
        items = {text for text in read if text != texts[1]}
        order = {
            i: (md5(_bytes(f"{user} {i}"), usedforsecurity=False).hexdigest()[:12], i.encode())
            for i in items
        }
        for item in sorted(items, key=order.__getitem__)[:7]:
            counts[item] = counts.get(item, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].encode()))


@pytest.mark.parametrize(("null", "odd"), [(True, []), (False, []), (True, ["\udcfe", "\udcff"])])
def test_a_check_is_as_it_is_counted_without_sql(null: bool, odd: list[str]) -> None:
    check = _expected([*hard_texts(null=null), *odd])
    assert Counts.from_rows(check, check=check, places="all") == dict(check)


@pytest.mark.slow("starts engines")
@pytest.mark.parametrize(
    "name", ["duckdb", pytest.param("postgres", marks=needs_postgres), "spark", "clickhouse"]
)
def test_each_engine_counts_as_a_file_is_counted(name: str) -> None:
    cells = _cells()
    table = pa.table(dict(zip(("city", "rider"), zip(*cells, strict=True), strict=True)))
    with ENGINES[name](cells) as run:
        check = run(check_statement(name))
        for places, cap in ((101, None), (12, 5), (None, 3)):
            asked = {"item": "city", "user": "rider", "max_contributions": cap}
            sql = statement(name, table="trips", **asked, places=places)
            rows = run(sql)
            counted = count_distinct_users(table, **asked, places=places or 1000)
            assert rows == [*counted.items()]
            most = places or "all"
            counts = Counts.from_rows(rows, check=check, places=most, max_contributions=cap)
            assert [*counts.items()] == rows
            assert (counts.places, counts.max_contributions) == (most, cap)
        # Names that the statement has itself are those of the table and of the columns.
        words = sorted({*re.findall(r"\b(?!safeselect_)\w+", sql.lower())})
        for one, two in pairwise(words):
            named = statement(name, table=one, item=two, user=one, max_contributions=cap)
            columns = f"SELECT t.city AS '{two}', t.rider AS '{one}' FROM trips AS t"  # noqa: S608
            own = f"WITH '{one}' AS ({columns}),".replace("'", DIALECTS[name].quote)
            assert run(own + named.removeprefix("WITH")) == rows
        other = statement(name, table="trips", item="city", user="trips")
        with pytest.raises(Exception, match=r"(?i)safeselect_rows.*trips"):
            run(other)


@pytest.mark.slow("starts an engine")
def test_no_setting_of_a_session_leaves_rows_out() -> None:
    with _clickhouse(_cells()) as run:
        sql = statement("clickhouse", table="trips", item="city", user="rider", max_contributions=3)
        rows = run(sql)
        for mode, _ in run("SELECT name, 1 FROM system.settings WHERE name LIKE '%overflow_mode%'"):
            run(f"SET {mode} = '{'any' if mode.startswith('group') else 'break'}'")
        for limit in ("limit", "offset", "extremes"):
            run(f'SET "{limit}" = 1')
        assert run(sql) == rows
        for limit in ("rows_to_read", "rows_in_distinct", "rows_to_group_by", "result_rows"):
            run(f"SET max_{limit} = 10")
            with pytest.raises(Exception, match=r"(?i)limit for"):
                run(sql)
            run(f"SET max_{limit} = 0")


@pytest.mark.parametrize("setting", ["NOCASE", "NOACCENT"])
def test_a_check_by_another_comparison_is_refused(setting: str) -> None:
    sql = check_statement("duckdb").replace("encode(CAST(", "(CAST(CAST(").replace(
        " AS VARCHAR))", f" AS VARCHAR) AS VARCHAR) COLLATE {setting})"
    ).replace("decode(safeselect", "(safeselect").replace("encode(' ')", "' '")  # fmt: skip
    with duckdb.connect() as connection:
        check = connection.execute(sql).fetchall()
    with pytest.raises(ParameterError, match="check="):
        Counts.from_rows([], check=check, places="all")


def test_names_are_quoted_and_never_end_the_quotation() -> None:
    sql = statement("spark", table="a.b c", item="select", user="O'Neil")
    assert "FROM `a`.`b c` AS" in sql
    assert ".`O'Neil` AS STRING)" in sql
    for name in ('a"b', "a`b", "a\\b", "", "a..b", "a\nb", "safeselect_x", "a.Safe\u017felect_"):
        with pytest.raises(ParameterError, match="name"):
            statement("duckdb", table=name, item="i", user="u")


def test_dialects_that_do_not_exist() -> None:
    with pytest.raises(ParameterError, match="dialect"):
        check_statement("oracle")


@pytest.fixture(scope="module")
def check() -> Rows:
    found: Rows = duckdb.execute(check_statement("duckdb")).fetchall()
    return found


def test_engines_without_the_character_of_code_0_pass() -> None:
    lines = check_statement("duckdb").splitlines()
    kept = [line for line in lines if "'6100" not in line]  # texts with it
    assert len(lines) - len(kept) == 2
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


@pytest.mark.parametrize("rows", [[("a", 5), ("a", 2)], [("a", 2), ("b", 1), ("a", 5), ("a", 4)]])
def test_of_equal_labels_the_largest_count_is_kept(check: Rows, rows: Rows) -> None:
    assert Counts.from_rows(rows, check=check, places="all")["a"] == 5


def test_counts_of_any_integers(check: Rows) -> None:
    rows = [("b", np.int64(2)), ("a", 2), ("c", 5)]
    counts = Counts.from_rows(rows, check=check, places=3, unit="one rider")
    assert dict(counts) == {"a": 2, "b": 2, "c": 5}
    assert (counts.places, counts.unit) == (3, "one rider")


@pytest.mark.parametrize(
    "row", [("secret", 1.0), (None, 4711), (4711,), 4711, ("secret", 1, 2), ("secret", "4711")]
)
def test_rows_that_are_no_counts_are_not_quoted(check: Rows, row: object) -> None:
    with pytest.raises(ParameterError, match="pairs") as caught:
        Counts.from_rows([row], check=check, places="all")  # type: ignore[list-item]
    assert "4711" not in str(caught.value)
    assert "secret" not in str(caught.value)

"""Statements for other engines, each on a real one: the counts of a file, in the same order.

DuckDB and PostgreSQL run here; Spark with `make spark`, ClickHouse with `make clickhouse`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from postgres import needs_postgres, running_server

from safeselect import Counts, ParameterError
from safeselect.tables import count_distinct_users
from safeselect.tables.dialects import DIALECTS, check_statement, statement

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

Rows = list[tuple[str, int]]
Cells = list[tuple[str | None, int | None]]
Run = Callable[[str], Rows]
WORDS = (
    "Zürich",
    "zurich",
    "A\u030a",
    "Å",
    "a",
    "a ",
    "Rome",
    "rome ",
    "-",
    "ß",
    "ss",
    "",
    "1.0",
    "1",
)


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

    loose = (
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    with (
        running_server() as server,
        psycopg.connect(server.conninfo, autocommit=True) as connection,
    ):
        connection.execute(loose)
        connection.execute("CREATE TABLE trips (city text COLLATE loose, rider integer)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO trips VALUES (%s, %s)", cells)
        yield lambda sql: connection.execute(sql.encode()).fetchall()


@contextmanager
def _spark(cells: Cells) -> Iterator[Run]:
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[2]").getOrCreate()
    frame = session.createDataFrame(cells, "city string, rider int")
    frame.createOrReplaceTempView("trips")
    yield lambda text: [tuple(row) for row in session.sql(text).collect()]
    session.stop()


@contextmanager
def _clickhouse(cells: Cells) -> Iterator[Run]:
    chdb = pytest.importorskip("chdb.session")
    session = chdb.Session()
    session.query("CREATE TABLE trips (city Nullable(String), rider Nullable(Int32)) ENGINE Memory")
    lines = "\n".join(json.dumps(row) for row in cells)
    session.query(f"INSERT INTO trips FORMAT JSONCompactEachRow {lines}")

    def run(sql: str) -> Rows:
        printed = str(session.query(sql, "JSONCompactEachRow"))
        return [(label, int(users)) for label, users in map(json.loads, printed.splitlines())]

    yield run
    session.close()


ENGINES = {"duckdb": _duckdb, "postgres": _postgres, "spark": _spark, "clickhouse": _clickhouse}


def _cells() -> Cells:
    draw = random.Random(7)
    cities = [*WORDS, *map(str, range(150))]
    return [(draw.choice(cities), draw.randrange(300)) for _ in range(6000)] + [
        (None, 1),
        ("Oslo", None),
    ]


def test_which_engines_are_tested() -> None:
    assert [name for name, form in DIALECTS.items() if form.tested] == [*ENGINES]


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
            columns = {"item": "city", "user": "rider"}
            sql = statement(name, table="trips", **columns, places=places, max_contributions=cap)
            rows = run(sql)
            expected = [
                *count_distinct_users(
                    table, **columns, places=places or 1000, max_contributions=cap
                ).items()
            ]
            assert rows == expected
            counts = Counts.from_rows(
                rows, check=check, places=places or "all", max_contributions=cap
            )
            assert [*counts.items()] == expected
            assert (counts.places, counts.max_contributions) == (places or "all", cap)


@pytest.mark.parametrize("setting", ["NOCASE", "NOACCENT"])
def test_a_check_by_another_comparison_is_refused(setting: str) -> None:
    sql = check_statement("duckdb").replace("encode(CAST(", "(CAST(CAST(").replace(
        " AS VARCHAR))", f" AS VARCHAR) AS VARCHAR) COLLATE {setting})"
    ).replace("decode(item_key)", "item_key").replace("encode(' ')", "' '")  # fmt: skip
    with duckdb.connect() as connection:
        check = connection.execute(sql).fetchall()
    with pytest.raises(ParameterError, match="check="):
        Counts.from_rows([], check=check, places="all")


def test_names_are_quoted_and_never_end_the_quotation() -> None:
    sql = statement("spark", table="a.b c", item="select", user="O'Neil")
    assert "FROM `a`.`b c`" in sql
    assert "CAST(`O'Neil` AS STRING)" in sql
    for name in ('a"b', "a`b", "a\\b", "", "a..b", "a\nb"):
        with pytest.raises(ParameterError, match="name"):
            statement("duckdb", table=name, item="i", user="u")


def test_dialects_that_do_not_exist() -> None:
    with pytest.raises(ParameterError, match="dialect"):
        check_statement("oracle")

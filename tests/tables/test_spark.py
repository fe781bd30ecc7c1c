"""The same SQL on a real Spark, whose tasks fail and are run again: `make spark`.

Without Spark, what is asked of its session is answered by DuckDB.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tapes import TapeSource

from safeselect import InputError, unknown_domain_top_k
from safeselect.mechanisms.items import item
from safeselect.tables import count_distinct_users, select_keys, top_items
from safeselect.tables.keys import open_keyed
from safeselect.tables.sql import counts_of_groups, counts_of_items

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

pytestmark = pytest.mark.filterwarnings("default")  # Spark's own are not ours to repair

ROWS = [
    (None if i % 37 == 0 else f"café {i * i % 61}", None if i % 41 == 0 else i * 7919 % 257)
    for i in range(6000)
] + [("", 1), ("\U0001d518", 2), ("￿", 2), (" a", 3)]
THREE = ("item", "person", "grp")
KEYS = {"item": "item", "user": "user"}
PRIVATE = "Zebedee-4711"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers that know safeselect
        yield from _session()


def _session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2,4]")  # two workers, four attempts a task
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Session:
    """What is asked of a session of Spark 3.5, of its catalog and of a DataFrame, by DuckDB."""

    def __init__(self) -> None:
        self.engine, self.catalog, self.made = duckdb.connect(), self, 0
        self.engine.execute("CREATE MACRO raise_error(said) AS CAST(CAST(said AS INT) AS STRING)")
        for name in ("encode", "decode"):  # all text of DuckDB is UTF-8
            self.engine.execute(f"CREATE MACRO {name}(cell, kind) AS cell")

    def createDataFrame(self, rows: list[Any], schema: str) -> DataFrame:
        names, kinds = zip(*(column.split() for column in schema.split(", ")), strict=True)
        columns = ", ".join(
            f"UNNEST(CAST(? AS {kind}[])) AS {name}"
            for name, kind in zip(names, kinds, strict=True)
        )
        cells = [[*each] for each in zip(*rows, strict=True)] or [[]] * len(names)
        self.made += 1
        self.engine.execute(f"CREATE TABLE made{self.made} AS SELECT {columns}", cells)
        return self.sql(f"FROM made{self.made}")

    def sql(self, text: str) -> DataFrame:
        return DataFrame(self, self.engine.sql(text))

    def range(self, _: int) -> None:
        """A DataFrame without `toArrow`."""

    def listTables(self) -> list[Any]:
        return self.engine.sql("FROM duckdb_views() WHERE NOT internal").fetchall()

    def dropTempView(self, name: str) -> None:
        self.engine.execute(f"DROP VIEW IF EXISTS {name}")


KINDS = {"VARCHAR": "string", "INTEGER": "int", '"NULL"': "void"}


class DataFrame:
    __module__ = "pyspark.sql.dataframe"

    def __init__(self, session: Session, held: Any) -> None:
        self.sparkSession, self._held, self.columns = session, held, held.columns
        self.dtypes = [
            (name, KINDS.get(str(kind), str(kind).lower()))
            for name, kind in zip(held.columns, held.types, strict=True)
        ]
        self.collect, self.createTempView = held.fetchall, held.create_view

    def toDF(self, *names: str) -> DataFrame:
        quoted = (name.replace('"', '""') for name in names)
        return self.selectExpr(*(f'#{n} AS "{name}"' for n, name in enumerate(quoted, 1)))

    def selectExpr(self, *cells: str) -> DataFrame:
        return DataFrame(self.sparkSession, self._held.project(", ".join(cells)))

    def repartition(self, _: str) -> DataFrame:
        return self


@pytest.fixture(params=["DuckDB", "Spark"])
def session(request: pytest.FixtureRequest) -> Any:
    return Session() if request.param == "DuckDB" else request.getfixturevalue("spark")


def table(rows: Iterable[tuple[Any, Any]]) -> Any:
    items, users = zip(*rows, strict=True)
    return pa.table({"item": items, "user": users})


def failing_once(marks: Path) -> Any:
    """Rows that are lost by the first attempt of each task, after some have gone through."""

    def attempt(rows: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        for place, row in enumerate(rows):
            if place == 100 and context.attemptNumber() == 0:
                (marks / f"{context.stageId()}-{context.partitionId()}").touch()
                raise OSError(PRIVATE)
            yield row

    return attempt


@pytest.mark.parametrize("most", [1, 2])
def test_keys_are_those_of_duckdb_though_every_task_fails_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The same bounded counts for the same hash; the driver draws, once."""
    if most == 2:  # as before Spark 4
        for kind in type(spark.range(0)).__mro__:
            monkeypatch.delattr(kind, "toArrow", raising=False)
    rows = spark.sparkContext.parallelize(ROWS, 4).mapPartitions(failing_once(tmp_path))
    frame = spark.createDataFrame(rows, "item STRING, user BIGINT")
    found = count_distinct_users(frame, **KEYS, max_contributions=most)
    largest = [
        count_distinct_users(each, **KEYS, places=30, max_contributions=most)
        for each in (frame, table(ROWS))
    ]
    assert [*largest[0].items()] == [*largest[1].items()]
    assert len(list(tmp_path.iterdir())) >= 4  # they did fail
    assert dict(found) == dict(count_distinct_users(table(ROWS), **KEYS, max_contributions=most))
    cost = {"epsilon": 3, "delta": "1e-3", "max_partitions": most}
    ours, theirs = (
        select_keys(each, **KEYS, **cost, source=TapeSource(seed=6)).labels
        for each in (frame, table(ROWS))
    )
    assert ours == theirs
    public: dict[str, Any] = {"k": 9, "epsilon": 1, "candidates_are_public": True}
    ours, theirs = (
        top_items(each, **KEYS, **public, source=TapeSource(seed=6)).labels
        for each in (frame, table(ROWS))
    )
    assert ours == theirs


def test_weights_are_those_of_duckdb(session: Any) -> None:
    found = []
    for each in (session.createDataFrame(ROWS, "item STRING, user BIGINT"), table(ROWS)):
        with open_keyed(each, "item", "user") as keyed:
            sums, labels = keyed.columns(counts_of_items(contributions=3, places=0, squared=1000))
            found.append(dict(zip(labels.to_pylist(), sums.to_pylist(), strict=True)))
    assert found[0] == found[1]
    assert len({*found[0].values()}) > 9


def test_pairs_of_a_person_stay_where_they_are(spark: Any) -> None:
    """Rows are brought to their person once; then only counts move."""
    frame = spark.createDataFrame(ROWS, "item STRING, user BIGINT")
    with open_keyed(frame, "item", "user") as keyed:
        for cap in (None, 2):
            sql = counts_of_items(contributions=cap, places=9)
            with redirect_stdout(StringIO()) as plan:
                spark.sql(sql.replace("safeselect_", keyed.table._name)).explain()
            moved = re.findall(r"Exchange hashpartitioning\((\w+)#[^,]*, (\w+)", plan.getvalue())
            assert moved == [("item", "4"), ("person", "4")], plan.getvalue()


NUMBERS = ["1.5", "-2.5", "1E-7", "1.25E-5", "123456789.125", "2.0", "-0.0", "1E18", "0.1", "1E30"]


@pytest.mark.parametrize(
    "kind", ["DOUBLE", "FLOAT", "DECIMAL(12, 4)", "DECIMAL(38, 10)", "BOOLEAN"]
)
def test_items_are_the_texts_that_they_are_for_duckdb(spark: Any, kind: str) -> None:
    """Numbers of every type, written plainly; what is none, or none that fits, is dropped."""
    cells = [*NUMBERS, "NaN"] if kind in ("DOUBLE", "FLOAT") else [*NUMBERS[:4], "2.0", "-0.0"]
    cells = ["true", "false", "true"] if kind == "BOOLEAN" else cells
    frame = spark.createDataFrame([*enumerate(cells), (99, None)], "user INT, text STRING")
    typed = frame.selectExpr(f"CAST(text AS {kind}) AS item", "user")
    rows = [(row[0], row[1]) for row in typed.collect()]
    found = count_distinct_users(typed, **KEYS)
    # A float of 2**63 or more is none here.
    small = [(item(cell), user) for cell, user in rows if cell is None or not abs(cell) >= 2**63]
    assert dict(found) == dict(count_distinct_users(table(small), **KEYS))
    assert len(found) == (2 if kind == "BOOLEAN" else len({text for text, _ in small if text}))
    assert dict(count_distinct_users(typed, **KEYS, places=99, max_contributions=1)) == dict(found)


@pytest.mark.parametrize("kind", ["INT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(10, 0)"])
def test_the_cap_follows_from_a_user_s_own_rows(session: Any, kind: str) -> None:
    """Two items of user 1 whose hashes are equal, in a column of any type."""
    for items in ((935124, 2399654), (2399654, 935124)):
        frame = session.createDataFrame([(each, 1) for each in items], "item INT, user INT")
        typed = frame.selectExpr(f"CAST(item AS {kind}) AS item", "user")
        assert count_distinct_users(typed, **KEYS, max_contributions=1) == {"2399654": 1}
        grouped = typed.selectExpr("item", "user", "item AS month")
        sql = counts_of_groups(places=9, contributions=1, groups=1)
        with open_keyed(grouped, "item", "user", "month") as keyed:
            found = keyed.fetch(sql, *THREE, groups=["935124", "2399654"])
        assert found == [("2399654", "2399654", 1)]


def test_nothing_is_counted_and_nothing_is_left_behind(session: Any) -> None:
    before = len(session.catalog.listTables())
    empty = session.createDataFrame([], "item STRING, user BIGINT")
    nulls = session.sql("SELECT NULL AS item, NULL AS user")
    for frame in (empty, nulls):
        counts = count_distinct_users(frame, **KEYS, places=5)
        assert counts == {}
        assert unknown_domain_top_k(counts, k=2, k_bar=4, epsilon=1, delta="1e-9").labels == ()
    assert len(session.catalog.listTables()) == before


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 AS item, CAST(1 AS DOUBLE) AS user", "must contain .* contains DOUBLE"),
        ("SELECT 1 AS item, TRUE AS user", "but contains BOOLEAN"),
        ("SELECT DATE '2013-01-01' AS item, 1 AS user", "but contains DATE"),
        ("SELECT 1 AS item, 1 AS item, 1 AS user", "more than one column named 'item'"),
        ("SELECT 1 AS ITEM, 1 AS user", "no column named 'item'"),
        ("SELECT 1 AS item, raise_error('Zebedee-4711') || 'x' AS user", "Spark could not count"),
    ],
)
def test_other_tables_are_refused_without_a_cell(session: Any, sql: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        count_distinct_users(session.sql(sql), **KEYS)
    assert PRIVATE not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "BOOLEAN", "DATE"])
def test_users_of_other_types_are_refused_before_a_row_is_read(session: Any, kind: str) -> None:
    frame = session.sql(f"SELECT 'a' AS item, CAST(NULL AS {kind}) AS user")
    with pytest.raises(InputError, match=kind), open_keyed(frame, "item", "user"):
        pytest.fail("the table is open")


@pytest.mark.parametrize("odd", ["FE", "61FF", "EDA080", "EFBFBD"])
def test_what_is_no_utf_8_moves_no_other_count(spark: Any, odd: str) -> None:
    """Bytes that Python reads as one text are one item, as they are one user for each user."""
    held = f"'g' AS g, CAST(unhex('{odd}') AS STRING) AS item, id AS user"
    other = f"'g', CAST(unhex('{odd.replace('FE', 'FF').replace('EFBFBD', 'FF')}') AS STRING), -1"
    frame = spark.sql(f"SELECT {held} FROM range(50) UNION ALL SELECT {other}")  # noqa: S608
    label = "".join(count_distinct_users(frame, **KEYS))  # Java decides how many U+FFFD
    assert label.endswith("\ufffd")
    for limit in ({}, {"places": 9}, {"max_contributions": 1}, {"candidates": [label]}):
        assert dict(count_distinct_users(frame, **KEYS, **limit)) == {label: 51}
    with open_keyed(frame, "item", "user", "g") as keyed:
        sql = counts_of_groups(places=9, contributions=None, groups=1)
        assert keyed.fetch(sql, *THREE, groups=["g"]) == [("g", label, 51)]


def test_odd_names_mean_nothing_to_sql(session: Any) -> None:
    odd = 'a.`b` "c"; DROP'
    frame = session.createDataFrame([("x", 1), ("x", 2)], "a STRING, b INT").toDF(odd, "user")
    assert count_distinct_users(frame, item=odd, user="user") == {"x": 2}


GROUPED = [
    (("May", "June", "July", None)[place % 4], item, None if user is None else user % 40)
    for place, (item, user) in enumerate(ROWS)
]


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("known", [None, ["café 0", "café 1", "café 4", "none"]])
def test_counts_of_groups_are_those_of_duckdb_though_every_task_fails_once(
    spark: Any, tmp_path: Path, groups: int, known: list[str] | None
) -> None:
    """The same hashes choose the groups and the items of a user; the driver draws, once."""
    rows = spark.sparkContext.parallelize(GROUPED, 4).mapPartitions(failing_once(tmp_path))
    frame = spark.createDataFrame(rows, "month STRING, item STRING, user BIGINT")
    columns = list(zip(*GROUPED, strict=True))
    arrow = pa.table(dict(zip(("month", "item", "user"), columns, strict=True)))
    sql = counts_of_groups(groups=groups, places=9, contributions=4, among=known is not None)
    counts = []
    for each in (frame, arrow):
        with open_keyed(each, "item", "user", "month") as keyed:
            counts.append(
                keyed.fetch(sql, *THREE, groups=["May", "July", "August"], candidates=known)
            )
    assert len(list(tmp_path.iterdir())) >= 4  # they did fail
    assert (counts[0], {group for group, _, _ in counts[0]}) == (counts[1], {"May", "July"})

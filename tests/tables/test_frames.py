"""Tables in memory count as files do, and no word of another library's messages comes out."""

from __future__ import annotations

import datetime
import enum
import math
import sys
import uuid
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from ledgers import new, scope
from ready import read_scores
from table_sources import SOURCES

from safeselect import InputError, ParameterError
from safeselect.tables import TableAs, count_distinct_users, top_items, top_items_by_group
from safeselect.tables.duckdb import open_table
from safeselect.tables.frames import as_arrow
from safeselect.tables.keys import open_keyed
from safeselect.tables.values import _cell, _number

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

EXPECTED = {"Bern": 1, "Oslo": 2, "Rome": 1}
PRIVATE = "Zebedee-4711"


CITIES = ["Oslo", "Oslo", "Oslo", "Rome", None, "Rome", "Bern"]
RIDERS = [1, 2, 1, 2, 1, None, 3]
FORMS = SOURCES | {
    "pandas category": lambda _, columns: pd.DataFrame(columns).astype({"city": "category"}),
    "polars categorical": lambda _, columns: pl.DataFrame(
        columns, schema_overrides={"city": pl.Categorical}
    ),
    "arrow dictionary": lambda _, columns: pa.table(
        {**columns, "city": pa.array(columns["city"], pa.string()).dictionary_encode()}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_frames_count_as_files_do(form: str, tmp_path: Path) -> None:
    keys = {"item": "city", "user": "rider"}
    table = FORMS[form](tmp_path, {"city": CITIES, "rider": RIDERS})
    assert count_distinct_users(table, **keys) == EXPECTED
    assert list(count_distinct_users(table, **keys, places=2).items()) == [("Oslo", 2), ("Bern", 1)]
    assert sum(count_distinct_users(table, **keys, places=9, max_contributions=1).values()) == 3
    nothing = FORMS[form](tmp_path, {"city": [None, None], "rider": [None, 1]})
    assert count_distinct_users(nothing, **keys) == {}


def test_a_frame_without_values_is_empty_and_not_wrong() -> None:
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
    for lossless in (True, False):
        connection.execute(f"SET arrow_lossless_conversion = {lossless}")
        texts = connection.sql(
            "SELECT '5'::JSON AS city, '%s'::UUID AS rider" % (ID := uuid.UUID(int=5))
        )
        assert count_distinct_users(texts, item="city", user="rider") == {"5": 1}
        assert count_distinct_users(texts, item="rider", user="city") == {str(ID): 1}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"city": ["a"], "rider": [0.5]}), "that are not whole; .*Int64"),
        (
            pa.table({"city": [{PRIVATE: 1}], "rider": [1]}),
            "'city' must contain .* but contains STRUCT;",
        ),
        (pa.table({"city": np.float16([1]), "rider": [1]}), "cast unusual types to integers"),
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


NOON = datetime.datetime.fromisoformat("2024-02-29 12:00:00")
CELLS: list[Any] = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")]
CELLS += [7, -1, True, 2**53 + 1, 2**64 - 1, 2**70, 2**200, enum.IntEnum("Whole", "ONE")(1)]
CELLS += [0.125, 0.1, -1.0, -0.0, 2.0**53, 1e300, 1e-320, math.inf, -math.inf, 3 + 0j, 3 + 1j]
CELLS += [np.int8(3), np.uint64(2**63 + 5), np.bool_(0), np.float16(0.1), np.float32(0.1)]
CELLS += [np.longdouble(0.5), Decimal("1.50"), Decimal(10) ** 40, Fraction(1, 2), Fraction(1, 3)]
CELLS += ["7", "Rome", "0.125", "1.234,5", "2024-02-29", "29.02.2024", "inf", "k. A.", ""]
CELLS += [np.str_("q"), enum.Enum("Word", {"A": "x"}, type=str)("x"), b"7", np.bytes_(b"7")]
CELLS += [uuid.UUID(int=5), type("Own", (), {"__index__": lambda _: 7})(), NOON.time()]
CELLS += [
    NOON,
    NOON.date(),
    NOON - NOON,
    NOON.astimezone(datetime.timezone(datetime.timedelta(hours=14))),
]
CELLS += [pd.Timestamp("1969-12-31 23:59:59.9"), pd.Timestamp("2024-03-01", tz="Asia/Tokyo")]
CELLS += [pd.Timestamp(np.datetime64(f"{year}-03-15", "s")) for year in ("-0044", 12024, 300000)]
CELLS += [np.datetime64("2024-02"), np.datetime64("2024-01-02T23"), np.datetime64(1, "ns")]
CELLS += [np.timedelta64(1, "D"), pd.Period("2024-01"), pd.Interval(0, 1), (1, 2)]
OBJECTS = [[1], {"a": 1}, bytearray(b"7"), "\ud800"]  # that no other column of pandas can hold
OPTIONS = {"decimal": ",", "thousands": ".", "dates": "%d.%m.%Y", "ids": "numbers"}
OPTIONS |= {"missing": ["-1", "k. A.", "2024-02-29", "inf", "1e+300", "3", "0001-01-01"]}


def objects(*cells: Any) -> Any:
    return pd.Series([*cells], dtype=object)


@pytest.mark.parametrize("values", [(), ("cell",)])
def test_no_cell_of_pandas_decides_how_another_is_converted(values: Any) -> None:
    def converted(*cells: Any) -> list[Any]:
        column = as_arrow(pd.DataFrame({"cell": objects(*cells)}), ["cell"], *values)["cell"]
        # All that is text is converted at once: as the part of it that was written.
        parts = [{"written": x} if isinstance(x, str) else x or {} for x in column.to_pylist()]
        return [{name: x for name, x in each.items() if x == x is not None} for each in parts]

    alone = [(cell, converted(cell)[0]) for cell in (*CELLS, *OBJECTS)]
    for (cell, its), (beside, theirs) in product(alone, alone):
        assert converted(cell, beside, beside) == [its, theirs, theirs], (cell, beside)


@pytest.mark.parametrize("options", [{}, OPTIONS])
@pytest.mark.parametrize("use", ["item", "person", "largest", "sum", "dates"])
def test_cells_of_pandas_are_read_alike_in_every_column(use: str, options: Any) -> None:
    """In columns of the types that pandas gives to them alone, of objects and of categories."""
    ours, dated = use if use in ("item", "person") else "value", use == "dates"

    def read(column: Any) -> Counter[Any]:
        table = TableAs(pd.DataFrame({"cell": column}), **options)
        with open_table(table, {ours: "cell"}, dated=dated) as rows:
            kind = rows.load(ours)[ours]
            cell = _cell(kind, use, dated) if ours == "value" else f"CAST({ours} AS VARCHAR)"
            found = rows.fetch(f"SELECT {cell} FROM safeselect_rows")  # noqa: S608 - constants
            return Counter(_number(each) for (each,) in found if each is not None)

    columns: dict[str, list[Any]] = {"": [objects(*OBJECTS)]}
    for cell in CELLS:
        # A column of users is an error with a float that is not whole.
        is_error = isinstance(cell, float | np.floating) and use == "person"
        column = objects(cell) if is_error else pd.Series([cell])
        columns.setdefault(str(column.dtype), []).append(column)
    together = read(objects(*CELLS, *OBJECTS))
    assert together == sum((read(pd.concat(each)) for each in columns.values()), Counter())
    assert together == read(objects(*CELLS).astype("category")) + read(objects(*OBJECTS))
    assert len(together) > 5


@pytest.mark.parametrize("number", [5, -(2**127), 2**127, 2**128 - 1])
def test_integers_of_128_bits_are_read_as_they_are(number: int) -> None:
    kind = "HUGEINT" if number < 2**127 else "UHUGEINT"
    rows = f"SELECT '{number}'::{kind} AS \"a b\", 'x' AS c"
    for columns in ({"item": "a b", "user": "c"}, {"item": "c", "user": "a b"}):
        found = count_distinct_users(duckdb.connect().sql(rows), **columns)
        assert dict(found) == {"x" if columns["item"] == "c" else str(number): 1}
        wide = {"a b": pl.Int128 if number < 2**127 else pl.UInt128}
        frame = pl.DataFrame({"a b": [number], "c": ["x"]}, schema_overrides=wide)
        assert found == count_distinct_users(frame, **columns)
        assert found == count_distinct_users(frame.lazy(), **columns)


IN_MEMORY = [lambda table: table, pl.from_arrow, duckdb.from_arrow]
IN_MEMORY += [lambda table: pl.from_arrow(table).lazy()]
IN_MEMORY += [lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)]


@pytest.mark.parametrize("make", IN_MEMORY)
@pytest.mark.parametrize("odd", [b"Rome\xff", b"\xff", b"Rome\xe0\x80\x80", b"Rome\xed\xa0\x80"])
@pytest.mark.parametrize("options", [{}, {"nfc": True, "casefold": True}])
def test_a_cell_that_is_no_utf_8_is_missing(make: Any, odd: bytes, options: Any) -> None:
    cells = pa.array([b"Rome"] * 9 + [odd, b"", None], pa.binary())
    texts = pa.StringArray.from_buffers(12, *cells.buffers()[1:], cells.buffers()[0])
    table = pa.table({"city": texts, "rider": range(12), "day": ["x"] * 12})
    form, rome = TableAs(make(table), **options), "rome" if options else "Rome"
    for limit in ({}, {"places": 9}, {"max_contributions": 1}):
        found = count_distinct_users(form, item="city", user="rider", **limit)
        assert dict(found) == {"": 1, rome: 9}
    assert dict(count_distinct_users(form, item="day", user="city")) == {"x": 2}
    days = {"group": "day", "groups": ["x"], "epsilon": 10, "delta": "1e-3", "k": 1}
    assert top_items_by_group(form, item="city", user="rider", **days)["x"] == (rome,)


@pytest.mark.parametrize("make", [*IN_MEMORY[:2], *IN_MEMORY[3:]])
@pytest.mark.parametrize("names", [("ID", "id", "Id"), ("id", "id_1", "^i.*$"), ("é", "É", "*")])
def test_names_that_differ_are_different(make: Any, names: Any, tmp_path: Path) -> None:
    columns = [["x", "y", "z"], ["ann", "bob", "ann"], ["1", "1", "1"]]
    made = pa.table(columns, names=names)
    pq.write_table(made, tmp_path / "t.parquet")
    for table in (make(made), tmp_path / "t.parquet"):
        for item, user in ((0, 1), (1, 0), (2, 1), (1, 2)):
            counts = count_distinct_users(table, item=names[item], user=names[user])
            rows = {*zip(columns[item], columns[user], strict=True)}
            assert counts == Counter(cell for cell, _ in rows)
    relation = duckdb.sql("SELECT 'x' AS A, 'u' AS a UNION ALL SELECT 'y', 'u'")
    assert count_distinct_users(relation, item="a", user="A") == {"u": 2}


@pytest.mark.parametrize("names", [("u", "u", "u_1"), ("U", "u", "u"), ("u", "u_1", "u")])
def test_a_parquet_file_is_read_by_its_own_names(names: Any, tmp_path: Path) -> None:
    cells = [["ann", "ann"], ["ann", "bob"], ["bob", "bob"]]
    nested = pa.array([[{"u": 1, "u_1": 2}]] * 2)
    made = pa.table([nested, ["x", "x"], nested, *cells], names=["n", "item", "m", *names])
    pq.write_table(made, tmp_path / "t.parquet")
    for name in ("u", "U", "u_1", "u_1_1", "U_1"):
        if names.count(name) == 1:
            users = len({*cells[names.index(name)]})
            counts = count_distinct_users(tmp_path / "t.parquet", item="item", user=name)
            assert counts == {"x": users}
            continue
        with pytest.raises(InputError, match=f"(more than one|no) column named {name!r}"):
            count_distinct_users(tmp_path / "t.parquet", item="item", user=name)


@pytest.mark.parametrize("odd", [[datetime.date(2020, 1, 1)], [b"a"], [[1]], [{"a": 1}]])
@pytest.mark.parametrize("column", ["city", "rider", "day"])
def test_keys_of_every_file_have_a_type_of_keys(odd: Any, column: str, tmp_path: Path) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c.parquet"]
    columns = {"city": ["a"], "rider": ["1"], "day": ["x"]}
    for file, each in zip(files, (columns, columns, columns | {column: odd}), strict=True):
        pq.write_table(pa.table(each), file)
    for listed in (files, files[::-1], files[2:]):
        with (
            pytest.raises(InputError, match=f"'{column}' must contain integers or strings"),
            open_keyed([*listed], "city", "rider", "day"),
        ):
            pytest.fail("the table is open")


@pytest.mark.parametrize(("other", "fits"), [("string", "x"), ("int64", "8"), ("double", "1.5")])
@pytest.mark.parametrize("step", [1, -1])
def test_a_public_list_fits_if_any_file_can_hold_it(
    other: str, fits: str, step: int, tmp_path: Path
) -> None:
    for kind in ("int8", other):
        city = pa.array(["7"]).cast(kind)
        pq.write_table(pa.table({"city": city, "rider": [kind]}), tmp_path / f"{kind}.parquet")
    files = [tmp_path / "int8.parquet", tmp_path / f"{other}.parquet"][::step]
    counts = count_distinct_users(files, item="city", user="rider", candidates=[fits, "7"])
    assert counts == {fits: 0, "7": 2}
    if other != "string":
        with pytest.raises(InputError, match="in plain decimal form"):
            count_distinct_users(files, item="city", user="rider", candidates=["x"])


def test_what_is_no_table_is_refused() -> None:
    for table in (7, {"city": ["a"]}, [("a", 1)]):
        with pytest.raises(ParameterError, match=r"a table must be a file path, .* got"):
            count_distinct_users(table, item="city", user="rider")
    with pytest.raises(ParameterError, match=r"connection\.table\('trips'\)"):
        count_distinct_users(duckdb.connect(), item="city", user="rider")


def test_a_relation_that_cannot_be_computed_says_nothing() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'Zebedee-4711' AS city, 1 AS rider")
    broken = connection.sql("SELECT city::INTEGER AS city, rider FROM t")
    with pytest.raises(
        InputError, match=r"the table cannot be read|convert it to integers"
    ) as caught:
        count_distinct_users(broken, item="city", user="rider")
    assert PRIVATE not in str(caught.value)
    assert caught.value.__context__ is None


def test_without_pyarrow_one_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"city": ["a"], "rider": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match="pip install pyarrow"):
        count_distinct_users(table, item="city", user="rider")


def test_scores_may_come_from_a_frame() -> None:
    table = pd.DataFrame({"name": ["b", "a"], "n": [1, 2]})
    assert read_scores(table, label="name", score="n") == (["a", "b"], [2, 1])
    mixed = table.assign(n=["7", 0.3])  # of which one decides nothing about the other
    assert read_scores(mixed, label="name", score="n") == (["a", "b"], [0.3, 7])


# ----------------------------------------------------------------------- tables as they are


@pytest.mark.parametrize(
    "make",
    [
        lambda floats: pa.table({"city": ["a"] * len(floats), "rider": floats}),
        lambda floats: pl.DataFrame({"city": ["a"] * len(floats), "rider": floats}),
        lambda floats: pd.DataFrame({"city": ["a"] * len(floats), "rider": floats}),
    ],
)
def test_floats_are_read_as_the_integers_they_are(make: Any) -> None:
    table = make([1.0, 2.0, 2.0, None, -0.0, 0.0, 2.0**53])
    assert dict(count_distinct_users(table, item="city", user="rider")) == {"a": 4}
    items = make([7.0, 8.0, 8.0, -3.0])
    swapped = count_distinct_users(items, item="rider", user="city", candidates=[7, 8, 9])
    assert dict(swapped) == {"7": 1, "8": 1, "9": 0}
    for odd in (1.5, float("inf"), -float("inf"), 2.0**53 + 2, 1e300):
        with pytest.raises(InputError, match=r"that are not whole.*astype\(.Int64.\)") as caught:
            count_distinct_users(make([1.0, odd]), item="city", user="rider")
        assert caught.value.__context__ is None


def test_floats_that_stand_for_several_integers_are_refused() -> None:
    """2**24 + 1 is no float32, so 2**24 and more may stand for several ids."""
    whole = pa.table({"city": ["a"], "rider": np.array([2**24], np.float32)})
    assert dict(count_distinct_users(whole, item="city", user="rider")) == {"a": 1}
    large = pa.table({"city": ["a"], "rider": np.array([2**24 + 2], np.float32)})
    with pytest.raises(InputError, match="that are not whole"):
        count_distinct_users(large, item="city", user="rider")


def test_a_lazy_frame_is_collected_when_its_rows_are_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"town": [1, 2], "city": ["a", "b"], "rider": [1, 1]})
    lazy = frame.lazy().filter(pl.col("town") == 1)
    assert dict(count_distinct_users(lazy, item="city", user="rider")) == {"a": 1}
    frame.write_parquet(tmp_path / "t.parquet")
    scanned = pl.scan_parquet(tmp_path / "t.parquet")
    assert dict(count_distinct_users(scanned, item="city", user="rider")) == {"a": 1, "b": 1}
    with pytest.raises(InputError, match="no column named 'state'"):
        count_distinct_users(scanned, item="state", user="rider")
    broken = frame.lazy().select(pl.col(PRIVATE))
    with pytest.raises(InputError, match="columns of the table cannot be determined") as caught:
        count_distinct_users(broken, item="city", user="rider")
    assert PRIVATE not in str(caught.value)


MESSY = ["Rome ", "\trome", "ROME", "Zu\u0308rich", "zürich", "\u00a0", "", None]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 7),
        ({"trim": True}, 5),
        ({"trim": True, "casefold": True}, 3),
        ({"trim": True, "casefold": True, "nfc": True}, 2),
        ({"nfc": True}, 7),
    ],
)
@pytest.mark.parametrize("column", ["item", "user"])
def test_cells_that_mean_the_same(options: Any, expected: int, column: str) -> None:
    rows = range(len(MESSY))
    if column == "item":
        table = TableAs(pa.table({"city": MESSY, "rider": list(rows)}), **options)
        counts = count_distinct_users(table, item="city", user="rider")
        assert len(counts) == expected
        if expected == 2:
            assert dict(counts) == {"rome": 3, "zürich": 2}
    else:
        table = TableAs(pa.table({"city": ["a"] * len(MESSY), "rider": MESSY}), **options)
        assert count_distinct_users(table, item="city", user="rider")["a"] == expected


def test_numbers_that_a_program_wrote_as_floats() -> None:
    """Half of a user's rows come from a file in which an id was missing."""
    cells = ["7.0", "7", "7.00", "7.", "-3.0", "-3", "7.5", "x7.0", "7.0 ", "07", None]
    rows = pa.table({"item": cells, "user": [*map(str, range(len(cells)))]})
    keys = {"item": "item", "user": "user"}
    expected = {"7": 4, "-3": 2, "7.5": 1, "x7.0": 1, "7.0 ": 1, "07": 1}
    assert dict(count_distinct_users(TableAs(rows, whole_numbers=True), **keys)) == expected
    assert count_distinct_users(TableAs(rows, whole_numbers=True, trim=True), **keys)["7"] == 5
    one = pa.table({"user": cells, "item": ["a"] * len(cells)})
    assert dict(count_distinct_users(TableAs(one, whole_numbers=True), **keys)) == {"a": 6}


FORM = {"trim": True, "casefold": True, "nfc": True, "whole_numbers": True}


def test_a_public_list_is_read_like_the_cells_and_released_as_stated() -> None:
    rows = pa.table({"city": MESSY, "rider": list(range(len(MESSY)))})
    stated, tidy = ["Z\u00fcrich", "Rome", "Bern"], TableAs(rows, **FORM)
    keys = {"item": "city", "user": "rider"}
    counts = count_distinct_users(tidy, **keys, candidates=stated)
    assert dict(counts) == {"Z\u00fcrich": 2, "Rome": 3, "Bern": 0}
    assert dict(count_distinct_users(rows, **keys, candidates=stated))["Rome"] == 0
    assert top_items(tidy, **keys, candidates=stated, k=1, epsilon=10_000).labels == ("Rome",)
    ids = TableAs(pa.table({"city": ["7.0"], "rider": [1]}), **FORM)
    assert dict(count_distinct_users(ids, **keys, candidates=["7.0"])) == {"7.0": 1}


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (["Rome", "ROME "], "candidate 2 and candidate 1 are the same"),
        (["a", "b", " "], "candidate 3 consists of blanks"),
    ],
)
def test_a_public_list_must_still_differ_and_nothing_is_charged(
    stated: list[str], message: str
) -> None:
    ledger = new(":memory:", epsilon=9)
    there, tidy = scope(ledger), TableAs(pa.table({"city": MESSY, "rider": MESSY}), **FORM)
    with pytest.raises(InputError, match=message):
        top_items(tidy, item="city", user="rider", k=1, epsilon=1, candidates=stated, ledger=there)
    assert ledger.balance("a").left == {"epsilon": 9}


def test_a_column_that_is_not_there_is_looked_for_near(tmp_path: Path) -> None:
    (tmp_path / "may.csv").write_text("City ;rider\nRome;1\n")
    keys = {"item": "city", "user": "rider"}
    with pytest.raises(InputError, match=r"with delimiter ',' has no column named 'rider'"):
        count_distinct_users(tmp_path / "may.csv", item="rider", user="City ")
    with pytest.raises(InputError, match=r"named 'city'; did you mean 'City '"):
        count_distinct_users(TableAs(tmp_path / "may.csv", delimiter=";"), **keys)
    with pytest.raises(InputError, match=r"named 'city'; did you mean 'CITY'"):
        count_distinct_users(pa.table({"CITY": ["x"], "rider": [1]}), **keys)
    nested = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("city", 1), ("rider", 2)]))
    with pytest.raises(InputError, match=r"the table has no column named 'city'$"):
        count_distinct_users(nested, **keys)
    with pytest.raises(InputError, match=r"no column named 'town'$"):
        count_distinct_users(tmp_path / "may.csv", item="town", user="rider")


def test_a_spark_frame_is_tidied_where_it_is() -> None:
    made = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(ParameterError, match="TableAs cannot normalize a Spark DataFrame"):
        count_distinct_users(TableAs(made, trim=True), item="city", user="rider")


def test_another_encoding_is_suspected(tmp_path: Path) -> None:
    (tmp_path / "may.csv").write_bytes("city,rider\nMünchen,1\n".encode("latin-1"))
    (tmp_path / "head.csv").write_bytes("städte,rider\nx,1\n".encode("latin-1"))
    with pytest.raises(InputError, match="the encoding differs and must be stated") as rows:
        count_distinct_users(tmp_path / "may.csv", item="city", user="rider")
    assert "nchen" not in str(rows.value)
    with pytest.raises(InputError, match="another encoding, pass that encoding, such as 'cp1252'"):
        count_distinct_users(tmp_path / "head.csv", item="city", user="rider")


def test_several_files_of_one_form(tmp_path: Path) -> None:
    (tmp_path / "may.csv").write_bytes("city;rider\nMünchen;1\nRom;2\n".encode("latin-1"))
    (tmp_path / "june.csv").write_bytes("rider;x;city\n1;;München\n3;;Rom\n".encode("latin-1"))
    expected, form = {"München": 1, "Rom": 2}, {"delimiter": ";", "encoding": "latin-1"}
    files = [tmp_path / "may.csv", str(tmp_path / "june.csv")]
    for table in (files, str(tmp_path / "*.csv"), [str(tmp_path / "m*.csv"), files[1]]):
        counts = count_distinct_users(TableAs(table, **form), item="city", user="rider")
        assert dict(counts) == expected
    (tmp_path / "may.csv").write_text("city;rider;day\n")
    with pytest.raises(InputError, match=r"june\.csv' with .* no column named 'day'"):
        count_distinct_users(TableAs(files, **form), item="day", user="rider")
    pl.DataFrame({"city": ["a"], "rider": [1]}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("city,rider\na,1\n")
    both = [tmp_path / "t.parquet", tmp_path / "t.csv"]
    with pytest.raises(InputError, match="'rider' has different types in different files"):
        count_distinct_users(both, item="city", user="rider")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda home: TableAs(home, delimiter=";;"), ParameterError, "delimiter must be one"),
        (lambda home: TableAs(home, encoding="cp1253"), ParameterError, "encoding must be"),
        (lambda home: TableAs(home, trim="yes"), ParameterError, "trim must be"),
        (lambda home: TableAs(home, ids="integers"), ParameterError, "ids must be"),
        (lambda home: TableAs(home, missing="k. A."), ParameterError, "missing must be a list"),
        (lambda home: TableAs(home, missing=[7]), ParameterError, "missing must be a list"),
        (lambda home: TableAs(home, missing=None), ParameterError, "missing must be a list"),
        (lambda home: TableAs(home, decimal=";"), ParameterError, "decimal must be"),
        (lambda home: TableAs(home, thousands="."), ParameterError, "not the decimal mark"),
        (lambda home: TableAs(home, thousands="3"), ParameterError, "not the decimal mark"),
        (lambda home: TableAs(home, dates="%d.%Q"), ParameterError, "dates must be a format"),
        (lambda home: TableAs(home, dates="%d.%"), ParameterError, "dates must be a format"),
        (lambda home: TableAs(home, dates="%Y%z"), ParameterError, "dates must be a format"),
        (lambda home: TableAs(TableAs(home)), ParameterError, "not another"),
        (lambda home: [], InputError, "the list of files is empty"),
        (lambda home: home / "none*.csv", InputError, "no file matches"),
        (lambda home: [home / "t.csv", home / "t.csv"], InputError, "listed twice"),
    ],
)
def test_mistakes_in_how_a_table_is_read(
    tmp_path: Path, make: Any, error: type[Exception], message: str
) -> None:
    (tmp_path / "t.csv").write_text("city,rider\nx,1\n")
    with pytest.raises(error, match=message):
        count_distinct_users(make(tmp_path), item="city", user="rider")

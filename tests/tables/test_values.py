"""Quantiles of a column: one value for each user, of every table that DuckDB reads."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from table_sources import SOURCES

from safeselect import Budget, InputError, Ledger, ParameterError, ScoreError
from safeselect.mechanisms.quantiles import Later
from safeselect.tables import frames, table_quantiles, values
from safeselect.tables.duckdb import Table

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = [(7, 1), (9, 1), (None, 1), (5, 2), (3, None), (None, 3), (8, 4), (8, 4)]
"""(fare, rider): of rider 3 no value is left, and of one value no rider."""
OF = {"smallest": [5, 7, 8], "largest": [5, 8, 9], "sum": [5, 16, 16]}
GIVEN: dict[str, Any] = {
    "value": "fare",
    "user": "rider",
    "quantiles": ["1/2"],
    "lowest": 0,
    "highest": 99,
    "step": 1,
    "epsilon": 1,
}


@pytest.fixture
def values_of(monkeypatch: pytest.MonkeyPatch):
    """What would be released of, in order, instead of a release."""

    def call(table: Any, **more: Any) -> list[Any]:
        seen: list[Any] = []

        def released(later: Later, *_: object) -> None:
            seen.extend(later.read())

        with monkeypatch.context() as patch:
            patch.setattr(values, "release_quantiles", released)
            table_quantiles(table, **{**GIVEN, "of": "largest", **more})
        return sorted(seen)

    return call


@pytest.mark.parametrize("of", OF)
def test_each_user_has_one_value(of, values_of):
    fares, riders = map(list, zip(*ROWS, strict=True))
    assert values_of(pa.table({"fare": fares, "rider": riders}), of=of) == OF[of]


@pytest.mark.parametrize("large", [float("inf"), 1e300, -1e300])
def test_no_number_is_too_large_to_be_added(large, values_of):
    """It counts as 10^18, so that no sum outgrows the engine's decimals: a neighbour's infinity."""
    fares, riders = [large, large, 0.1, 0.2, 7.0], ["a", "a", "a", "b", "c"]
    table = pa.table({"fare": fares, "rider": riders})
    most = (2 if large > 0 else -2) * Decimal(10) ** 18 + Decimal("0.1")
    text = table.set_column(0, "fare", pa.array([f"{fare}" for fare in fares]))
    for each in (table, text):
        assert values_of(each, of="sum") == sorted([Decimal("0.2"), Decimal(7), most])


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime.fromisoformat("2024-02-29 12:00:00")
KINDS = [
    (pa.array([DAY, DAY], pa.date32()), {"lowest": DAY, "highest": DAY}, [DAY]),
    (pa.array([NOON, NOON], pa.timestamp("us")), {"lowest": DAY, "highest": DAY}, [DAY]),
    (pa.array([NOON, None], pa.timestamp("ns")), {"lowest": DAY, "highest": DAY}, [DAY]),
    (pa.array(["2024-02-29", None]), {"lowest": DAY, "highest": DAY}, [DAY]),
    (pa.array([Decimal("0.30"), Decimal("0.10")], pa.decimal128(9, 2)), {}, [Decimal("0.30")]),
    (pa.array([0.25, float("nan")]), {}, [0.25]),
    (pa.array([float("nan"), None]), {}, []),
    (pa.array([float("-inf"), 1.5]), {}, [1.5]),
    (pa.array(["1.5", "-2"]), {}, [1.5]),
    (pa.array([3, 200], pa.uint8()), {}, [200]),
    (pa.array([2**63 - 1, 0]), {}, [2**63 - 1]),
    (pa.nulls(2), {}, []),
]


@pytest.mark.parametrize(("column", "ends", "found"), KINDS)
def test_values_are_numbers_or_dates(column, ends, found, values_of):
    table = pa.table({"fare": column, "rider": ["a", "a"]})
    assert values_of(table, **ends) == found
    given = {**GIVEN, **ends, "of": "largest"}
    if not found or not isinstance(found[0], datetime.date):
        given["step"] = "0.01"
    assert given["lowest"] <= table_quantiles(table, **given).value <= given["highest"]


@pytest.mark.parametrize("kind", ["VARCHAR", "DATE", "TIMESTAMP"])
@pytest.mark.parametrize("far", ["12024-02-29", "infinity", "0044-03-15 (BC)", "-infinity"])
def test_a_date_that_python_lacks_is_its_first_or_last(far, kind, tmp_path, values_of):
    """An error would tell that one user has such a cell."""
    cells = f"UNNEST([NULL, '2024-02-29', '{far}'])::{kind} AS fare"
    table = duckdb.connect().sql(f"SELECT {cells}, UNNEST([1, 2, 3]) AS rider")
    table.write_parquet(str(tmp_path / "rows.parquet"))
    last = datetime.date.max if far[0] in "1i" else datetime.date.min
    for each in (table, tmp_path / "rows.parquet"):
        assert values_of(each, lowest=DAY, highest=DAY) == sorted([DAY, last])


@pytest.mark.parametrize(
    ("column", "more", "error", "match"),
    [
        ([True, False], {}, InputError, "contains BOOLEAN; values must be numbers or dates"),
        ([DAY, DAY], {}, ParameterError, "contains dates, so lowest and highest must be dates"),
        ([1, 2], {"lowest": DAY, "highest": DAY}, ParameterError, "contains numbers, so lowest"),
        ([DAY], {"lowest": DAY, "highest": DAY, "of": "sum"}, ParameterError, "have no sum"),
        ([1, 2], {"of": "mean"}, ParameterError, "of must be 'smallest', 'largest' or 'sum'"),
        ([1, 2], {"value": "price"}, InputError, "price"),
        ([1, 2], {"quantiles": ["2"]}, ParameterError, "quantile must be at most 1"),
        ([1, 2], {"step": None}, ParameterError, r"step, the distance.* step='99/1000'"),
        ([1, 2], {"unit": "household"}, ParameterError, "the unit of the scope is"),
    ],
)
def test_what_can_be_refused_before_a_row_is_read_costs_nothing(column, more, error, match):
    made, scope = ledger()
    table = pa.table({"fare": column, "rider": ["a", "b"][: len(column)]})
    with pytest.raises(error, match=match):
        table_quantiles(table, **{**GIVEN, "of": "largest", **more}, ledger=scope)
    assert made.balance("main").spent["epsilon"] == 0


def ledger() -> tuple[Ledger, Any]:
    made = Ledger.create(":memory:", {"main": Budget("rider", "add_remove", epsilon=9)})
    return made, made.scope("main", unit="rider", neighbours="add_remove", purpose="test")


def test_rows_are_read_once_they_are_paid_for(tmp_path, monkeypatch):
    made, scope = ledger()
    seen: list[Fraction] = []
    real = Table.fetch

    def fetch(self, sql, *rest, **more):
        seen.append(made.balance("main").spent["epsilon"])
        return real(self, sql, *rest, **more)

    monkeypatch.setattr(Table, "fetch", fetch)
    for made_as in ("arrow", "relation", "polars", "Parquet", "CSV"):
        table = SOURCES[made_as](tmp_path, {"fare": [7, 9, 5], "rider": [1, 1, 2]})
        table_quantiles(table, **GIVEN, of="largest", ledger=scope)
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("cell", ["SECRET", "2024-02-30", "1e999x", "7,25", "nan", ""])
@pytest.mark.parametrize("end", [None, DAY])
def test_a_cell_that_is_no_value_is_dropped(cell, of, end, tmp_path, values_of):
    """An error would tell that one user has such a cell."""
    if end and of == "sum":
        pytest.skip("dates have no sum")
    kept, ends = ("2024-02-29", {"lowest": end, "highest": end}) if end else ("9", {})
    (tmp_path / "rows.csv").write_text(f'fare,rider\n{kept},1\n"{cell}",2\n')
    columns = {"fare": [kept, cell], "rider": [1, 2]}
    for table in (tmp_path / "rows.csv", pa.table(columns), pl.DataFrame(columns)):
        assert values_of(table, of=of, **ends) == [end or 9]


class Panic(BaseException):
    """As Rust's panics are in Python."""

    __module__ = "pyo3_runtime"


def test_a_panic_of_another_library_is_one_sentence_and_stays_charged(monkeypatch):
    def panic(kind, table, names, *, empty=False):
        if not empty:
            raise Panic("SECRET")
        return arrow(kind, table, names, empty=True)

    arrow = frames._arrow
    monkeypatch.setattr(frames, "_arrow", panic)
    table = pl.DataFrame({"fare": [1, 2], "rider": [1, 2]})
    with pytest.raises(InputError, match="cannot be read") as plain:
        table_quantiles(table, **GIVEN, of="largest")
    assert plain.value.__context__ is None
    made, scope = ledger()
    with pytest.raises(ScoreError, match="the values do not fit the arguments"):
        table_quantiles(table, **GIVEN, of="largest", ledger=scope)
    assert made.balance("main").refusals == 1


@pytest.mark.parametrize(
    ("fares", "of"), [([], "smallest"), ([5], "largest"), ([None], "sum"), ([5, None], "sum")]
)
def test_no_error_tells_neighbours_apart(fares, of):
    """Of pandas one missing value makes integers floats, and none has no type at all."""
    riders = [*range(len(fares))]
    arrow = pa.table({"fare": pa.array(fares, pa.int64()), "rider": pa.array(riders, pa.int64())})
    for table in (arrow, arrow.to_pandas(), pl.from_arrow(arrow), pd.DataFrame(arrow.to_pydict())):
        assert 0 <= table_quantiles(table, **GIVEN, of=of).value <= 99

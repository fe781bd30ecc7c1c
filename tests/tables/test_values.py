"""Quantiles of a column: one value for each user, of every table that DuckDB reads."""

from __future__ import annotations

import datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from safeselect import Budget, InputError, Ledger, ParameterError, SafeSelectError, ScoreError
from safeselect.mechanisms.quantiles import Later
from safeselect.tables import TableAs, frames, table_quantiles, values
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


def tables(folder: Path) -> dict[str, Any]:
    """The same rows in every form."""
    fares, riders = map(list, zip(*ROWS, strict=True))
    arrow = pa.table({"fare": pa.array(fares, pa.int64()), "rider": pa.array(riders, pa.int64())})
    pq.write_table(arrow, folder / "rows.parquet")
    written = "".join(f"{'' if a is None else a},{'' if b is None else b}\n" for a, b in ROWS)
    (folder / "rows.csv").write_text("fare,rider\n" + written)
    return {
        "arrow": arrow,
        "parquet": folder / "rows.parquet",
        "csv": folder / "rows.csv",
        "pandas": arrow.to_pandas(),
        "nullable": arrow.to_pandas().astype("Int64"),
        "polars": pl.from_arrow(arrow),
        "relation": duckdb.connect().from_arrow(arrow),
    }


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize(
    "form", ["arrow", "parquet", "csv", "pandas", "nullable", "polars", "relation"]
)
def test_each_user_has_one_value_in_every_form(form, of, tmp_path, values_of):
    assert values_of(tables(tmp_path)[form], of=of) == OF[of]


def test_floats_are_added_as_decimals(values_of):
    """In whatever order: a tenth ten times, and what is large beside what is small."""
    table = pa.table({"fare": [1e15, 0.1, *[0.1] * 9, -1e15, 2.0], "rider": ["a"] * 12 + ["b"]})
    assert values_of(table, of="sum") == [1, 2]
    text = table.set_column(0, "fare", pa.array([f"{x.as_py()}" for x in table["fare"]]))
    assert values_of(text, of="sum") == [1, 2]


LARGE = [float("inf"), 1e300, 2e18, 1e18, 10.0**27]
"""Each counts as 10^18 in a sum, so that no sum outgrows the engine's decimals."""


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("large", LARGE)
def test_no_number_is_too_large_to_be_added(large, sign, values_of, tmp_path):
    """What a neighbour's row may hold is no error: an infinity is clamped, as without a sum."""
    fares, riders = [sign * large, sign * large, 0.1, 0.2, 7.0], ["a", "a", "a", "b", "c"]
    table = pa.table({"fare": fares, "rider": riders})
    most = sign * (2 * Decimal(10) ** 18) + Decimal("0.1")
    found = sorted([Decimal("0.2"), Decimal(7), most])
    assert values_of(table, of="sum") == found
    text = table.set_column(0, "fare", pa.array([f"{fare}" for fare in fares]))
    assert values_of(text, of="sum") == found
    rows = "".join(f"{fare},{rider}\n" for fare, rider in zip(fares, riders, strict=True))
    (tmp_path / "large.csv").write_text("fare,rider\n" + rows)
    assert values_of(tmp_path / "large.csv", of="sum") == found
    assert 0 <= table_quantiles(table, **{**GIVEN, "step": "0.01"}, of="sum").value <= 99


@pytest.mark.parametrize(
    "kind", [pa.decimal128(38, 0), pa.decimal128(38, 10), pa.decimal128(38, 30)]
)
def test_decimals_do_not_outgrow_a_sum(kind, values_of):
    """Two cells of one user that are each as large as their type allows."""
    most = Decimal("9" * 38 + f"e-{kind.scale}")
    half = Decimal("0.5") if kind.scale else Decimal(1)
    table = pa.table({"fare": pa.array([most, most, half, half], kind), "rider": [1, 1, 1, 2]})
    with localcontext(prec=60):
        rounded = min(most, Decimal(10) ** 18).quantize(Decimal("1e-10"))
        assert values_of(table, of="sum") == [half, 2 * rounded + half]


def test_a_sum_has_the_same_limit_in_text_of_many_digits(values_of):
    digits = "1234567890" * 4
    table = pa.table({"fare": [digits, f"-{digits}", "0.5"], "rider": ["a", "b", "a"]})
    assert values_of(table, of="sum") == [-(10**18), Decimal(10) ** 18 + Decimal("0.5")]
    assert values_of(table, of="largest") == [-float(digits), float(digits)]


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
    made = table_quantiles(table, **given)
    assert given["lowest"] <= made.value <= given["highest"]


@pytest.mark.parametrize("cell", [Decimal("7.25"), DAY])
def test_values_that_pandas_keeps_as_objects_are_read_as_text(cell, values_of):
    ends = {"lowest": DAY, "highest": DAY} if cell == DAY else {}
    table = pd.DataFrame({"fare": [cell, cell], "rider": [1, 2]}, dtype=object)
    table["rider"] = [1, 2]
    with pytest.raises(InputError, match=r'"string"\), also for values that are decimals'):
        values_of(table, **ends)
    assert values_of(table.assign(fare=table["fare"].astype("string")), **ends) == [cell] * 2


def test_the_release_is_that_of_quantiles():
    table = pa.table({"fare": [float(x) for x in range(1000)] * 2, "rider": [*range(1000)] * 2})
    found = table_quantiles(
        table,
        **{**GIVEN, "quantiles": ["3/4", "1/4"], "highest": 999, "epsilon": 8, "of": "largest"},
        unit="rider",
    )
    assert found.mechanism == "quantiles/1"
    assert found.statement.unit == "rider"
    assert [
        abs(value - near) < 100 for value, near in zip(found.values, (750, 250), strict=True)
    ] == [True] * 2
    below = table_quantiles(table, **{**GIVEN, "highest": 999, "of": "smallest"}, ties="below")
    assert below.mechanism == "quantile_below/1"


@pytest.mark.parametrize(
    ("column", "more", "error", "match"),
    [
        ([True, False], {}, InputError, "holds BOOLEAN: values are numbers or dates"),
        ([[1], [2]], {}, InputError, "values are numbers or dates"),
        ([DAY, DAY], {}, ParameterError, "holds dates: write lowest and highest as dates"),
        ([1, 2], {"lowest": DAY, "highest": DAY}, ParameterError, "holds numbers: write lowest"),
        ([DAY], {"lowest": DAY, "highest": DAY, "of": "sum"}, ParameterError, "have no sum"),
        ([1, 2], {"of": "mean"}, ParameterError, "of must be 'smallest', 'largest' or 'sum'"),
        ([1, 2], {"value": "price"}, InputError, "price"),
        ([1, 2], {"quantiles": ["2"]}, ParameterError, "quantile must be at most 1"),
        ([1, 2], {"lowest": None}, ParameterError, "lowest and highest must be given"),
        ([1, 2], {"step": None}, ParameterError, r"step must be given.* step='99/1000'"),
        ([0.1, 2.0], {"step": None}, ParameterError, r"step must be given.* step='99/1000'"),
        ([1, 2], {"unit": "household"}, ParameterError, "protect"),
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
    for table in tables(tmp_path).values():
        table_quantiles(table, **GIVEN, of="largest", ledger=scope)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) == 7


@pytest.mark.parametrize("cell", ["SECRET", "2024-02-30", "1e999x"])
@pytest.mark.parametrize("ends", [{}, {"lowest": DAY, "highest": DAY}])
def test_a_cell_that_is_none_is_one_sentence_and_stays_charged(cell, ends, tmp_path):
    (tmp_path / "rows.csv").write_text(f"fare,rider\n{cell},1\n")
    given = {**GIVEN, **ends, "of": "largest"}
    with pytest.raises(SafeSelectError, match=r"cannot be read|is no") as plain:
        table_quantiles(tmp_path / "rows.csv", **given)
    assert "SECRET" not in str(plain.value)
    made, scope = ledger()
    with pytest.raises(ScoreError, match="the values cannot be read as the arguments say") as paid:
        table_quantiles(tmp_path / "rows.csv", **given, ledger=scope)
    assert "SECRET" not in str(paid.value)
    assert paid.value.__context__ is None
    assert made.balance("main").spent["epsilon"] == 1


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("cell", ["7,25", "NA", "SECRET", "7 EUR", "1.200,00"])
def test_a_cell_that_is_no_number_is_not_called_a_damaged_file(cell, of, tmp_path):
    (tmp_path / "rows.csv").write_text(f"fare;rider\n9;1\n{cell};2\n")
    text = pa.table({"fare": ["9", cell], "rider": [1, 2]})
    for table in (TableAs(tmp_path / "rows.csv", delimiter=";"), text, text.to_pandas()):
        with pytest.raises(InputError) as found:
            table_quantiles(table, **GIVEN, of=of)
        assert str(found.value) == (
            "column 'fare' has a cell that is no number, such as 7.25: write a decimal point, not "
            "a comma, and nothing where a value is missing"
        )


def test_a_cell_that_is_no_date_is_not_called_a_damaged_file(tmp_path):
    (tmp_path / "rows.csv").write_text("fare,rider\n29.02.2024,1\n")
    with pytest.raises(InputError) as found:
        table_quantiles(
            tmp_path / "rows.csv", **{**GIVEN, "lowest": DAY, "highest": DAY}, of="largest"
        )
    assert str(found.value) == (
        "column 'fare' has a cell that is no date, such as 2024-02-29: write nothing where a value "
        "is missing"
    )


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
    with pytest.raises(ScoreError, match="the values cannot be read as the arguments say"):
        table_quantiles(table, **GIVEN, of="largest", ledger=scope)
    assert made.balance("main").refusals == 1


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("fares", [[], [5], [None], [5, None]])
def test_no_error_tells_neighbours_apart(fares, of):
    """Of pandas one missing value makes integers floats, and none has no type at all."""
    riders = [*range(len(fares))]
    arrow = pa.table({"fare": pa.array(fares, pa.int64()), "rider": pa.array(riders, pa.int64())})
    for table in (arrow, arrow.to_pandas(), pl.from_arrow(arrow), pd.DataFrame(arrow.to_pydict())):
        assert 0 <= table_quantiles(table, **GIVEN, of=of).value <= 99

"""Quantiles: what values are, of all types, and what is told of those that are none."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from quantile_laws import ledger

from safeselect import ScoreError, quantile
from safeselect.mechanisms.quantiles import Grid

DAY = datetime.date(2024, 2, 29)
NINE = {"lowest": 0, "highest": 9, "step": 1, "epsilon": 1}


NO_VALUES = [
    *([1, None], [1, float("nan")], ["1"], [DAY], [object()], [[1]], [1j], [Decimal("NaN")]),
    *([Decimal("sNaN")], [np.timedelta64(5, "ns")], np.array([1, 2], np.longdouble)),
    *(np.array([1, 2], f"{kind}64[ns]") for kind in ("timedelta", "datetime")),
    np.array([10**9, 2], "datetime64[D]"),
    np.array([0x7FF4000000000000], np.uint64).view(np.float64),
    np.array([0x7FA00000], np.uint32).view(np.float32),
]


def test_values_that_are_none_are_refused_without_being_quoted():
    for values in NO_VALUES:
        made, scope = ledger(epsilon=1)
        with pytest.raises(ScoreError, match="values must be numbers if") as caught:
            quantile(values, quantile="1/2", **NINE)
        assert caught.value.__context__ is None or caught.value.__suppress_context__
        with pytest.raises(ScoreError, match="the values do not fit the arguments"):
            quantile(values, quantile="1/2", **NINE, ledger=scope)
        assert made.balance("main").spent["epsilon"] == made.balance("main").refusals == 1


def never():
    raise AssertionError("this is private code")
    yield 1


@pytest.mark.claim("C3")
def test_no_number_is_refused_by_its_type_and_each_lies_where_it_is():
    numbers = [
        *((one, 1) for one in (True, np.float16(1), Decimal("1.00"), gmpy2.mpz(1))),
        *((Decimal("0E+5000"), 0), (0.3, Fraction("0.3")), (-5e-324, Fraction("-5e-324"))),
        *((2**60 + 256,) * 2, (gmpy2.mpq(3, 2), Fraction(3, 2)), (Decimal("1e-999999999"), 0)),
    ]
    for ends in ((0, 9, 1), (Decimal(-1), 2, "0.1"), ("-1/7", 2, "1/3"), (-(2**70), 2**70, 1)):
        grid = Grid.read(*ends)
        for number, exact in numbers:
            place = (exact - grid.lowest) // grid.step
            assert grid.cells([number]) == [min(max(place, 0), grid.points - 1)]
    far = [math.inf, 10**5000, Decimal("1e5000"), -math.inf, Decimal("-1e999999999")]
    assert [Grid.read(0, 9, 1).cells([each]) for each in far] == [[9], [9], [9], [0], [0]]
    held = np.empty(len(far), dtype=object)
    held[:] = far
    made, scope = ledger(epsilon=2)
    for values in (far, held):
        quantile(values, quantile="1/2", **NINE, ledger=scope)
    assert made.balance("main").refusals == 0


class Liar(float):
    """A float with methods of its own."""

    def __str__(self):
        return "inf"

    def __float__(self):
        return 9.0

    def as_integer_ratio(self):
        return 9, 1

    __repr__, __hash__, __eq__ = __str__, None, never  # type: ignore[assignment]
    lower = __lt__ = __floor__ = never


class Own(Fraction):
    numerator = property(never)
    denominator = property(never)
    as_integer_ratio = never


class Lying(Decimal):
    is_nan = is_infinite = adjusted = as_integer_ratio = as_tuple = never


class Whole(int):
    __int__ = __index__ = __hash__ = bit_length = never


class Late(datetime.date):
    def toordinal(self):
        return 1


def test_a_subclass_is_read_by_the_methods_of_its_class():
    for kind in (Liar, Own, Lying, Whole):
        assert Grid.read(0, 9, 1).cells([kind(3), 2]) == [2, 3]
    assert Grid.read(Decimal(0), 9, "0.1").cells([Liar(0.3)]) == [3]
    days = Grid.read(datetime.date(2024, 2, 1), datetime.date(2024, 3, 31), 1)
    assert days.cells([Late(2024, 2, 3), np.datetime64("2024-02-03T23:59:59")]) == [2, 2]


class Quoting:
    """A number of no class, whatever is asked of it."""

    def __getattribute__(self, name):
        raise ValueError(f"987654321 has no {name}")

    def __hash__(self):
        raise ValueError("987654321")


class Panic(BaseException):
    """As Rust's panics are in Python."""

    __module__ = "pyo3_runtime"


class Panicking:
    def __hash__(self):
        raise Panic("987654321")

    __eq__ = __str__ = __index__ = __hash__


@pytest.mark.claim("C8")
def test_what_a_value_raises_is_one_sentence_and_counted(capfd):
    made, scope = ledger(epsilon=8)
    for count, value in enumerate((Quoting(), Panicking(), Decimal("sNaN"), None) * 2, 1):
        with pytest.raises(ScoreError, match="the values do not fit the") as caught:
            quantile([1, value], quantile="1/2", **NINE, ledger=scope)
        assert caught.value.__context__ is None
        assert "987654321" not in str(caught.value)
        assert made.balance("main").refusals == count
    assert capfd.readouterr() == ("", "")


def far_dates():
    """Columns with a date that Python lacks, each by the name of its library."""
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    days = pl.Series([2**31 - 1, 0], dtype=pl.Int32).cast(pl.Date)
    return {
        "pyarrow": pa.array([10**9, 18300], pa.date32()),
        "polars": days,
        "polars times": pl.Series([2**62, 0]).cast(pl.Datetime("us", "Asia/Tokyo")),
        "pandas": pd.Series(np.array(["30000-01-01", "2020-01-01"], "datetime64[s]")),
        "pandas times": [
            pd.Timestamp("2020-01-01"),
            pd.Timestamp(np.datetime64("30000-01-01", "s")),
        ],
        "numpy": np.array([10**9, 18300], "datetime64[D]"),
        "times": np.array([np.datetime64("30000-01-01", "s"), None], object),
    }


@pytest.mark.claim("C8")
def test_sixteen_private_dates_cost_sixteen_charges_in_every_column(capfd):
    ends = {"lowest": datetime.date(2020, 1, 1), "highest": datetime.date(2020, 12, 31), "step": 1}
    for name, column in far_dates().items():
        made, scope = ledger(epsilon=1)
        for count in range(1, 4):
            with pytest.raises(ScoreError, match="the values do not fit the") as caught:
                quantile(column, quantile="1/2", epsilon="1/100", ledger=scope, **ends)
            assert caught.value.__context__ is None, name
            assert made.balance("main").refusals == count, name
        assert made.balance("main").spent["epsilon"] == Fraction(3, 100)
    assert capfd.readouterr() == ("", "")  # polars tells standard error of a panic

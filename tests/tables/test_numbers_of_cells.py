"""A number is the same number in every type, engine and container: one rule, and a second look.

`number` below says the rule once more, by text and Decimal alone; it shares nothing with `reals` or
with the SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from table_sources import SOURCES

from safeselect.mechanisms.quantiles import Grid, Later, reader
from safeselect.tables import table_quantiles, values

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.claim("C3")

LIMIT = 10**18
EXACT = [
    *(Fraction(whole) for whole in (0, 7, 10**9 + 11, 7000103050, 7000103051, 2**53 - 1)),
    *(Fraction(2**53 + more) for more in (0, 1, 2, 3)),
    *(Fraction(LIMIT + more) for more in (-1, 0, 1, 128)),
    *(Fraction(whole) for whole in (2**63 - 1, 2**63, 2**64 - 1, 10**30 + 1, 2**100, 2**126)),
    *(Fraction(1, 2**bits) for bits in (1, 3, 10, 20, 36, 37)),
    *(2**42 + Fraction(7, 2**10), 2**30 + Fraction(5, 2**19), 10**6 + Fraction(1, 2**11)),
    *(Fraction(text) for text in ("0.1", "7000103.05", "123456789012345.67", "0.00000000005")),
    *(Fraction(near) for near in (0.1, 7000103.05, 1e-7, 123456789012.25, 5e-11, 1e-300, 7.5e-12)),
    Fraction("12345678901234567.89"),
]
NUMBERS = [sign * each for each in EXACT for sign in (1, -1)]


def number(exact: Fraction) -> Fraction:
    """An integer is itself; what a double holds is its shortest decimal; all else is itself."""
    if exact.denominator == 1 or abs(exact) > 2**60 or Fraction(float(exact)) != exact:
        return exact
    return Fraction(Decimal(repr(float(exact))))


def added(exact: Fraction) -> Decimal:
    """What it adds to a sum."""
    with localcontext(prec=400):
        cut = max(min(number(exact), Fraction(LIMIT)), Fraction(-LIMIT))
        wide = Decimal(cut.numerator) / Decimal(cut.denominator)
        return wide.quantize(Decimal("1e-10"), ROUND_HALF_UP)


def plain_text(exact: Fraction) -> str:
    with localcontext(prec=400):
        return format(Decimal(exact.numerator) / Decimal(exact.denominator), "f")


def _column(kind: Any, cell: Callable[[Fraction], Any], holds: Callable[[Fraction], bool]) -> Any:
    held = [exact for exact in NUMBERS if holds(exact)]
    return held, pa.array([cell(exact) for exact in held], kind)


def columns() -> dict[str, tuple[list[Fraction], Any]]:
    """Arrow arrays of every type, each with all numbers that it holds exactly."""
    found = {}
    for bits in (8, 16, 32, 64):
        for kind, low, high in (
            (f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1)),
            (f"uint{bits}", 0, 2**bits),
        ):
            found[kind] = _column(
                getattr(pa, kind)(),
                int,
                lambda x, low=low, high=high: x.denominator == 1 and low <= x < high,
            )
    found["float64"] = _column(pa.float64(), float, _is_double)
    found["float32"] = _column(pa.float32(), np.float32, _is_single)
    found["float text"] = _column(pa.string(), lambda x: repr(float(x)), _is_double)
    found["digits"] = _column(
        pa.string(), lambda x: f" {int(x):+d} ", lambda x: x.denominator == 1 and abs(x) < 10**37
    )
    for scale in (0, 2, 10, 11, 12, 19, 20, 30, 36, 38):
        found[f"decimal128(38, {scale})"] = _column(
            pa.decimal128(38, scale),
            lambda x: Decimal(plain_text(x)),
            lambda x, scale=scale: (x * 10**scale).denominator == 1 and abs(x) < 10 ** (38 - scale),
        )
    return found


def _is_double(exact: Fraction) -> bool:
    return Fraction(float(exact)) == exact


def _is_single(exact: Fraction) -> bool:
    return abs(exact) < 10**38 and Fraction(float(np.float32(float(exact)))) == exact


def _is_decimal(exact: Fraction) -> bool:
    rest = exact.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def numbers(exact: Fraction) -> list[Any]:
    """The number as values of every class that holds it."""
    found: list[Any] = [exact, gmpy2.mpq(exact)]
    if _is_decimal(exact):
        found.append(Decimal(plain_text(exact)))
    if exact.denominator == 1:
        found += [int(exact), gmpy2.mpz(exact)]
        if -(2**63) <= exact < 2**63:
            found.append(np.int64(exact))
    if Fraction(float(exact)) == exact:
        found += [float(exact), np.float64(float(exact))]
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch):
    """What would be released of, instead of a release."""

    def call(table: Any, of: str) -> list[Any]:
        seen: list[Any] = []

        def released(later: Later, *_: object) -> None:
            seen.extend(later.read())

        monkeypatch.setattr(values, "release_quantiles", released)
        given: dict[str, Any] = {"value": "fare", "user": "rider", "quantiles": ["1/2"]}
        table_quantiles(table, **given, of=of, lowest=0, highest=9, step=1, epsilon=1)
        return seen

    return call


def cells(values: Any) -> list[int]:
    """Places on a grid that tells apart what the rule tells apart."""
    return Grid.read(-(2**200), 2**200, Fraction(1, 10**13)).cells(values)


def cell(exact: Fraction) -> int:
    return (number(exact) + 2**200) * 10**13 // 1


def test_equal_numbers_are_one_number():
    wrong = []
    for exact in NUMBERS:
        for value in numbers(exact):
            held = np.empty(1, dtype=object)
            held[0] = value
            ways = ([value], (value,), held)
            if any(cells(reader(given).read()) != [cell(exact)] for given in ways):
                wrong.append((exact, type(value)))
    assert wrong == []


@pytest.mark.parametrize("kind", columns())
def test_a_column_holds_the_same_numbers_as_a_list(kind, read):
    held, column = columns()[kind]
    assert len(held) >= 2
    wanted = sorted(map(cell, held))
    if column.type != pa.string():
        for values in (column, pl.Series(column), pd.Series(column.to_numpy(False))):
            assert cells(reader(values).read()) == wanted
    riders = list(range(len(held)))
    once = pa.table({"fare": column, "rider": riders})
    thrice = pa.table({"fare": pa.concat_arrays([column] * 3), "rider": riders * 3})
    for of in ("smallest", "largest"):
        assert cells(read(thrice, of)) == wanted, of
    assert sorted(read(once, "sum")) == sorted(map(added, held))
    assert sorted(read(thrice, "sum")) == sorted(3 * added(exact) for exact in held)


KINDS = [
    (pa.int64(), int),
    (pa.float64(), float),
    (pa.decimal128(38, 0), Decimal),
    (pa.decimal128(38, 12), Decimal),
]


@pytest.mark.parametrize(
    ("form", "of"), list(zip(SOURCES, ["smallest", "largest", "sum"] * 4, strict=False))
)
def test_an_engine_does_not_change_a_number(form, of, read, tmp_path):
    """Wholes beyond 2**53, heaps of ties and sums beyond the limit, in columns of two types."""
    wholes = [7000103050] * 300 + [10**18 + 2**10, 2**62, 2**60, 2**53 + 2, 10**9 + 11]
    riders, found = [*range(300), 300, 300, 301, 302, 303], []
    for kind, cast in KINDS:
        fares = pa.array(map(cast, wholes), kind)
        found.append(cells(read(SOURCES[form](tmp_path, {"fare": fares, "rider": riders}), of)))
    last = {"smallest": 10**18 + 2**10, "largest": 2**62, "sum": 2 * 10**18}[of]
    cut = min(2**60, LIMIT) if of == "sum" else 2**60
    wanted = sorted(
        cell(Fraction(each)) for each in (*[7000103050] * 300, last, cut, 2**53 + 2, 10**9 + 11)
    )
    assert found == [wanted] * len(found)


def test_text_is_read_to_its_last_digit(read):
    """A number of many digits beside one that a float tells not apart from it."""
    texts = [str(2**53 + 1), str(2**53), f"{2.0**53}", "9007199254740993", "-9007199254740993"]
    table = pa.table({"fare": texts, "rider": ["a", "a", "a", "b", "b"]})
    assert sorted(read(table, "largest")) == [2**53 + 1] * 2
    assert sorted(read(table, "smallest")) == [-(2**53) - 1, 2**53]
    assert sorted(read(table, "sum")) == [0, 3 * 2**53 + 1]

"""Labels of an unknown domain are private: none of them raises, and equal ones are one item."""

from __future__ import annotations

import enum
import json
import math
import re
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from held import read_histogram
from hypothesis import given
from hypothesis import strategies as st
from ledgers import new, scope

import safeselect
from safeselect import PayWhatYouGet, ScoreError
from safeselect.mechanisms.items import item

pytestmark = pytest.mark.claim("C10")

SURE: dict[str, Any] = {"k": 3, "k_bar": 9, "places": "all", "epsilon": 8, "delta": "1e-6"}
MANY = 10**6


class LoudText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("private")

    def __lt__(self, other: str) -> bool:
        raise RuntimeError("private")

    def __hash__(self) -> int:
        return 7

    def __str__(self) -> str:
        raise RuntimeError("private")

    __repr__ = __str__


class LoudNumber(int):
    def __int__(self) -> int:
        raise RuntimeError("private")

    __index__ = __abs__ = __neg__ = bit_length = __int__

    def __repr__(self) -> str:
        raise RuntimeError("private")

    __str__ = __repr__


class Colour(enum.Enum):
    RED = 1


class Place(enum.IntEnum):
    FIRST = 1


class Word(enum.StrEnum):
    A = "a"


class LoudFraction(Fraction):
    @property
    def numerator(self) -> int:
        raise RuntimeError("private")


NONE: list[Any] = [
    None,
    float("nan"),
    float("inf"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Fraction(1, 3),
    LoudFraction(1, 3),
    complex(1, 2),
    pd.NaT,
    pd.Timestamp("2020-01-01"),
    np.datetime64("2020-01-01"),
    np.timedelta64("NaT"),
    ("a",),
    b"a",
    Colour.RED,
    object(),
    np.array(1),
    1 << 65537,
    Fraction(1, 1 << 65537),
]
# Each label, and the text that it is: equal labels are one text, whatever their types.
SAME: list[tuple[Any, str]] = [
    (1, "1"),
    (1.0, "1"),
    (True, "1"),
    (-0.0, "0"),
    (np.True_, "1"),
    (np.float64(1e300), "1" + "0" * 16 + str(int(1e300))[17:]),
    (Decimal("0e99999999"), "0"),
    (gmpy2.mpq(4, 2), "2"),
    (Place.FIRST, "1"),
    (LoudNumber(6), "6"),
    (10**5000, "1" + "0" * 5000),
    (1.5, "1.5"),
    (Decimal("1.5" + "0" * 40_000), "1.5"),
    (LoudFraction(3, 2), "1.5"),
    (Decimal.from_float(0.1), "0.1"),  # it equals the float, of which the shortest text is this
    (Fraction(0.1), "0.1"),
    (np.float32(0.1), "0.10000000149011612"),  # another number
    (Decimal("1e-7"), "0.0000001"),
    (Decimal("0.12345678901234567890123450"), "0.1234567890123456789012345"),
    (Decimal("1e-400"), "0." + "0" * 399 + "1"),
    ("a", "a"),
    (Word.A, "a"),
    (LoudText("a"), "a"),
    ("\ud800", "\ud800"),
    # What is a text stays as it is: a reader that makes numbers of these has changed them before.
    ("007", "007"),
    ("1e3", "1e3"),
]


@pytest.mark.parametrize("label", NONE, ids=lambda label: type(label).__name__)
def test_what_can_be_no_item_is_dropped_and_never_an_error(label: Any) -> None:
    assert item(label) is None
    read = read_histogram([MANY, 9], [label, "a"], 3)
    assert read.labels == ("a", None, None)
    assert read.counts.tolist() == [9, 0, 0]
    found = safeselect.unknown_domain_top_k([MANY, MANY], labels=[label, "a"], **SURE)
    assert found.labels == ("a",)


@pytest.mark.parametrize(("label", "text"), SAME, ids=lambda label: type(label).__name__)
def test_items_are_what_they_equal(label: Any, text: str) -> None:
    found = item(label)
    assert found == text
    assert type(found) is str
    read = read_histogram([5, 9, 7], [text, label, text], 3)
    assert read.labels == (text, None, None)
    assert read.counts.tolist() == [9, 0, 0]  # the larger count
    for labels in ([label], [text]):
        result = safeselect.unknown_domain_top_k([MANY], labels=labels, **SURE)
        assert result.labels == (text,)
        assert type(result.labels[0]) is str
        assert json.loads(result.to_json())["labels"] == {"texts": [text], "kinds": "text"}
        assert str(len(repr(result)))


EQUAL: list[list[Any]] = [
    [1, 1.0, True, Decimal(1), Fraction(1), np.int64(1), np.float32(1), gmpy2.mpz(1), "1"],
    [0, 0.0, -0.0, False, Decimal("-0"), np.uint8(0), Fraction(0), "0"],
    [1.5, Decimal("1.5"), Decimal("1.50"), Fraction(3, 2), np.float16(1.5), gmpy2.mpq(3, 2), "1.5"],
    [0.1, Decimal.from_float(0.1), Fraction(0.1), Decimal("0.1"), Fraction(1, 10), "0.1"],
    [10**22, 1e22, Decimal("1e22"), np.float64(1e22), "10000000000000000000000"],
    [2**53 + 1, Decimal(2**53 + 1), np.int64(2**53 + 1), str(2**53 + 1)],
    [2**53, float(2**53 + 1), np.float64(2**53), str(2**53)],
]


@pytest.mark.parametrize("labels", EQUAL, ids=lambda labels: labels[-1])
@pytest.mark.claim("C2")
def test_which_spellings_are_one_item(labels: list[Any]) -> None:
    """In each order: one text, and the largest count, in each call that finds its items."""
    counts = [MANY + place for place in range(len(labels))]
    cost = {"epsilon": 8, "delta": "1e-6"}
    for order in (labels, labels[::-1]):
        read = read_histogram(counts, order, 2)
        assert read.labels == (labels[-1], None)
        assert read.counts.tolist() == [MANY + len(labels) - 1, 0]
        found = safeselect.unknown_domain_top_k(counts, labels=order, **SURE)
        kept = safeselect.select_partitions(counts, labels=order, max_partitions=1, **cost)
        session = PayWhatYouGet(outcomes=9, queries=2, **cost)
        listed = session.query(counts, labels=order, k=2, k_bar=3, places="all")
        assert found.labels == kept.labels == listed.labels == (labels[-1],)
    strategy = safeselect.partition_strategy(max_partitions=1, **cost)
    assert len({strategy.keep_keyed(label, strategy.terms.table.centre) for label in labels}) == 1


NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.floats(width=32).map(np.float32),
)


@given(NUMBERS)
def test_numbers_that_are_equal_are_one_text_which_is_that_number(number: Any) -> None:
    """Each other type that can hold the number says the same; texts are read back by Python."""
    text = item(number)
    if isinstance(number, (float, Decimal, np.floating)) and not math.isfinite(number):
        assert text is None
        return
    exact = Fraction(float(number) if isinstance(number, np.floating) else number)
    if text is None:
        assert 10**400 % exact.denominator  # its decimal has no end
        return
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)([.][0-9]*[1-9])?", text)
    assert text != "-0"
    near = float(exact) if abs(exact) < 2**1000 else float("inf")
    others: list[Any] = [exact, gmpy2.mpq(exact)]
    if near == exact:
        assert float(text) == near
        assert len(text) <= len(f"{near:.17g}") or "e" in f"{near:.17g}" or near % 1 == 0
        others.append(near)
    else:
        assert Fraction(text) == exact
    if exact.denominator == 1:
        assert text == str(int(exact))
        others += [int(exact), Decimal(int(exact)), gmpy2.mpz(int(exact))]
    assert {item(each) for each in others} == {text}


def test_an_integer_of_many_digits_can_be_read_and_shown() -> None:
    """Python may be told to write no integer of more than 640 digits."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for label, sign in ((10**5000, ""), (-(10**5000), "-"), (Decimal("1e5000"), "")):
            result = safeselect.unknown_domain_top_k({label: MANY}, **SURE)
            assert result.labels == (f"{sign}1{'0' * 5000}",)
            assert len(json.loads(result.to_json())["labels"]["texts"][0]) >= 5001
            assert "0" * 30 in repr(result)
    finally:
        sys.set_int_max_str_digits(limit)


def test_one_user_whose_label_makes_a_column_of_other_labels() -> None:
    """A missing item turns the labels of the others into floats, or into objects."""
    plain = pd.Series([1] * MANY + [2] * MANY).value_counts()
    missing = pd.Series([1] * MANY + [2] * MANY + [None]).value_counts()
    kept = pd.Series([1] * MANY + [2] * MANY + [None]).value_counts(dropna=False)
    assert (plain.index.dtype, missing.index.dtype) == (np.int64, np.float64)
    wanted = read_histogram(plain, None, 4)
    assert wanted.labels == ("1", "2", None, None)
    for other in (missing, kept, kept.astype(object), Counter([1] * MANY + [2.0] * MANY + [None])):
        read = read_histogram(other, None, 4)
        assert (read.labels, read.counts.tolist()) == (wanted.labels, wanted.counts.tolist())


def test_the_index_of_a_column_of_counts_is_its_labels() -> None:
    """Also the one that counts from 0: pandas makes it wherever the items happen to be 0, 1, 2."""
    natural, other = pd.Series(Counter([0, 0, 1])), pd.Series(Counter([1, 0, 0]))
    assert (type(natural.index), type(other.index)) == (pd.RangeIndex, pd.RangeIndex)
    for counts in (natural, other, pd.Series(Counter([0, 0, 1, "x"]))[[0, 1]]):
        assert read_histogram(counts, None, 2).labels == ("0", "1")
    table = pd.DataFrame({"users": [1, 2]}, index=["a", "b"])
    assert read_histogram(table, None, 2).labels == ("b", "a")
    assert read_histogram(pd.Series([1, 2]), ["a", "b"], 2).labels == ("b", "a")


@pytest.mark.parametrize("huge", [1e300, Decimal("1e4000"), 2**5000, Fraction(2**5000)])
def test_counts_beyond_the_cut_of_any_type(huge: Any) -> None:
    assert read_histogram([huge, 3], ["a", "b"], 2).counts.tolist() == [2**42, 3]
    assert read_histogram([-huge, 3], ["a", "b"], 2).counts.tolist() == [3, 0]


BROKEN = [0.5, float("nan"), float("inf"), Decimal("sNaN"), Fraction(1, 2), "7", 1j, [1], None]


@pytest.mark.parametrize("wrong", BROKEN, ids=repr)
def test_a_count_that_is_no_integer_is_one_fixed_sentence(wrong: Any) -> None:
    said = set()
    for counts in ([3, wrong], [3, 0.25], np.array([3, wrong if type(wrong) is float else 0.5])):
        with pytest.raises(ScoreError, match=r"^counts must be integers") as caught:
            safeselect.unknown_domain_top_k(counts, labels=["a", "b"], **SURE)
        said.add(str(caught.value))
    assert len(said) == 1


BEYOND = pl.Series([2**62, 0])


@pytest.mark.parametrize("charged", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        BEYOND.cast(pl.Datetime("ms")),  # at which polars panics, which is no Exception
        BEYOND.cast(pl.Datetime("us", "Europe/Berlin")),
        pl.Series([[each] for each in BEYOND.cast(pl.Datetime("ms")).gather([1, 1])]),
        pl.Series([pa.scalar(5), object()], dtype=pl.Object),
    ],
    ids=["a date", "a zone", "lists", "objects"],
)
def test_columns_of_labels_that_cannot_be_told_are_no_items(
    labels: Any, charged: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger = new(":memory:", epsilon=8, delta="1e-3")
    there = scope(ledger) if charged else None
    found = safeselect.unknown_domain_top_k([MANY, MANY], labels=labels, ledger=there, **SURE)
    kept = safeselect.select_partitions(
        [MANY, MANY], labels=labels, epsilon=1, delta="1e-6", max_partitions=1
    )
    assert found.labels == kept.labels == ()
    assert capfd.readouterr().err == ""  # Rust tells of a panic there


class _Cell:
    """A cell of a column library: its value must be asked for."""

    def as_py(self) -> str:
        return "a"


@pytest.mark.parametrize("cell", ["a", _Cell()])
def test_a_column_that_cannot_be_read_at_once_is_read_cell_by_cell(cell: Any) -> None:
    class Column:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, place: int) -> Any:
            if place:
                raise ValueError("a date that Python lacks")
            return cell

        def __iter__(self) -> Any:
            raise ValueError("not at once")

        def to_pylist(self) -> Any:
            raise ValueError("not at once")

    assert safeselect.unknown_domain_top_k([MANY, MANY], labels=Column(), **SURE).labels == ("a",)

"""The door for data: what is read exactly, what is refused, and that no message quotes a score."""

from __future__ import annotations

import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal, localcontext
from enum import IntEnum
from fractions import Fraction
from functools import partial

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safeselect
from safeselect import ParameterError, ScoreError, permute_and_flip
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import INTEGERS, Reading

pytestmark = pytest.mark.claim("C3")

LARGEST = 2**64 - 1
SENTINEL = 987_654_321  # a private score; its digits must appear nowhere
FAST = settings(derandomize=True, deadline=None, max_examples=60)
NULL = "scores must not contain nulls: decide what a missing score means before selecting"
NOT_FINITE = (
    "scores must be finite numbers: NaN and infinity are refused; decide what such a record counts "
    "before records are added up"
)


def read(scores, *, minimize=False, grid=None, on_grid=False, score_error=None):
    """The steps that a mechanism gets: larger is better."""
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    return read_candidates(scores).scores_on_grid(reading, minimize=minimize, size=Fraction(1))


def shortfalls(scores, **options) -> list[int]:
    """How many grid steps each candidate is behind the best: all that the law depends on."""
    steps = read(scores, **options)
    assert steps.dtype == np.uint64
    assert steps.flags.c_contiguous
    assert steps.flags.writeable
    assert steps.ndim == 1
    values = [int(step) for step in steps]
    return [max(values) - value for value in values]


def behind(values) -> list[int]:
    return [max(values) - value for value in values]


def refused(scores, error=ScoreError, *, labels=None, **options) -> str:
    """The message of a refusal: short, without a score in it or behind it."""
    with pytest.raises(error) as caught:
        read_candidates(scores, labels=labels) if labels is not None else read(scores, **options)
    message = str(caught.value)
    assert len(message) <= 300
    for text in (message, repr(caught.value)):
        assert str(SENTINEL) not in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return message


# ------------------------------------------------------------------------------------ NumPy arrays

INTEGER_DTYPES = [
    f"{order}{kind}{size}" for order in "<>" for kind in "iu" for size in (1, 2, 4, 8)
]


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
@pytest.mark.parametrize("minimize", [False, True])
def test_every_integer_dtype_with_both_extremes(dtype, minimize):
    info = np.iinfo(dtype)
    values = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
    sign = -1 if minimize else 1
    expected = behind([sign * value for value in values])
    array = np.array(values, dtype=dtype)
    assert shortfalls(array, minimize=minimize) == expected
    assert shortfalls(array, minimize=np.bool_(minimize)) == expected
    assert shortfalls(array, minimize=minimize, grid=1) == expected
    assert array.tolist() == values


@pytest.mark.parametrize("minimize", [False, True])
def test_int64_wraps_nowhere(minimize):
    """A difference that int64 cannot hold."""
    values = [2**63 - 1, -(2**63), 0]
    sign = -1 if minimize else 1
    expected = behind([sign * value for value in values])
    assert shortfalls(np.array(values), minimize=minimize) == expected
    assert shortfalls(values, minimize=minimize) == expected


LAYOUTS = {
    "reversed": np.arange(20)[::-1],
    "every third": np.arange(60)[::3],
    "every third, reversed": np.arange(60)[::-3],
    "column of a matrix": np.arange(60).reshape(20, 3)[:, 1],
    "row of a Fortran matrix": np.asfortranarray(np.arange(60).reshape(3, 20))[1],
    "broadcast": np.broadcast_to(np.array(5), (4,)),
    "inside a record": np.array([(1, 2), (3, 4)], dtype=[("a", "i1"), ("b", ">i8")])["b"],
    "not aligned": np.frombuffer(bytes(range(33)), dtype=np.uint8)[1:].view("<i4"),
    "byte-swapped view": np.arange(5, dtype=">i4")[::2],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout(name):
    array = LAYOUTS[name]
    before = array.tolist()
    assert shortfalls(array) == behind(before)
    assert array.tolist() == before


def test_read_only_and_mapped_arrays(tmp_path):
    array = np.array([5, 7, 3])
    array.flags.writeable = False
    assert shortfalls(array) == [2, 0, 4]
    mapped = np.memmap(tmp_path / "scores", dtype=">i2", mode="w+", shape=(3,))
    mapped[:] = [5, 7, 3]
    assert shortfalls(mapped) == [2, 0, 4]
    mapped.flush()
    read_back = np.memmap(tmp_path / "scores", dtype=">i2", mode="r", shape=(3,))
    assert shortfalls(read_back) == [2, 0, 4]


def test_the_callers_array_is_never_touched_and_later_writes_change_nothing():
    for array, options in (
        (np.array([5, 7, 3]), {}),
        (np.array([5, 7, 3], dtype=np.uint64), {"minimize": True}),
        (np.array([5.0, 7.0, 3.0]), {"grid": "0.5"}),
        (np.array([5, 7, 3], dtype=object), {}),
    ):
        before = array.copy()
        steps = read(array, **options)
        assert not np.shares_memory(steps, array)
        assert (array == before).all()
        kept = steps.tolist()
        array[:] = 0
        assert steps.tolist() == kept
        array[:] = before
        steps.fill(0)  # as a call does at its end
        assert (array == before).all()


def test_a_callers_list_or_mapping_may_change_later():
    scores, labels = [5, 7, 3], ["a", "b", "c"]
    candidates = read_candidates(scores, labels=labels)
    steps = candidates.scores_on_grid(INTEGERS)
    scores[0], labels[0] = 100, "z"
    assert behind(steps.tolist()) == [2, 0, 4]
    assert candidates.labels == ("a", "b", "c")
    counts = {"a": 5, "b": 7}
    candidates = read_candidates(counts)
    counts["c"] = 100
    assert candidates.labels == ("a", "b")
    assert behind(candidates.scores_on_grid(INTEGERS).tolist()) == [2, 0]


@pytest.mark.parametrize("change", [list.clear, list.pop, lambda scores: scores.append(5)])
def test_a_list_that_changes_its_length_between_the_two_looks_is_refused(change):
    """Its length is public, and results have room for so many."""
    scores = [5, 7, 3]
    candidates = read_candidates(scores)
    change(scores)
    with pytest.raises(ScoreError, match="changed their number while they were read"):
        candidates.scores_on_grid(INTEGERS)


def test_a_mapping_that_may_do_as_it_likes_is_refused():
    """Reading keys and values at two moments could give a label another one's score."""

    class Shifting(dict):
        def values(self):
            return list(super().values())[::-1]

    with pytest.raises(ScoreError, match=r"got Shifting; .* write dict\(scores\)"):
        read_candidates(Shifting(a=5, b=7))


# ------------------------------------------------------------------------------ only differences


@given(
    st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=8),
    st.integers(-(2**61), 2**61),
    st.booleans(),
)
@FAST
def test_the_steps_depend_on_differences_only(values, offset, minimize):
    moved = [value + offset for value in values]
    expected = shortfalls(values, minimize=minimize)
    assert shortfalls(moved, minimize=minimize) == expected
    assert shortfalls(np.array(moved), minimize=minimize) == expected
    assert shortfalls(np.array(moved, dtype=object), minimize=minimize) == expected
    assert shortfalls([value + 10**40 for value in values], minimize=minimize) == expected
    assert shortfalls(dict(enumerate(moved)), minimize=minimize) == expected


def test_a_large_common_offset_absorbs_nothing():
    base = 2**60
    for shape in (list, tuple, np.array, lambda values: np.array(values, dtype=np.uint64)):
        assert shortfalls(shape([base + 128, base])) == shortfalls(shape([128, 0])) == [0, 128]
        assert shortfalls(shape([base + 129, base])) == [0, 129]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8), st.booleans())
@FAST
def test_all_ways_to_hand_over_the_same_integers(values, minimize):
    sign = -1 if minimize else 1
    expected = behind([sign * value for value in values])
    ways = [
        values,
        tuple(values),
        np.array(values, dtype=np.int64),
        np.array(values, dtype=object),
        [gmpy2.mpz(value) for value in values],
        [np.int64(value) for value in values],
        dict(enumerate(values)),
    ]
    assert [shortfalls(way, minimize=minimize) for way in ways] == [expected] * len(ways)


def test_permuting_the_candidates_permutes_the_steps():
    values = [3, 1, 4, 1]
    for order in itertools.permutations(range(4)):
        assert shortfalls([values[i] for i in order]) == [shortfalls(values)[i] for i in order]


# -------------------------------------------------------------------------------- integers, lists


class Grade(IntEnum):
    GOOD = 7
    FAIR = 5


def test_python_integers_of_any_size():
    huge = 10**4000
    assert shortfalls([huge + 5, huge, huge + 7]) == [2, 7, 0]
    assert shortfalls([-huge, -huge - 3]) == [0, 3]
    assert shortfalls([2**63, -1]) == [0, 2**63 + 1]  # a float64 array to NumPy
    assert shortfalls([2**64, 0, 2**64 - 1]) == [0, LARGEST, 1]
    assert shortfalls([Grade.GOOD, Grade.FAIR]) == [0, 2]
    assert shortfalls([np.int8(-5), np.uint64(10), 3, gmpy2.mpz(1)]) == [15, 0, 7, 9]


@given(
    st.lists(st.integers(-(2**80), 2**80), min_size=2, max_size=6),
    st.lists(st.integers(-3, 4), min_size=6, max_size=6),
    st.booleans(),
)
@FAST
def test_cutting_shortfalls_never_widens_the_range_of_a_change(values, moves, minimize):
    """Neighbours whose scores move by a range R keep that range after the cut at 64 bits."""
    moved = [value + move for value, move in zip(values, moves, strict=False)]
    used = moves[: len(values)]
    before = shortfalls(values, minimize=minimize)
    after = shortfalls(moved, minimize=minimize)
    assert max(before + after) <= LARGEST
    changes = [b - a for a, b in zip(before, after, strict=True)]
    assert max(changes) - min(changes) <= max(used) - min(used)


def test_the_cut_is_where_it_is_said_to_be():
    assert shortfalls([0, -LARGEST, -LARGEST - 1, -(10**50)]) == [0, LARGEST, LARGEST, LARGEST]


@pytest.mark.parametrize("scores", [[5], (5,), np.array([5]), {"a": 5}, [-(2**70)]])
def test_one_candidate(scores):
    assert shortfalls(scores) == [0]


@pytest.mark.parametrize(
    "scores", [[], (), {}, np.array([]), np.array([], dtype=int), np.array([], dtype=object)]
)
def test_no_candidate(scores):
    assert "at least one candidate" in refused(scores)


@pytest.mark.parametrize("way", [dict, OrderedDict, Counter, partial(defaultdict, int)])
def test_mappings(way):
    candidates = read_candidates(way({"red": 12, "blue": 30}))
    assert candidates.labels == ("red", "blue")
    assert behind(candidates.scores_on_grid(INTEGERS).tolist()) == [18, 0]


# ------------------------------------------------------------------------------------ other tables

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

INTEGER_COLUMNS = {
    "pandas": pandas.Series([5, 7, 3]),
    "pandas with another index": pandas.Series([5, 7, 3], index=[2, 0, 1]),
    "pandas uint8": pandas.Series([5, 7, 3], dtype="uint8"),
    "pandas nullable": pandas.Series([5, 7, 3], dtype="Int64"),
    "pandas of Arrow": pandas.Series([5, 7, 3], dtype="int64[pyarrow]"),
    "pandas objects": pandas.Series([5, 7, 3], dtype=object),
    "pandas categories": pandas.Series(pandas.Categorical([5, 7, 3])),
    "pandas sparse": pandas.Series(pandas.arrays.SparseArray([5, 7, 3])),
    "pandas array": pandas.array([5, 7, 3]),
    "pandas index": pandas.Index([5, 7, 3]),
    "polars": polars.Series([5, 7, 3]),
    "polars int8": polars.Series([5, 7, 3], dtype=polars.Int8),
    "polars uint64": polars.Series([5, 7, 3], dtype=polars.UInt64),
    "polars in pieces": polars.concat([polars.Series([5]), polars.Series([7, 3])], rechunk=False),
    "pyarrow": pyarrow.array([5, 7, 3]),
    "pyarrow slice": pyarrow.array([9, 5, 7, 3, 9])[1:4],
    "pyarrow in pieces": pyarrow.chunked_array([[5], [7, 3]]),
    "pyarrow dictionary": pyarrow.array([5, 7, 3]).dictionary_encode(),
}


@pytest.mark.parametrize("name", INTEGER_COLUMNS)
def test_integer_columns(name):
    column = INTEGER_COLUMNS[name]
    assert shortfalls(column) == [2, 0, 4]
    assert shortfalls(column, minimize=True) == [2, 4, 0]
    assert shortfalls(column, grid="1/2") == [4, 0, 8]
    assert list(column) == list(INTEGER_COLUMNS[name])


def test_wide_columns():
    extremes = [2**63 - 1, -(2**63)]
    for column in (pandas.Series(extremes), polars.Series(extremes), pyarrow.array(extremes)):
        assert shortfalls(column) == [0, LARGEST]
    assert shortfalls(polars.Series([LARGEST, 0], dtype=polars.UInt64)) == [0, LARGEST]
    assert shortfalls(pandas.Series([2**70, 2**70 - 1], dtype=object)) == [0, 1]


DECIMAL_COLUMNS = {
    "polars": polars.Series([Decimal("0.10"), Decimal("0.35")]),
    "pyarrow": pyarrow.array([Decimal("0.10"), Decimal("0.35")]),
    "pandas": pandas.Series([Decimal("0.10"), Decimal("0.35")]),
    "pandas floats": pandas.Series([0.1, 0.35]),
    "polars floats": polars.Series([0.1, 0.35]),
    "polars float32": polars.Series([0.1, 0.35], dtype=polars.Float32),
    "pyarrow floats": pyarrow.array([0.1, 0.35]),
}


@pytest.mark.parametrize("name", DECIMAL_COLUMNS)
def test_decimal_and_float_columns_need_a_grid(name):
    column = DECIMAL_COLUMNS[name]
    assert "scores must be integers where no grid= is given" in refused(column)
    assert shortfalls(column, grid="0.05") == [5, 0]


NULLS = {
    "pandas nullable": pandas.Series([SENTINEL, None], dtype="Int64"),
    "pandas of Arrow": pandas.Series([SENTINEL, None], dtype="int64[pyarrow]"),
    "pandas objects": pandas.Series([SENTINEL, None], dtype=object),
    "pandas floats": pandas.Series([float(SENTINEL), None]),
    "polars": polars.Series([SENTINEL, None]),
    "polars floats": polars.Series([float(SENTINEL), None]),
    "pyarrow": pyarrow.array([SENTINEL, None]),
    "pyarrow in pieces": pyarrow.chunked_array([[SENTINEL], [None]]),
    "list": [SENTINEL, None],
    "mapping": {"a": SENTINEL, "b": None},
    "array": np.array([SENTINEL, None], dtype=object),
}


@pytest.mark.parametrize("grid", [None, "0.5"])
@pytest.mark.parametrize("name", NULLS)
def test_nulls_are_refused_with_one_sentence(name, grid):
    assert refused(NULLS[name], grid=grid) == NULL


# ------------------------------------------------------------------------------ grids and rounding


WHOLE = [
    [7, 1, 0],
    [7.0, 1, 0],
    [Fraction(7), Decimal(1), False],
    [np.float32(7), np.int8(1), np.bool_(False)],
    np.array([7.0, 1.0, -0.0]),
    np.array([7, 1, 0], dtype=np.float16),
    np.array([7, True, 0.0], dtype=object),
    [Decimal("7.000"), Decimal("1e0"), Decimal("-0e99999")],
    [gmpy2.mpz(7), gmpy2.mpq(1), 0.0],
]


@pytest.mark.parametrize("values", WHOLE, ids=lambda values: str(getattr(values, "dtype", values)))
def test_whole_numbers_of_any_type_are_integers(values):
    assert shortfalls(values) == [0, 6, 7]
    assert shortfalls(values, minimize=True) == [7, 1, 0]
    assert shortfalls(values, grid=1) == [0, 6, 7]
    assert shortfalls(values, grid="1/3") == [0, 18, 21]
    assert shortfalls(values, grid="0.1", on_grid=True) == [0, 60, 70]


@pytest.mark.parametrize(
    "value", [0.5, Fraction(1, 3), Decimal("0.1"), np.float16(0.5), gmpy2.mpq(1, 2), 1e-300, 2.5]
)
def test_a_number_that_is_no_integer_needs_a_grid_whatever_else_is_there(value):
    said = {
        refused(way)
        for way in (
            [value],
            [1, value],
            [value, 2**70],
            np.array([value, 3], dtype=object),
            np.array([float(value), 3]),
            {"a": 1.0, "b": value},
        )
    }
    assert len(said) == 1
    assert "grid='1/1000'" in said.pop()


NEAREST = [
    # score, grid, steps
    ("0.3", "0.1", 3),
    ("0.34", "0.1", 3),
    ("0.36", "0.1", 4),
    ("-0.3", "0.1", -3),
    ("-0.34", "0.1", -3),
    ("-0.36", "0.1", -4),
    ("0", "0.1", 0),
    ("-0.0", "0.1", 0),
    ("1", "0.3", 3),
    ("-1", "0.3", -3),
    ("7", "2", 4),
    ("-7", "2", -3),
    ("0.5", "1", 1),
    ("-0.5", "1", 0),
    ("1.5", "1", 2),
    ("2.5", "1", 3),
    ("-2.5", "1", -2),
    ("1e20", "0.5", 2 * 10**20),
    ("1e-300", "1", 0),
    ("-1e-300", "1", 0),
]
WAYS = {
    "text as Fraction": Fraction,
    "Decimal": Decimal,
    "float": float,
    "float64": np.float64,
    "mpq": lambda text: gmpy2.mpq(Fraction(text)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("score", "grid", "steps"), NEAREST)
def test_the_nearest_step_halves_up_for_every_type(score, grid, steps, way):
    """Against an anchor on the grid, far enough above that nothing is cut."""
    size = Fraction(grid)
    anchor = (steps + 10) * size
    assert shortfalls([WAYS[way](score), anchor], grid=grid)[0] == 10
    # Minimizing rounds the same way first and prefers the small ones then.
    below = (steps - 10) * size
    assert shortfalls([WAYS[way](score), below], grid=grid, minimize=True)[0] == 10


def test_floats_are_the_binary_numbers_that_they_are():
    """0.15 shows a half step of 0.1 and lies below it; 0.35 lies below and 0.45 above theirs."""
    for value, steps in ((0.15, 1), (0.35, 3), (0.45, 5), (0.55, 6)):
        assert (Fraction(value) > Fraction(str(value))) == (steps * Fraction("0.1") > value)
        for scores in ([value, 0.0], np.array([value, 0.0]), [value, 0], [Fraction(value), 0]):
            assert shortfalls(scores, grid="0.1") == [0, steps]
    assert shortfalls([Decimal("0.15"), 0], grid="0.1") == [0, 2]


def test_what_is_nearly_on_the_grid_is_read_as_on_it():
    for kind in (np.float16, np.float32, np.float64):
        values = [kind("0.1"), kind("0.3"), kind("0.7")]
        assert shortfalls(values, grid="0.1") == [6, 4, 0]
        assert shortfalls(np.array(values), grid="0.1") == [6, 4, 0]
        assert shortfalls(np.array(values).astype(f">f{kind().itemsize}"), grid="0.1") == [6, 4, 0]


def test_mixed_lists_go_element_by_element():
    mixed = [1, 0.5, Fraction(1, 3), Decimal("0.25"), gmpy2.mpq(1, 6), np.float32(0.125), 2**53 + 1]
    exact = [Fraction(*x.as_integer_ratio()) if x == 0.125 else Fraction(x) for x in mixed]
    whole = [math.floor(x * 24 + Fraction(1, 2)) for x in exact]
    assert shortfalls(mixed, grid="1/24") == behind(whole)
    assert shortfalls(np.array(mixed, dtype=object), grid="1/24") == behind(whole)
    # What NumPy would make of it: an integer that float64 rounds.
    assert shortfalls([2**53 + 1, 0.5], grid="0.5") == [0, 2 * (2**53 + 1) - 1]


@given(
    st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=6),
    st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=100),
    st.fractions(min_value=0, max_value=5, max_denominator=1000),
)
@FAST
def test_rounding_keeps_order_and_stretches_a_change_by_less_than_a_step(values, grid, change):
    exact = [Fraction(value) for value in values]
    steps = shortfalls([*exact, Fraction(10**6)], grid=grid)
    moved = shortfalls([*(value + change for value in exact), Fraction(10**6)], grid=grid)
    for (a, i), (b, j) in itertools.combinations(zip(exact, steps, strict=False), 2):
        assert (a <= b) == (i >= j) or i == j
    for before, after in zip(steps[:-1], moved[:-1], strict=True):
        assert 0 <= before - after <= math.ceil(change / grid)


def test_the_callers_decimal_context_changes_nothing():
    values = [Decimal("123456789.12"), Decimal("123456789.11")]
    with localcontext() as context:
        context.prec = 2
        assert shortfalls(values, grid="0.01") == [0, 1]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("grid", [None, 1, "0.001"])
def test_the_limit_of_size_is_the_same_for_every_type(sign, grid):
    """Equal numbers of two types are both read, or both refused."""
    limit = 10**4096
    with localcontext() as context:
        context.prec = 5000
        below = [limit - 1, Fraction(limit - 1), gmpy2.mpz(limit - 1), Decimal(limit - 1)]
        for value in below:
            assert shortfalls([sign * value, sign * (limit - 2)], grid=grid) == shortfalls(
                [sign, 0], grid=grid
            )
        for value in (limit, Fraction(limit), gmpy2.mpq(limit), Decimal("1e4096"), 10**5000):
            message = refused([sign * value, 1], grid=grid)
            assert message == "scores must be below 10**4096 in size"
    half = sign * Fraction(2 * limit - 1, 2)
    assert shortfalls([half, half], grid="1/2") == [0, 0]


def test_decimals_of_any_exponent():
    assert shortfalls([Decimal("1e-999999"), Decimal("-1e-999999"), 0], grid=1) == [0, 0, 0]
    assert shortfalls([Decimal("0e999999"), Decimal(1)], grid=1) == [1, 0]
    assert shortfalls([Decimal("-0e-999999"), Decimal(1)], grid=1) == [1, 0]
    message = refused([Decimal("1e999999"), Decimal(1)], grid=1)
    assert message == "scores must be below 10**4096 in size"


@pytest.mark.parametrize(
    "bad", [0, -1, "x", float("nan"), True, "0,5", 1 << 5000, "1e99999", [1], np.array([0.1])]
)
def test_the_grid_is_a_positive_number(bad):
    assert refused([1.0, 2.0], ParameterError, grid=bad).startswith("grid must ")


# -------------------------------------------------------------------------------------- refusals

INFINITE = [float("nan"), float("inf"), float("-inf")]
NOT_NUMBERS_AT_ALL = {
    f"{way} {kind}": scores
    for kind, value in zip(("nan", "inf", "-inf"), INFINITE, strict=True)
    for way, scores in {
        "list": [float(SENTINEL), value],
        "float64 array": np.array([float(SENTINEL), value]),
        "float32 array": np.array([SENTINEL, value], dtype=np.float32),
        "object array": np.array([SENTINEL, value], dtype=object),
        "Decimals": [Decimal(SENTINEL), Decimal(str(value))],
        "mapping": {"a": SENTINEL, "b": value},
        "pyarrow": pyarrow.array([float(SENTINEL), value]),
    }.items()
} | {"signalling": [Decimal(SENTINEL), Decimal("sNaN")]}


@pytest.mark.parametrize("name", NOT_NUMBERS_AT_ALL)
def test_nan_and_infinity_are_refused_with_one_sentence(name):
    assert refused(NOT_NUMBERS_AT_ALL[name], grid=1) == NOT_FINITE


TWO_DIMENSIONS = {
    "matrix": np.full((2, 2), SENTINEL),
    "one column": np.full((2, 1), SENTINEL),
    "number": np.array(SENTINEL),
    "pandas frame": pandas.DataFrame({"a": [SENTINEL], "b": [1]}),
    "polars frame": polars.DataFrame({"a": [SENTINEL], "b": [1]}),
    "pyarrow table": pyarrow.table({"a": [SENTINEL], "b": [1]}),
    "polars arrays": polars.Series([[SENTINEL, 1]], dtype=polars.Array(polars.Int64, 2)),
}


@pytest.mark.parametrize("name", TWO_DIMENSIONS)
def test_one_dimension(name):
    assert "one dimension" in refused(TWO_DIMENSIONS[name])


class Quoting:
    """A column whose conversion fails and quotes a cell."""

    def __init__(self, shape=(1,), error=ValueError):
        self.shape, self.error = shape, error

    def __array__(self, *arguments, **options):
        raise self.error(f"cannot convert {SENTINEL}")


class QuotingNulls:
    shape = (1,)

    def isna(self):
        raise RuntimeError(f"cannot count {SENTINEL}")

    def __array__(self, *arguments, **options):
        return np.array([SENTINEL])


NOT_SCORES = {
    "text": [str(SENTINEL)],
    "text among integers": [SENTINEL, str(SENTINEL)],
    "text array": np.array([str(SENTINEL)]),
    "text column": pandas.Series([str(SENTINEL)]),
    "polars text": polars.Series([str(SENTINEL)]),
    "pyarrow text": pyarrow.array([str(SENTINEL)]),
    "bytes list": [b"1"],
    "one text": str(SENTINEL),
    "one bytes": b"123",
    "complex list": [complex(SENTINEL)],
    "complex array": np.array([complex(SENTINEL)]),
    "dates": np.array([SENTINEL], dtype="M8[s]"),
    "pandas dates": pandas.Series(pandas.to_datetime(["2020-01-01"])),
    "polars dates": polars.Series([1]).cast(polars.Date),
    "time spans": np.array([SENTINEL], dtype="m8[s]"),
    "list of time spans": [np.timedelta64(SENTINEL, "s")],
    "list of bare time spans": [np.timedelta64(7), 3],
    "list of no time": [np.timedelta64("NaT"), SENTINEL],
    "list of dates": [np.datetime64(SENTINEL, "s")],
    "void": np.zeros(2, dtype=[("a", "i4")]),
    "long doubles": np.array([SENTINEL], dtype=np.longdouble),
    "masked": np.ma.array([SENTINEL, 1], mask=[True, False]),
    "masked without a mask": np.ma.array([SENTINEL, 1]),
    "matrix class": np.array([[SENTINEL, 1]]).view(np.matrix),
    "record array": np.rec.array([(SENTINEL,)], dtype=[("a", "i8")]),
    "arrays in a list": [np.array(SENTINEL), 1],
    "arrays of one in a list": [np.array([SENTINEL]), np.array([1])],
    "lists in a list": [[SENTINEL], [1]],
    "lists in an array": np.array([[SENTINEL], [1, 2]], dtype=object),
    "lists in a column": polars.Series([[SENTINEL], [1]]),
    "missing value": [SENTINEL, pandas.NA],
    "mpfr": [gmpy2.mpfr(SENTINEL)],
    "NumPy scalar": np.int64(SENTINEL),
    "NumPy float": np.float64(SENTINEL),
    "generator": (score for score in [SENTINEL]),
    "iterator": iter([SENTINEL]),
    "range": range(3),
    "map": map(int, ["1"]),
    "set": {SENTINEL, 1},
    "frozenset": frozenset([SENTINEL]),
    "deque": deque([SENTINEL]),
    "values of a mapping": {"a": SENTINEL}.values(),
    "memory": memoryview(bytes(8)),
    "number": SENTINEL,
    "None": None,
    "class": int,
    "array class": np.ndarray,
    "quoting column": Quoting(),
    "quoting column of another error": Quoting(error=KeyError),
    "column without a shape": Quoting(shape=None),
    "quoting nulls": QuotingNulls(),
    "several levels": pandas.MultiIndex.from_tuples([(SENTINEL, 1)]),
    "union": pyarrow.UnionArray.from_sparse(
        pyarrow.array([0], type=pyarrow.int8()), [pyarrow.array([SENTINEL])]
    ),
}


@pytest.mark.parametrize("grid", [None, "0.5"])
@pytest.mark.parametrize("name", NOT_SCORES)
def test_what_are_no_scores(name, grid):
    message = refused(NOT_SCORES[name], grid=grid)
    # Never a hint at grid= for what a grid would not help.
    assert "grid=" not in message


def test_the_message_about_text_does_not_tell_how_long_it_is():
    short, long = np.array(["a"]), np.array(["a" * 37])
    assert refused(short) == refused(long)


def test_no_message_depends_on_the_scores():
    """The same kinds of mistakes with other numbers read the same."""
    for build in (
        lambda x: [x, None],
        lambda x: [float(x), float("nan")],
        lambda x: [Fraction(x, 7)],
        lambda x: [x, "text"],
        lambda x: np.array([[x]]),
        lambda x: np.array([x + 0.5]),
        lambda x: np.array([x + 0.5, 1], dtype=object),
    ):
        assert refused(build(SENTINEL)) == refused(build(5))


BOOLS = {
    "list": [True, False],
    "among integers": [1, False],
    "NumPy scalars": [np.True_, np.False_],
    "array": np.array([True, False]),
    "column": pandas.Series([True, False]),
    "nullable column": pandas.Series([True, False], dtype="boolean"),
    "polars": polars.Series([True, False]),
    "pyarrow": pyarrow.array([True, False]),
    "mapping": {"a": True, "b": np.False_},
}


@pytest.mark.parametrize("name", BOOLS)
def test_true_and_false_are_one_and_zero(name):
    assert shortfalls(BOOLS[name]) == [0, 1]
    assert shortfalls(BOOLS[name], minimize=True) == [1, 0]
    assert shortfalls(BOOLS[name], grid="1/4") == [0, 4]


def test_nothing_that_is_kept_shows_a_score():
    candidates = read_candidates([SENTINEL, 1], labels=["a", "b"])
    assert repr(candidates) == str(candidates) == "<2 candidates>"


@pytest.mark.parametrize("bad", [0, 1, "yes", None, "False", np.int64(1), [], 1.0])
def test_minimize_is_true_or_false(bad):
    with pytest.raises(ParameterError, match="minimize must be True or False"):
        permute_and_flip([1, 2], epsilon=1, sensitivity=1, minimize=bad)


# ---------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "c"],
        ("a", "b", "c"),
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
        pandas.Series(["a", "b", "c"], index=[5, 1, 3]),
        polars.Series(["a", "b", "c"]),
        dict.fromkeys("abc"),
        iter("abc"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels(labels):
    candidates = read_candidates([5, 7, 3], labels=labels)
    assert candidates.labels == ("a", "b", "c")


def test_without_labels_the_position_is_the_label():
    assert read_candidates([5, 7, 3]).labels is None
    chosen = safeselect.permute_and_flip([5, 7, 300], epsilon=1, sensitivity=1)
    assert chosen.label == chosen.index == 2  # else with probability e**-146


def test_labels_of_a_numpy_array_are_python_objects():
    assert [type(x) for x in read_candidates([1, 2], labels=np.array([1, 2])).labels] == [int, int]


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["a"], "1 for 2"),
        (["a", "b", "c"], "3 for 2"),
        ([], "0 for 2"),
        (["a", "a"], "different"),
        ([1, True], "different"),
        ([1, 1.0], "different"),
        ([["a"], ["a"]], "different"),
        ([{"a": 1}, {"a": True}], "different"),
        ("ab", "list of labels, got str"),
        (b"ab", "list of labels, got bytes"),
        (5, "list of labels, got int"),
        (True, "list of labels, got bool"),
        ({"a"}, "list of labels, got set"),
        (frozenset("a"), "list of labels, got frozenset"),
        (np.array("a"), "one dimension"),
        (np.array([["a"], ["b"]]), "one dimension"),
    ],
    ids=str,
)
def test_wrong_labels(labels, match):
    assert match in refused([SENTINEL, 1], ParameterError, labels=labels)


def test_a_mapping_brings_its_labels():
    assert "keys are the labels" in refused({"a": 1}, ParameterError, labels=["a"])

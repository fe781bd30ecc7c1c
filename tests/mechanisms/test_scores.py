"""The door for data: what is read exactly, what is refused, and that no message quotes a score."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from safeselect import ScoreError
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import INTEGERS, Reading

pytestmark = pytest.mark.claim("C3")

SENTINEL = 987_654_321  # a private score; its digits must appear nowhere


def read(scores, *, minimize=False, grid=None, on_grid=False, score_error=None):
    """The steps that a mechanism gets: larger is better."""
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    return read_candidates(scores).scores_on_grid(reading, minimize=minimize)


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


def test_the_callers_array_is_never_touched_and_later_writes_change_nothing():
    for array, options in (
        (np.array([5, 7, 3]), {}),
        (np.array([5, 7, 3], dtype=np.uint64), {"minimize": True}),
        (np.array([5.0, 7.0, 3.0]), {"grid": "0.5"}),
        (np.array([5, 7, 3], dtype=object), {}),
    ):
        before, steps = array.copy(), read(array, **options)
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
    with pytest.raises(ScoreError, match="the number of scores changed while they were being read"):
        candidates.scores_on_grid(INTEGERS)


# ------------------------------------------------------------------------------------ other tables

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


# ------------------------------------------------------------------------------ grids and rounding


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
            assert refused([sign * value, 1], grid=grid) == "scores must be below 10**4096 in size"
    half = sign * Fraction(2 * limit - 1, 2)
    assert shortfalls([half, half], grid="1/2") == [0, 0]


# -------------------------------------------------------------------------------------- refusals


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
    "dates": np.array([SENTINEL], dtype="M8[s]"),
    "polars dates": polars.Series([1]).cast(polars.Date),
    "list of time spans": [np.timedelta64(SENTINEL, "s")],
    "void": np.zeros(2, dtype=[("a", "i4")]),
    "long doubles": np.array([SENTINEL], dtype=np.longdouble),
    "arrays in a list": [np.array(SENTINEL), 1],
    "lists in a list": [[SENTINEL], [1]],
    "lists in a column": polars.Series([[SENTINEL], [1]]),
    "mpfr": [gmpy2.mpfr(SENTINEL)],
    "generator": (score for score in [SENTINEL]),
    "memory": memoryview(bytes(8)),
    "quoting column": Quoting(),
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


def test_nothing_that_is_kept_shows_a_score():
    candidates = read_candidates([SENTINEL, 1], labels=["a", "b"])
    assert repr(candidates) == str(candidates) == "<2 candidates>"

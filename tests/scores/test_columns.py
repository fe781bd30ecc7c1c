"""Columns and tables of the real libraries: what each declared type is read as, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from safeselect import ParameterError, ScoreError, permute_and_flip, top_k
from safeselect.mechanisms.quantiles import reader
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading

pytestmark = pytest.mark.claim("C3")

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pc = pytest.importorskip("pyarrow.compute")

NULL = "scores must not contain nulls; replace missing scores first"
SURE = {"epsilon": 10_000, "sensitivity": 1}
# Floats cannot tell them apart.
NEAR = [2**53, 2**53 + 1, 2**53 - 1]


def read(column: Any, grid: str | None = None) -> Any:
    reading = Reading.read(grid=grid, on_grid=False, score_error=None)
    return read_candidates(column).scores_on_grid(reading)


def encoded(values: list[Any], indices: list[int]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values))


INTEGERS: dict[str, Callable[[list[int]], Any]] = {
    "pandas": lambda v: pd.Series(v),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas array": lambda v: pd.array(v),
    "pandas of Arrow": lambda v: pd.Series(v, dtype="uint64[pyarrow]"),
    "pandas decimals of Arrow": lambda v: pd.Series(
        [Decimal(x) for x in v], dtype=pd.ArrowDtype(pa.decimal128(38, 0))
    ),
    "pandas categories": lambda v: pd.Series(v, dtype="category"),
    "pandas table": lambda v: pd.DataFrame({"n": v}, index=v),
    "polars": lambda v: pl.Series(v),
    "polars Int128": lambda v: pl.Series(v, dtype=pl.Int128),
    "polars decimals": lambda v: pl.Series([Decimal(x) for x in v], dtype=pl.Decimal(38, 0)),
    "polars table": lambda v: pl.DataFrame({"n": v}),
    "pyarrow": lambda v: pa.array(v),
    "pyarrow chunks": lambda v: pa.chunked_array([v[:1], [], v[1:]], pa.int64()),
    "pyarrow decimals": lambda v: pa.array([Decimal(x) for x in v], pa.decimal128(38, 0)),
    "pyarrow dictionary": lambda v: encoded(v, [0, 1, 2]),
    "pyarrow dictionary with a null that is not used": lambda v: encoded([None, *v], [1, 2, 3]),
    "pyarrow runs": lambda v: pc.run_end_encode(pa.array(v)),
    "pandas runs of Arrow": lambda v: pd.Series(
        pd.arrays.ArrowExtensionArray(pc.run_end_encode(pa.array(v)))
    ),
    "pyarrow table": lambda v: pa.table({"n": v}),
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_are_read_exactly(kind: str) -> None:
    steps = read(INTEGERS[kind](NEAR)).tolist()
    assert [max(steps) - step for step in steps] == [1, 0, 2]
    named = kind == "pandas table"  # whose index is the labels
    for minimize, place in ((False, 1), (True, 0)):
        best = permute_and_flip(INTEGERS[kind]([5, 9000, 7]), minimize=minimize, **SURE)
        assert (best.label, best.index) == (
            ([5, 9000, 7][place], None) if named else (place, place)
        )
    two = top_k(INTEGERS[kind]([5, 90_000, 7_000]), k=2, grid="1/2", on_grid=True, **SURE)
    assert two.labels == ((90_000, 7_000) if named else (1, 2))


def test_integers_beyond_64_bits() -> None:
    values = [2**100, 2**100 - 3, 0]
    for column in (
        pl.Series(values, dtype=pl.Int128),
        pa.array([Decimal(x) for x in values], pa.decimal128(38, 0)),
    ):
        steps = read(column).tolist()
        assert [max(steps) - step for step in steps] == [0, 3, 2**64 - 1]


NULLS: dict[str, Callable[[], Any]] = {
    "pandas Int64": lambda: pd.Series([5, None], dtype="Int64"),
    "pandas categories": lambda: pd.Series([5, None], dtype="category"),
    "pandas table": lambda: pd.DataFrame({"n": pd.array([5, None])}),
    "polars": lambda: pl.Series([5, None]),
    "pyarrow decimals": lambda: pa.array([Decimal(5), None], pa.decimal128(38, 0)),
    "pyarrow chunks": lambda: pa.chunked_array([[5], [None]]),
    "pyarrow dictionary": lambda: encoded([5], [0]).take(pa.array([0, None])),
    "pyarrow dictionary with a null inside": lambda: encoded([5, None], [0, 1]),
    "pyarrow table": lambda: pa.table({"n": [5, None]}),
    "pyarrow runs": lambda: pc.run_end_encode(pa.array([5, None])),
    "pandas runs of Arrow": lambda: pd.Series(
        pd.arrays.ArrowExtensionArray(pc.run_end_encode(pa.array([5, None])))
    ),
}


@pytest.mark.claim("C10")
@pytest.mark.parametrize("grid", [None, "1/2"])
@pytest.mark.parametrize("kind", NULLS)
def test_a_null_is_refused_however_it_is_stored(kind: str, grid: str | None) -> None:
    with pytest.raises(ScoreError, match="scores must not contain nulls") as caught:
        read(NULLS[kind](), grid)
    assert str(caught.value) == NULL


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"city": ["a", "b"], "n": [5, 7]}),
        pl.DataFrame({"n": [5, 7], "id": [1, 2]}),
        pa.table({"n": [5, 7], "id": [1, 2]}),
        pd.DataFrame(index=[1, 2]),
        np.array([[5], [7]]),
    ],
    ids=lambda table: f"{type(table).__module__.partition('.')[0]} {table.shape}",
)
def test_a_table_with_other_than_one_column_is_refused(table: Any) -> None:
    """Two columns could be taken for one another, and a private one be released as labels."""
    for take in (read_candidates, reader):
        with pytest.raises(ScoreError, match=r"one dimension, got .* with 2; pass one column"):
            take(table)


# ------------------------------------------------------------------------------- labels

NAMES: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda v: pd.Series(v),
    "pandas with another index": lambda v: pd.Series(v, index=[2, 0, 1]),
    "pandas array": lambda v: pd.array(v),
    "pandas categories": lambda v: pd.Series(v, dtype="category"),
    "polars": lambda v: pl.Series(v),
    "pyarrow": lambda v: pa.array(v),
    "pyarrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "numpy": lambda v: np.array(v),
    "generator": lambda v: iter(v),
}


@pytest.mark.parametrize("values", [["Oslo", "Rome", "Bern"], [7, 9, 8]])
@pytest.mark.parametrize("kind", NAMES)
def test_labels_are_plain_python_objects(kind: str, values: list[Any]) -> None:
    chosen = permute_and_flip([5, 9000, 7], labels=NAMES[kind](values), **SURE)
    assert chosen.label == values[1]
    assert type(chosen.label) is type(values[1])


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.0, None]),
        pd.Categorical(["a", None]),
        pl.Series(["a", None]),
        pa.array(["a", None]),
        pa.chunked_array([["a"], [None]]),
    ],
    ids=lambda labels: f"{type(labels).__module__} {getattr(labels, 'dtype', '')}",
)
def test_labels_with_a_null_are_refused(labels: Any) -> None:
    with pytest.raises(ParameterError, match="labels must not contain nulls"):
        read_candidates([5, 7], labels=labels)

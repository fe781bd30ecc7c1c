"""Inputs that are equal as real numbers are the same input, whatever their types and containers.

The same rate, steps, requests, bytes and outcome on the same tape, or the same refusal.  What a
type says may follow from the data: `value_counts().reindex(...).fillna(0)` holds floats where a
label is missing, and integers where none is.
"""

from __future__ import annotations

import statistics
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import gmpy2
import numpy as np
import pytest

import safeselect
from safeselect import (
    AdaptiveSparseVector,
    SafeSelectError,
    SparseVector,
    permute_and_flip,
    select_many,
    top_k,
)
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading
from safeselect.testing import DeterministicSource, RecordingSource

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = [
    pytest.mark.claim("C2"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]

Ways = dict[str, Any]


def decimal(value: Any) -> Decimal:
    """The same number, exactly."""
    above, below = value.as_integer_ratio()
    places = below.bit_length() - 1
    return Decimal(above * 5**places).scaleb(-places)


def of_any_numbers(values: list[Any]) -> Ways:
    """Numbers with a finite binary expansion, in all types that hold any of them."""
    fractions = [Fraction(value) for value in values]
    decimals = [decimal(Fraction(value)) for value in values]
    mixed = [
        (int(x) if x.denominator == 1 else float(x), x, decimals[i], gmpy2.mpq(x))[i % 4]
        for i, x in enumerate(fractions)
    ]
    return {
        "Fractions": fractions,
        "Decimals": decimals,
        "mpq": [gmpy2.mpq(value) for value in fractions],
        "mixed": mixed,
        "mixed tuple": tuple(mixed),
        "mixed array": np.array(mixed, dtype=object),
        "objects of pandas": pd.Series(mixed, dtype=object),
        "Decimals of pandas": pd.Series(decimals),
        "Decimals of Arrow": pa.array(decimals),
    }


def of_floats(values: list[Any], *, halves: bool = False, singles: bool = False) -> Ways:
    floats = [float(value) for value in values]
    assert [Fraction(x) for x in floats] == [Fraction(value) for value in values]
    array = np.array(floats)
    found: Ways = {
        "floats": floats,
        "float tuple": tuple(floats),
        "NumPy floats": list(array),
        "float64": array,
        "float64, swapped": array.astype(">f8"),
        "float64, every second": np.repeat(array, 2)[::2],
        "float64 objects": array.astype(object),
        "pandas float": pd.Series(floats),
        "pandas Float64": pd.Series(floats, dtype="Float64"),
        "pandas of Arrow": pd.Series(floats, dtype="float64[pyarrow]"),
        "pandas categories of floats": pd.Series(floats).astype("category"),
        "pandas table of floats": pd.DataFrame({"x": floats}),
        "pandas sparse floats": pd.Series(pd.arrays.SparseArray(floats)),
        "pandas index of floats": pd.Index(floats),
        "polars float": pl.Series(floats),
        "Arrow float": pa.array(floats),
        "Arrow chunks of floats": pa.chunked_array([floats[:2], [], floats[2:]], pa.float64()),
        "Arrow dictionary of floats": pa.array(floats).dictionary_encode(),
    }
    if singles:
        found |= {
            "float32": array.astype(np.float32),
            "NumPy singles": list(array.astype(np.float32)),
            "polars Float32": pl.Series(floats, dtype=pl.Float32),
            "pandas Float32": pd.Series(floats, dtype="Float32"),
            "Arrow float32": pa.array(floats, pa.float32()),
        }
    if halves:
        half = array.astype(np.float16)
        found |= {
            "float16": half,
            "NumPy halves": list(half),
            "float16, swapped": half.astype(">f2"),
            "Arrow float16": pa.array(half),
        }
    return found


def of_integers(values: list[int], *, bits: int = 64, unsigned: bool = True) -> Ways:
    found: Ways = {
        "list": values,
        "tuple": tuple(values),
        "mpz": [gmpy2.mpz(value) for value in values],
        "objects": np.array(values, dtype=object),
        "Decimals with places": [Decimal(value).scaleb(0).quantize(Decimal(1)) for value in values]
        if bits < 64
        else [Decimal(value) for value in values],
        "polars Int128": pl.Series(values, dtype=pl.Int128),
        "pandas objects": pd.Series(values, dtype=object),
        "Arrow decimals": pa.array([Decimal(value) for value in values], pa.decimal256(60, 0)),
    }
    sizes = [size for size in (8, 16, 32, 64) if size >= bits]
    for kind in ("int", "uint") if unsigned else ("int",):
        for size in sizes:
            array = np.array(values, dtype=f"{kind}{size}")
            found[array.dtype.name] = array
            found[f"NumPy {array.dtype.name}"] = list(array)
            found[f"pandas sparse {array.dtype.name}"] = pd.Series(pd.arrays.SparseArray(array))
    if sizes:
        array = np.array(values, dtype=np.int64)
        found |= {
            "int64, swapped": array.astype(">i8"),
            "pandas": pd.Series(values),
            "pandas Int64": pd.Series(values, dtype="Int64"),
            "pandas of Arrow int": pd.Series(values, dtype="int64[pyarrow]"),
            "pandas categories": pd.Series(values, dtype="category"),
            "pandas index": pd.Index(values),
            "polars": pl.Series(values),
            "Arrow": pa.array(values),
            "Arrow dictionary": pa.array(values).dictionary_encode(),
            "Arrow table": pa.table({"n": values}),
        }
    return found


ZEROS_AND_ONES = [1, 0, 1, 1, 0]
CASES: dict[str, Ways] = {
    "small integers": {
        **of_integers([7, 1, 0, 3, 1], bits=8),
        **of_floats([7, 1, 0, 3, 1], halves=True, singles=True),
        **of_any_numbers([7, 1, 0, 3, 1]),
        "floats with a negative zero": [7.0, 1.0, -0.0, 3.0, 1.0],
    },
    "bools": {
        **of_integers(ZEROS_AND_ONES, bits=8),
        **of_floats(ZEROS_AND_ONES, halves=True),
        "bools": [bool(each) for each in ZEROS_AND_ONES],
        "bools and integers": [True, 0, 1, True, False],
        "bools and floats": [True, 0.0, 1.0, True, False],
        "NumPy bools": [np.bool_(each) for each in ZEROS_AND_ONES],
        "bool array": np.array(ZEROS_AND_ONES, dtype=bool),
        "bool objects": np.array([True, False, 1, 1.0, np.False_], dtype=object),
        "pandas bools": pd.Series(ZEROS_AND_ONES, dtype=bool),
        "pandas boolean": pd.Series(ZEROS_AND_ONES, dtype="boolean"),
        "polars bools": pl.Series(ZEROS_AND_ONES).cast(pl.Boolean),
        "Arrow bools": pa.array([bool(each) for each in ZEROS_AND_ONES]),
    },
    "negative integers": {
        **of_integers([-5, 3, -100, 0, 2], bits=8, unsigned=False),
        **of_floats([-5, 3, -100, 0, 2], halves=True, singles=True),
        **of_any_numbers([-5, 3, -100, 0, 2]),
    },
    "beyond doubles": of_integers([2**53 + 1, 2**53, 2**53 + 3, 0, 5]),
    "beyond 63 bits": {
        **of_integers([2**63, 0, 2**63 + 2**12, 1, 2**62], bits=128),
        "uint64": np.array([2**63, 0, 2**63 + 2**12, 1, 2**62], dtype=np.uint64),
        "polars UInt64": pl.Series([2**63, 0, 2**63 + 2**12, 1, 2**62], dtype=pl.UInt64),
        "pandas UInt64": pd.Series([2**63, 0, 2**63 + 2**12, 1, 2**62], dtype="UInt64"),
        **of_floats([2**63, 0, 2**63 + 2**12, 1, 2**62]),
    },
    "far apart": {
        **of_any_numbers([2**70, -(2**70), 2**70 - 2**20, 0, 1]),
        **of_floats([2**70, -(2**70), 2**70 - 2**20, 0, 1]),
        "integers": [2**70, -(2**70), 2**70 - 2**20, 0, 1],
    },
    "halves and quarters": {
        **of_any_numbers([2.5, 0.5, -1.25, 3, 0.75]),
        **of_floats([2.5, 0.5, -1.25, 3, 0.75], halves=True, singles=True),
    },
    "computed": {
        **of_any_numbers([1.4 - 1.0, 0.1 + 0.2, 3 / 49, 2 / 3, 0.35]),
        **of_floats([1.4 - 1.0, 0.1 + 0.2, 3 / 49, 2 / 3, 0.35]),
    },
}
WHOLE = [name for name in CASES if name not in ("halves and quarters", "computed")]

OPTIONS: dict[str, dict[str, Any]] = {
    "no grid": {},
    "minimize": {"minimize": True},
    "sensitivity of 3/4": {"sensitivity": "3/4"},
    "range": {"sensitivity": None, "range_": 1},
    "monotonic": {"monotonic": True},
    "grid of 1": {"grid": 1},
    "grid of 1/2": {"grid": "1/2", "minimize": True},
    "grid of 0.3, no multiple": {"grid": "0.3"},
    "grid of 0.7, monotonic": {"grid": "0.7", "monotonic": True},
    "no error": {"grid": "1/1024", "score_error": 0},
    "an error": {"grid": "0.1", "score_error": "0.01", "minimize": True},
    "range on a grid": {"sensitivity": None, "range_": 1, "grid": "0.3"},
    "on the grid": {"grid": "1/4", "on_grid": True},
    "on the grid of 0.3": {"grid": "0.3", "on_grid": True, "monotonic": True},
    "large grid": {"grid": 2**33, "sensitivity": 2**33},
    "fine grid": {"grid": Fraction(1, 2**32)},
    "grid of many digits": {"grid": Fraction(2**32 + 1, 2**64)},
}


def tape() -> RecordingSource:
    return RecordingSource(DeterministicSource(7, i_understand_this_is_not_private=True))


def outcome(call: Callable[..., Any], scores: Any, **options: Any) -> tuple[Any, ...]:
    """What a call says, and all that it asked of the source."""
    source = tape()
    try:
        said = call(scores, source=source, **{"epsilon": 1, "sensitivity": 1, **options}).to_json()
    except SafeSelectError as error:
        said = f"{type(error).__name__}: {error}"
    return said, source.requests, source.data


MECHANISMS: dict[str, Callable[..., Any]] = {
    "permute_and_flip": permute_and_flip,
    "exponential_mechanism": safeselect.exponential_mechanism,
    "noisy max": lambda scores, **o: safeselect.report_noisy_max(scores, noise="laplace", **o),
    "one-shot top k": lambda scores, **o: top_k(scores, k=2, **o),
    "peeling": lambda scores, **o: top_k(scores, k=2, mechanism="permute_and_flip", **o),
    "gap": safeselect.permute_and_flip_with_gap,
    "gaps": lambda scores, **o: safeselect.top_k_with_gaps(scores, k=2, **o),
    "above": lambda scores, **o: safeselect.top_k_above(scores, k=2, threshold="5/2", **o),
}
ONE_SIDED = {"above"}  # they do not minimize


def same(call: Callable[..., Any], ways: Ways, **options: Any) -> tuple[Any, ...]:
    """The outcome that all ways agree on."""
    found = {name: outcome(call, scores, **options) for name, scores in ways.items()}
    first = next(iter(found.values()))
    assert {name for name, each in found.items() if each != first} == set()
    return first


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("case", CASES)
def test_all_ways_to_say_the_same_numbers_have_the_same_outcome(case, options):
    said, requests, _ = same(permute_and_flip, CASES[case], **OPTIONS[options])
    refused = case not in WHOLE and "grid" not in OPTIONS[options]
    assert said.startswith("ScoreError: scores must be integers") == refused
    assert (requests == []) == refused


@pytest.mark.parametrize("case", ["small integers", "far apart", "computed"])
@pytest.mark.parametrize("options", ["no grid", "grid of 1/2", "grid of 0.3, no multiple"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_whatever_the_mechanism(mechanism, case, options):
    given = dict(OPTIONS[options])
    if mechanism in ONE_SIDED:
        given.pop("minimize", None)
    said, _, _ = same(MECHANISMS[mechanism], CASES[case], **given)
    refused = case == "computed" and "grid" not in given
    assert said.startswith("ScoreError") == refused


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("threshold", [None, Fraction(1, 2), Fraction(10**30)])
def test_the_steps_are_the_same(case, minimize, threshold):
    for grid in (1, Fraction(1, 3), Fraction(1, 1024), Fraction(3, 2), Fraction(1, 2**40)):
        reading = Reading.read(grid=grid, on_grid=False, score_error=None)
        found = {}
        for name, scores in CASES[case].items():
            steps = read_candidates(scores).scores_on_grid(
                reading, minimize=minimize, threshold=threshold
            )
            found[name] = (steps.max() - steps).tolist()
        first = next(iter(found.values()))
        assert {name for name, each in found.items() if each != first} == set()


def test_equal_numbers_by_the_thousand():
    """Random numbers of random sizes on random grids, as floats, Fractions and Decimals."""
    random = Random(11)
    for _ in range(400):
        places = random.randint(0, 60)
        values = [
            float(random.getrandbits(random.randint(1, 53)) * random.choice([-1, 1])) / 2**places
            for _ in range(4)
        ]
        grid = Fraction(random.randint(1, 2**34), random.randint(1, 2**34))
        options = {"minimize": random.random() < 0.5}
        reading = Reading.read(grid=grid, on_grid=random.random() < 0.5, score_error=None)
        threshold = random.choice([None, Fraction(values[0])])
        steps = [
            read_candidates(scores).scores_on_grid(reading, threshold=threshold, **options)
            for scores in (
                values,
                np.array(values),
                [Fraction(value) for value in values],
                [decimal(value) for value in values],
                np.array([Fraction(value) for value in values], dtype=object),
            )
        ]
        assert len({tuple((each.max() - each).tolist()) for each in steps}) == 1


# ---------------------------------------------------------------------------- what programs compute

LABELS = ["A", "B", "C"]


def frequencies(votes: str) -> Any:
    """How often each label was voted for, as pandas users count it."""
    return pd.Series(list(votes)).value_counts().reindex(LABELS).fillna(0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("sensitivity", [1, "3/4", "3/2"])
@pytest.mark.parametrize("grid", [None, 1, "1/2", "0.4"])
def test_counts_that_are_floats_where_a_label_is_missing(mechanism, sensitivity, grid):
    """The type follows from the data; range and rate once did so too, for 2.9 where 1 was said."""
    whole, missing = frequencies("AAAAAAABC"), frequencies("AAAAAAAB")
    assert (whole.dtype.kind, missing.dtype.kind) == ("i", "f")
    options = {"sensitivity": sensitivity, "grid": grid, "labels": LABELS}
    for counts in (whole, missing):
        plain = [int(count) for count in counts]
        ways = {
            "as pandas counts": counts,
            "integers": np.array(plain),
            "floats": np.array(plain, dtype=float),
            "list": plain,
            "list of floats": [float(count) for count in plain],
        }
        if mechanism == "above":
            options["monotonic"] = True
        same(MECHANISMS[mechanism], ways, **options)


def test_a_parquet_file_of_such_counts(tmp_path):
    for votes in ("AAAAAAABC", "AAAAAAAB"):
        counts = frequencies(votes)
        counts.to_frame("n").to_parquet(tmp_path / "counts.parquet")
        ways = {
            "before": counts,
            "pandas": pd.read_parquet(tmp_path / "counts.parquet")["n"],
            "pandas nullable": pd.read_parquet(
                tmp_path / "counts.parquet", dtype_backend="numpy_nullable"
            )["n"],
            "polars": pl.read_parquet(tmp_path / "counts.parquet")["n"],
            "Arrow": pq.read_table(tmp_path / "counts.parquet")["n"],
            "list": [int(count) for count in counts],
        }
        for options in OPTIONS.values():
            said, *_ = same(permute_and_flip, ways, labels=LABELS, **options)
            assert "ScoreError" not in said


def test_numbers_whose_type_follows_from_how_many_there_are():
    """median() of an odd number of integers is one of them, of an even number a float."""
    odd, even = statistics.median([1, 2, 3]), statistics.median([1, 2, 2, 3])
    assert (type(odd), type(even)) == (int, float)
    ways = {
        "odd": [odd, 5, 1],
        "even": [even, 5, 1],
        "all even": [even, 5.0, 1.0],
        "sum of nothing": [2, 5, 1 + sum([])],
        "sum of floats": [2.0, 5.0, sum([0.5, 0.5])],
        "get": [{}.get("x", 0) + 2, {"x": 5.0}.get("x", 0), {"y": 1.0}.get("y", 0)],
        "sums of NumPy": [np.array([]).sum() + 2, np.array([2, 3]).sum(), np.sum([1.0])],
    }
    for options in OPTIONS.values():
        same(permute_and_flip, ways, **options)


MAPPINGS = (dict, OrderedDict, Counter, lambda pairs: defaultdict(int, pairs))


@pytest.mark.parametrize("case", CASES)
def test_mappings_of_equal_numbers(case):
    ways = {
        (name, number): kind(dict(zip("abcde", list(scores), strict=True)))
        for name, scores in CASES[case].items()
        if not hasattr(scores, "columns") and type(scores).__module__.partition(".")[0] != "pyarrow"
        for number, kind in enumerate(MAPPINGS)
    }
    for options in ("no grid", "grid of 0.3, no multiple"):
        said, *_ = same(permute_and_flip, ways, **OPTIONS[options])
        assert ("label" in said) != said.startswith("ScoreError")


# -------------------------------------------------------------------------------- rows and sessions


@pytest.mark.parametrize("call", [select_many, lambda scores, **o: select_many(scores, k=2, **o)])
@pytest.mark.parametrize("options", OPTIONS)
def test_batches_whose_rows_have_different_types(call, options):
    rows = [[7, 1, 0], [2, 5, 3]]
    ways = {
        "lists": rows,
        "one row of floats": [[7, 1, 0], [2.0, 5.0, 3.0]],
        "mixed rows": [[7, 1.0, Fraction(0)], (True + 1, Decimal(5), np.int8(3))],
        "arrays": [np.array([7, 1, 0], dtype=np.uint8), np.array([2.0, 5.0, 3.0])],
        "columns": [frequencies("AAAAAAAB").reset_index(drop=True), pl.Series([2, 5, 3])],
        "integers": np.array(rows),
        "bytes": np.array(rows, dtype=np.int8),
        "floats": np.array(rows, dtype=float),
        "halves": np.array(rows, dtype=np.float16),
        "Fortran": np.asfortranarray(np.array(rows, dtype=float)),
        "objects": np.array(rows, dtype=object),
        "tuple of tuples": tuple(map(tuple, rows)),
    }
    same(call, ways, **OPTIONS[options])


def answers(kind: Any, values: Any, *, one_by_one: bool, **options: Any) -> Any:
    source = tape()
    given = {"threshold": 2, "k": 3, "epsilon": 4, "sensitivity": 1, **options}
    session = kind(source=source, **given)
    try:
        found = (
            [session.query(value) for value in values] if one_by_one else session.query_many(values)
        )
    except SafeSelectError as error:
        found = str(error)
    return repr(found), source.requests, source.data


@pytest.mark.parametrize("kind", [SparseVector, AdaptiveSparseVector])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"grid": 1},
        {"grid": "0.3", "monotonic": True},
        {"grid": "1/4", "on_grid": True},
        {"sensitivity": "3/4"},
        {"noise": "geometric", "grid": "1/2", "score_error": 0},
    ],
)
@pytest.mark.parametrize("case", ["small integers", "bools", "halves and quarters", "far apart"])
def test_sessions(kind, options, case):
    for one_by_one in (False, True):
        found = {
            name: answers(
                kind, list(scores) if one_by_one else scores, one_by_one=one_by_one, **options
            )
            for name, scores in CASES[case].items()
            if not (one_by_one and ("table" in name or "Arrow" in name))
        }
        first = next(iter(found.values()))
        assert {name for name, each in found.items() if each != first} == set()

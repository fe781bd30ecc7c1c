"""Inputs that are equal as real numbers are the same input, whatever their types and containers.

The same rate, steps, requests, bytes and outcome on the same tape, or the same refusal.  What a
type says may follow from the data: `value_counts().reindex(...).fillna(0)` holds floats where a
label is missing, and integers where none is.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest

from safeselect import SafeSelectError, permute_and_flip
from safeselect.testing import DeterministicSource, RecordingSource

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

pytestmark = [pytest.mark.claim("C2")]

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
        "mixed": mixed,
        "mixed array": np.array(mixed, dtype=object),
        "objects of pandas": pd.Series(mixed, dtype=object),
    }


def of_floats(values: list[Any]) -> Ways:
    floats = [float(value) for value in values]
    assert [Fraction(x) for x in floats] == [Fraction(value) for value in values]
    array = np.array(floats)
    return {
        "floats": floats,
        "NumPy floats": list(array),
        "float64": array,
        "float64, swapped": array.astype(">f8"),
        "float64 objects": array.astype(object),
        "pandas Float64": pd.Series(floats, dtype="Float64"),
        "pandas table of floats": pd.DataFrame({"x": floats}),
        "pandas sparse floats": pd.Series(pd.arrays.SparseArray(floats)),
        "polars float": pl.Series(floats),
        "Arrow float": pa.array(floats),
        "Arrow chunks of floats": pa.chunked_array([floats[:2], [], floats[2:]], pa.float64()),
    }


def of_integers(values: list[int], *, bits: int = 64, unsigned: bool = True) -> Ways:
    found: Ways = {
        "list": values,
        "mpz": [gmpy2.mpz(value) for value in values],
        "objects": np.array(values, dtype=object),
        "Decimals with places": [Decimal(value).scaleb(0).quantize(Decimal(1)) for value in values]
        if bits < 64
        else [Decimal(value) for value in values],
        "polars Int128": pl.Series(values, dtype=pl.Int128),
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
            "Arrow": pa.array(values),
            "Arrow table": pa.table({"n": values}),
        }
    return found


ZEROS_AND_ONES = [1, 0, 1, 1, 0]
CASES: dict[str, Ways] = {
    "small integers": {
        **of_integers([7, 1, 0, 3, 1], bits=8),
        **of_floats([7, 1, 0, 3, 1]),
        **of_any_numbers([7, 1, 0, 3, 1]),
        "floats with a negative zero": [7.0, 1.0, -0.0, 3.0, 1.0],
    },
    "bools": {
        **of_integers(ZEROS_AND_ONES, bits=8),
        **of_floats(ZEROS_AND_ONES),
        "bools": [bool(each) for each in ZEROS_AND_ONES],
        "bool array": np.array(ZEROS_AND_ONES, dtype=bool),
        "pandas boolean": pd.Series(ZEROS_AND_ONES, dtype="boolean"),
        "polars bools": pl.Series(ZEROS_AND_ONES).cast(pl.Boolean),
    },
    "beyond doubles": of_integers([2**53 + 1, 2**53, 2**53 + 3, 0, 5]),
    "beyond 63 bits": {
        **of_integers([2**63, 0, 2**63 + 2**12, 1, 2**62], bits=128),
        "uint64": np.array([2**63, 0, 2**63 + 2**12, 1, 2**62], dtype=np.uint64),
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
        **of_floats([2.5, 0.5, -1.25, 3, 0.75]),
    },
    "computed": {
        **of_any_numbers([1.4 - 1.0, 0.1 + 0.2, 3 / 49, 2 / 3, 0.35]),
        **of_floats([1.4 - 1.0, 0.1 + 0.2, 3 / 49, 2 / 3, 0.35]),
    },
}
WHOLE = [name for name in CASES if name not in ("halves and quarters", "computed")]

OPTIONS: dict[str, dict[str, Any]] = {
    "without grid=": {},
    "sensitivity of 3/4": {"sensitivity": "3/4"},
    "monotonic": {"monotonic": True},
    "grid of 1/2": {"grid": "1/2", "minimize": True},
    "grid of 0.3, no multiple": {"grid": "0.3"},
    "an error": {"grid": "0.1", "score_error": "0.01", "minimize": True},
    "on the grid": {"grid": "1/4", "on_grid": True},
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
    assert said.startswith("ScoreError: without grid=, scores must be integers") == refused
    assert (requests == []) == refused

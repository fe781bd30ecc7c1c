"""The m largest without branches on values, against sorting; and the same calls for all values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_calls import Recorder

from safeselect.engine import arrays
from safeselect.engine.arrays import Integers, best_and_rest, mth_largest, top_places

pytestmark = pytest.mark.claim("C1")

KINDS: list[Any] = [np.uint16, np.uint32, np.uint64, np.int32, np.int64]


def expected_places(values: Integers, m: int) -> list[int]:
    """By Python's stable sort: the first of equal ones."""
    numbers = values.tolist()
    return sorted(sorted(range(len(numbers)), key=lambda i: -numbers[i])[:m])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_places_and_values_as_by_sorting(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    limits = np.iinfo(kind)
    few = st.sampled_from([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max])
    number = few | st.integers(limits.min, limits.max) | st.integers(0, 5)
    size = data.draw(st.integers(1, 90))  # a list of any size is short most of the time
    numbers = data.draw(st.lists(number, min_size=size, max_size=size))
    m, values = data.draw(st.integers(1, len(numbers))), np.array(numbers, dtype=kind)
    assert mth_largest(values, m) == sorted(numbers, reverse=True)[m - 1]
    assert top_places(values, m).tolist() == expected_places(values, m)
    assert values.tolist() == numbers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, 1000, 4096, 5001])
def test_the_best_and_the_rest(kind: Any, size: int) -> None:
    values = np.random.default_rng(5).integers(1, 2**15, size, dtype=kind)
    for m in {1, min(9, size), min(40, size), size} if size < 5000 else {20, 50}:
        places, rest = best_and_rest(values, m)
        numbers = np.sort(values)[::-1].tolist()
        assert len(set(places.tolist())) == m
        assert np.sort(values[places])[::-1].tolist() == numbers[:m]
        assert rest == (numbers[m] if m < size else np.iinfo(kind).min)


def families(size: int, kind: Any) -> Iterator[Integers]:
    rng = np.random.default_rng(7)
    top, mark = np.iinfo(kind).max, size // 3
    yield np.full(size, 9, dtype=kind)
    yield np.array([9] * mark + [10] + [9] * (size - mark - 1), dtype=kind)
    yield np.array([9] * mark + [8] + [9] * (size - mark - 1), dtype=kind)
    yield np.array([top] + [0] * (size - 1), dtype=kind)
    yield np.arange(size).astype(kind)
    yield rng.choice(np.array([0, top], dtype=kind), size)
    yield rng.integers(0, top, size, dtype=kind)


# What may touch secret values: one pass over all elements each, without branches on them.
ALLOWED = {
    *("greater", "equal", "greater_equal", "less_equal", "bitwise_and", "bitwise_or", "multiply"),
    *("count_nonzero", "cumsum", "put", "max", "argmax", "copy"),
    *("arange", "empty", "array", "iinfo"),
}


@pytest.mark.claim("C4")
@pytest.mark.parametrize("work", [mth_largest, top_places, best_and_rest])
@pytest.mark.parametrize(("size", "m"), [(50, 50), (1000, 3), (1000, 60), (4096, 20)])
@pytest.mark.parametrize("kind", [np.uint32, np.uint64, np.int64])
def test_the_same_calls_for_all_values(
    work: Callable[..., Any], size: int, m: int, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(np.ones(size, dtype=kind), m)  # fill the cache
    seen = set()
    for values in families(size, kind):
        log: list[Any] = []
        with monkeypatch.context() as patch:
            patch.setattr(arrays, "np", Recorder(log))
            work(values, m)
        assert {name for name, *_ in log} <= ALLOWED
        seen.add(repr(log))
    assert len(seen) == 1

"""Selection by fixed work, against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.engine.arrays import Indices, Numbers
from safeselect.engine.contenders import GROUP, block_size, largest

pytestmark = pytest.mark.claim("C1")


def select(values: Numbers, m: int, bits: int | None = None) -> tuple[list[int], list[int]]:
    def read(where: slice | Indices, out: Numbers) -> Numbers:
        assert out.size <= block_size(values.size)
        return values[where]

    indices, some = largest(values.size, m, read, values.dtype.type, bits)
    return indices.tolist(), some.tolist()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_largest_are_among_them(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([1, 2, 17, 4096, 4097, 5000, 32768, 32769, 49151, 70000, 140000]))
    m = data.draw(st.integers(1, min(n, 300)))
    top = data.draw(st.sampled_from([1, 2, 50, 2**64 - 1]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    values = rng.integers(1, top, n, dtype=np.uint64, endpoint=True)
    indices, some = select(values, m)
    found = [(i, value) for i, value in zip(indices, some, strict=True) if value]
    assert len(set(indices)) == len(found) + (
        len(indices) > len(found) and n - 1 not in dict(found)
    )
    assert values[[i for i, _ in found]].tolist() == [value for _, value in found]
    assert sorted(some)[-m:] == np.sort(values)[n - m :].tolist()


def test_the_members_of_many_groups_are_read_block_by_block() -> None:
    n, m = 49151, 383
    assert GROUP * m > block_size(n)
    assert 2 * block_size(n) < n < 4 * GROUP * (m + 1)  # and then all are read, in three blocks
    values = np.random.default_rng(3).permutation(n).astype(np.uint64)
    for count in (m, m + 1):
        assert sorted(select(values, count)[1])[-count:] == list(range(n - count, n))


def filling(values: Numbers):
    """Like `read` of the engine: it writes into the buffer that it is given."""

    def read(where: slice | Indices, out: Numbers) -> Numbers:
        np.copyto(out, values[where])
        return out

    return read


@pytest.mark.parametrize("bits", [None, 20])
@pytest.mark.parametrize("n", [300, 4097, 32769, 70000, 100001, 140000])
def test_the_best_is_found_wherever_it_is(n: int, bits: int | None) -> None:
    block = block_size(n)
    values = np.random.default_rng(n).integers(1, 1000, n, dtype=np.uint32)
    for place in {0, 1, block - 1, block, n - block, n - 2, n - 1} & set(range(n)):
        values[place] += 5000
        indices, some = largest(n, 1, filling(values), np.uint32, bits)
        assert indices[int(np.argmax(some))] == place
        assert some.max() == values[place]
        values[place] -= 5000

"""The few things that are done to arrays besides calling `np` by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BitSource",
    "Indices",
    "Numbers",
    "Steps",
    "argmax",
    "fill",
    "part",
    "put",
    "to_integers",
]

Numbers = NDArray[np.unsignedinteger[Any]]
Indices = NDArray[np.int64]
Steps = NDArray[np.uint64]
"""Scores in steps of a grid: larger is better, and only differences matter."""


# The methods themselves: where one maximum after another is taken from few numbers, NumPy's
# functions of these names would spend most of the time on the way to them.
argmax = np.ndarray.argmax
put = np.ndarray.put


class BitSource(Protocol):
    """What the engine needs of `samplers.Bits`."""

    def fill(self, buffer: memoryview, /) -> None:
        """Fill a writable buffer of bytes straight from the source."""

    def take(self, count: int, /) -> int:
        """Return a uniform integer of `count` bits."""


def fill(array: NDArray[Any], bits: BitSource) -> None:
    """Overwrite a contiguous array with random bytes; the order of bytes in a word is no matter."""
    view: Any = array  # a buffer, which the type of arrays does not say before Python 3.12
    bits.fill(memoryview(view).cast("B"))


def to_integers(array: NDArray[Any]) -> list[int]:
    """The elements as Python integers."""
    view: Any = array
    return memoryview(view).tolist()


def part(array: Numbers, where: slice | Indices) -> Numbers:
    """The elements in a slice, as a view, or at indices, as a copy."""
    return array[where] if isinstance(where, slice) else np.take(array, where)

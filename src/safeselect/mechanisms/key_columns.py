"""Keys as columns: the text of each key, its number of users, and no key twice.

The draw of a key is its own, so a key that stood in two places would have two draws, and be kept
nearly twice as often as its delta allows.  Here each key stands in one place before a bit is asked
for: the keys of a mapping or a list by their texts, and those of an Arrow column by 64 bits of each
text.  Those bits only say which texts may be equal, and equal ones are then found as texts; the
larger count stays.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safeselect.mechanisms.items import HeldCounts, merged, whole_counts
from safeselect.scores.columns import hushed

_MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
BATCH = 1 << 20  # keys that are decided about at once
_BYTES = 1 << 18  # that are marked at once: their sums and powers stay in the cache


@dataclass(slots=True, repr=False, eq=False)
class KeyColumns:
    """All keys that have users, each once; private.

    Attributes:
        labels: their texts, a list or an Arrow array.
        users: int64, shape (n,), the number of users of each, at least 1.
        passed: how many counts were passed, whether or not they are keys.
    """

    labels: Any
    users: NDArray[np.int64]
    passed: int

    def labels_of(self, start: int, places: NDArray[np.int64]) -> list[str]:
        """The texts of the keys at these places behind `start`."""
        if isinstance(self.labels, list):
            return [self.labels[start + place] for place in places.tolist()]
        return list(self.labels.slice(start, BATCH).take(places).to_pylist())


def read_columns(held: HeldCounts) -> KeyColumns:
    """Read the counts and their keys, which may be in any order.

    Raises:
        ParameterError, ScoreError: as for `HeldCounts.read`.
    """
    counts, labels = held.columns()
    users = whole_counts(counts)
    texts = _texts(labels)
    if texts is None or len(texts) != users.size:
        largest = merged(users, labels)
        found = np.fromiter(largest.values(), dtype=np.int64, count=len(largest))
        return KeyColumns([*largest], found, users.size)
    if texts.null_count:
        users[np.asarray(texts.is_null(), dtype=np.bool_)] = 0
    _merge(texts, users)
    passed = users.size
    if np.count_nonzero(users) < passed:
        live = np.flatnonzero(users)
        texts, users = texts.take(live), users[live]
    return KeyColumns(texts, users, passed)


def _texts(labels: Any) -> Any:
    """The chunks of an Arrow column as texts; None of anything else, or where a text is broken."""
    arrow = sys.modules.get("pyarrow")  # whoever passes such a column has imported it
    if arrow is None or not isinstance(labels, (arrow.Array, arrow.ChunkedArray)):
        return None
    kinds, texts = arrow.types, None
    with hushed():  # any error may quote a cell
        if kinds.is_string(labels.type) or kinds.is_large_string(labels.type):
            labels.validate(full=True)
            texts = arrow.chunked_array(labels) if isinstance(labels, arrow.Array) else labels
    return texts


def _merge(texts: Any, users: NDArray[np.int64]) -> None:
    """Of equal texts give the largest count to the first that has users, and 0 to the others."""
    marks = np.empty(users.size, dtype=np.uint64)
    _mark(texts, marks)
    marks.sort()
    again = np.unique(marks[1:][marks[1:] == marks[:-1]])
    if not again.size:
        return
    _mark(texts, marks)
    places = np.flatnonzero(np.isin(marks, again) & (users > 0))
    first: dict[str, int] = {}
    for place, text in zip(places.tolist(), texts.take(places).to_pylist(), strict=True):
        kept = first.setdefault(text, place)
        if kept != place:
            users[kept] = max(users[kept], users[place])
            users[place] = 0


def _mark(texts: Any, out: NDArray[np.uint64]) -> None:
    """64 bits of each text: the sum of its bytes b_i times r**i, modulo 2**64, for an odd r.

    With s_i the sum over all bytes before i, that of a text from i to j is (s_j - s_i) r**-i.  Of a
    text of more than 256 KiB the beginning counts.
    """
    up, down = _powers(_MULTIPLIER), _powers(pow(_MULTIPLIER, -1, 1 << 64))
    sums, done = np.zeros(_BYTES + 1, dtype=np.uint64), 0
    for chunk in filter(len, texts.chunks):
        wide = np.int64 if str(chunk.type) == "large_string" else np.int32
        _, offsets, cells = chunk.buffers()
        ends = np.frombuffer(offsets, wide)[chunk.offset : chunk.offset + len(chunk) + 1]
        held = np.frombuffer(cells or b"", np.uint8)
        start = 0
        while start < len(chunk):
            most = int(np.searchsorted(ends, int(ends[start]) + _BYTES, side="right")) - 1
            stop = min(max(most, start + 1), len(chunk))
            at = np.minimum(ends[start : stop + 1].astype(np.int64) - int(ends[start]), _BYTES)
            size = int(at[-1])
            bytes_ = held[int(ends[start]) : int(ends[start]) + size]
            np.cumsum(np.multiply(bytes_, up[:size], dtype=np.uint64), out=sums[1 : size + 1])
            np.subtract(sums[at[1:]], sums[at[:-1]], out=out[done : done + stop - start])
            np.multiply(
                out[done : done + stop - start], down[at[:-1]], out=out[done : done + stop - start]
            )
            done, start = done + stop - start, stop


@lru_cache(maxsize=2)
def _powers(base: int) -> NDArray[np.uint64]:
    """The powers of a number modulo 2**64, from 0 to those of a block."""
    found = np.full(_BYTES + 1, base, dtype=np.uint64)
    found[0] = 1
    np.cumprod(found, out=found)
    found.flags.writeable = False
    return found

"""Sources for tests: one with a seed, one that records another, one that plays given bytes once.

Each refuses to be built, and to begin a call, where only production is allowed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import final

import numpy as np

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import NONCE_BYTES, Draw, Guard, Guarded, own
from safeselect.randomness.source import Source, guarded, require_production

_SEGMENT = 4096


def refuse_in_production(what: str) -> None:
    """Refuse what shows or repeats private things, where only production is allowed.

    Raises:
        ParameterError: SAFESELECT_REQUIRE_PRODUCTION is set.
    """
    if require_production():
        raise ParameterError(f"{what}() is for tests, but SAFESELECT_REQUIRE_PRODUCTION is set")


class _ForTests(Guarded):
    """A source whose bytes can be repeated: for one process, never tested."""

    __slots__ = ()

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        refuse_in_production(type(self).__name__)
        return super().begin()

    def _play(self, draw: Draw, nonce: Draw | None = None) -> None:
        refuse_in_production(type(self).__name__)
        self._guard = Guard(draw, nonce=nonce, fork_safe=False, health=False)


@final
@own
class DeterministicSource(_ForTests):
    """A source for tests, which returns the bytes of a SHAKE-256 stream.

    The same seed gives the same nonces and bytes.

    Segment i = 0, 1, ... of the stream is SHAKE-256(seed || i as 8 bytes, big-endian).  Only one
    thread may use it at a time.  It raises in a child of the process that built it.

    Args:
        seed: bytes, or a str (taken as UTF-8), or an int (taken as its decimal digits).
        i_understand_this_is_not_private: must be True.

    Raises:
        ParameterError: the seed has another type, the keyword is missing, or
            SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_position", "_seed")

    def __init__(
        self, seed: bytes | str | int, *, i_understand_this_is_not_private: bool = False
    ) -> None:
        if i_understand_this_is_not_private is not True:
            raise ParameterError(
                "a release made with a known seed is not private; for tests, pass "
                "i_understand_this_is_not_private=True"
            )
        self._seed, self._position = _material(seed), 0
        self._play(self._draw)

    def _draw(self, count: int) -> bytes:
        start, self._position = self._position, self._position + count
        first, offset = divmod(start, _SEGMENT)
        segments = range(first, -(-self._position // _SEGMENT))
        stream = b"".join(
            hashlib.shake_256(self._seed + index.to_bytes(8, "big")).digest(_SEGMENT)
            for index in segments
        )
        return stream[offset : offset + count]


def _material(seed: bytes | str | int) -> bytes:
    if type(seed) not in (bytes, str, int):
        raise ParameterError(
            f"the seed must be bytes, str or int, got an object of type {type(seed).__name__}"
        )
    return seed if isinstance(seed, bytes) else str(seed).encode()


@final
@own
class SimulationSource(_ForTests):
    """A quick source with a seed, for `simulate` alone.

    Number i = 1, 2, ... is key + i * 0x9E3779B97F4A7C15, mixed: SplitMix64 (Steele, Lea and Flood
    2014).  It passes tests of statistics, and is a third as costly as SHAKE-256; anyone can predict
    it.
    """

    __slots__ = ("_key", "_taken")

    def __init__(self, seed: bytes | str | int) -> None:
        self._key = np.frombuffer(hashlib.shake_256(_material(seed)).digest(8), np.uint64)
        self._taken = 0
        self._play(self._draw)

    def _draw(self, count: int) -> bytes:
        """Bytes of the next numbers; what is left of the last one is dropped."""
        first, self._taken = self._taken + 1, self._taken + -(-count // 8)
        lanes = np.arange(first, self._taken + 1, dtype=np.uint64)
        np.multiply(lanes, np.uint64(0x9E3779B97F4A7C15), out=lanes)
        np.add(lanes, self._key, out=lanes)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            np.bitwise_xor(lanes, np.right_shift(lanes, np.uint64(shift)), out=lanes)
            np.multiply(lanes, np.uint64(factor), out=lanes)
        return lanes.tobytes()[:count]


@final
@own
class RecordingSource(_ForTests):
    """A source for tests, which passes on the bytes of another source and records them.

    It also records the sizes of the requests.

    It has two uses: to show that the sizes do not depend on the scores, and to replay a call with
    `ReplaySource(recording.data, nonces=recording.nonces)`. The recording and the release together
    reveal the scores, so use it only with synthetic data. It raises an error in a forked child.

    Args:
        inner: the source that is recorded.

    Raises:
        ParameterError: inner is not a source, or SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_data", "_inner", "_nonces", "_requests")

    def __init__(self, inner: Source) -> None:
        self._inner = guarded(inner)
        self._data, self._nonces, self._requests = bytearray(), list[bytes](), list[int]()
        self._play(self._draw, self._nonce)
        self._guard.name = f"RecordingSource({self._inner.name})"

    def _draw(self, count: int) -> bytes:
        self._requests.append(count)
        buffer = bytearray(count)
        self._inner.fill(buffer)
        self._data += buffer
        return bytes(buffer)

    def _nonce(self, _: int) -> bytes:
        self._nonces.append(self._inner.begin())
        return self._nonces[-1]

    @property
    def requests(self) -> list[int]:
        """The sizes of the requests to `fill` so far, except empty requests.

        Failed requests are included.
        """
        return list(self._requests)

    @property
    def data(self) -> bytes:
        """The bytes that `fill` has written so far."""
        return bytes(self._data)

    @property
    def nonces(self) -> list[bytes]:
        """The nonces that `begin` has returned so far."""
        return list(self._nonces)


@final
@own
class ReplaySource(_ForTests):
    """A source for tests, which replays the given bytes in order.

    It raises `SourceError` when the bytes run out.

    The tape is used only for `fill`. `begin` returns the nonces and, after the last one, the number
    of the call. The source raises an error in a forked child.

    Args:
        data: the tape.
        nonces: 16 bytes each, one for each call.

    Raises:
        ParameterError: an argument has another type or length, or
            SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_calls", "_data", "_nonces", "_position")

    def __init__(self, data: bytes | bytearray, *, nonces: Iterable[bytes] = ()) -> None:
        if not isinstance(data, (bytes, bytearray)):
            raise ParameterError("the bytes to replay must be bytes or a bytearray")
        played = tuple(nonces)
        if any(not isinstance(item, bytes) or len(item) != NONCE_BYTES for item in played):
            raise ParameterError(f"nonces must be bytes objects of length {NONCE_BYTES}")
        self._data, self._nonces = bytes(data), played
        self._position = self._calls = 0
        self._play(self._draw, self._nonce)

    def _draw(self, count: int) -> bytes:
        start, end = self._position, self._position + count
        if end > len(self._data):
            raise SourceError("no bytes are left to replay")
        self._position = end
        return self._data[start:end]

    def _nonce(self, _: int) -> bytes:
        call, self._calls = self._calls, self._calls + 1
        replayed = call < len(self._nonces)
        return self._nonces[call] if replayed else call.to_bytes(NONCE_BYTES, "big")

    @property
    def left(self) -> int:
        """The number of given bytes that have not been replayed yet."""
        return len(self._data) - self._position

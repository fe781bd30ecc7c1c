"""A source with a seed, for known-answer tests and other tests that must be repeatable."""

from __future__ import annotations

import hashlib
import warnings
from typing import final

from safeselect.errors import ParameterError
from safeselect.randomness.guard import Guard, own
from safeselect.randomness.memory import sealed
from safeselect.testing._gate import refuse_in_production

_SEGMENT = 4096


class InsecureSourceWarning(UserWarning):
    """The bytes of this source can be repeated: a release made with them protects nobody."""


@final
class _Stream:
    """Segment i = 0, 1, ... of the stream is SHAKE-256(seed || i as 8 bytes, big-endian)."""

    __slots__ = ("_position", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._position = 0

    def draw(self, count: int) -> bytes:
        """Return the stream's next bytes."""
        start, self._position = self._position, self._position + count
        first, offset = divmod(start, _SEGMENT)
        segments = range(first, -(-self._position // _SEGMENT))
        stream = b"".join(
            hashlib.shake_256(self._seed + index.to_bytes(8, "big")).digest(_SEGMENT)
            for index in segments
        )
        return stream[offset : offset + count]


@final
@own
@sealed
class DeterministicSource:
    """The same bytes for the same seed: a SHAKE-256 stream that feeds nonces and fills in order.

    For tests; only one thread may use it at a time.  It raises in a child of the process
    that built it.

    Args:
        seed: bytes, or a str (taken as UTF-8), or an int (taken as its decimal digits).
        i_understand_this_is_not_private: must be True.

    Raises:
        ParameterError: the seed has another type, the keyword is missing, or
            SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_guard",)

    def __init__(
        self, seed: bytes | str | int, *, i_understand_this_is_not_private: bool = False
    ) -> None:
        refuse_in_production("DeterministicSource")
        if i_understand_this_is_not_private is not True:
            raise ParameterError(
                "a release made with a known seed protects nobody: for tests, pass "
                "i_understand_this_is_not_private=True"
            )
        if type(seed) not in (bytes, str, int):
            raise ParameterError(
                f"the seed must be bytes, str or int, got an object of type {type(seed).__name__}"
            )
        material = seed if isinstance(seed, bytes) else str(seed).encode()
        warnings.warn(
            "DeterministicSource is for tests: releases made with it are not private",
            InsecureSourceWarning,
            stacklevel=2,
        )
        self._guard = Guard(_Stream(material).draw, fork_safe=False, health=False)

    @property
    def name(self) -> str:
        """The class's name."""
        return "DeterministicSource"

    @property
    def production(self) -> bool:
        """False."""
        return False

    def begin(self) -> bytes:
        """Return the stream's next 16 bytes; see `Source.begin`."""
        refuse_in_production("DeterministicSource")
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the buffer with the stream's next bytes; see `Source.fill`."""
        self._guard.fill(buffer)

"""A source that plays given bytes once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import NONCE_BYTES, Guard, own
from safeselect.randomness.memory import sealed
from safeselect.testing._gate import refuse_in_production


@final
class _Tape:
    """The bytes and nonces that are still to be played."""

    __slots__ = ("calls", "data", "nonces", "position")

    def __init__(self, data: bytes, nonces: tuple[bytes, ...]) -> None:
        self.data = data
        self.nonces = nonces
        self.position = 0
        self.calls = 0

    def draw(self, count: int) -> bytes:
        start, end = self.position, self.position + count
        if end > len(self.data):
            raise SourceError("the replayed bytes are used up")
        self.position = end
        return self.data[start:end]

    def nonce(self, _: int) -> bytes:
        call, self.calls = self.calls, self.calls + 1
        replayed = call < len(self.nonces)
        return self.nonces[call] if replayed else call.to_bytes(NONCE_BYTES, "big")


@final
@own
@sealed
class ReplaySource:
    """Plays the bytes given, in order, and raises `SourceError` when a request goes beyond them.

    The tape feeds `fill` only.  `begin` plays the nonces; after the last one it returns the number
    of the call.  It raises in a child of the process that built it.

    Args:
        data: the tape.
        nonces: 16 bytes each, one for each call.

    Raises:
        ParameterError: an argument has another type or length, or
            SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_guard", "_tape")

    def __init__(self, data: bytes | bytearray, *, nonces: Iterable[bytes] = ()) -> None:
        refuse_in_production("ReplaySource")
        if not isinstance(data, (bytes, bytearray)):
            raise ParameterError("the bytes to replay must be bytes or a bytearray")
        played = tuple(nonces)
        if any(not isinstance(item, bytes) or len(item) != NONCE_BYTES for item in played):
            raise ParameterError(f"nonces must be bytes objects of length {NONCE_BYTES}")
        self._tape = _Tape(bytes(data), played)
        self._guard = Guard(self._tape.draw, nonce=self._tape.nonce, fork_safe=False, health=False)

    @property
    def name(self) -> str:
        """The class's name."""
        return "ReplaySource"

    @property
    def production(self) -> bool:
        """False."""
        return False

    @property
    def left(self) -> int:
        """Bytes of the tape not yet played."""
        return len(self._tape.data) - self._tape.position

    def begin(self) -> bytes:
        """Return the next nonce; see `Source.begin`."""
        refuse_in_production("ReplaySource")
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the buffer with the tape's next bytes; see `Source.fill`."""
        self._guard.fill(buffer)

"""A source whose bytes are known beforehand, for checks of what becomes of each."""

from __future__ import annotations

from hashlib import shake_256
from typing import Any, final


@final
class Tape:
    """A source that gives known bytes, then others of a seed, and notes every request."""

    name = "tape"
    production = False

    def __init__(self, known: bytes = b"", seed: bytes = b"tape") -> None:
        self._known, self._seed = known, seed
        self.asked = 0

    def begin(self) -> bytes:
        """No nonce."""
        return bytes(16)

    def fill(self, buffer: Any, /) -> None:
        """The next bytes."""
        part = self._known[self.asked : self.asked + len(buffer)]
        if len(part) < len(buffer):
            more = shake_256(self._seed + b"%d" % self.asked).digest(len(buffer) - len(part))
            part += more
        self.asked += len(buffer)
        buffer[:] = part

"""The operating system's generator."""

from __future__ import annotations

import os
from typing import final

from safeselect.sources._guard import Guard
from safeselect.sources._sealed import sealed

__all__ = ["SystemSource"]

_CHUNK = 2**20


def _draw(view: memoryview) -> None:
    for start in range(0, len(view), _CHUNK):
        piece = view[start : start + _CHUNK]
        piece[:] = os.urandom(len(piece))


@final
@sealed
class SystemSource:
    """Bytes of `os.urandom`.

    There is no state in the process, so forks and threads need no care.  About 2.6 ns a byte:
    slower than `OpenSSLSource` for large requests.
    """

    __slots__ = ("_guard",)

    def __init__(self) -> None:
        self._guard = Guard(_draw)

    @property
    def name(self) -> str:
        """The class's name."""
        return "SystemSource"

    @property
    def production(self) -> bool:
        """True."""
        return True

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)

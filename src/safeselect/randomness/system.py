"""The operating system's generator."""

from __future__ import annotations

import os
from typing import final

from safeselect.errors import SourceError
from safeselect.randomness._guard import Guard
from safeselect.randomness._own import own
from safeselect.randomness._sealed import sealed

__all__ = ["SystemSource"]


def _draw(count: int) -> bytes:
    try:
        return os.urandom(count)
    except TimeoutError:
        raise  # a time limit of the caller's: the kernel's generator has none
    except (OSError, NotImplementedError):
        raise SourceError("the operating system gave no random bytes") from None


@final
@own
@sealed
class SystemSource:
    """Bytes of `os.urandom`.

    There is no state in the process, so forks and threads need no care.  About 2.6 ns a byte:
    slower than `OpenSSLSource` for large requests.
    """

    __slots__ = ("_guard",)

    def __init__(self) -> None:
        self._guard = Guard(_draw, vouched=True)

    @property
    def name(self) -> str:
        """The class's name."""
        return "SystemSource"

    @property
    def production(self) -> bool:
        """True."""
        return True

    @property
    def tested(self) -> bool:
        """Whether its bytes passed the tests in this process."""
        return self._guard.tested

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)

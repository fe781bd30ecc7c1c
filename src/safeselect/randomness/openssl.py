"""OpenSSL's deterministic random bit generator, refreshed by the kernel before every fill."""

from __future__ import annotations

import os
from typing import final

from safeselect.errors import SourceError
from safeselect.randomness._guard import Guard
from safeselect.randomness._own import own
from safeselect.randomness._sealed import sealed

__all__ = ["OpenSSLSource"]

_FRESH_BYTES = 32


def _draw(count: int) -> bytes:
    try:
        import ssl  # takes milliseconds, so only those pay who draw
    except ImportError:
        raise SourceError("this Python has no ssl module: use SystemSource()") from None
    # OpenSSL notices a fork by the process id alone.  A child with its parent's id (new process-id
    # namespaces have such children) would repeat the parent's bytes, and so would the clone of a
    # virtual machine.  Fresh kernel bytes before each fill part them; claiming no entropy for them
    # makes OpenSSL reseed from the kernel as well.
    try:
        ssl.RAND_add(os.urandom(_FRESH_BYTES), 0.0)
        if ssl.RAND_status():
            return ssl.RAND_bytes(count)
    except TimeoutError:
        raise  # a time limit of the caller's: neither generator has one
    except (OSError, NotImplementedError):  # those of ssl are OSErrors
        raise SourceError("OpenSSL's generator failed") from None
    raise SourceError("OpenSSL's generator has not been seeded")


@final
@own
@sealed
class OpenSSLSource:
    """Bytes of `ssl.RAND_bytes`, with 32 fresh kernel bytes mixed in before every fill.

    The default.  About 0.14 ns a byte and 4 us a fill.  Whether OpenSSL runs in FIPS mode is for
    its configuration to say; nothing is claimed here.
    """

    __slots__ = ("_guard",)

    def __init__(self) -> None:
        self._guard = Guard(_draw, vouched=True)

    @property
    def name(self) -> str:
        """The class's name."""
        return "OpenSSLSource"

    @property
    def production(self) -> bool:
        """True."""
        return True

    @property
    def tested(self) -> bool:
        """Whether its bytes passed the tests in this process."""
        return self._guard.tested

    @property
    def interrupted(self) -> bool:
        """Whether it failed otherwise than by a test."""
        return self._guard.failed and not self._guard.unfit

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)

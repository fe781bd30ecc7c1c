"""What a source of random bytes must do.

Anyone may write a source; `safeselect.testing.check_source` tests it against these rules.  It is
used behind a guard all the same (`ForeignSource`): it is asked for 16 bytes more than are needed,
which are tested, and the system's bytes are mixed in.  Only one that says `production` is False is
taken as it is.

1. All or nothing: `fill` fills every byte, or zeroes the buffer and raises `SourceError`.
2. Latched: a source that failed once fails until a new one is built.
3. Nothing outlives the call: a source keeps no random bytes back for a later call.
4. One object, one process: no pickling, no copying; after a fork a source draws fresh bytes or
   raises.
5. Silent: `repr` and errors show neither state nor bytes.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["NONCE_BYTES", "Source"]

NONCE_BYTES = 16
"""Length of the nonce that starts every public call."""


@runtime_checkable
class Source(Protocol):
    """Independent uniform random bytes, as many as asked for or an error."""

    @property
    def name(self) -> str:
        """What results and records say about the origin of the bytes, e.g. "OpenSSLSource".

        That of a source of another class than this package's own appears inside ForeignSource(...).
        """

    @property
    def production(self) -> bool:
        """False for a source that tests use and nobody else may: its bytes can be predicted."""

    def begin(self) -> bytes:
        """Start one public call and return a nonce of NONCE_BYTES random bytes.

        The nonce is public: it goes into the record and never into a sampler.

        Raises:
            SourceError: the source is broken, stuck, or belongs to another process.
        """

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Overwrite the whole of a writable, contiguous buffer of bytes with random bytes.

        Raises:
            ParameterError: not such a buffer; nothing was drawn.
            SourceError: the source failed; the buffer holds zeros.
        """

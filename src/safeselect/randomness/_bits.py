"""Random bits for one public call.

Samplers take `Bits`, never a source.  The rules:

- every bit of the source is handed out at most once, in the source's order, most significant first;
- the source is asked for public sizes only, so the sizes of the requests tell nothing;
- bits not used are wiped at the end of the call and never serve another;
- a child of a fork cannot use bits that its parent drew: it would repeat the parent's noise.
"""

from __future__ import annotations

from types import TracebackType
from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness import Source, resolve
from safeselect.randomness._buffers import byte_view, wipe
from safeselect.randomness._fork import generation
from safeselect.randomness._sealed import sealed

__all__ = ["FILL_REQUEST", "MAX_TAKE", "Bits"]

MAX_TAKE = 2**20
"""Most bits that one `take` gives."""

FILL_REQUEST = 2 * 131072
"""Bytes that `fill` asks for at once."""

_INTEGER_FORMATS = frozenset("BHILQNbhilqn")


@final
@sealed
class Bits:
    """Independent fair bits from a source; a context manager, one for each public call.

    Args:
        source: a source; `sources.resolve` says what is taken, and refused.
        piece: bytes for which `take` asks the source at once.

    Raises:
        ParameterError: piece is not an integer from 1 to 2**20, or the source is none.
        SourceError: the source refuses to begin.
    """

    __slots__ = (
        "_buffer",
        "_closed",
        "_consumed",
        "_generation",
        "_held",
        "_nonce",
        "_piece",
        "_source",
        "_stock",
    )

    def __init__(self, source: Source, *, piece: int = 256) -> None:
        if type(piece) is not int or not 1 <= piece <= 2**20:
            raise ParameterError("piece must be an integer from 1 to 1048576")
        self._generation = generation()
        self._source = resolve(source)  # nobody's bytes are drawn but behind a guard
        self._piece = piece
        self._buffer = bytearray(piece)
        self._stock = 0  # bits drawn and not yet handed out, the next one on top
        self._held = 0  # how many of them
        self._consumed = 0
        self._closed = False
        self._nonce = self._source.begin()

    @property
    def nonce(self) -> bytes:
        """The public nonce of this call: 16 bytes."""
        return self._nonce

    @property
    def consumed(self) -> int:
        """Bits handed out so far, those of `fill` included."""
        return self._consumed

    def take(self, count: int) -> int:
        """Return an integer uniform on 0 .. 2**count - 1: the source's next `count` bits.

        Raises:
            ParameterError: count is not an integer from 0 to 2**20.
            SourceError: the source failed, or these bits are closed or another process's.
        """
        if type(count) is not int or not 0 <= count <= MAX_TAKE:
            raise ParameterError(f"the number of bits must be an integer from 0 to {MAX_TAKE}")
        self._check_usable()
        if count > self._held:
            self._draw(count - self._held)
        self._held -= count
        value = self._stock >> self._held
        self._stock ^= value << self._held
        self._consumed += count
        return value

    def coin(self) -> int:
        """Return 0 or 1, each with probability 1/2."""
        return self.take(1)

    def fill(self, buffer: bytearray | memoryview) -> None:
        """Fill a writable, C-contiguous buffer of bytes or machine integers from the source.

        The bytes come straight from the source; bits that `take` drew and has not handed out stay
        with `take`.  Words are in the machine's byte order.

        Raises:
            ParameterError: not such a buffer; nothing was drawn.
            SourceError: as for `take`; the whole buffer holds zeros.
        """
        with byte_view(_as_bytes(buffer)) as view:
            try:
                self._check_usable()
                for start in range(0, len(view), FILL_REQUEST):
                    self._source.fill(view[start : start + FILL_REQUEST])
                # Were the process forked inside a request, the child would have its parent's noise.
                self._check_usable()
            except BaseException:
                wipe(view)
                self.close()
                raise
            self._consumed += 8 * len(view)

    def close(self) -> None:
        """Wipe what was drawn and not used; every later call raises."""
        self._closed = True
        self._stock = self._held = 0
        wipe(self._buffer)

    def __enter__(self) -> Bits:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise SourceError("these bits are closed: a call's bits end with the call")
        if generation() != self._generation:
            self.close()
            raise SourceError("these bits were drawn in another process: start the call again")

    def _draw(self, missing: int) -> None:
        """Put at least `missing` more bits in stock, asking for whole pieces one by one."""
        size = self._piece * -(-missing // (8 * self._piece))
        buffer = self._buffer if size == self._piece else bytearray(size)
        try:
            with memoryview(buffer) as view:
                for start in range(0, size, self._piece):
                    self._source.fill(view[start : start + self._piece])
            self._check_usable()  # as in `fill`
            self._stock = (self._stock << 8 * size) | int.from_bytes(buffer, "big")
            self._held += 8 * size
        except BaseException:
            self.close()
            raise
        finally:
            wipe(buffer)


def _as_bytes(buffer: object) -> object:
    """The same memory as bytes, if it is a contiguous view of machine integers."""
    if type(buffer) is not memoryview:
        return buffer
    try:
        kind = (buffer.format or "").removeprefix("@")
    except ValueError:  # a view that was released
        return buffer
    if kind == "B":
        return buffer
    if kind not in _INTEGER_FORMATS or not buffer.c_contiguous or buffer.readonly:
        return buffer
    return buffer.cast("B") if buffer.nbytes else bytearray()

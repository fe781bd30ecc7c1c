"""Random bits for one public call, and the bound on every loop that draws them.

Samplers take `Bits`, never a source.  The rules:

- every bit of the source is handed out at most once, in the source's order, most significant first;
- the source is asked for public sizes only, so the sizes of the requests reveal nothing;
- unused bits are wiped at the end of the call, and no other call gets them;
- a child of a fork cannot use bits that its parent drew: it would repeat the parent's noise;
- every loop that draws has a bound, whatever the source gives.  With independent fair bits a call
  reaches a bound with probability below 2**-100; section 17 of docs/mathematics.md derives it loop
  by loop.  So an outcome, together with no error, has at most its documented chance.  A source that
  is stuck reaches a bound soon.
"""

from __future__ import annotations

from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import Generation, byte_view, generation, guard_of, sealed, wipe
from safeselect.randomness.source import Source, resolve

MAX_TAKE = 2**20
"""Most bits that one `take` gives."""

FILL_REQUEST = 2 * 131072
"""Bytes that `fill` asks for at once."""

REFINEMENTS = 16
"""Most rounds of a loop that draws 64 further digits for each of several candidates."""

_ROUNDS = 4096


def rounds(digits: int = 1) -> range:
    """The rounds of a loop for one number; the loop may end in each.

    Args:
        digits: how many binary digits a round draws, where all rounds refine the same number: it
            gets 4096 in all.  1 where each round starts afresh.
    """
    return range(-(-_ROUNDS // digits))


def exhausted() -> SourceError:
    """The error of a loop that would go on beyond its bound."""
    return SourceError(
        "the source does not return independent random bits: with independent random bits, the "
        "probability that a loop runs this long is below 2**-100"
    )


@final
@sealed
class Bits:
    """Independent fair bits from a source; a context manager, one for each public call.

    Args:
        source: a source, or None for the default; `sources.resolve` says which ones it accepts.
        piece: how many bytes `take` requests from the source at once.

    Attributes:
        source: the source, behind its guard.

    Raises:
        ParameterError: piece is not an integer from 1 to 2**20, or `source` is not a source.
    """

    __slots__ = (
        "_consumed",
        "_held",
        "_must_begin",
        "_nonce",
        "_piece",
        "_process",
        "_stock",
        "source",
    )

    def __init__(self, source: Source | None, *, piece: int = 256) -> None:
        if type(piece) is not int or not 1 <= piece <= 2**20:
            raise ParameterError("piece must be an integer from 1 to 1048576")
        self._process: Generation | None = generation()  # None as soon as these bits are closed
        self.source = resolve(source)  # from here on, a guard tests all bytes
        self._piece = piece
        self._stock = 0  # bits drawn and not yet handed out, the next one on top
        self._held = 0  # how many bits the stock holds
        self._consumed = 0
        self._must_begin = guard_of(self.source).must_begin
        self._nonce: bytes | None = None

    @property
    def nonce(self) -> bytes:
        """The public nonce of this call: 16 bytes, which are drawn when they are first asked for.

        Raises:
            SourceError: as for `take`, if they must be drawn now.
        """
        if self._nonce is None:
            self._check_usable()
            self._nonce = self.source.begin()
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
        """Fill a writable, C-contiguous buffer of bytes straight from the source.

        Bits that `take` drew and has not handed out stay with `take`.

        Raises:
            ParameterError: another kind of buffer; nothing was drawn.
            SourceError: as for `take`; the whole buffer holds zeros.
        """
        with byte_view(buffer) as view:
            self._fill(view, FILL_REQUEST)
            self._consumed += 8 * len(view)

    def close(self) -> None:
        """Wipe the bits that were drawn and not used; every later call raises."""
        self._process = None
        self._stock = self._held = 0

    def __enter__(self) -> Bits:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_usable(self) -> None:
        if self._process is None:
            raise SourceError("this Bits object is closed; it can be used only during its call")
        if generation() != self._process:
            self.close()
            raise SourceError("this Bits object belongs to another process; repeat the call")

    def _draw(self, missing: int) -> None:
        """Put at least `missing` more bits in stock, in whole pieces, one request each."""
        size = self._piece * -(-missing // (8 * self._piece))
        buffer = bytearray(size)
        try:
            with memoryview(buffer) as view:
                self._fill(view, self._piece)
            self._stock = (self._stock << 8 * size) | int.from_bytes(buffer, "big")
            self._held += 8 * size
        except BaseException:  # an interrupt between the two would leave stock and count at odds
            self.close()
            raise
        finally:
            wipe(buffer)

    def _fill(self, view: memoryview, request: int) -> None:
        """Fill bytes in requests of this size, or wipe them, close and raise."""
        try:
            self._check_usable()
            if self._must_begin and self._nonce is None:
                self._nonce = self.source.begin()
            for start in range(0, len(view), request):
                self.source.fill(view[start : start + request])
            # A child forked during the request would have its parent's noise.
            self._check_usable()
        except BaseException:
            wipe(view)
            self.close()
            raise

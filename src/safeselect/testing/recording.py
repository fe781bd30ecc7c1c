"""A source that records the requests to another source, and its answers."""

from __future__ import annotations

from typing import final

from safeselect.randomness.guard import Guard, own
from safeselect.randomness.memory import sealed
from safeselect.randomness.source import Source, guarded
from safeselect.testing._gate import refuse_in_production


@final
class _Log:
    """Passes on every request, and keeps the request and the answer."""

    __slots__ = ("data", "inner", "nonces", "requests")

    def __init__(self, inner: Source) -> None:
        self.inner = inner
        self.data = bytearray()
        self.nonces: list[bytes] = []
        self.requests: list[int] = []

    def draw(self, count: int) -> bytes:
        self.requests.append(count)
        buffer = bytearray(count)
        self.inner.fill(buffer)
        self.data += buffer
        return bytes(buffer)

    def nonce(self, _: int) -> bytes:
        self.nonces.append(self.inner.begin())
        return self.nonces[-1]


@final
@own
@sealed
class RecordingSource:
    """Passes on the bytes of another source and keeps them, with the sizes of the requests.

    It has two uses: to show that the sizes do not depend on the scores, and to replay a call with
    `ReplaySource(recording.data, nonces=recording.nonces)`.  The recording and the release together
    reveal the scores, so use it with made-up data only.  It raises in a child of the process that
    built it.

    Args:
        inner: the source that is recorded.

    Raises:
        ParameterError: inner is not a source, or SAFESELECT_REQUIRE_PRODUCTION is set.
    """

    __slots__ = ("_guard", "_log")

    def __init__(self, inner: Source) -> None:
        refuse_in_production("RecordingSource")
        self._log = _Log(guarded(inner))
        self._guard = Guard(self._log.draw, nonce=self._log.nonce, fork_safe=False, health=False)

    @property
    def name(self) -> str:
        """The class's name with the name of the recorded source."""
        return f"RecordingSource({self._log.inner.name})"

    @property
    def production(self) -> bool:
        """False."""
        return False

    @property
    def requests(self) -> list[int]:
        """Sizes of the requests to `fill` so far, failed ones included, empty ones not."""
        return list(self._log.requests)

    @property
    def data(self) -> bytes:
        """The bytes that `fill` has given so far."""
        return bytes(self._log.data)

    @property
    def nonces(self) -> list[bytes]:
        """The nonces that `begin` has given so far."""
        return list(self._log.nonces)

    def begin(self) -> bytes:
        """Return the nonce of the recorded source; see `Source.begin`."""
        refuse_in_production("RecordingSource")
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the buffer from the recorded source; see `Source.fill`."""
        self._guard.fill(buffer)

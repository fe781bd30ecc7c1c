"""The rules that every source of this library keeps, in one place.

A source is a function that draws bytes, and a `Guard` around it:

- all or nothing: whatever goes wrong, the buffer is zeroed and `SourceError` raised, with a
  constant text and without the original exception, whose text or frames may hold bytes;
- latched: after a failure every call fails.  An interrupt (KeyboardInterrupt and its like) is no
  failure: the buffer is zeroed, the interrupt goes on, and the source stays usable;
- process: start-up tests run once in each process, and a source that may not be used after a fork
  raises in the child;
- stuck: the nonce of each call is compared with the one before.  A good source passes with
  probability 1 - 2**-128 whatever came before, and the nonce is independent of the bytes that
  follow, so the check cannot bias a sampler.  What samplers get is never looked at;
- no recursion: a source that is asked for bytes while it draws some refuses the inner call.  Two
  threads may use one source at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from typing import final

from safeselect.errors import SourceError
from safeselect.sources._buffers import byte_view, wipe
from safeselect.sources._fork import Generation, generation
from safeselect.sources._protocol import NONCE_BYTES
from safeselect.sources._sealed import sealed
from safeselect.sources._startup import startup_problem

__all__ = ["Draw", "Guard"]

Draw = Callable[[memoryview], None]
"""Fill the whole view with random bytes, or raise."""

# The guards that are drawing, innermost last, in this thread (each thread has its own context).
_ACTIVE: ContextVar[tuple[object, ...]] = ContextVar("safeselect_active_sources", default=())


@final
@sealed
class Guard:
    """Keeps the rules above for one source.

    Args:
        draw: fills a view with the source's bytes, or raises.
        nonce: the same for the 16 bytes of the nonce; `draw` by default.
        fork_safe: False if the source must not be used in a child of the process that built it.
        health: whether start-up tests and the stuck check apply to these bytes.
    """

    __slots__ = (
        "_born",
        "_draw",
        "_failed",
        "_fork_safe",
        "_health",
        "_nonce",
        "_recent",
        "_tested",
    )

    def __init__(
        self,
        draw: Draw,
        *,
        nonce: Draw | None = None,
        fork_safe: bool = True,
        health: bool = True,
    ) -> None:
        self._draw = draw
        self._nonce = draw if nonce is None else nonce
        self._fork_safe = fork_safe
        self._health = health
        self._born = generation()
        self._tested: Generation | None = None
        self._failed = False
        self._recent: deque[bytes] = deque(maxlen=2)

    def begin(self) -> bytes:
        """Start a public call: every check above, then the nonce."""
        nonce = bytearray(NONCE_BYTES)
        with memoryview(nonce) as view:
            self._run(view, self._nonce)
        if self._health and not self._is_new(nonce):
            self._failed = True
            wipe(nonce)
            raise SourceError("the source is stuck: it gave the same nonce twice in a row")
        return bytes(nonce)

    def fill(self, buffer: bytearray | memoryview) -> None:
        """Fill the buffer, or zero it and raise."""
        with byte_view(buffer) as view:
            self._run(view, self._draw)

    def _run(self, view: memoryview, draw: Draw) -> None:
        """Draw into the view; whatever is raised, the view holds zeros."""
        try:
            active = _ACTIVE.get()
            if any(guard is self for guard in active):
                raise SourceError("the source was asked for bytes while it was drawing some")
            try:
                _ACTIVE.set((*active, self))
                problem = self._attempt(view, draw)
            finally:
                # Not reset(token): an interrupt can come before there is a token.
                _ACTIVE.set(active)
            if problem is not None:
                self._failed = True
                # Raised here, and not where it was noticed, so that no exception hangs behind it.
                raise SourceError(problem)
        except BaseException:
            wipe(view)
            raise

    def _attempt(self, view: memoryview, draw: Draw) -> str | None:
        """Draw; return what went wrong in words, or None.  Interrupts pass."""
        if self._failed:
            return "the source failed before and stays failed: build a new one"
        now = generation()
        if not self._fork_safe and now != self._born:
            return "the source was built in another process: build a new one after a fork"
        try:
            if self._health and self._tested != now:
                failed_test = startup_problem(self._draw)
                if failed_test is not None:
                    return f"the source failed its start-up test: {failed_test}"
                self._tested = now
            if len(view):
                draw(view)
        except SourceError as error:
            return str(error)
        except Exception:  # noqa: BLE001 - whatever it was, its text may hold bytes
            return "the source failed while drawing bytes"
        return None

    def _is_new(self, nonce: bytearray) -> bool:
        """Compare with the nonce before, of which only a digest is kept.

        Append first, count afterwards: without a lock, of two threads that got the same nonce at
        the same time at least the later one sees both.  It is not even once there if other threads
        have pushed it out in between.
        """
        digest = sha256(nonce).digest()
        self._recent.append(digest)
        return self._recent.count(digest) <= 1

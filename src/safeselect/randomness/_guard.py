"""The rules that every source of this library keeps, in one place.

A source is a function that draws bytes, and a `Guard` around it:

- all or nothing: whatever goes wrong, the buffer is zeroed and `SourceError` raised, with a
  constant text and without the original exception, whose text or frames may hold bytes;
- latched: after a failure every call fails.  What comes from outside is no failure: a
  KeyboardInterrupt and its like, and for a draw that is vouched for any exception but SourceError
  (a time limit that a signal handler raises, say).  The buffer is zeroed, the exception goes on,
  and the source stays usable;
- process: start-up tests run once in each process, and a source that may not be used after a fork
  raises in the child;
- stuck: each request asks for 16 bytes more than it needs, the *canary*.  It is compared with the
  canaries before, and its halves with each other; so are the nonces with the nonces before.  A good
  source passes with probability 1 - 2**-63, whatever came before.  Canaries and nonces are
  independent of the bytes that samplers get, so no check can bias a sampler.  What samplers get is
  never looked at;
- no recursion: a source that is asked for bytes while it draws some refuses the inner call.  Two
  threads may use one source at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import final

from safeselect.errors import SourceError
from safeselect.randomness._buffers import byte_view, wipe
from safeselect.randomness._fork import Generation, generation
from safeselect.randomness._protocol import NONCE_BYTES
from safeselect.randomness._sealed import sealed
from safeselect.randomness._startup import startup_problem

__all__ = ["CANARY_BYTES", "Draw", "Guard"]

Draw = Callable[[int], bytes]
"""Return exactly so many random bytes, or raise."""

CANARY_BYTES = 16
"""Bytes at the end of each answer that are tested, and never handed out."""

_REMEMBERED = 32  # more than one, because threads may begin between two of the same thread
_CHUNK = 1 << 20  # bytes asked for at once

_FAILED = "the source failed before and stays failed: build a new one"
_ELSEWHERE = "the source was built in another process: build a new one after a fork"
_STUCK = "the source is stuck: it repeats itself"
_STUCK_NONCE = "the source is stuck: it gave the same nonce twice"

# The guards that are drawing, innermost last, in this thread (each thread has its own context).
_ACTIVE: ContextVar[tuple[object, ...]] = ContextVar("safeselect_active_sources", default=())


@final
@sealed
class Guard:
    """Keeps the rules above for one source.

    Args:
        draw: returns so many of the source's bytes, or raises.
        nonce: the same for the 16 bytes of the nonce; `draw` by default.
        fork_safe: False if the source must not be used in a child of the process that built it.
        health: whether start-up tests and the stuck check apply to these bytes.  Without it the
            source is asked for exactly what is needed.
        vouched: the draw is this package's own and raises SourceError whenever it fails, so that
            any other exception comes from outside.
    """

    __slots__ = (
        "_born",
        "_canaries",
        "_draw",
        "_failed",
        "_fork_safe",
        "_health",
        "_nonce",
        "_nonces",
        "_tested",
        "_unfit",
        "_vouched",
    )

    def __init__(
        self,
        draw: Draw,
        *,
        nonce: Draw | None = None,
        fork_safe: bool = True,
        health: bool = True,
        vouched: bool = False,
    ) -> None:
        self._draw = draw
        self._nonce = draw if nonce is None else nonce
        self._fork_safe = fork_safe
        self._health = health
        self._vouched = vouched
        self._born = generation()
        self._tested: Generation | None = None
        self._failed = False
        self._unfit = False
        self._canaries: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._nonces: deque[bytes] = deque(maxlen=_REMEMBERED)

    @property
    def failed(self) -> bool:
        """Whether it failed, and so stays failed."""
        return self._failed

    @property
    def unfit(self) -> bool:
        """Whether it failed a test: start-up, nonce or canary."""
        return self._unfit

    @property
    def tested(self) -> bool:
        """Whether start-up tests and a canary were passed in this process, and none failed."""
        return self._tested == generation() and not self._failed

    def begin(self) -> bytes:
        """Start a public call: every check above, then the nonce."""
        return self._run(self._nonce, NONCE_BYTES, 0)

    def fill(self, buffer: bytearray | memoryview) -> None:
        """Fill the buffer, or zero it and raise."""
        canary = CANARY_BYTES if self._health else 0
        with byte_view(buffer) as view:
            try:
                if not len(view):
                    self._run(bytes, 0, 0)
                for start in range(0, len(view), _CHUNK):
                    size = min(_CHUNK, len(view) - start)
                    taken = self._run(self._draw, size + canary, canary)
                    view[start : start + size] = memoryview(taken)[:size]
            except BaseException:
                wipe(view)
                raise

    def _run(self, draw: Draw, count: int, canary: int) -> bytes:
        """Draw bytes, the canary last; latch and raise if anything went wrong."""
        active = _ACTIVE.get()
        if self in active:
            raise SourceError("the source was asked for bytes while it was drawing some")
        try:
            _ACTIVE.set((*active, self))
            found = self._attempt(draw, count, canary)
        finally:
            # Not reset(token): an interrupt can come before there is a token.
            _ACTIVE.set(active)
        if isinstance(found, str):
            # Raised here, and not where it was noticed, so that no exception hangs behind it.
            self._failed = True
            raise SourceError(found)
        return found

    def _unusable(self) -> str | None:
        if self._failed:
            return _FAILED
        if not self._fork_safe and generation() != self._born:
            return _ELSEWHERE
        return None

    def _attempt(self, draw: Draw, count: int, canary: int) -> bytes | str:
        """Draw; return the bytes, or in words what went wrong.  What is from outside passes."""
        problem = self._unusable()
        if problem is not None:
            return problem
        try:
            taken = draw(count)
            # Exactly bytes: anything else might still change, or lie about itself.
            if type(taken) is not bytes or len(taken) != count:
                return "the source gave something other than the bytes that it was asked for"
            problem = self._found_unfit(taken, canary) if count else None
        except SourceError as error:
            return str(error)
        except Exception:
            if self._vouched:
                raise
            return "the source failed while drawing bytes"
        if problem is None:
            return taken
        self._unfit = True
        return problem

    def _found_unfit(self, taken: bytes, canary: int) -> str | None:
        """Test the source as a whole if that was not done in this process, then the sample:
        the canary, or all of a nonce.
        """
        if not self._health:
            return None
        now = generation()
        if self._tested != now:
            failed_test = startup_problem(self._draw)
            if failed_test is not None:
                return f"the source failed its start-up test: {failed_test}"
            if _repeats(self._canaries, self._draw(CANARY_BYTES)):
                return _STUCK
            self._tested = now
        if canary:
            return _STUCK if _repeats(self._canaries, taken[-canary:]) else None
        return _STUCK_NONCE if _comes_back(self._nonces, taken) else None


def _repeats(recent: deque[bytes], canary: bytes) -> bool:
    """Whether a canary equals one before or has equal halves, as that of one value has."""
    half = CANARY_BYTES // 2
    return canary[:half] == canary[half:] or _comes_back(recent, canary)


def _comes_back(recent: deque[bytes], sample: bytes) -> bool:
    """Keep the sample, and say whether it was kept before.

    Append first, count afterwards: without a lock, of two threads that got the same sample at
    the same time at least the later one sees both.  Where so many others came in between that
    this one is forgotten already, nothing is known against it.
    """
    recent.append(sample)
    return recent.count(sample) > 1

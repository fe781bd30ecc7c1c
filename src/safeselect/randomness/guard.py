"""The rules that every source of this library keeps, in one place.

A source is a function that draws bytes, and a `Guard` around it:

- all or nothing: on any failure the guard zeroes the buffer and raises `SourceError`.  The error
  has a constant text and drops the original exception, whose text or frames may hold bytes;
- latched: after a failure every call fails.  An exception from outside is no failure: a
  KeyboardInterrupt and its like, and for a vouched draw any exception but SourceError (a time limit
  that a signal handler raises, say).  The buffer is zeroed, the exception goes on, and the source
  stays usable;
- process: start-up tests run once in each process, and a source that may not be used after a fork
  raises in the child;
- stuck: each request asks for 16 bytes more than it needs, the *canary*.  The guard compares each
  canary with earlier canaries, its halves with each other, and each nonce with earlier nonces.  A
  good source passes with probability 1 - 2**-63, whatever came before.  Canaries and nonces are
  independent of the bytes that samplers get, so no check can bias a sampler.  The guard never looks
  at the samplers' bytes: rejecting some of them would change the law of every output;
- no recursion: a source that is asked for bytes while it draws some refuses the inner call.  Two
  threads may use one source at once.

The start-up tests find wiring errors (a device that answers zeros, a callback that replays one
answer).  They do not measure entropy: a generator with a known seed passes all of them.  Their
sample of 4 blocks of 1024 bytes is discarded.  For a perfect source, each false alarm has at most
this probability:

    repeated block        6 * 2**-8192
    repetition count      2**-52      (4096 places, 9 equal bytes in a row: 2**-64 each)
    adaptive proportion   2**-37      (8 windows of 512 bytes, 2**-40 each)
    monobit               2**-40      (|ones - 16384| <= 646 of 32768 bits)

The exact type decides which sources are this package's own, whatever an object says of itself.  A
name, a property, a base class or a metaclass can be borrowed; the type of an object made by a
sealed class cannot.  The `Guard` that an own source holds says what its bytes are worth.

In memory, random bytes are never copied, never shared with a forked process, and wiped after use.
Only buffers that the library or its caller owns can be wiped; the `bytes` and `int` objects that
Python makes on the way cannot, in any program.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Literal, NoReturn, TypeGuard, TypeVar, final

from safeselect.errors import ParameterError, SourceError

Draw = Callable[[int], bytes]
"""Return exactly so many random bytes, or raise."""

Worth = Literal["no", "asserted", "yes"]
"""Whether bytes are good enough for production, the weakest first; see `Observed`."""

Generation = tuple[int, int]
"""(number of forks counted, process id)."""

_Kind = TypeVar("_Kind")
_OWN: dict[int, type] = {}
"""This package's sources, by identity: a metaclass may claim that its class equals another."""

NONCE_BYTES = 16
"""Length of the nonce of a public call."""

CANARY_BYTES = 16
"""Bytes at the end of each answer that are tested, and never handed out."""

_REMEMBERED = 32  # more than one: other threads may draw between two requests of one thread
_CHUNK = 1 << 20  # bytes asked for at once
_STUCK = "the source is stuck: it repeats its output"

_BLOCK = 1024
_BLOCKS = 4
_REPETITION = re.compile(rb"(.)\1{8}", re.DOTALL)  # 9 equal bytes in a row
_WINDOW = 512
_PROPORTION_CUTOFF = 19
_MONOBIT_LIMIT = 646

# The guards that are drawing, innermost last, in this thread (each thread has its own context).
_ACTIVE: ContextVar[tuple[object, ...]] = ContextVar("safeselect_active_sources", default=())

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


# A module is imported once, so the hook is registered once.  A hook that ran twice would raise the
# count by two, which is safe too: generations are only compared for equality.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def generation() -> Generation:
    """Return a value that differs between a process and the children forked from it.

    Neither number alone is enough: a child in a new process-id namespace can have its parent's id,
    and a fork made outside Python runs no Python hook.  This value does not change in a fork of
    both kinds; against that, `OpenSSLSource` mixes kernel bytes into every fill.  There are no
    locks in this package, because a lock held during a fork stays locked in the child.
    """
    return _forks, os.getpid()


def _refuse_copy(self: object, *_: object) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__} objects cannot be copied or pickled, because the copy would repeat "
        "the random bytes; create a new object instead"
    )


def _refuse_subclass(cls: type) -> NoReturn:
    raise TypeError(
        "safeselect's classes for random bytes cannot be subclassed; write a class with the four "
        "members of the Source protocol, or wrap a function in CallbackSource"
    )


_SEALED = {
    "__reduce_ex__": _refuse_copy,  # pickle, copy.copy and copy.deepcopy all call it
    "__repr__": lambda self: f"<{type(self).__name__}>",
    "__init_subclass__": classmethod(_refuse_subclass),
}


def sealed(kind: type[_Kind]) -> type[_Kind]:
    """Return the class, made impossible to copy, pickle and subclass, and with a silent repr.

    A copy of a source, or of bits not yet used, gives the same noise twice.  The difference of two
    releases with the same noise is the private number itself.  A subclass could replace `fill` and
    keep the name under which records list the source.
    """
    for name, member in _SEALED.items():
        setattr(kind, name, member)
    return kind


def byte_view(buffer: object) -> memoryview:
    """Return a flat view of a writable, C-contiguous buffer of bytes.

    Raises:
        ParameterError: it is not a bytearray or a memoryview of that kind.
    """
    # Exact types: a subclass could report another length each time.
    if type(buffer) is not bytearray and type(buffer) is not memoryview:
        raise ParameterError(
            f"the buffer to fill must be a bytearray or memoryview, got {type(buffer).__name__}"
        )
    try:
        view = memoryview(buffer)
    except ValueError:
        raise ParameterError("the buffer to fill is a released memoryview") from None
    if view.readonly or not view.c_contiguous or view.format != "B":
        raise ParameterError(
            "the buffer to fill must be writable and C-contiguous, with format 'B' (bytes), got "
            f"readonly={view.readonly}, c_contiguous={view.c_contiguous}, format={view.format!r}"
        )
    if view.ndim == 1:
        return view
    # A view with a zero in its shape cannot be cast, and has no byte to fill.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def xored(first: bytes | bytearray, second: bytes | bytearray) -> bytes:
    """The XOR of two strings of bytes; none if their lengths differ, which every guard refuses."""
    if len(first) != len(second):
        return b""
    both = int.from_bytes(first, "little") ^ int.from_bytes(second, "little")
    return both.to_bytes(len(first), "little")


def wipe(buffer: bytearray | memoryview) -> None:
    """Overwrite a buffer of bytes with zeros."""
    buffer[:] = bytes(len(buffer))


def startup_problem(draw: Draw) -> str | None:
    """Draw a sample, test it, discard it; return the name of the first test failed, or None."""
    sample = bytearray()
    try:
        for _ in range(_BLOCKS):
            sample += _exactly(draw, _BLOCK)
        return next((name for name, passed in _startup_tests(sample) if not passed), None)
    finally:
        wipe(sample)


def _startup_tests(sample: bytearray) -> Iterator[tuple[str, bool]]:
    """The name of each test, and whether the sample passes it."""
    blocks = {bytes(sample[start : start + _BLOCK]) for start in range(0, len(sample), _BLOCK)}
    yield "repeated block", len(blocks) == _BLOCKS
    # SP 800-90B's repetition count: no byte value occurs too often in a row.
    yield "repetition count", _REPETITION.search(sample) is None
    # SP 800-90B's adaptive proportion: the first value of a window does not recur too often.
    windows = [sample[start : start + _WINDOW] for start in range(0, len(sample), _WINDOW)]
    most_returns = max(window.count(window[0], 1) for window in windows)
    yield "adaptive proportion", most_returns < _PROPORTION_CUTOFF
    ones = int.from_bytes(sample, "big").bit_count()
    yield "monobit", abs(ones - 4 * len(sample)) <= _MONOBIT_LIMIT


@final
@sealed
@dataclass(slots=True, eq=False)
class Guard:
    """Keeps the rules above for one source.

    Args:
        draw: returns the number of bytes asked for, or raises.
        nonce: the same for the 16 bytes of the nonce; `draw` by default.
        fork_safe: False if the source must not be used in a child of the process that built it.
        health: whether start-up tests and the stuck check apply to these bytes.  Without it the
            guard requests exactly the bytes that are needed.
        vouched: the draw is this package's own and raises SourceError whenever it fails.  So any
            other exception comes from outside.
        worth: whether the bytes are good enough for production.
        unmixed: whether any callback's bytes are used without the system's bytes mixed in.
        parts: the guards of the sources that `draw` mixes; each tests its own bytes.
        name: of the source, in results and records; if empty, that of its class.

    Attributes:
        born: the process that built the guard.
        failed: whether the source failed; it then stays failed.
        unfit: whether the source failed a test: start-up, nonce or canary.
    """

    draw: Draw
    _: KW_ONLY
    nonce: Draw | None = None
    fork_safe: bool = True
    health: bool = True
    vouched: bool = False
    worth: Worth = "no"
    unmixed: bool = False
    parts: tuple[Guard, ...] = ()
    name: str = ""
    failed: bool = field(default=False, init=False)
    unfit: bool = field(default=False, init=False)
    born: Generation = field(default_factory=generation, init=False)
    _tested: Generation | None = field(default=None, init=False)
    _canaries: deque[bytes] = field(default_factory=partial(deque, maxlen=_REMEMBERED), init=False)
    _nonces: deque[bytes] = field(default_factory=partial(deque, maxlen=_REMEMBERED), init=False)

    @property
    def tested(self) -> bool:
        """Whether start-up tests and a canary were passed in this process, and none failed."""
        if self.parts:
            return all(part.tested for part in self.parts)
        return self._tested == generation() and not self.failed

    @property
    def must_begin(self) -> bool:
        """Whether a call begins the source even if no ledger keeps its nonce.

        If not, the nonce is nothing but one more request, and the first request for noise makes the
        same checks, before anything is released.
        """
        return self.nonce is not None or not self.health

    def begin(self) -> bytes:
        """Start a public call: every check above, then the nonce."""
        return self._run(self.nonce or self.draw, NONCE_BYTES, 0)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the buffer, or zero it and raise."""
        canary = CANARY_BYTES if self.health else 0
        with byte_view(buffer) as view:
            try:
                if not len(view):
                    self._run(bytes, 0, 0)
                for start in range(0, len(view), _CHUNK):
                    size = min(_CHUNK, len(view) - start)
                    taken = self._run(self.draw, size + canary, canary)
                    view[start : start + size] = memoryview(taken)[:size]
            except BaseException:
                wipe(view)
                raise

    def _run(self, draw: Draw, count: int, canary: int) -> bytes:
        """Draw bytes, the canary last; latch and raise if anything went wrong."""
        active = _ACTIVE.get()
        if self in active:
            raise SourceError("the source was asked for bytes while it was already drawing bytes")
        try:
            _ACTIVE.set((*active, self))
            found = self._attempt(draw, count, canary)
        finally:
            # Not reset(token): an interrupt can come before there is a token.
            _ACTIVE.set(active)
        if isinstance(found, str):
            # Raised here, outside any handler, so that the error has no exception as its context.
            self.failed = True
            raise SourceError(found)
        return found

    def _attempt(self, draw: Draw, count: int, canary: int) -> bytes | str:
        """Draw; return the bytes, or in words what went wrong; exceptions from outside pass."""
        if self.failed:
            return "the source has failed and cannot be used again; build a new one"
        if not self.fork_safe and generation() != self.born:
            return "the source was built in another process; build a new one after a fork"
        try:
            taken = _exactly(draw, count)
            problem = self._failed_test(taken, canary) if count and self.health else None
        except Exception as error:
            trusted = (SourceError,) if self.vouched or self.worth == "no" else ()
            if type(error) in (_OtherAnswer, *trusted):
                return str(error)
            if self.vouched:
                raise
            return "the source failed while drawing bytes"
        if problem is None:
            return taken
        self.unfit = True
        return problem

    def _failed_test(self, taken: bytes, canary: int) -> str | None:
        """Test the source as a whole, once in each process; then the canary, or all of a nonce."""
        now = generation()
        if self._tested != now:
            failed_test = startup_problem(self.draw)
            if failed_test is not None:
                return f"the source failed its start-up test: {failed_test}"
            if _repeats(self._canaries, _exactly(self.draw, CANARY_BYTES)):
                return _STUCK
            self._tested = now
        if canary:
            return _STUCK if _repeats(self._canaries, taken[-canary:]) else None
        if _comes_back(self._nonces, taken):
            return "the source is stuck: it returned the same nonce twice"
        return None


class _OtherAnswer(SourceError):
    """Not the bytes that were asked for; its text is ours, whoever drew."""


def _exactly(draw: Draw, count: int) -> bytes:
    taken = draw(count)
    # Exactly bytes: an object of another type might change later, or lie about itself.
    if type(taken) is not bytes or len(taken) != count:
        raise _OtherAnswer("the source did not return bytes of the requested length")
    return taken


def _repeats(recent: deque[bytes], canary: bytes) -> bool:
    """Whether a canary equals an earlier one, or has equal halves, as a constant canary has."""
    half = CANARY_BYTES // 2
    return canary[:half] == canary[half:] or _comes_back(recent, canary)


def _comes_back(recent: deque[bytes], sample: bytes) -> bool:
    """Keep the sample, and say whether it was kept before.

    Append first, count afterwards.  There is no lock: if two threads get the same sample at the
    same time, at least the later one sees both.  If so many other samples came between that this
    one is forgotten already, the sample passes.
    """
    recent.append(sample)
    return recent.count(sample) > 1


class Guarded:
    """What this package's sources have in common: a guard, which keeps the rules."""

    __slots__ = ("_guard",)

    _guard: Guard

    @property
    def name(self) -> str:
        """Its name in results and records, which says what it is made of."""
        return self._guard.name or type(self).__name__

    @property
    def production(self) -> bool:
        """Whether its bytes are meant for production, or somebody asserts so."""
        return self._guard.worth != "no"

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)


def own(kind: type[_Kind]) -> type[_Kind]:
    """Seal a class, and mark it as one of this package's sources.

    Nothing but the mark makes it one: `Guarded` is a base class that anyone may use.
    The mark gives no trust: by default a guard says that its bytes are not for production.
    Sources for tests carry the mark so that the library uses them as they are.
    """
    _OWN[id(kind)] = kind
    return sealed(kind)


def is_own(value: object) -> TypeGuard[Guarded]:
    """Whether the object is exactly of such a class; its `__class__` is not read."""
    return _OWN.get(id(type(value))) is type(value)


def guard_of(source: object) -> Guard:
    """The guard of one of this package's own sources, which knows what its bytes are worth.

    Raises:
        ParameterError: the source did not come from `resolve`.
    """
    if not is_own(source):
        raise ParameterError("observed() requires the result of resolve()")
    return source._guard

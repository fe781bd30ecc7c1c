"""Sources of other bytes than OpenSSL's: the system's, a function's, another package's class.

A function, such as that of a hardware security module, a token or a beacon, and a source of another
package are always behind our guard, whatever they claim, and the operating system's bytes are mixed
into theirs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import NamedTuple, final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import NONCE_BYTES, Guard, Worth, own, wipe, xored

_LONGEST_NAME = 64
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)

# The last foreign sources with their guards, by identity: so a source is tested once, and a failed
# one stays failed.  A source is kept as long as its guard, so no other object gets its identity.
_REMEMBERED = 32
_guards: dict[int, tuple[object, ForeignSource]] = {}


def predictable_generator(value: object) -> bool:
    """Whether this is one of Python's or NumPy's generators for simulations."""
    if isinstance(value, ModuleType):
        return value.__name__ in ("random", "numpy.random")
    # By name: this package imports neither of them.
    kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__]
    if "random.SystemRandom" in kinds:
        return False
    return any(kind == "random.Random" or kind.startswith("numpy.random.") for kind in kinds)


def _why_not(value: object) -> str:
    kind = type(value).__name__
    if predictable_generator(value):
        return (
            f"an object of type {kind} cannot be the source: its output can be predicted from "
            "earlier output or from its seed, and anyone who predicts the noise can subtract it."
        )
    if isinstance(value, (int, str, bytes, bytearray)):
        return (
            "a source is not a seed: noise that can be repeated can be subtracted. For tests there "
            "is safeselect.testing.DeterministicSource."
        )
    if isinstance(value, type):
        return f"source must be an object, not the class: write {value.__name__}()."
    if callable(value):
        return f"a {kind} is not a source: a function n -> bytes is wrapped in CallbackSource."
    return (
        f"an object of type {kind} is not a source: it lacks some of "
        f"{', '.join(Members._fields)}, or they have the wrong types."
    )


class Members(NamedTuple):
    """The members of a source, each read once."""

    name: str
    production: bool
    begin: Callable[[], object]
    fill: Callable[[memoryview], object]


def members_of(value: object) -> Members:
    """Return the four members of the Source protocol, each read once: a second answer may differ.

    Raises:
        ParameterError: the object does not follow the protocol; the message says what to pass
            instead.
    """
    with suppress(Exception):  # a property may raise anything, and quote anything
        found = Members(*(getattr(value, member) for member in Members._fields))
        well_typed = type(found.name) is str and type(found.production) is bool
        can_draw = callable(found.begin) and callable(found.fill)
        if well_typed and can_draw and not isinstance(value, type):
            return found
    raise ParameterError(
        f"{_why_not(value)} Leave source out for the default, or pass OpenSSLSource(), "
        "SystemSource() or, for a device of your own, CallbackSource(function)."
    )


def mixed(first: Guard, second: Guard, *, health: bool) -> Guard:
    """A guard around the XOR of two guards: uniform if either is and they are independent.

    It fails if either fails.  Its `worth` is that of the weaker part.

    Args:
        health: whether the XOR is tested once more; the parts test themselves.
    """

    def draw(count: int) -> bytes:
        # Each part writes into memory that the other cannot see.
        ours, theirs = bytearray(count), bytearray(count)
        try:
            first.fill(ours)
            second.fill(theirs)
            return xored(ours, theirs)
        finally:
            wipe(ours)
            wipe(theirs)

    def nonce(_: int) -> bytes:
        return xored(first.begin(), second.begin())

    return Guard(
        draw,
        nonce=nonce,
        health=health,
        vouched=True,  # both parts turn their failures into SourceError
        worth=min(first.worth, second.worth, key=("no", "asserted", "yes").index),
        unmixed=first.unmixed or second.unmixed,
        parts=(first, second),
    )


def system_bytes(count: int) -> bytes:
    """Draw from the operating system's generator."""
    try:
        return os.urandom(count)
    except TimeoutError:
        raise  # the caller's time limit: the kernel's generator has none
    except (OSError, NotImplementedError):
        raise SourceError("the operating system gave no random bytes") from None


def with_system_bytes(device: Guard) -> Guard:
    """A guard around the XOR of a device's bytes and the operating system's."""
    system = Guard(system_bytes, vouched=True, worth="yes")
    return mixed(device, system, health=False)


def _device(members: Members) -> Guard:
    """A guard around what a foreign source gives, in memory that it cannot keep or alter.

    Every failure becomes a SourceError of constant text; only a source for tests keeps its text.
    """

    def asked(member: Callable[..., object], *arguments: object, failure: str) -> object:
        try:
            return member(*arguments)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the text of any error may hold bytes
            if not members.production and type(error) is SourceError:
                failure = str(error)
            raise SourceError(failure) from None

    def draw(count: int) -> bytes:
        scratch = bytearray(count)
        try:
            failure = "the source failed while drawing bytes"
            asked(members.fill, memoryview(scratch), failure=failure)
            return bytes(scratch)
        finally:
            wipe(scratch)

    def nonce(_: int) -> bytes:
        given = asked(members.begin, failure="the source failed as a call began")
        if type(given) is not bytes or len(given) != NONCE_BYTES:
            raise SourceError(f"the source gave a nonce that is not of {NONCE_BYTES} bytes")
        return given

    worth: Worth = "asserted" if members.production else "no"
    return Guard(draw, nonce=nonce, health=members.production, vouched=True, worth=worth)


@final
@own
class ForeignSource:
    """The bytes of a source of another class, XOR-ed with those of the operating system.

    Its own bytes are tested at start-up and at each request, as a callback's are.  A source for
    tests (`production` is False) is neither mixed nor tested, so that its bytes can be repeated.
    It never counts as a source for production.

    Args:
        members: the source's members, as read once.
    """

    __slots__ = ("_guard", "_name")

    def __init__(self, members: Members) -> None:
        device = _device(members)
        self._guard = with_system_bytes(device) if members.production else device
        self._name = f"ForeignSource({_NO_NAME.sub('_', members.name[:_LONGEST_NAME])})"

    @property
    def name(self) -> str:
        """ForeignSource(...) around the name that the source gives itself."""
        return self._name

    @property
    def production(self) -> bool:
        """The value that the source gave."""
        return self._guard.worth != "no"

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)


def guarded_foreign(value: object) -> ForeignSource:
    """Return a guard around a source of a class that is not this package's.

    Raises:
        ParameterError: the object does not follow the Source protocol.
    """
    known = _guards.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    found = ForeignSource(members_of(value))
    # A source for tests has no state that a second guard would lack.
    if found.production:
        while len(_guards) >= _REMEMBERED:
            _guards.pop(next(iter(tuple(_guards)), 0), None)
        _guards[id(value)] = value, found
    return found


@final
@own
class SystemSource:
    """Bytes of `os.urandom`.

    It keeps no state in the process, so forks and threads need no care.  About 2.6 ns a byte:
    slower than `OpenSSLSource` for large requests.
    """

    __slots__ = ("_guard",)

    name = "SystemSource"
    """The class's name."""

    production = True
    """Its bytes are meant for production."""

    def __init__(self) -> None:
        self._guard = Guard(system_bytes, vouched=True, worth="yes")

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


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


def _ask(function: Callable[[int], bytes], max_chunk: int | None, count: int) -> bytes:
    pieces = []
    step = count if max_chunk is None else max_chunk
    for start in range(0, count, step):
        size = min(step, count - start)
        try:
            answer = function(size)
        except Exception:  # noqa: BLE001 - the text of any error may hold bytes
            raise SourceError("the callback of the source raised an exception") from None
        # Exactly bytes: a bytearray may change after the check, a subclass may lie about itself.
        if type(answer) is not bytes:
            raise SourceError("the callback of the source answered something other than bytes")
        if len(answer) != size:
            raise SourceError("the callback of the source answered with a wrong number of bytes")
        pieces.append(answer)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@final
@own
class CallbackSource:
    """Bytes of a function n -> bytes, XOR-ed with those of the operating system.

    The function must return exactly n bytes, as `bytes`.  Any other answer, and any exception, is a
    `SourceError`.  The function sets its own time limit.  The requested sizes depend on public
    parameters only:

    - 16 bytes for the nonce of each call; with `exclusive` only where a ledger keeps it;
    - 4 times 1024 bytes and 16 bytes for tests, after the first request in each process;
    - for each request its own bytes and 16 more, at most 2**20 + 16 at once.  Those 16 are compared
      and never used.

    The function's bytes are tested before the system's are mixed in.  No test can show that they
    are unpredictable: the user asserts that, and with `exclusive` nothing else protects.

    Args:
        function: called with a number of bytes, 1 or more.
        exclusive: True to use the function's bytes alone, without the operating system's.  Refused
            while SAFESELECT_REQUIRE_PRODUCTION is set, unless to "asserted".
        name: goes into results and records; ASCII letters, digits, ".", "_" and "-".
        max_chunk: the most bytes that the function may be asked for at once; no limit by default.
        fork_safe: True if the function also works in a forked child and gives other bytes there
            than in the parent.  By default the source raises in the child.

    Raises:
        ParameterError: an argument has the wrong type or form.
    """

    __slots__ = ("_exclusive", "_guard", "_name")

    production = True
    """True, because the user asserts it of the function."""

    def __init__(
        self,
        function: Callable[[int], bytes],
        *,
        exclusive: bool = False,
        name: str | None = None,
        max_chunk: int | None = None,
        fork_safe: bool = False,
    ) -> None:
        _check_arguments(function, name, max_chunk)
        for label, flag in (("exclusive", exclusive), ("fork_safe", fork_safe)):
            if type(flag) is not bool:
                raise ParameterError(f"{label} must be True or False")
        # The function's own bytes are tested first: mixing would hide a fault.
        device = Guard(
            partial(_ask, function, max_chunk),
            fork_safe=fork_safe,
            worth="asserted",
            unmixed=exclusive,
        )
        self._exclusive = exclusive
        self._guard = device if exclusive else with_system_bytes(device)
        details = [] if name is None else [name]
        details += ["exclusive=True"] if exclusive else []
        self._name = f"CallbackSource({', '.join(details)})"

    @property
    def name(self) -> str:
        """The class's name with the name given and whether the bytes are the function's alone."""
        return self._name

    @property
    def exclusive(self) -> bool:
        """Whether the bytes are the function's alone."""
        return self._exclusive

    @property
    def tested(self) -> bool:
        """Whether the bytes passed the tests in this process."""
        return self._guard.tested

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)


def _check_arguments(function: object, name: object, max_chunk: object) -> None:
    if not callable(function):
        raise ParameterError(
            f"the callback must be a function n -> bytes, got an object of type "
            f"{type(function).__name__}"
        )
    inner: object = function
    while isinstance(inner, partial):
        inner = inner.func
    if predictable_generator(getattr(inner, "__self__", None)):
        raise ParameterError(
            "the callback is a method of a generator for simulations, whose output can be "
            "predicted: use OpenSSLSource() or SystemSource()"
        )
    if name is not None and not (type(name) is str and _NAME.fullmatch(name)):
        raise ParameterError(
            "name must be 1 to 64 ASCII letters, digits, '.', '_' or '-', beginning with a letter "
            "or digit"
        )
    if max_chunk is not None and (type(max_chunk) is not int or max_chunk < 1):
        raise ParameterError("max_chunk must be a positive integer or None")

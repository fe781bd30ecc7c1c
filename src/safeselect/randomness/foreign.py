"""Sources of another package's class, and the system's bytes, which are mixed into theirs.

Such a source is always behind our guard, whatever it claims.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import NamedTuple, final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import Guard, Guarded, Worth, own, wipe, xored

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
            "earlier output or from its seed, so anyone could subtract the noise."
        )
    if isinstance(value, (int, str, bytes, bytearray)):
        return (
            "source cannot be a seed, because anyone who repeats the noise can subtract it. For "
            "tests, use safeselect.testing.DeterministicSource."
        )
    if isinstance(value, type):
        return f"source must be an object, not a class; pass {value.__name__}()."
    if callable(value):
        return f"a {kind} is not a source; wrap a function that returns n bytes in CallbackSource."
    return (
        f"an object of type {kind} is not a source: some of {', '.join(Members._fields)} are "
        "missing or have the wrong type."
    )


class Members(NamedTuple):
    """The members of a source, each read once."""

    name: str
    production: bool
    begin: Callable[[], bytes]
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
        f"{_why_not(value)} Omit source to use the default, or pass OpenSSLSource(), "
        "SystemSource() or, for your own device, CallbackSource(function)."
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
        raise SourceError("the operating system returned no random bytes") from None


def with_system_bytes(device: Guard) -> Guard:
    """A guard around the XOR of a device's bytes and the operating system's."""
    system = Guard(system_bytes, vouched=True, worth="yes")
    return mixed(device, system, health=False)


def _device(members: Members) -> Guard:
    """A guard around what a foreign source gives, in memory that it cannot keep or alter."""

    def draw(count: int) -> bytes:
        scratch = bytearray(count)
        try:
            members.fill(memoryview(scratch))
            return bytes(scratch)
        finally:
            wipe(scratch)

    worth: Worth = "asserted" if members.production else "no"
    return Guard(draw, nonce=lambda _: members.begin(), health=members.production, worth=worth)


@final
@own
class ForeignSource(Guarded):
    """The bytes of a source of another class, XOR-ed with those of the operating system.

    Its own bytes are tested at start-up and at each request, as a callback's are.  A source for
    tests (`production` is False) is neither mixed nor tested, so that its bytes can be repeated.
    It never counts as a source for production.

    Args:
        members: the source's members, as read once.
    """

    __slots__ = ()

    def __init__(self, members: Members) -> None:
        device = _device(members)
        self._guard = with_system_bytes(device) if members.production else device
        self._guard.name = f"ForeignSource({_NO_NAME.sub('_', members.name[:_LONGEST_NAME])})"


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

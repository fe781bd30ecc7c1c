"""Sources of random bytes: the `Source` protocol, the classes that keep it, and their worth."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import final

from safeselect.errors import ParameterError
from safeselect.randomness.foreign import (
    mixed,
    predictable_generator,
    system_bytes,
    with_system_bytes,
)
from safeselect.randomness.guard import NONCE_BYTES, Guard, Guarded, guard_of, own
from safeselect.randomness.source import (
    Observed,
    OpenSSLSource,
    Source,
    default_source,
    guarded,
    observed,
    require_production,
    resolve,
)

__all__ = [
    "NONCE_BYTES",
    "CallbackSource",
    "CombinedSource",
    "Observed",
    "OpenSSLSource",
    "Source",
    "SystemSource",
    "default_source",
    "observed",
    "require_production",
    "resolve",
]


@final
@own
class SystemSource(Guarded):
    """A source of random bytes from `os.urandom`.

    It keeps no state in the process, so forks and threads are safe. A byte takes about 2.6 ns,
    which is slower than `OpenSSLSource` for large requests.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._guard = Guard(system_bytes, vouched=True, worth="yes")


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@final
@own
class CallbackSource(Guarded):
    """A source of random bytes from your function, by default XORed with bytes from the operating
    system.

    The function must return exactly n bytes, as `bytes`. Any other result and any exception become
    a `SourceError`. The function must set its own time limit. The requested sizes depend only on
    public parameters:

    - 16 bytes for the nonce of each call; with `exclusive` only if a ledger stores it;
    - 4 times 1024 bytes and 16 bytes for tests, after the first request in each process;
    - for each request its own bytes and 16 more, at most 2**20 + 16 at once. These 16 are compared
      and never used.

    The function's bytes are tested before the system's bytes are mixed in. No test can show that
    they are unpredictable. You assert this, and with `exclusive` nothing else protects the release.

    Args:
        function: called with a number of bytes, 1 or more.
        exclusive: True to use the function's bytes alone, without the operating system's.  Refused
            while SAFESELECT_REQUIRE_PRODUCTION is set, unless it is "asserted".
        name: name for results and records; ASCII letters, digits, ".", "_" and "-".
        fork_safe: True if the function also works in a forked child and returns other bytes there
            than in the parent. By default the source raises an error in the child.

    Raises:
        ParameterError: an argument has the wrong type or form.
    """

    __slots__ = ()

    def __init__(
        self,
        function: Callable[[int], bytes],
        *,
        exclusive: bool = False,
        name: str | None = None,
        fork_safe: bool = False,
    ) -> None:
        _check_arguments(function, name)
        for label, flag in (("exclusive", exclusive), ("fork_safe", fork_safe)):
            if type(flag) is not bool:
                raise ParameterError(f"{label} must be True or False")
        # The function's own bytes are tested first: mixing would hide a fault.
        device = Guard(function, fork_safe=fork_safe, worth="asserted", unmixed=exclusive)
        self._guard = device if exclusive else with_system_bytes(device)
        details = [] if name is None else [name]
        details += ["exclusive=True"] if exclusive else []
        self._guard.name = f"CallbackSource({', '.join(details)})"


def _check_arguments(function: object, name: object) -> None:
    if not callable(function):
        raise ParameterError(
            f"the callback must be a function that takes n and returns n bytes, got type "
            f"{type(function).__name__}"
        )
    inner: object = function
    while isinstance(inner, partial):
        inner = inner.func
    if predictable_generator(getattr(inner, "__self__", None)):
        raise ParameterError(
            "the callback is a method of a simulation generator, whose output is predictable; use "
            "OpenSSLSource() or SystemSource()"
        )
    if name is not None and not (type(name) is str and _NAME.fullmatch(name)):
        raise ParameterError(
            "name must be a string of 1 to 64 ASCII letters, digits, '.', '_' or '-' that begins "
            "with a letter or digit"
        )


@final
@own
class CombinedSource(Guarded):
    """A source whose bytes are the XOR of the bytes of two other sources.

    Its bytes are uniform if either source is uniform and the two are independent.

    It fails if either source fails. Each source is tested separately at start-up and at every
    request, and so is their XOR. This is mixing, not a construction of SP 800-90C.

    Args:
        first: a source.
        second: another source; not the same object.

    Raises:
        ParameterError: one of them is not a source, or both are the same object.
    """

    __slots__ = ()

    def __init__(self, first: Source, second: Source) -> None:
        first, second = guarded(first), guarded(second)
        if first is second:
            raise ParameterError("a combined source requires two distinct sources")
        both = first.production and second.production
        self._guard = mixed(guard_of(first), guard_of(second), health=both)
        self._guard.name = f"CombinedSource({first.name}, {second.name})"

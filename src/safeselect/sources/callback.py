"""A user's function as a source, for example for a hardware security module, a token, a beacon."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import Guard
from safeselect.randomness.source import own
from safeselect.sources.foreign import predictable_generator, with_system_bytes

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

    - 16 bytes for the nonce of each call;
    - 4 times 1024 bytes and 16 bytes for tests, after the first nonce in each process;
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

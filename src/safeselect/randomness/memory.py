"""Random bytes in memory: never copied, never shared with a forked process, wiped after use.

Only buffers that the library or its caller owns can be wiped.  The `bytes` and `int` objects that
Python makes on the way cannot be wiped.  Every program in Python has this limitation.
"""

from __future__ import annotations

import os
from typing import NoReturn, TypeVar

from safeselect.errors import ParameterError

Generation = tuple[int, int]
"""(number of forks counted, process id)."""

_Kind = TypeVar("_Kind")
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
        f"a {type(self).__name__} cannot be copied or pickled, for the copy would repeat its "
        "random bytes: build a new one where it is needed"
    )


def _refuse_subclass(cls: type) -> NoReturn:
    raise TypeError(
        "the classes of safeselect that touch random bytes cannot be subclassed: write a class "
        "with the four members of the Source protocol, or wrap a function in CallbackSource"
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
            "the buffer to fill must be a bytearray or a memoryview, "
            f"got an object of type {type(buffer).__name__}"
        )
    try:
        view = memoryview(buffer)
    except ValueError:
        raise ParameterError("the buffer to fill is a memoryview that was released") from None
    if view.readonly or not view.c_contiguous or view.format != "B":
        raise ParameterError(
            "the buffer to fill must be writable, C-contiguous and of bytes (format 'B'): "
            f"got readonly={view.readonly}, c_contiguous={view.c_contiguous}, "
            f"format={view.format!r}"
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

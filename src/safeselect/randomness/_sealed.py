"""A class decorator for objects that touch random bytes: no copies, no subclasses, silent repr.

A copy of a source, or of bits not yet used, is the same noise twice, and the difference of two
releases with the same noise is the private number itself.  A subclass could replace `fill` and keep
the name under which records list the source.
"""

from __future__ import annotations

from typing import NoReturn, TypeVar

__all__ = ["sealed"]

_Kind = TypeVar("_Kind")


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


def _silent_repr(self: object) -> str:
    return f"<{type(self).__name__}>"


def sealed(kind: type[_Kind]) -> type[_Kind]:
    """Return the class itself, made impossible to copy, pickle and subclass, with a silent repr."""
    members = {
        "__copy__": _refuse_copy,
        "__deepcopy__": _refuse_copy,
        "__reduce_ex__": _refuse_copy,
        "__repr__": _silent_repr,
        "__init_subclass__": classmethod(_refuse_subclass),
    }
    for name, member in members.items():
        setattr(kind, name, member)
    return kind

"""Which sources are this package's own: by exact type, whatever an object says of itself.

A name, a property or a base class can be borrowed; the type of an object made by a sealed class
cannot.  The mark gives no trust: what an own source is worth follows from its class, see
`_observed`.  Sources for tests carry it so that they are taken as they are.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["is_own", "own"]

_Kind = TypeVar("_Kind")

_OWN: set[type] = set()


def own(kind: type[_Kind]) -> type[_Kind]:
    """Mark a sealed class as one of this package's sources."""
    _OWN.add(kind)
    return kind


def is_own(value: object) -> bool:
    """Whether the object is exactly of such a class; its `__class__` is not asked."""
    return type(value) in _OWN

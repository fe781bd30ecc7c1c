"""Which objects are taken for a source, and what people are told about the others."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from safeselect.errors import ParameterError

__all__ = ["Members", "members_of", "predictable_generator"]

_MEMBERS = ("name", "production", "begin", "fill")
_INSTEAD = (
    "Leave source out for the default, or pass OpenSSLSource(), SystemSource() or, for a device of "
    "your own, CallbackSource(function)."
)


def predictable_generator(value: object) -> bool:
    """Whether this is one of the generators for simulations of Python or NumPy."""
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
            "earlier output or from its seed, and whoever predicts the noise can subtract it."
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
        f"{', '.join(_MEMBERS)}, or they have the wrong types."
    )


class Members(NamedTuple):
    """What an object said of itself when it was asked, once."""

    name: str
    production: bool
    begin: Callable[[], object]
    fill: Callable[[memoryview], object]


def members_of(value: object) -> Members:
    """Return the four members of the Source protocol, each read once: a second answer may differ.

    Raises:
        ParameterError: it does not keep the form of the protocol; the message says what to pass
            instead.
    """
    if not isinstance(value, type):
        try:
            name, production, begin, fill = (getattr(value, member) for member in _MEMBERS)
        except Exception:  # noqa: BLE001, S110 - a property may raise anything, and quote anything
            pass
        else:
            right = type(name) is str and type(production) is bool
            if right and callable(begin) and callable(fill):
                return Members(name, production, begin, fill)
    raise ParameterError(f"{_why_not(value)} {_INSTEAD}")

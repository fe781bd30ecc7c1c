"""Which objects are taken for a source, and what people are told about the others."""

from __future__ import annotations

from types import ModuleType
from typing import cast

from safeselect.errors import ParameterError
from safeselect.sources._protocol import Source

__all__ = ["as_source", "predictable_generator"]

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


def as_source(value: object) -> Source:
    """Return the value if it keeps the form of the Source protocol.

    Raises:
        ParameterError: it does not; the message says what to pass instead.
    """
    if not isinstance(value, type) and all(hasattr(value, member) for member in _MEMBERS):
        source = cast(Source, value)
        if (
            type(source.name) is str
            and type(source.production) is bool
            and callable(source.begin)
            and callable(source.fill)
        ):
            return source
    raise ParameterError(f"{_why_not(value)} {_INSTEAD}")

"""The results of calls: frozen, without any score, noise value or count of random bits.

A result holds what was released.  `safeselect.presentation` shows it and writes it as JSON; no
release depends on that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from safeselect.randomness.source import Source

_PRESENTERS: list[Callable[..., Any]] = []
present_with = _PRESENTERS.append  # (name, result, ...) -> what the method of that name returns


def presented(name: str, purpose: str, *more: str) -> Callable[..., Any]:
    """A method that `safeselect.presentation` carries out on a result that was released."""

    def method(self: Any) -> Any:
        return _PRESENTERS[0](name, self, *more)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = purpose
    return method


def views(row: str = "candidate") -> tuple[Callable[..., Any], ...]:
    """`to_dict`, `to_pandas`, `to_polars` and `plot` of a result with a row for each of these."""
    return (
        presented("to_dict", "Columns as a dict of lists: what `to_pandas` shows."),
        presented("to_pandas", f"A pandas DataFrame with a row for each {row}."),
        presented("to_polars", f"A polars DataFrame with a row for each {row}."),
        presented("plot", "A matplotlib figure of the result; needs safeselect[plots]."),
    )


def texts(schema: str) -> tuple[Callable[[Any], str], Callable[[Any], str]]:
    """`__repr__` and `to_json` of a result that is written in this schema."""
    purpose = f"""One line of JSON, schema "{schema}"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
    return presented("short_text", "One line."), presented("to_json", purpose, schema)


rate: Callable[[Any], Fraction | None] = presented(
    "noise_rate", "The rate of the noise per score unit, 1 / scale; None where `base` is given."
)


def source_name(source: Source) -> str:
    """The source's name in results; it states clearly where the bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"

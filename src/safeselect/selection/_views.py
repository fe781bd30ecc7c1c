"""What results offer beside their fields: a short text, frames and plots, the rate of the noise.

Nothing here decides a release: it reads what was released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from itertools import islice
from typing import Any

from safeselect.promises.guarantees import Guarantee
from safeselect.scores.candidates import label_text

__all__ = ["by_adapter", "rate", "short_text", "views"]

_SHOWN = 10  # labels
_LONGEST = 40  # characters of a label


def by_adapter(name: str, purpose: str) -> Callable[..., Any]:
    """A method that `safeselect.adapters.results` carries out; imported when it is called."""

    def method(self: Any) -> Any:
        return getattr(import_module("safeselect.adapters.results"), name)(self)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = purpose
    return method


def views(row: str = "candidate") -> tuple[Callable[..., Any], ...]:
    """`to_dict`, `to_pandas`, `to_polars` and `plot` of a result with a row for each of these."""
    return (
        by_adapter("to_dict", "Columns as a dict of lists: what `to_pandas` shows."),
        by_adapter("to_pandas", f"A pandas DataFrame with a row for each {row}."),
        by_adapter("to_polars", f"A polars DataFrame with a row for each {row}."),
        by_adapter("plot", "A matplotlib figure of the result; needs safeselect[plots]."),
    )


def short_text(result: Any, labels: Iterable[object], count: int) -> str:
    """A result in one line: the first labels, what it cost, the mechanism, and a receipt.

    Labels are text in quotes, without control characters, and cut where they are long.
    """
    shown = [_cut(label) for label in islice(labels, _SHOWN)]
    shown += [f"... {count - _SHOWN} more"] * (count > _SHOWN)
    guarantee = result.guarantee
    numbers = (f"{each.name}={getattr(guarantee, each.name)}" for each in fields(guarantee))
    cost = f"{type(guarantee).__name__}({', '.join(numbers)})"
    kept = "" if result.receipt is None else f", record {result.receipt.record}"
    source = "" if "NOT PRIVATE" not in result.source else f", {result.source}"
    listed = ", ".join(shown)
    return f"<{type(result).__name__} [{listed}], {cost}, {result.mechanism}{source}{kept}>"


def rate(result: Any, each: Guarantee, wide: int = 1) -> Fraction | None:
    """The rate of the noise per score unit, of draws that cost `each`, `wide` times as wide.

    None where the weights have another base than e, so that the rate is no rational number.
    """
    if getattr(result, "base", None) is not None or result.effective_range is None:
        return None
    # Every draw is LaplaceDominated or BoundedRange; both have an epsilon.
    epsilon, effective = Fraction(getattr(each, "epsilon", 0)), Fraction(result.effective_range)
    return epsilon / (wide * effective)


def _cut(label: object) -> str:
    written = label_text(label)
    text = written if isinstance(label, int) else ascii(written)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

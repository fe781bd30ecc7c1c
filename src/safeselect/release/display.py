"""Releases for readers: one line for people, and frames of pandas and polars.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.scores.candidates import label_text

_SHOWN = 10  # labels
_LONGEST = 40  # characters of a label


def line(release: Any) -> str:
    """A release in one line: the first labels, what it cost, the mechanism, and a receipt.

    Labels are text in quotes, without control characters, and cut where they are long.
    """
    columns = release.to_dict()
    named = [columns[name] for name in ("value", "label") if name in columns]
    labels = getattr(release, "groups", None) or [*named, *columns.values()][0]
    shown = ", ".join(map(cut, labels[:_SHOWN]))
    shown += f", ... {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    guarantee, source = release.guarantee, release.source
    numbers = (f"{each.name}={getattr(guarantee, each.name)}" for each in fields(guarantee))
    cost = f"{type(guarantee).__name__}({', '.join(numbers)})"
    marked = f", {source}" if "NOT PRIVATE" in source else ""
    kept = "" if release.receipt is None else f", record {release.receipt.record}"
    return f"<{type(release).__name__} [{shown}], {cost}, {release.mechanism}{marked}{kept}>"


def cut(label: object) -> str:
    """A label as text in quotes, without control characters, and cut where it is long."""
    written = label_text(label)
    text = written if isinstance(label, int) else ascii(written)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def frame(name: str, columns: dict[str, list[Any]]) -> Any:
    """Columns as a frame of a library.

    Labels are all text, unless all are small integers, and so are other integers; fractions are
    floats.

    Raises:
        ParameterError: the library is not installed.
    """
    for column, cells in columns.items():
        small = all(type(each) is not int or each.bit_length() < 64 for each in cells)
        if not small or (column == "label" and any(type(each) is not int for each in cells)):
            columns[column] = [label_text(each) for each in cells]
        elif any(isinstance(each, Fraction) for each in cells):
            columns[column] = [float(each) for each in cells]
    return library(name, f"pip install {name}").DataFrame(columns)


def library(name: str, install: str) -> Any:
    """Import a library, or say how it is installed.

    Raises:
        ParameterError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        pass
    raise ParameterError(f"this needs {name}: {install}")

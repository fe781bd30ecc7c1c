"""Releases for readers: one line for people, and frames of pandas and polars.

What goes in was released, so everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.errors import ParameterError
from safeselect.release.page import Section, as_part, cost, number
from safeselect.scores.candidates import label_text

_SHOWN = 10  # labels
_ROWS = 200
_DIGITS = 20  # of an exact parameter
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
    numbers = (_parameter(each.name, getattr(guarantee, each.name)) for each in fields(guarantee))
    cost = f"{type(guarantee).__name__}({', '.join(numbers)})"
    marked = f", {source}" if "NOT PRIVATE" in source else ""
    kept = "" if release.receipt is None else f", record {release.receipt.record}"
    return f"<{type(release).__name__} [{shown}], {cost}, {release.mechanism}{marked}{kept}>"


def _parameter(name: str, value: object) -> str:
    """A parameter of a guarantee: exact where that is short, otherwise rounded up."""
    if isinstance(value, Fraction) and len(str(value)) > _DIGITS:
        return f"{name}<={number(value, ROUND_CEILING, 3)}"
    return f"{name}={value}"


def html(release: Any) -> str:
    """A release as a table for notebooks."""
    first, size = rows(release, _ROWS), max(map(len, release.to_dict().values()))
    left_out = f"the first {_ROWS} of {size}" if size > _ROWS else ""
    said = {"cost": cost(release.guarantee), **facts(release)}
    return as_part(Section(title(release), said, {left_out: first})).text


def rows(release: Any, most: int | None = None) -> list[tuple[str, ...]]:
    """The names of its columns, and its rows for people; bounds and costs rounded outwards."""
    columns = release.to_dict()
    if "cost" in columns:
        columns["cost"] = [*release.costs]  # floats may be less
    outwards = {"low": ROUND_FLOOR, "high": ROUND_CEILING, "cost": ROUND_CEILING}
    cells = [
        [_cell(each, outwards.get(name, ROUND_HALF_EVEN)) for each in column[:most]]
        for name, column in columns.items()
    ]
    return [(*columns,), *zip(*cells, strict=True)]


def title(release: Any) -> str:
    """What a release is, in words."""
    best = "the best" if getattr(release, "ordered", True) else "the best, without an order"
    return {
        "Selection": "the chosen candidate",
        "TopK": best,
        "Groups": "the best of each group",
        "Batch": "the best of each row",
        "Numbers": "the released numbers",
        "Answers": "the answers above the threshold",
    }[type(release).__name__]


def facts(release: Any) -> dict[str, str]:
    """What else a reader asks first: the mechanism, what is not private, the record."""
    found = {"mechanism": release.mechanism.rpartition("/")[0].replace("_", " ")}
    if "NOT PRIVATE" in release.source:
        found["source"] = release.source
    if release.receipt is not None:
        found["record"] = f"record {release.receipt.record}"
    groups = getattr(release, "groups", ())
    if empty := [cut(each) for each in groups if not release[each]][:_SHOWN]:
        found["empty"] = f"nothing was found in {', '.join(empty)}"
    return found


def _cell(value: object, rounding: str) -> str:
    if isinstance(value, (float, Decimal, Fraction)):
        with suppress(ValueError, OverflowError):  # not finite
            return number(Fraction(value), rounding)
    return _cut_text(label_text(value))


def cut(label: object, quoted: Callable[[str], str] = ascii) -> str:
    """A label as text in quotes, without control characters, and cut where it is long."""
    written = label_text(label)
    return _cut_text(written if isinstance(label, int) else quoted(written))


def _cut_text(text: str) -> str:
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
    raise ParameterError(f"this needs {name.partition('.')[0]}: {install}")

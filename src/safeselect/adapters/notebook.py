"""A release as a table for notebooks, and what tables and plots say of it: its title, its facts."""

from __future__ import annotations

from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

from safeselect.promises.guarantees import STATED
from safeselect.release.display import cost, cut, cut_text, number
from safeselect.release.page import Section, as_part
from safeselect.scores.candidates import label_text

_ROWS = 200
_SHOWN = 10  # groups in which nothing was found


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
        "Answers": "the answers of a session or strategy",
    }[type(release).__name__]


def facts(release: Any) -> dict[str, str]:
    """What else a reader asks first: the mechanism, what is not private, the record."""
    found = {"mechanism": release.mechanism.rpartition("/")[0].replace("_", " ")}
    if release.mechanism.startswith(STATED):
        found["guarantee"] = "stated by the caller"
    if "NOT PRIVATE" in release.source:
        found["source"] = release.source
    if release.receipt is not None:
        found["record"] = f"record {release.receipt.record}"
    groups = getattr(release, "groups", ())
    if empty := [cut(each) for each in groups if not release[each]][:_SHOWN]:
        found["empty"] = f"nothing was found in {', '.join(empty)}"
    return found


def _cell(value: object, rounding: str) -> str:
    is_far = isinstance(value, Decimal) and abs(value.adjusted()) > 400  # its ratio takes long
    if isinstance(value, (float, Decimal, Fraction)) and not is_far:
        with suppress(ValueError, OverflowError):  # not finite
            return number(Fraction(value), rounding)
    return cut_text(label_text(value))

"""From JSON to quantiles and to chosen runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from safeselect.mechanisms.quantiles import Quantiles
from safeselect.mechanisms.runs import ChosenRun
from safeselect.releases._fields import Fields, every_guarantee, exact, refuse, text
from safeselect.releases._parts import draws, labelled, listed, read_common, read_exacts

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,999})(\.[0-9]{1,999})?(E[+-][1-9][0-9]{0,4})?", re.ASCII)
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def _integer(written: str) -> int:
    number = exact(written, "values")
    if number.denominator != 1:
        raise ValueError
    return int(number)


def _decimal(written: str) -> Decimal:
    if _DECIMAL.fullmatch(written) is None:
        raise ValueError
    return Decimal(written)


def _date(written: str) -> date:
    if _DATE.fullmatch(written) is None:
        raise ValueError
    return date.fromisoformat(written)


_POINTS: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "fraction": lambda written: exact(written, "values"),
    "decimal": _decimal,
    "date": _date,
}


def quantiles(fields: Fields) -> Quantiles:
    """Read points of a grid."""
    written = [text(each, "values") for each in fields.take("values", listed)]
    kinds = fields.take("value_kinds", lambda value, _: value)
    each = kinds if isinstance(kinds, list) else [kinds] * len(written)
    asked = fields.take("quantiles", read_exacts)
    if not len(each) == len(asked) == len(written) > 0 or not set(map(str, each)) <= {*_POINTS}:
        refuse("there is not a point, and what it was, for each quantile")
    try:
        points = tuple(_POINTS[kind](value) for kind, value in zip(each, written, strict=True))
    except ValueError:
        refuse("'values' has a point that is not of its kind")
    return Quantiles(
        values=points,
        quantiles=asked,
        parts=draws(fields.object("parts"), len(asked).bit_length()),
        **read_common(fields),
    )


def chosen_run(fields: Fields) -> ChosenRun[Any]:
    """Read one of many runs, or that there is none."""
    found = fields.take("found", text) == "yes"
    score = _given(fields, "score") if found else None
    if isinstance(score, str):
        refuse("'score' is a text, and no run may return one")
    return ChosenRun(
        found=found,
        output=_given(fields, "output") if found else None,
        score=score,
        **read_common(fields, every_guarantee),
    )


def _given(fields: Fields, name: str) -> Any:
    """What a run returned, if it was a text or an integer; of others the text."""
    kind = fields.take(f"{name}_kind", text)
    return labelled([fields.take(name, text)], kind)[0]

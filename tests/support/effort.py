"""How much the tests do: enough to notice what they name, or all of it with SAFESELECT_LONG=1."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

LONG = os.environ.get("SAFESELECT_LONG", "") not in ("", "0")
"""Whether all is asked for: `make nightly`."""


def some(cases: Iterable[Case], step: int) -> list[Case]:
    """Every so many of the cases, from the first on; or all."""
    return list(cases)[:: 1 if LONG else step]


def pairs(*axes: Iterable[object]) -> list[tuple[object, ...]]:
    """Rows in which each value of an axis meets each value of every other; or the whole product."""
    rows = list(itertools.product(*axes))
    if LONG or len(axes) < 3:
        return rows
    places = [*itertools.combinations(range(len(axes)), 2)]

    def met(row: tuple[object, ...]) -> set[tuple[int, int, str, str]]:
        return {(one, two, repr(row[one]), repr(row[two])) for one, two in places}

    left, found = set().union(*map(met, rows)), []
    while left:
        found.append(max(rows, key=lambda row: len(met(row) & left)))
        left -= met(found[-1])
    return found

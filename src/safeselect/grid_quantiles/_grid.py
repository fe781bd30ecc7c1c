"""The public grid, and how values come to lie on it: clamped, then rounded down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import describe, rational

__all__ = ["Grid", "Later", "reader"]

_MOST_BITS = 256
_WRONG = (
    "values must be numbers where the ends of the grid are numbers, or dates where they are dates; "
    "none may be missing or NaN"
)


@dataclass(frozen=True, slots=True)
class Grid:
    """The points lowest, lowest + step, ..., all public.

    Attributes:
        lowest: the first point; of dates, its ordinal.
        step: the distance of neighbours; of dates, in days.
        points: how many points there are.
        kind: what a point is: int, Fraction, Decimal or date.
    """

    lowest: Fraction
    step: Fraction
    points: int
    kind: type

    @classmethod
    def read(cls, lowest: Any, highest: Any, step: Any) -> Grid:
        """Read the two ends and the step.

        Raises:
            ParameterError: they are no numbers, or no dates; the grid is empty or too long; or ends
                that are no integers have no step.
        """
        if isinstance(lowest, date) or isinstance(highest, date):
            ends = [_ordinal(lowest, "lowest"), _ordinal(highest, "highest")]
            kind: type = date
        else:
            both = (lowest, "lowest"), (highest, "highest")
            ends = [rational(end, name, signed=True) for end, name in both]
            kind = Decimal if isinstance(lowest, Decimal) else Fraction
            if all(isinstance(end, (int, np.integer)) for end, _ in both):
                kind = int
        if step is None and kind not in (int, date):
            raise ParameterError(
                "step must be given where the ends of the grid are no integers; write for example "
                "step='0.01'"
            )
        width = Fraction(1) if step is None else rational(step, "step")
        if kind in (int, date) and width.denominator != 1:
            if kind is date:
                raise ParameterError("step must be a whole number of days")
            kind = Fraction
        points = (ends[1] - ends[0]) // width + 1
        if points < 1 or points.bit_length() > _MOST_BITS:
            raise ParameterError(
                f"highest must not be below lowest, and a grid has at most 2**{_MOST_BITS} points"
            )
        return cls(ends[0], width, points, kind)

    def cells(self, values: list[Any]) -> list[int]:
        """The point of each value: the last one that is not above it, or the first; sorted.

        Raises:
            ScoreError: a value is missing, or of another kind; it is not quoted.
        """
        known: dict[Any, int | None] = {}
        found: list[int] = []
        for value in values:
            try:
                key = type(value), value
                if key not in known:
                    known[key] = self._cell(value)
                place = known[key]
            except Exception:  # noqa: BLE001 - whatever a value's class raises
                place = None
            if place is None:
                break
            found.append(place)
        if len(found) < len(values):
            raise ScoreError(_WRONG)
        return sorted(found)

    def _cell(self, value: Any) -> int | None:
        if self.kind is date:
            if not isinstance(value, date):
                return None
            exact = Fraction(value.toordinal())
        elif isinstance(value, (str, date)):
            return None
        else:
            ends = {"inf": self.points - 1, "infinity": self.points - 1, "-inf": 0, "-infinity": 0}
            if not isinstance(value, (int, Fraction)) and (text := str(value).lower()) in ends:
                return ends[text]
            is_int = isinstance(value, int) and not isinstance(value, bool)
            exact = Fraction(value) if is_int else rational(value, "value", signed=True)
        return int(min(max((exact - self.lowest) // self.step, 0), self.points - 1))

    def point(self, place: int) -> Any:
        """The point at a place, as the ends were given."""
        exact = self.lowest + place * self.step
        if self.kind is date:
            return date.fromordinal(int(exact))
        if self.kind is Decimal:
            return _decimal(exact)
        return int(exact) if self.kind is int else exact

    def as_record(self) -> dict[str, str]:
        """As text, for a ledger."""
        ends = [str(self.point(place)) for place in (0, self.points - 1)]
        return {"lowest": ends[0], "highest": ends[1], "step": str(self.step)}


def _ordinal(value: object, name: str) -> Fraction:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ParameterError(
            f"{name} must be a date like the other end, got {describe(value)}; for times write "
            "numbers, such as seconds"
        )
    return Fraction(value.toordinal())


def _decimal(exact: Fraction) -> Any:
    """The decimal that is equal; a Fraction where there is none."""
    twos, rest = 0, exact.denominator
    while rest % 10 == 0 or rest % 2 == 0 or rest % 5 == 0:
        rest = rest // 10 if rest % 10 == 0 else rest // 2 if rest % 2 == 0 else rest // 5
        twos += 1
    if rest != 1:
        return exact
    digits = exact * 10**twos
    return Decimal(f"{digits.numerator}E-{twos}") if twos else Decimal(digits.numerator)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Later:
    """Values that are read once they are paid for, and whose they are, where that is said."""

    read: Callable[[], list[Any]]
    unit: str | None


def reader(values: object) -> Later:
    """How to read values: at once if they are there, or when they are paid for.

    Raises:
        ScoreError: they are no list.
    """
    if isinstance(values, Later):
        return values
    column = _listed(values)
    return Later(lambda: column, None)


def _listed(values: object) -> list[Any]:
    """The values of a list, an array or a column, not looked at.

    Raises:
        ScoreError: it is none.
    """
    if isinstance(values, (str, bytes, Set, Mapping)) or not isinstance(values, Iterable):
        raise ScoreError(
            f"values must be a list, an array or a column, got {type(values).__name__}; write one "
            "value for each unit of privacy"
        )
    if getattr(values, "ndim", 1) != 1:
        raise ScoreError("values must have one dimension")
    column: Any = values
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        column = column.astype("datetime64[D]")
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)

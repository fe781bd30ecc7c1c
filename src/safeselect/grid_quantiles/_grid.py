"""The public grid, and how values come to lie on it: clamped, then rounded down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.columns import hushed
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import describe, rational
from safeselect.exact.plain import FLOATS
from safeselect.promises.records import exact_text
from safeselect.reals import Place, place_of

_MOST_BITS = 256
_WRONG = (
    "values must be numbers where the ends of the grid are numbers, or dates where they are dates; "
    "none may be missing or NaN"
)
_KEPT = frozenset((int, Decimal, date, *FLOATS))  # classes of values that are looked at once


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
            ParameterError: they are no numbers, or no dates; the grid is empty or too long; or
                there is no step.
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
        if step is None:
            raise ParameterError(
                f"step must be given, the distance of the points of the grid: write for example "
                f"{_proposed(ends[1] - ends[0], kind)}"
            )
        width = rational(step, "step")
        if kind in (int, date) and width.denominator != 1:
            if kind is date:
                raise ParameterError("step must be a whole number of days")
            kind = Fraction
        points = (ends[1] - ends[0]) // width + 1
        if not 1 <= points <= 1 << _MOST_BITS:
            raise ParameterError(
                f"highest must not be below lowest, and a grid has at most 2**{_MOST_BITS} points"
            )
        return cls(ends[0], width, points, kind)

    def cells(self, values: Iterable[Any]) -> list[int]:
        """The point of each value: the last one that is not above it, or the first; sorted.

        Raises:
            ScoreError: a value is missing, or of another kind; it is not quoted.
        """
        known: dict[Any, int] = {}
        found: list[int] = []
        is_read = False
        with hushed():  # a value's class may raise anything, and quote the value
            for value in values:
                kind = type(value)
                if kind not in _KEPT:  # only these are compared: a class may compare as it likes
                    found.append(self._cell(value))
                    continue
                place = known.get((kind, value))
                if place is None:
                    place = known[kind, value] = self._cell(value)
                found.append(place)
            is_read = True
        if not is_read:
            raise ScoreError(_WRONG)
        return sorted(found)

    def _cell(self, value: Any) -> int:
        side, exact = _day_of(value) if self.kind is date else place_of(value)
        if side == 0:
            raise ScoreError(_WRONG)
        if side != 2:
            return 0 if side == 1 else self.points - 1
        (above, below), (p, q) = exact.as_integer_ratio(), self.lowest.as_integer_ratio()
        step, part = self.step.as_integer_ratio()
        place = (above * q - p * below) * part // (below * q * step)
        return min(max(place, 0), self.points - 1)

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


def _proposed(width: Fraction, kind: type) -> str:
    """A thousandth of the distance of the ends as a step, in words; of dates, whole days."""
    if kind is date:
        return f"step={max(width // 1000, 1)}, in days"
    return f"step='{exact_text(width / 1000 if width > 0 else Fraction(1))}', a thousandth of it"


def _ordinal(value: object, name: str) -> Fraction:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ParameterError(
            f"{name} must be a date like the other end, got {describe(value)}; for times write "
            "numbers, such as seconds"
        )
    return Fraction(value.toordinal())


def _day_of(value: Any) -> Place:
    """The ordinal of a date, of its own time zone if it has a time, as `place_of` says it.

    Raises:
        ScoreError: it is none, or lies outside the years 1 to 9999.
    """
    day = value
    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]").item()
    homes = {str(each.__module__).partition(".")[0] for each in type(day).__mro__}
    # pandas' missing time, and its times beyond the year 9999, are datetimes of other years.
    if not issubclass(type(day), date) or ("pandas" in homes and not 1 <= day.year <= 9999):
        raise ScoreError(_WRONG)
    return 2, Fraction(date.toordinal(day))


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

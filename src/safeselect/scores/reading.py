"""The arguments about scores: how the call reads them, and how far one unit moves them.

Everything here follows from `grid`, `on_grid`, `score_error`, `sensitivity`, `range_` and
`monotonic`, and nothing from a score or its type.  One rule makes scores whole steps of the grid:
the nearest multiple, halves up.  Proofs: `docs/mathematics.md`, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, cast

import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, exact_text, rational

GridScores = npt.NDArray[np.uint64]
"""Scores in steps of a grid: larger is better, and only differences matter."""

REACH, LIMIT = 2**64, 2**32
"""So many steps are told apart; a grid below the limit is read by words of so many bits."""

NOT_FINITE = (
    "scores must be finite numbers, not NaN or infinity; replace such values before you add up "
    "records"
)

_ONE = Fraction(1)
_EXAMPLE = "for counts of people use sensitivity=1, monotonic=True"


def flag(value: object, name: str) -> bool:
    """Read a parameter that is True or False.

    Raises:
        ParameterError: it is neither.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {describe(value)}")
    return bool(value)


def exactly_one(given: Mapping[str, object], example: str) -> None:
    """Refuse all but exactly one of several alternative parameters; for none, show the example."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " and ".join(given) if len(given) == 2 else ", ".join(given)
        got = f"{' and '.join(named)}: keep one" if named else f"none: {example}"
        raise ParameterError(f"pass exactly one of {names}; got {got}")


def nearest(above: int, below: int, p: int, q: int) -> int:
    """The number of the nearest step of above / below on the grid p / q, halves up."""
    return (2 * above * q + p * below) // (2 * p * below)


@dataclass(frozen=True, slots=True)
class Reading:
    """How numbers become whole steps of a public grid.

    Attributes:
        grid: the step as given; None if all scores are integers.
        on_grid: the true scores are multiples of the grid, and the numbers handed over lie less
            than half a step from them.
        error: how far a number handed over may lie from the score with the declared sensitivity,
            in score units; 0 for integers and on the grid.
        example: the grid that a message proposes for real scores where none is given.
    """

    grid: Fraction | None
    on_grid: bool
    error: Fraction
    example: Fraction = Fraction(1, 1000)

    @classmethod
    def read(cls, *, grid: object, on_grid: object, score_error: object) -> Reading:
        """Read and check the arguments of this name.

        Raises:
            ParameterError: on_grid or score_error without grid, both of them, or a wrong value.
        """
        is_on_grid = flag(on_grid, "on_grid")
        if grid is None:
            if is_on_grid or score_error is not None:
                given = "on_grid=True" if is_on_grid else "score_error"
                raise ParameterError(f"{given} requires grid=, the public step of the scores")
            return INTEGERS
        step = rational(grid, "grid")
        if score_error is None:
            return cls(step, is_on_grid, Fraction(0) if is_on_grid else step / 2)
        if is_on_grid:
            raise ParameterError(
                "pass on_grid=True or score_error, but not both: with on_grid, the nearest "
                "multiple of grid is the true score"
            )
        return cls(step, False, rational(score_error, "score_error", zero=True))

    @property
    def step(self) -> Fraction:
        """The size of one step in score units."""
        return _ONE if self.grid is None else self.grid

    def nearest(self, number: Fraction) -> int:
        """The step nearest to a public number, halves up."""
        return nearest(*number.as_integer_ratio(), *self.step.as_integer_ratio())

    def moves(self, sensitivity: Fraction, *, monotonic: bool) -> tuple[Fraction, Fraction]:
        """How many steps a score may move between neighbours: in one direction, in the other.

        For the two results a and b, every score moves within [-b, a], or every score within
        [-a, b].  A true score moves by at most `sensitivity`, and the number handed over by
        2 * error more.  Rounding stretches a move to the next whole step.
        """
        most = self._in_steps(sensitivity, 2 * self.error)
        back = Fraction(-(-2 * self.error // self.step))  # 0 for integers and on the grid
        return most, back if monotonic else most

    def range_of(self, range_: Fraction) -> Fraction:
        """The largest difference between the moves of two scores, in steps."""
        spread = self._in_steps(range_, 4 * self.error)
        # Rounding drops or adds two fractions of a step; their difference adds less than two steps.
        return spread if self.grid is None or self.on_grid else spread + 1

    @property
    def as_record(self) -> dict[str, str]:
        """As parameters for records."""
        if self.grid is None:
            return {"grid": "none"}
        if self.on_grid:
            return {"grid": exact_text(self.grid), "on_grid": "yes"}
        errors = {"on_grid": "no", "score_error": exact_text(self.error)}
        return {"grid": exact_text(self.grid), **errors}

    def _in_steps(self, size: Fraction, more: Fraction) -> Fraction:
        """The steps that a number crosses if it moves by `size`, and by `more` through errors.

        Rounded up, also on the grid: a size or a step may be a float, which stands for a decimal.
        """
        return size if self.grid is None else Fraction(-(-(size + more) // self.grid))


INTEGERS = Reading(None, False, Fraction(0))
"""Scores without a grid."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit of privacy, a person say, may move the scores.

    Either `sensitivity`, the largest change of any one score, or `range_`, the largest difference
    between the changes of two scores.
    """

    sensitivity: Fraction | None
    range_: Fraction | None
    monotonic: bool

    @classmethod
    def read(cls, *, sensitivity: object, range_: object, monotonic: object) -> Self:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of the two, monotonic with range_, or a wrong value.
        """
        exactly_one({"sensitivity": sensitivity, "range_": range_}, _EXAMPLE)
        one_way = flag(monotonic, "monotonic")
        if one_way and range_ is not None:
            raise ParameterError("omit monotonic=True: range_= already covers monotonic scores")
        return cls(
            None if sensitivity is None else rational(sensitivity, "sensitivity"),
            None if range_ is None else rational(range_, "range_"),
            one_way,
        )

    @property
    def size(self) -> Fraction:
        """The declared sensitivity or range, in score units."""
        return cast(Fraction, self.range_ if self.sensitivity is None else self.sensitivity)

    def range_in_steps(self, reading: Reading) -> Fraction:
        """The range of the change of the scores as read; the noise is calibrated to it."""
        if self.sensitivity is None:
            return reading.range_of(self.size)
        return sum(reading.moves(self.sensitivity, monotonic=self.monotonic), Fraction(0))

    @property
    def as_record(self) -> dict[str, str]:
        """As parameters for records: the declared size."""
        name = "range" if self.sensitivity is None else "sensitivity"
        return {name: exact_text(self.size), "monotonic": "yes" if self.monotonic else "no"}

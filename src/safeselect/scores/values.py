"""Numbers that count by themselves, not by their differences: those of sessions and of tests."""

from __future__ import annotations

from safeselect.errors import ScoreError
from safeselect.scores.candidates import NOT_WHOLE
from safeselect.scores.containers import Column
from safeselect.scores.numbers import NotWholeError, nearest_steps
from safeselect.scores.reading import Reading

__all__ = ["read_values"]


def read_values(values: Column, reading: Reading, proposed: str) -> list[int]:
    """Read the nearest step of each number.

    Args:
        values: the numbers, in whatever container.
        reading: how they become steps.
        proposed: the grid that a message proposes; it follows from parameters.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    numbers = values.numbers()
    try:
        return nearest_steps(numbers, reading)
    except NotWholeError:
        raise ScoreError(NOT_WHOLE.format(proposed)) from None

"""Numbers of sessions and tests: each counts by itself, not by its difference from others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from safeselect.scores.containers import Column
from safeselect.scores.numbers import nearest_steps
from safeselect.scores.reading import Reading


def read_values(values: Column, reading: Reading, size: Fraction) -> list[int]:
    """Read the nearest step of each number.

    Args:
        values: the numbers, in any container.
        reading: how they become steps.
        size: how far values were declared to move; a message derives its example grid from it.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    with np.errstate(all="ignore"):  # a warning would tell of a value
        return nearest_steps(values.numbers(), reading, size)

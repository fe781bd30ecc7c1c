"""A test of whether a score function keeps the sensitivity that its user declares.

The guarantee of every mechanism rests on that number, and the library cannot verify it.  Trying
made-up neighbouring data sets finds most mistakes.  For example, a sum of floats can change with
the order of its summands by much more than any one summand.  The test compares what a mechanism
would see: the scores as steps of the grid, and the range to which it would calibrate its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number
from safeselect.scores.candidates import hand_over, read_values
from safeselect.scores.reading import Reading, Sensitivity

_Data = TypeVar("_Data")
_Name = TypeVar("_Name")
_Scores = Mapping[object, object] | Sequence[object]


class SensitivityExceeded(AssertionError):
    """The scores of two neighbouring data sets differ by more than declared.

    Attributes:
        pair: position of the pair, from 0.
        rule: "sensitivity", "range", "monotonic" or "candidates".
        candidate: position of the candidate that shows it (the first one of two for "range" and
            "monotonic"), or None for "candidates".
        observed: the exact change of the scores as they were read, in score units, or None for
            "candidates"; for "range" and "monotonic" it is the largest change minus the smallest.
    """

    def __init__(
        self, pair: int, rule: str, candidate: int | None, observed: Fraction | None
    ) -> None:
        what = {
            "sensitivity": f"the score of candidate {candidate} changes by {observed}",
            "range": f"the changes of the scores spread over {observed}",
            "monotonic": "some scores rise while others fall",
            "candidates": "the two data sets have different candidates",
        }[rule]
        super().__init__(f"pair {pair} exceeds the declared {rule}: {what}")
        self.pair = pair
        self.rule = rule
        self.candidate = candidate
        self.observed = observed


def check_sensitivity(
    score_function: Callable[[_Data], _Scores],
    neighbours: Iterable[tuple[_Data, _Data]],
    *,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
) -> int:
    """Check that the scores of neighbouring data sets differ by no more than declared.

    Return the number of checked pairs.

    A successful check proves nothing: it only shows that these pairs are not counterexamples. Use
    synthetic data, because the exception quotes differences of scores.

    Exactness: scores are converted to integer steps, as in the mechanisms. The steps are compared
        with the range for which a mechanism with the same arguments calibrates its noise.

    Args:
        score_function: data set -> scores of all candidates, a sequence, an array or a mapping.
        neighbours: pairs of neighbouring data sets. Also try other orders, if the order is not part
            of the data.
        sensitivity: largest declared change of any one score, in score units.
        range_: largest declared difference between the changes of two candidates.
        monotonic: whether within a pair all scores move in one direction.
        grid, on_grid, score_error: as for the mechanism; without a grid scores must be integers.

    Returns:
        The number of pairs, at least 1.

    Raises:
        SensitivityExceeded: a pair breaks a declaration; the first one found.
        ParameterError: an argument is wrong, or there are no pairs.
        ScoreError: the mechanisms would refuse a score.

    Example:
        >>> from safeselect.testing import check_sensitivity
        >>> pairs = [("abba", "abb"), ("ab", "a")]
        >>> count = lambda data: {letter: data.count(letter) for letter in "abc"}
        >>> check_sensitivity(count, pairs, sensitivity=1, monotonic=True)
        2
    """
    change = Sensitivity.read(sensitivity=sensitivity, range_=range_, monotonic=monotonic)
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    change.range_in_steps(reading)  # refuses what a mechanism would refuse
    pairs = 0
    for pair, (left, right) in enumerate(neighbours):
        changes = _changes(score_function(left), score_function(right), pair, reading)
        found = excess(dict(enumerate(changes)), reading, change) if changes else None
        if found is not None:
            rule, candidate, observed, _ = found
            raise SensitivityExceeded(pair, rule, candidate, observed)
        pairs += 1
    if pairs == 0:
        raise ParameterError("pass at least one pair of neighbours")
    return pairs


def excess(
    moved: Mapping[_Name, int], reading: Reading, change: Sensitivity
) -> tuple[str, _Name, Fraction, Fraction] | None:
    """What the changes of scores, in steps, break of what is declared; None if nothing.

    Returns:
        The rule, a score that shows it, by how much it changed (or by how much the changes differ),
        in score units, and how many times that is what is declared.
    """
    high, low = max(moved, key=moved.__getitem__), min(moved, key=moved.__getitem__)
    rise, fall = moved[high], -moved[low]
    spread, covered = (rise + fall) * reading.step, change.range_in_steps(reading)
    if change.sensitivity is None:
        is_broken = rise + fall > covered
        return ("range", high, spread, (rise + fall) / covered) if is_broken else None
    most, back = reading.moves(change.sensitivity, monotonic=change.monotonic)
    largest, name = (rise, high) if rise >= fall else (fall, low)
    if largest > most:
        return "sensitivity", name, largest * reading.step, largest / most
    if min(rise, fall) > back:
        return "monotonic", high, spread, (rise + fall) / covered
    return None


def _changes(left: _Scores, right: _Scores, pair: int, reading: Reading) -> list[int]:
    """Return each score's change from left to right, in steps, in the order of left."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.keys() != right.keys():
            raise SensitivityExceeded(pair, "candidates", None, None)
        right = [right[key] for key in left]
        left = list(left.values())
    elif isinstance(left, Mapping) or isinstance(right, Mapping) or len(left) != len(right):
        raise SensitivityExceeded(pair, "candidates", None, None)
    before, after = (read_values(hand_over(each), reading) for each in (left, right))
    return [late - early for early, late in zip(before, after, strict=True)]

"""Does a score function keep the sensitivity that its user declares?

The guarantee of every mechanism rests on that number, which the library has to believe.  Most
mistakes are found by trying neighbouring data sets, made up for the purpose: sums of floats, for
one, change with the order of the summands, by much more than any one summand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

import numpy as np

from safeselect._exact import rational
from safeselect.errors import ParameterError

__all__ = ["SensitivityExceeded", "check_sensitivity"]

_Data = TypeVar("_Data")
_Scores = Mapping[object, object] | Sequence[object]


class SensitivityExceeded(AssertionError):
    """A pair of neighbours whose scores differ by more than was declared.

    Attributes:
        pair: position of the pair, from 0.
        rule: "sensitivity", "range", "monotonic" or "candidates".
        candidate: position of the candidate that shows it (the first one of two for "range" and
            "monotonic"), or None for "candidates".
        observed: the exact change, or None for "candidates"; for "range" and "monotonic" it is the
            largest change minus the smallest.
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
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
) -> int:
    """Raise if a pair of neighbours breaks what is declared; return the number of pairs tried.

    Passing proves nothing: it shows that these pairs are not counter-examples.  Use made-up data,
    because the exception quotes differences of scores.

    Exactness: scores are read as the mechanisms read them (integers and rationals as they are, a
        float as its shortest decimal form), and compared as rationals.

    Args:
        score_function: data set -> scores of all candidates, a sequence, an array or a mapping.
        neighbours: pairs of neighbouring data sets.  Try reordered ones too, where order is not
            part of the data.
        sensitivity: largest declared change of any one score, in score units.
        range_: largest declared difference between the changes of two candidates.
        monotonic: whether within a pair all scores move in one direction.

    Raises:
        SensitivityExceeded: a pair that breaks it, the first one found.
        ParameterError: not exactly one of sensitivity and range_; monotonic with range_; no pairs;
            or a score that is not a finite number.
    """
    if (sensitivity is None) == (range_ is None):
        raise ParameterError("give exactly one of sensitivity and range_")
    if monotonic and range_ is not None:
        raise ParameterError("monotonic goes with sensitivity, not with range_")
    bound = rational(sensitivity if range_ is None else range_, "sensitivity or range_")
    pairs = 0
    for pair, (left, right) in enumerate(neighbours):
        changes = _changes(score_function(left), score_function(right), pair)
        _check_pair(pair, changes, bound, range_ is not None, monotonic)
        pairs += 1
    if pairs == 0:
        raise ParameterError("there are no pairs of neighbours to try")
    return pairs


def _check_pair(
    pair: int, changes: list[Fraction], bound: Fraction, as_range: bool, monotonic: bool
) -> None:
    if not changes:
        return
    highest, lowest = max(changes), min(changes)
    spread = highest - lowest
    if as_range and spread > bound:
        raise SensitivityExceeded(pair, "range", changes.index(highest), spread)
    largest = max(changes, key=abs)
    if not as_range and abs(largest) > bound:
        raise SensitivityExceeded(pair, "sensitivity", changes.index(largest), abs(largest))
    if monotonic and lowest < 0 < highest:
        raise SensitivityExceeded(pair, "monotonic", changes.index(highest), spread)


def _changes(left: _Scores, right: _Scores, pair: int) -> list[Fraction]:
    """Exact changes from left to right, candidate by candidate in the order of left."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.keys() != right.keys():
            raise SensitivityExceeded(pair, "candidates", None, None)
        return [_exact(right[key]) - _exact(left[key]) for key in left]
    if isinstance(left, Mapping) or isinstance(right, Mapping) or len(left) != len(right):
        raise SensitivityExceeded(pair, "candidates", None, None)
    return [_exact(after) - _exact(before) for before, after in zip(left, right, strict=True)]


def _exact(score: object) -> Fraction:
    if isinstance(score, (str, bool, np.bool_)):
        raise ParameterError(f"a score must be a number, got a {type(score).__name__}")
    if isinstance(score, np.integer):
        score = int(score)  # NumPy's smallest integer has no negative of its own type
    if isinstance(score, Decimal) and not score.is_finite():
        raise ParameterError("a score must be a finite number")
    if score == 0:
        return Fraction(0)
    if score < 0:  # type: ignore[operator]
        return -rational(-score, "a score")  # type: ignore[operator]
    return rational(score, "a score")

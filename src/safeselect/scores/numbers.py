"""Numbers as whole steps of a public grid: columns at once where that is exact, others one by one.

A score that is d steps behind the best becomes 2**64 - 1 - min(d, 2**64 - 1).  Clipping the
shortfall d is safe for every calibration.  A neighbour moves all shortfalls within an interval of
the range's length that contains 0, and clipping only shortens each move (docs/adr/0008).

Which calls are made, and on which shapes, follows from the grid, the number of scores and their
dtype alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.errors import ScoreError
from safeselect.exact.parameters import plain, ratio_of
from safeselect.scores.reading import LIMIT, NOT_FINITE, REACH, GridScores, Reading, nearest

Numbers = np.ndarray[Any, Any] | Sequence[Any]

_MAX_EXPONENT = 4096  # the integer of a Decimal with a larger one could exhaust the memory
_BEYOND = 10**_MAX_EXPONENT
_MAX_BITS = _BEYOND.bit_length()
_LARGEST = REACH - 1
# XOR masks that map each dtype to uint64 in order.  Flipping the sign bit maps int64 to uint64 and
# keeps all differences.  Flipping all bits as well reverses the order.
_MASKS = {
    "i": np.array([-(2**63), 2**63 - 1], dtype=np.int64),
    "u": np.array([0, REACH - 1], dtype=np.uint64),
}
_TOO_LARGE = "scores must be below 10**4096 in size"
NULL = "scores must not contain nulls; replace missing scores first"
CONVERT = "scores must be numbers, got {}; convert them to integers first, such as {}"
_not_whole = (
    "without grid=, scores must be integers; for real scores use grid='{}', a thousandth of the "
    "declared change; for floats that are multiples of a step, such as k/n with step 1/n, pass "
    "that step as grid=, with on_grid=True"
).format


def write_steps(
    values: Numbers, reading: Reading, minimize: bool, extra: list[int], out: GridScores
) -> None:
    """Write the steps of one row, the fastest way that its type and the grid allow.

    Args:
        values: a plain array of integers or float64, or numbers to be read one by one; n of them.
        reading: how numbers become steps.
        minimize: the smallest score is the best.
        extra: at most one further public step, which takes part as the last candidate.
        out: uint64, shape (n + len(extra),), where to put the steps.

    Raises:
        ScoreError: a score is not a number, not finite or, without a grid, not an integer.
    """
    kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
    is_whole = reading.grid is None or reading.grid == 1
    if isinstance(values, np.ndarray) and kind in "iu" and is_whole and not extra:
        in_order(values, minimize, out)
        return
    step, scores_on_grid = reading.step, out[: len(values)]
    p, q = step.as_integer_ratio()
    fits_words = max(p, q) < LIMIT or (p == 1 and q < REACH)  # products with an integer
    pick = min if minimize else max
    if kind == "f":
        from safeselect.scores import floats  # loaded with the first column of them
    if isinstance(values, np.ndarray) and kind == "f" and floats.is_fast(step):
        if reading.grid is None and not bool(np.all(np.rint(values) == values)):
            # NaN differs from itself.  Infinity does not; the code below refuses it.
            raise ScoreError(NOT_FINITE if np.isnan(values).any() else _not_whole(reading.example))
        most = floats.best_float(values, minimize)
        first = pick([reading.nearest(Fraction(most)), *extra])
        floats.float_steps(values, most, first, step, minimize, scores_on_grid)
    elif isinstance(values, np.ndarray) and kind in "iu" and fits_words:
        wide, mask = in_order(values, minimize, scores_on_grid)
        # Taken from the copy: the caller's array may have changed by now.
        best = int(scores_on_grid.max().view(wide) ^ mask)
        first = pick([reading.nearest(Fraction(best)), *extra])
        _integer_steps(scores_on_grid, best, first, step, minimize)
    else:
        whole = nearest_steps(values, reading)
        first = pick([*whole, *extra])
        scores_on_grid[:] = _behind(whole, first)
    out[len(values) :] = _behind(extra, first)


def _behind(scores_on_grid: Sequence[int], first: int) -> list[int]:
    # min() is no branch: the work is the same for all shortfalls.
    return [_LARGEST - min(abs(first - step), _LARGEST) for step in scores_on_grid]


def in_order(values: np.ndarray[Any, Any], minimize: bool, out: GridScores) -> tuple[Any, Any]:
    """Write integers of a dtype as uint64, larger is better, with all differences kept.

    Returns:
        The dtype in 64 bits, and the XOR mask, which maps in both directions.
    """
    mask = _MASKS[values.dtype.kind][int(minimize), ...]  # of no dimension, as `arrays.word`
    wide = mask.dtype
    np.bitwise_xor(values, mask, out=out.view(wide), dtype=wide)
    return wide, mask


def _integer_steps(
    scores_on_grid: GridScores, best: int, first: int, grid: Fraction, minimize: bool
) -> None:
    """Turn integers in order into what `write_steps` writes, where a grid `fits_words`.

    A score that is w behind the best is floor((w q + half) / p) steps behind the best's step.  With
    w = a p + b that is a q + floor((b q + half) / p), of which b q + half is below 2**64.  The rest
    is computed modulo 2**64.
    """
    p, q = grid.as_integer_ratio()
    step, rest = divmod(2 * best * q + p, 2 * p)
    half = (rest if minimize else 2 * p - 1 - rest) // 2
    behind = abs(first - step)
    # A score further than `most` from the best is 2**64 steps or more behind the first.
    most = (p * (REACH - behind) - half - 1) // q
    np.subtract(scores_on_grid.max(), scores_on_grid, out=scores_on_grid)
    near = np.logical_and(scores_on_grid <= np.uint64(min(max(most, 0), _LARGEST)), most >= 0)
    whole = np.floor_divide(scores_on_grid, np.uint64(p))
    np.subtract(scores_on_grid, np.multiply(whole, np.uint64(p)), out=scores_on_grid)
    np.multiply(scores_on_grid, np.uint64(q), out=scores_on_grid)
    np.add(scores_on_grid, np.uint64(half), out=scores_on_grid)
    np.floor_divide(scores_on_grid, np.uint64(p), out=scores_on_grid)
    np.multiply(whole, np.uint64(q), out=whole)
    np.add(scores_on_grid, whole, out=scores_on_grid)
    whole.fill(0)
    np.subtract(np.uint64((_LARGEST - behind) % REACH), scores_on_grid, out=scores_on_grid)
    np.multiply(scores_on_grid, near, out=scores_on_grid)


def nearest_steps(values: Numbers, reading: Reading) -> list[int]:
    """The number of the nearest step of each value, halves up, number by number.

    Raises:
        ScoreError: a value is not a number, cannot be read or, without a grid, is not an integer.
    """
    p, q = reading.step.as_integer_ratio()
    found = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        above, below = ratio(value)
        if reading.grid is None and above % below:
            raise ScoreError(_not_whole(reading.example))
        found.append(nearest(above, below, p, q))
    return found


def ratio(value: Any) -> tuple[int, int]:
    """A score as numerator and denominator, not always in lowest terms.

    A float stands for its exact binary value: scores are computed, parameters are typed.

    Raises:
        ScoreError: not a number, not finite, or 10**4096 or more in size.
    """
    number = plain(value)
    if number is None:
        raise _no_number(value)
    if isinstance(number, Decimal):
        return _decimal(number)
    if isinstance(number, float) and not np.isfinite(number):
        raise ScoreError(NOT_FINITE)
    above, below = ratio_of(number)
    # The limit is the same for all types, so that equal numbers of any two are refused together.
    # The bit lengths come first, so that only large numbers are compared.
    if above.bit_length() - below.bit_length() >= _MAX_BITS - 1 and abs(above) >= below * _BEYOND:
        raise ScoreError(_TOO_LARGE)
    return above, below


def _no_number(value: object) -> ScoreError:
    name = type(value).__name__
    if value is None:
        return ScoreError(NULL)
    if isinstance(value, (list, tuple, np.ndarray)):
        return ScoreError(
            f"scores must be numbers, got {name}; pass one row of numbers; select_many takes many "
            "rows at once"
        )
    return ScoreError(CONVERT.format(name, "[int(score) for score in scores]"))


def _decimal(value: Decimal) -> tuple[int, int]:
    if not value.is_finite():
        raise ScoreError(NOT_FINITE)
    if value and value.adjusted() >= _MAX_EXPONENT:
        raise ScoreError(_TOO_LARGE)
    if value and value.adjusted() < -_MAX_EXPONENT:
        # The number is nearer to 0 than half a step of every grid, and not an integer.
        return (-1 if value < 0 else 1), 1 << 4 * _MAX_EXPONENT
    _, digits, exponent = value.as_tuple()
    if len(digits) <= _MAX_EXPONENT or not isinstance(exponent, int):
        return value.as_integer_ratio()
    # GMP converts the digits: Python takes two seconds for 200 000.  There are more digits than
    # places before the point, so the exponent is negative.
    above = int(gmpy2.mpz("".join(map(str, digits))))
    return (-above if value < 0 else above), int(gmpy2.mpz(10) ** abs(exponent))

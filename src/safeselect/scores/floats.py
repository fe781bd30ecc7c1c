"""Columns of floats as whole steps of a public grid p / q, exactly, in a fixed sequence of calls.

A float stands for its exact binary value.  Its step is r(x) = floor(x q / p + 1/2), the nearest
one, halves up.  Every operation on floats below is exact for each score that matters.  So the
result is that of integers of any size (`docs/mathematics.md`, section 6, "Columns of floats"):

- x + S, S = 1.5 * 2**52 * u for a power of two u, rounds x to a multiple of u, whose number is in
  the low bits of the sum; (x + S) - S and x less that are then exact as well;
- sums and products of 64-bit integers are taken modulo 2**64, and only numbers below 2**63 in size
  are compared;
- the arithmetic may overflow for a score 2**64 steps or more behind the best.  One exact comparison
  with a float recognises such a score, and its computed step is discarded.

Which calls are made, and on which shapes, follows from the grid and the number of scores alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect.errors import ScoreError
from safeselect.scores.reading import LIMIT, NOT_FINITE, REACH, GridScores

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]
Kernel = Callable[[Words, Floats], None]

_BLOCK = 2**17  # scores at a time: few enough for the cache, many enough for NumPy
_MAX = float(np.finfo(np.float64).max)
_ROUNDER = float(3 << 51)  # 1.5 * 2**52: from here to 2**53 the floats are the integers
_QUARTERS = np.ldexp([1, 3], -2)


def is_fast(grid: Fraction) -> bool:
    """Whether floats on this grid are read as a column; otherwise they are read one by one.

    They are read one by one too if another library changed the processor's rounding from nearest:
    the sums below would not be exact.
    """
    nearest_even = np.add(_ROUNDER, _QUARTERS).tolist() == [_ROUNDER, _ROUNDER + 1]
    return nearest_even and max(grid.as_integer_ratio()) < LIMIT


def best_float(values: Floats, minimize: bool) -> float:
    """The largest score, or the smallest.

    Raises:
        ScoreError: one of the scores is NaN or infinite.
    """
    lowest, highest = values.min(), values.max()
    if not np.isfinite(lowest) or not np.isfinite(highest):
        raise ScoreError(NOT_FINITE)
    return float(lowest if minimize else highest)


def float_steps(
    values: Floats, best: float, first: int, grid: Fraction, minimize: bool, out: GridScores
) -> None:
    """Write 2**64 - 1 - min(d, 2**64 - 1), d being how many steps a score is behind the first.

    Args:
        values: float64, shape (n,), n at least 1; finite.
        best: the best of them.
        first: the best step of all candidates; the public extra candidate may have it.
        grid: one that `is_fast`.
        minimize: the smallest score is the best.
        out: uint64, shape (n,), where to put the result.
    """
    p, q = grid.as_integer_ratio()
    above, below = best.as_integer_ratio()
    # From scores that far from 0 the best is subtracted.  Every score that matters lies within a
    # factor of 2 of the best, so the difference is exact (Sterbenz's lemma).
    offset = best * (abs(above) * q >= p * below << 66)
    is_dyadic = p & (p - 1) == 0 and q & (q - 1) == 0
    kernel, moved = (_dyadic if is_dyadic else _rational)(p, q, offset)
    # A kernel writes t; the step is t + moved modulo 2**64.  2**64 - 1 - d is the step less
    # first + 1, or, to minimize, first - 1 less the step.
    fold = np.subtract if minimize else np.add
    constant = np.int64(_word(first - 1 - moved if minimize else moved - first - 1))
    # r(x) > first - 2**64 means x q / p + 1/2 >= first - 2**64 + 1; to minimize, it is mirrored.
    sign = 1 if minimize else -1
    bound = Fraction((2 * (first + sign * REACH) - sign) * p, 2 * q)
    count = len(values)
    result: Words = out.view(np.int64)
    scratch: Floats = np.empty((5, min(_BLOCK, count)))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        edge = _last_below(bound)
        edge = np.nextafter(edge, np.inf) if minimize else edge
        for start in range(0, count, _BLOCK):
            block = values[start : start + _BLOCK]
            scores_on_grid, rows = result[start : start + len(block)], scratch[:, : len(block)]
            np.subtract(block, offset, out=rows[0])
            kernel(scores_on_grid, rows)
            fold(constant, scores_on_grid, out=scores_on_grid)
            # The difference of two floats has an exact sign.  Its bit becomes a mask: 0 for a score
            # that is 2**64 steps or more behind.
            left, right = (block, edge) if minimize else (edge, block)
            np.subtract(left, right, out=rows[0])
            mask = rows[0].view(np.int64)
            np.right_shift(mask, 63, out=mask)
            np.bitwise_and(scores_on_grid, mask, out=scores_on_grid)


def _dyadic(p: int, q: int, offset: float) -> tuple[Kernel, int]:
    """For a grid that is a power of two, h = 2**-k.

    y = x - offset is split at the nearest multiple of 2**32 steps.  The remainder is at most 2**31
    steps in size, and exact.  g = floor(2 y / h) is exact too, and r = (g + 1) >> 1.
    """
    fineness = q.bit_length() - p.bit_length()
    rounder = float(np.ldexp(_ROUNDER, 32 - fineness))
    halves = float(np.ldexp(1, fineness + 1))
    above, below = offset.as_integer_ratio()

    def kernel(scores_on_grid: Words, rows: Floats) -> None:
        y, high, low = rows[0], scores_on_grid.view(np.float64), rows[1]
        np.add(y, rounder, out=high)
        np.subtract(high, rounder, out=low)
        np.subtract(y, low, out=y)
        np.multiply(y, halves, out=y)
        np.floor(y, out=y)
        np.add(y, _ROUNDER + 1, out=y)
        whole = y.view(np.int64)
        np.right_shift(whole, 1, out=whole)
        np.left_shift(scores_on_grid, 32, out=scores_on_grid)
        np.add(scores_on_grid, whole, out=scores_on_grid)

    # offset is 0, or so large that it is a multiple of the grid.
    return kernel, above * q // (below * p) - (_bits(rounder) << 32) - (_bits(_ROUNDER) >> 1)


def _rational(p: int, q: int, offset: float) -> tuple[Kernel, int]:
    """For any other grid.

    In units of 2**b, the grid lying between 4 and 8 of them, y = x - offset is
    high * 2**32 + middle + z with |middle| <= 2**31 and |z| <= 1/2, all exact, and a step is
    `wide / narrow` units.  z is a multiple of 2**-51 wherever |x| is at least half a step; nearer
    to 0 the step is 0 whatever z is rounded to.
    """
    unit = p.bit_length() - q.bit_length()
    unit -= (p < q << unit) if unit >= 0 else (p << -unit < q)
    unit -= 2
    wide, narrow = p << max(-unit, 0), q << max(unit, 0)
    above, below = offset.as_integer_ratio()
    # offset is 0, or so large that it is a whole number of units.
    units = (above << max(-unit, 0)) // (below << max(unit, 0))
    moved, beyond = divmod(units * narrow, wide)
    quotient, rest = divmod(narrow << 32, wide)
    to_high, to_middle, to_z = (float(np.ldexp(_ROUNDER, unit + n)) for n in (32, 0, -51))
    # k is an estimate of y's steps.  Two roundings of numbers below 2**38 leave it within 2**-13.
    # So the step is k or k + 1 once 2**-10 has been subtracted.
    share_high = float(np.ldexp(float(Fraction(rest, wide)), -unit - 32))
    share_rest = float(np.ldexp(float(Fraction(narrow, wide)), -unit))
    less = float(Fraction(beyond, wide) - Fraction(1, 1 << 10))
    # The excess over k + 1/2, in 2**-27 of a unit, over the grid; and the constants of the bits.
    # Those of high, middle and k end in 51 zeros, so shifting them up leaves 0.
    excess = (2 * beyond - wide << 26) - (_bits(to_z) >> 24) * narrow
    by_narrow, by_quotient, start, rest_up, narrow_up, wide_up = (
        np.int64(_word(number))
        for number in (narrow, quotient, excess, *(n << 27 for n in (rest, narrow, wide)))
    )
    low_bits = np.int64((1 << 24) - 1)

    def kernel(scores_on_grid: Words, rows: Floats) -> None:
        y, high, middle, estimate, other = rows
        z = scores_on_grid.view(np.float64)
        np.add(y, to_high, out=high)
        np.subtract(high, to_high, out=other)
        np.subtract(y, other, out=y)
        np.multiply(other, share_high, out=other)
        np.multiply(y, share_rest, out=estimate)
        np.add(estimate, other, out=estimate)
        np.add(estimate, less, out=estimate)
        np.add(estimate, _ROUNDER, out=estimate)
        np.add(y, to_middle, out=middle)
        np.subtract(middle, to_middle, out=other)
        np.subtract(y, other, out=y)
        np.add(y, to_z, out=z)
        # From here on all numbers are integers.  high * rest + middle * narrow - k * wide is small.
        # So it is exact modulo 2**64, also 27 places further up.  So is z * narrow, of which the
        # last 24 places are rounded down.  Because 2**-10 was subtracted, the number compared is
        # above -wide, and 2**63 is not reached.
        highs, middles, ks, spare = (row.view(np.int64) for row in rows[1:])
        np.multiply(middles, narrow_up, out=middles)
        np.multiply(highs, rest_up, out=spare)
        np.add(middles, spare, out=middles)
        np.multiply(ks, wide_up, out=spare)
        np.subtract(middles, spare, out=middles)
        np.right_shift(scores_on_grid, 24, out=spare)
        np.multiply(spare, by_narrow, out=spare)
        np.add(middles, spare, out=middles)
        np.bitwise_and(scores_on_grid, low_bits, out=scores_on_grid)
        np.multiply(scores_on_grid, by_narrow, out=scores_on_grid)
        np.right_shift(scores_on_grid, 24, out=scores_on_grid)
        np.add(middles, scores_on_grid, out=middles)
        np.add(middles, start, out=middles)
        # -1 where the step is k, 0 where it is k + 1.
        np.right_shift(middles, 63, out=middles)
        np.multiply(highs, by_quotient, out=scores_on_grid)
        np.add(scores_on_grid, ks, out=scores_on_grid)
        np.add(scores_on_grid, middles, out=scores_on_grid)

    return kernel, moved + 1 - _bits(to_high) * quotient - _bits(_ROUNDER)


def _last_below(bound: Fraction) -> Any:
    """The largest float strictly below a rational.

    Below all finite floats that is -infinity, above all of them the largest finite float.
    """
    # `near` is the nearest finite float.  An exact comparison without a branch picks it or its
    # neighbour: the bound follows from the best score, which is private.
    near = float(max(min(bound, Fraction(_MAX)), Fraction(-_MAX)))
    return (np.nextafter(near, -np.inf), near)[near < bound]


def _bits(number: float) -> int:
    """The bits of a float64, as an integer."""
    return int(np.float64(number).view(np.int64))


def _word(number: int) -> int:
    """An integer modulo 2**64, from -2**63 to 2**63 - 1."""
    return (number + (REACH >> 1)) % REACH - (REACH >> 1)

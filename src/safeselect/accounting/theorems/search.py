"""A search for the point where a bound is nearly least: a choice, which needs no proof."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr

from safeselect.exact.interval import Interval

_MOST_STEPS = 500  # of a search that need not find the best; 60 are usual


def argmin(objective: Callable[[Fraction], Interval], guess: Fraction) -> Fraction:
    """A point near `guess` where a unimodal bound is small; any point would be a valid choice.

    The search works on a geometric scale and compares upper ends only, so it needs no floats.  When
    the middle of three points has the least value, the next try is the vertex of their parabola.
    """
    best, factor = _short(guess), Fraction(4)
    value = objective(best).upper
    for _ in range(_MOST_STEPS):
        # Shortened before the comparison: the value compared is the value kept, so no step is
        # undone.
        sides = [_short(best * factor), _short(best / factor)]
        uppers = [objective(side).upper for side in sides]
        nearest = 0 if uppers[0] < uppers[1] else 1
        if uppers[nearest] < value:
            best, value = sides[nearest], uppers[nearest]
            continue
        if factor - 1 <= Fraction(1, 2**10):
            break
        tried = _short(_vertex(best, factor, value, uppers))
        upper = objective(tried).upper
        if upper < value:
            best, value = tried, upper
        factor = 1 + (factor - 1) / 8
    return best


def _vertex(best: Fraction, factor: Fraction, value: mpfr, uppers: list[mpfr]) -> Fraction:
    """The vertex of the parabola through best / factor, best and best * factor."""
    if not all(gmpy2.is_finite(end) for end in (value, *uppers)):
        return best
    middle, above, below = (Fraction(*map(int, end.as_integer_ratio())) for end in (value, *uppers))
    bend = above + below - 2 * middle
    if bend <= 0:
        return best
    share = (below - above) / (2 * bend)  # of a step by the factor; between -1/2 and 1/2
    stretch = 1 + abs(share) * (factor - 1)
    return best * stretch if share >= 0 else best / stretch


def _short(value: Fraction) -> Fraction:
    """The value rounded to 32 significant bits, so that numbers stay small."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - 32)
    return round(value / unit) * unit

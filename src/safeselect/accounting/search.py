"""Searches: for the largest number within a limit, and for the point where a bound is least.

What a search tries needs no proof.  What it returns surely costs at most the limit, as the cost
itself says; a least point is a choice, and any other would be valid.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr

from safeselect.exact.interval import Interval, rounded_up

_MOST_LOOKS = 500  # of a search that need not find the best; 60 are usual


def argmin(objective: Callable[[Fraction], Interval], guess: Fraction) -> Fraction:
    """A point near `guess` where a unimodal bound is small; any point would be a valid choice.

    The search works on a geometric scale and compares upper ends only, so it needs no floats.  When
    the middle of three points has the least value, the next try is the vertex of their parabola.
    """
    best, factor = _short(guess), Fraction(4)
    value = objective(best).upper
    for _ in range(_MOST_LOOKS):
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


BITS = 32  # significant bits of a calibrated epsilon: short rates, at most 2**-31 of it given up
NUDGE = Fraction(1, 2 ** (BITS + 2))
_MOST_STEPS = 1000  # of a search that usually takes 8, but may begin far away
_SEARCHED = 128  # bits of a bound in a search: its result is checked by `compose`
_MOST_HALVINGS = 300
_MOST_TRIES = 8  # of the search for the adaptive optimum; 3 are usual
_FASTEST = Fraction(2**32)  # growth of a step of a search that begins far away


def nearer(
    cost: Callable[[Fraction], Fraction | None],
    limit: Fraction,
    best: Fraction,
    at: Fraction,
    near: Fraction,
    growth: Fraction,
) -> Fraction:
    """A larger number than `best` that surely costs at most the limit, if one is found near `at`.

    The cost is taken for a power of the number: of `growth`, then of what two tries say.  Each try
    aims a little below the limit.  A cost of None or nothing ends the search.
    """
    last, high = None, None
    for _ in range(_MOST_TRIES):
        found = cost(at)
        if not found:
            break
        if found <= limit:
            best = max(best, at)
        elif high is None or at < high:
            high = at
        if found <= limit <= found * (1 + near):
            break
        if last is not None and last[0] != at and last[1] != found:
            growth = _log(found / last[1]) / _log(at / last[0])
        last = at, found
        following = at * _exp(_log(limit * (1 - near / 2) / found) / growth) if growth else best
        if not best < following or (high is not None and following >= high):
            following = (best + high) / 2 if high is not None else 2 * best
        at = rounded(following, BITS)
        if not best < at:
            break
    return best


def _log(value: Fraction) -> Fraction:
    return Interval.of(value, _SEARCHED).log().fractions()[0]


def _exp(value: Fraction) -> Fraction:
    return Interval.of(value, _SEARCHED).exp().fractions()[0]


def largest(cost: Callable[[Fraction], Fraction], limit: Fraction, start: Fraction) -> Fraction:
    """The largest number of 32 significant bits that surely costs at most the limit.

    The secant of the last two tries gives the next, a little beyond it.  So the largest number
    within the limit and the smallest number above it approach each other.

    Requires: the cost rises with the number.
    """
    low, high, growth = start, start, Fraction(2)
    last = cost_of_last = Fraction(0)
    while (cost_of_at := cost(low)) > limit:
        low, high = low / 2, low
    at = low
    for _ in range(_MOST_STEPS):
        if cost_of_at <= limit:
            low = at
        else:
            high = at
        if low < high and (high - low) * 2**BITS <= low:
            break
        following, rise = low, cost_of_at - cost_of_last
        if rise:
            beyond = 1 + NUDGE if cost_of_at <= limit else 1 - NUDGE
            following = rounded((at + (limit - cost_of_at) * (at - last) / rise) * beyond)
        last, cost_of_last = at, cost_of_at
        if low < high:
            at = following if low < following < high else _between(low, high)
        elif low < following < 2 * low:
            at = following
        else:
            at, growth = low * growth, min(growth * growth, _FASTEST)
        cost_of_at = cost(at)
    return rounded(low, BITS)


def _between(low: Fraction, high: Fraction) -> Fraction:
    """The middle, on a scale of powers of two where the two are far apart."""
    bits = (high / low).__floor__().bit_length()
    return low * Fraction(2) ** (bits // 2) if bits > 2 else rounded((low + high) / 2)


def rounded(value: Fraction, bits: int = BITS + 16) -> Fraction:
    """The value rounded down to so many significant bits."""
    above, below = value.as_integer_ratio()
    down = above.bit_length() - below.bit_length() - bits
    if down >= 0:
        return Fraction(above // (below << down) << down)
    return Fraction((above << -down) // below, 1 << -down)


def halved(enough: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """A number that is enough, to within 2**-40 of itself above one that is not, by halving.

    Requires: `high` is enough, and whatever is larger than what is enough.
    """
    for _ in range(_MOST_HALVINGS):
        if (high - low) * 2**40 <= high:
            break
        middle = short_up((low + high) / 2)
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def short_up(value: Fraction) -> Fraction:
    """The value rounded up to 64 significant bits."""
    return rounded_up(lambda precision: Interval.of(value, precision))

"""From the total that a call may cost to the epsilon of each of its draws, rounded down."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from gmpy2 import mpfr, mpq

from safeselect.accounting.composition import MOST_PARTS, composed_epsilon
from safeselect.accounting.optimum.certified import quick_epsilon
from safeselect.errors import ParameterError
from safeselect.exact.interval import contexts
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP

__all__ = ["Family", "calibrate", "per_draw_epsilon"]

Family = type[BoundedRange] | type[LaplaceDominated] | type[PureDP]

_FAMILIES = (BoundedRange, LaplaceDominated, PureDP)
_BITS = 32  # significant bits of a calibrated epsilon: short rates, at most 2**-31 of it given up
_GUESS_BITS = 128
_SURE_GUESS = Fraction(1, 2**60)  # where an epsilon of 2**-30 cancels less than half of the digits
_NUDGE = Fraction(1, 2 ** (_BITS + 2))
_MOST_STEPS = 1000  # of a search that usually takes 8, but may begin far away
_MOST_TRIES = 8  # of the search for the adaptive optimum; 3 are usual
_QUICK_ENOUGH = Fraction(1, 2**12)
_FASTEST = Fraction(2**32)  # growth of a step of a search that begins far away


def calibrate(
    family: Family,
    *,
    k: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    precision: Number | None = None,
) -> Fraction:
    """Return the largest epsilon that each of k draws may have within a total.

    `BoundedRange` for draws of the exponential mechanism, `LaplaceDominated` for permute-and-flip
    and noisy maxima, `PureDP` for anything else.  The draws may be adaptive.  Rounded down to 32
    significant bits, so that `compose([family(result)] * k, delta)` is within the total.

    With delta the adaptive optimum is computed on a coarse grid, which takes some hundredths of a
    second and loses some thousandths.  `precision="1e-6"` loses less and takes seconds.
    The result is the same on every machine.

    Args:
        family: the kind of guarantee that each draw has.
        k: how many draws.
        epsilon: the total, alone or with delta; positive rational.
        delta: with epsilon: an (epsilon, delta) total.
        rho: a total in zCDP, instead of epsilon.
        precision: with delta: the relative distance from the optimum that is near enough.

    Example:
        >>> from safeselect import BoundedRange, calibrate
        >>> calibrate(BoundedRange, k=4, epsilon=1)
        Fraction(1, 4)

    Raises:
        ParameterError: not exactly one of epsilon and rho, delta without epsilon, or a wrong value.
    """
    if not any(family is kind for kind in _FAMILIES):
        names = ", ".join(kind.__name__ for kind in _FAMILIES)
        raise ParameterError(f"family must be one of {names}; got {describe(family)}")
    if (epsilon is None) == (rho is None) or (delta is not None and epsilon is None):
        raise ParameterError("give exactly one of epsilon and rho; delta goes with epsilon")
    return per_draw_epsilon(
        family,  # type: ignore[arg-type]  # mypy doubts that a class is hashable
        integer(k, "k", minimum=1, maximum=MOST_PARTS),
        epsilon=None if epsilon is None else rational(epsilon, "epsilon"),
        delta=None if delta is None else rational(delta, "delta", below=1),
        rho=None if rho is None else rational(rho, "rho"),
        precision=None if precision is None else rational(precision, "precision"),
    )


@lru_cache(maxsize=256)
def per_draw_epsilon(
    family: Family,
    count: int,
    *,
    epsilon: Fraction | None = None,
    delta: Fraction | None = None,
    rho: Fraction | None = None,
    precision: Fraction | None = None,
) -> Fraction:
    """The largest epsilon (to 32 bits) such that `count` draws of family(epsilon) keep the total.

    The total is `epsilon` alone (pure: simply epsilon / count), `epsilon` with `delta`, or `rho`.
    The result is composed and compared with the total, whatever the search did.

    Requires: exactly one of epsilon and rho; delta only with epsilon.
    """
    if rho is not None:
        return _largest_of_rho(family, count, rho)
    if epsilon is None:
        raise ParameterError("give one of epsilon and rho")
    least = epsilon / count
    if delta is None:
        return least

    def cost(each: Fraction) -> Fraction:
        return composed_epsilon([(family(each), count)], delta, None)

    each = _largest(cost, epsilon, least)
    # Rounding and the search for an order leave a small slack, and yet the draws must add up to at
    # most the total.  The cut doubles, so this loop ends.
    cut = Fraction(1, 2**_BITS)
    while each > least and cost(each) > epsilon:
        each, cut = _rounded(each * (1 - cut), _BITS), 2 * cut
    # Without delta every draw may cost epsilon / count, so the result is at least that.
    each = max(least, each)
    if family is PureDP or count == 1:
        return each  # this was the optimum

    def optimum(rate: Fraction) -> Fraction | None:
        part = family(rate)
        if precision is not None:
            return composed_epsilon([(part, count)], delta, precision)
        return None if isinstance(part, PureDP) else quick_epsilon(part, count, delta, epsilon)

    return _nearer(optimum, epsilon, each, precision or _QUICK_ENOUGH)


def _largest_of_rho(family: Family, count: int, rho: Fraction) -> Fraction:
    """The largest epsilon of 32 significant bits of `count` draws within a total rho.

    A guess comes first, and the guarantee itself says whether it is within the total.  A guess that
    is not is followed by the next lower number, and by the search.
    """

    def cost(each: Fraction) -> Fraction:
        return count * family(each).zcdp.rho

    if rho / count > _SURE_GUESS:
        each = _rounded(_guess(family, rho / count), _BITS)
        for _ in range(2):
            if cost(each) <= rho:
                return each
            each = _rounded(each - each * _NUDGE, _BITS)
    return _largest(cost, rho, rho / count)


def _guess(family: Family, rho: Fraction) -> Fraction:
    """About the epsilon of a draw that costs rho, to some fifty digits; nothing is proved of it.

    The square root of rho is nearly linear in epsilon, so secants of it converge in a few steps.

    Requires: rho above _SURE_GUESS.
    """
    context, _ = contexts(_GUESS_BITS)
    wanted = context.sqrt(mpfr(mpq(rho.numerator, rho.denominator), 0, context))

    def root(at: mpfr) -> mpfr:
        if family is BoundedRange:
            x = context.div(at, context.expm1(at))
            found = context.sub(context.sub(x, 1), context.log(x))
        elif family is LaplaceDominated:
            found = context.add(at, context.expm1(context.minus(at)))
        else:
            found = context.mul(at, context.tanh(context.div(at, 2)))
        return context.sqrt(found)

    last, root_of_last, at = mpfr(0), mpfr(0), wanted
    near = context.div_2exp(wanted, _GUESS_BITS // 2)
    for _ in range(_MOST_TRIES):
        root_of_at = root(at)
        rise, missing = context.sub(root_of_at, root_of_last), context.sub(wanted, root_of_at)
        if not rise or context.minus(near) <= missing <= near:
            break
        step = context.div(context.mul(missing, context.sub(at, last)), rise)
        last, root_of_last, at = at, root_of_at, context.add(at, step)
    above, below = at.as_integer_ratio()
    return Fraction(int(above), int(below))


def _nearer(
    cost: Callable[[Fraction], Fraction | None], limit: Fraction, start: Fraction, near: Fraction
) -> Fraction:
    """A larger number than the start that surely costs at most the limit, if one is near.

    The secant of the last two tries gives the next, a little below it.
    """
    best, last, cost_of_last = start, Fraction(0), Fraction(0)
    high: Fraction | None = None
    at = start
    for _ in range(_MOST_TRIES):
        found = cost(at)
        if found is None:
            break
        if found <= limit:
            best = max(best, at)
        elif high is None or at < high:
            high = at
        if found <= limit <= found * (1 + near):
            break
        rise, following = found - cost_of_last, best
        if rise:
            following = at + (limit * (1 - near / 4) - found) * (at - last) / rise
        last, cost_of_last = at, found
        if not best < following or (high is not None and following >= high):
            following = (best + high) / 2 if high is not None else 2 * best
        at = _rounded(following, _BITS)
        if not best < at:
            break
    return best


def _largest(cost: Callable[[Fraction], Fraction], limit: Fraction, start: Fraction) -> Fraction:
    """The largest number of 32 significant bits that surely costs at most the limit.

    The secant of the last two tries gives the next, a little beyond it.  So the largest number
    within the limit and the smallest number above it approach each other.

    Requires: the cost rises with the number.
    """
    low, high, growth = start, start, Fraction(2)
    last = cost_of_last = Fraction(0)
    while cost(low) > limit:
        low, high = low / 2, low
    at = low
    for _ in range(_MOST_STEPS):
        cost_of_at = cost(at)
        if cost_of_at <= limit:
            low = at
        else:
            high = at
        if low < high and (high - low) * 2**_BITS <= low:
            break
        following, rise = low, cost_of_at - cost_of_last
        if rise:
            beyond = 1 + _NUDGE if cost_of_at <= limit else 1 - _NUDGE
            following = _rounded((at + (limit - cost_of_at) * (at - last) / rise) * beyond)
        last, cost_of_last = at, cost_of_at
        if low < high:
            at = following if low < following < high else _between(low, high)
        elif low < following < 2 * low:
            at = following
        else:
            at, growth = low * growth, min(growth * growth, _FASTEST)
    return _rounded(low, _BITS)


def _between(low: Fraction, high: Fraction) -> Fraction:
    """The middle, on a scale of powers of two where the two are far apart."""
    bits = (high / low).__floor__().bit_length()
    return low * Fraction(2) ** (bits // 2) if bits > 2 else _rounded((low + high) / 2)


def _rounded(value: Fraction, bits: int = _BITS + 16) -> Fraction:
    """The value rounded down to so many significant bits."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - bits)
    return (value // unit) * unit

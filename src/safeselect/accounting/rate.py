"""From the total that a call may cost to the epsilon of each of its draws, rounded down."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from math import isqrt

from safeselect.accounting.composition import MOST_PARTS, composed_epsilon, pure_sum
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.guess import LEAST, MOST, guessed_epsilon
from safeselect.accounting.moments import bun_steinke_rho, epsilon_at_order, epsilon_by_orders
from safeselect.accounting.optimum.certified import quick_epsilon
from safeselect.accounting.pure import MOST_EQUAL, EqualPure, newton_epsilon
from safeselect.accounting.search import BITS, NUDGE, largest, nearer, rounded
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.promises.guarantees import BoundedRange, Family, LaplaceDominated, PureDP

_FAMILIES = (BoundedRange, LaplaceDominated, PureDP)
_MOST_ORDERS = 12  # tried one after the other; 4 are usual
_HAZARD = 24  # terms of a continued fraction
_ALIKE = Fraction(1, 2**18)  # near the best order its rate is flat: the rest is the square of this
_SEARCHED = 128  # bits of a bound in a search: its result is checked by `compose`
_MOST_TRIES = 8  # of the search for the adaptive optimum; 3 are usual
_QUICK_ENOUGH = Fraction(1, 2**12)


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
    second and loses some thousandths up to a thousand draws, and about a hundredth for thousands of
    bounded ranges.  `precision="1e-6"` loses less and takes seconds; it is then `compose` with this
    precision that finds the total kept, for every grid is another.
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

    best = least  # without delta every draw may cost so much
    if family is not PureDP and count > 1:
        best = _within_the_quick_bound(family, count, epsilon, delta, least)
    each = _within_other_bounds(family, count, epsilon, delta, best)
    # Rounding and the search for an order leave a small slack, and yet the draws must add up to at
    # most the total.  The cut doubles, so this loop ends.
    cut = Fraction(1, 2**BITS)
    while each > best and composed_epsilon([(family(each), count)], delta, None) > epsilon:
        each, cut = rounded(each * (1 - cut), BITS), 2 * cut
    each = max(best, each)
    if precision is None or family is PureDP or count == 1:
        return each

    def composed(rate: Fraction) -> Fraction:
        return composed_epsilon([(family(rate), count)], delta, precision)

    return nearer(composed, epsilon, each, each, precision, _growth(family, count, each, epsilon))


def _within_the_quick_bound(
    family: Family, count: int, epsilon: Fraction, delta: Fraction, least: Fraction
) -> Fraction:
    """About the largest rate for which the adaptive optimum on a coarse grid is within the total.

    The first try is the rate whose zCDP is that of the Gaussian noise that the total allows.
    """

    def quick(rate: Fraction) -> Fraction | None:
        part = family(rate)
        return None if isinstance(part, PureDP) else quick_epsilon(part, count, delta)

    rho = _gaussian_rho(epsilon, delta) / count
    if not LEAST < rho < MOST:
        return least
    guess = max(least, rounded(guessed_epsilon(family, rho), BITS))
    growth = _growth(family, count, guess, epsilon)
    return nearer(quick, epsilon, least, guess, _QUICK_ENOUGH, growth)


def _growth(family: Family, count: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """By how many times a relative change of the rate about changes the cost: a guess.

    That of Gaussian noise with the same variance of losses: mu / epsilon times the hazard rate of
    the normal law at mu / 2 + epsilon / mu (the derivatives of `GaussianDP.delta`).
    """
    each = rate / 2 if family is BoundedRange else rate
    mu = each * isqrt(count << 32) / (1 << 16)
    at = hazard = rounded(mu / 2 + epsilon / mu)
    for number in range(_HAZARD, 0, -1):
        hazard = rounded(at + number / hazard)
    return max(Fraction(1), rounded(mu * hazard / epsilon))


def _gaussian_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About the zCDP of the Gaussian noise with this delta at epsilon: a guess."""

    def cost(rho: Fraction) -> Fraction:
        return GaussianDP(2 * rho).delta(epsilon)

    # ln delta is about -(epsilon / mu)**2 / 2, so it changes with ln rho by its own size.
    growth = max(Fraction(1), -Interval.of(delta, _SEARCHED).log().fractions()[0])
    start = bun_steinke_rho(epsilon, delta)
    return nearer(cost, delta, start, start, _QUICK_ENOUGH, growth)


def _within_other_bounds(
    family: Family, count: int, epsilon: Fraction, delta: Fraction, best: Fraction
) -> Fraction:
    """The largest rate that another bound of `compose` allows: the sum, moments, the pure optimum.

    A bound that does not allow more than is known already is not searched.
    """
    if count == 1:

        def alone(rate: Fraction) -> Fraction:
            return family(rate).approximate(delta).epsilon

        return largest(alone, epsilon, epsilon)

    def added(rate: Fraction) -> Fraction:
        return pure_sum([(family(rate), count)]).approximate(delta).epsilon

    @cache
    def newton(rate: Fraction) -> Fraction:
        return newton_epsilon(EqualPure(rate, count), delta, epsilon)

    if added(_more(best)) <= epsilon:
        best = largest(added, epsilon, _more(best))
    best = max(best, _by_orders(family, count, epsilon, delta, best))
    if count <= MOST_EQUAL and newton(_more(best)) <= epsilon:
        best = largest(newton, epsilon, _more(best))
    return best


def _more(rate: Fraction) -> Fraction:
    return rounded(rate * (1 + 4 * NUDGE))


def _by_orders(
    family: Family, count: int, epsilon: Fraction, delta: Fraction, start: Fraction
) -> Fraction:
    """The largest rate that the moments allow: the best order for a rate, its best rate, and again.

    Each order allows more than the one before, and the last ones hardly differ.
    """
    best = start
    for _ in range(_MOST_ORDERS):
        _, excess = epsilon_by_orders([(family(best), count)], delta)

        def cost(rate: Fraction, at: Fraction = excess) -> Fraction:
            return epsilon_at_order([(family(rate), count)], delta, at, _SEARCHED).fractions()[1]

        if cost(best) > epsilon:
            break  # another bound allowed this rate, and moments do not
        last, best = best, largest(cost, epsilon, best)
        if best <= last * (1 + _ALIKE):
            break
    return best


def _largest_of_rho(family: Family, count: int, rho: Fraction) -> Fraction:
    """The largest epsilon of 32 significant bits of `count` draws within a total rho.

    A guess comes first, and the guarantee itself says whether it is within the total.  A guess that
    is not is followed by the next lower number, and by the search.
    """

    def cost(each: Fraction) -> Fraction:
        return count * family(each).zcdp.rho

    draw = rho / count
    if LEAST < draw < MOST:
        each = rounded(guessed_epsilon(family, draw), BITS)
        for _ in range(2):
            if cost(each) <= rho:
                return each
            each = rounded(each - each * NUDGE, BITS)
    return largest(cost, rho, draw)

"""From the total that a call may cost to the epsilon of each of its draws, rounded down."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from math import isqrt

from safeselect.accounting.bounds import OPTIMAL_EQUAL, known_bounds
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.moments import bun_steinke_rho, epsilon_at_order, epsilon_by_orders
from safeselect.accounting.optimum.upper import quick_epsilon
from safeselect.accounting.pure import MOST_EQUAL, equal_pure, newton_epsilon
from safeselect.accounting.search import BITS, NUDGE, largest, nearer, rounded
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.promises.guarantees import BoundedRange, Family, LaplaceDominated, PureDP

_MOST_ORDERS = 12  # tried one after the other; 4 are usual
_HAZARD = 24  # terms of a continued fraction
_ALIKE = Fraction(1, 2**18)  # near the best order its rate is flat: the rest is the square of this
_SEARCHED = 128  # bits of a bound in a search: its result is checked by `compose`
_QUICK_ENOUGH = Fraction(1, 2**12)


@lru_cache(maxsize=256)
def per_draw_epsilon(
    family: Family,
    count: int,
    epsilon: Fraction | None = None,
    delta: Fraction | None = None,
    rho: Fraction | None = None,
) -> Fraction:
    """The largest epsilon (to 32 bits) such that `count` draws of family(epsilon) keep the total.

    The total is `epsilon` alone (pure: simply epsilon / count), `epsilon` with `delta`, or `rho`.
    The result is composed and compared with the total, whatever the search did.

    Requires: exactly one of epsilon and rho; delta only with epsilon.
    """
    if rho is not None:
        return _largest_of_rho(family, count, rho)
    if epsilon is None:
        raise ParameterError("pass either epsilon or rho")
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
    while each > best and _composed(family(each), count, delta) > epsilon:
        each, cut = rounded(each * (1 - cut), BITS), 2 * cut
    return max(best, each)


def _composed(
    draw: BoundedRange | LaplaceDominated | PureDP, count: int, delta: Fraction
) -> Fraction:
    """What `compose` says of so many draws at this delta, but for the adaptive optimum."""
    if count == 1:
        return draw.approximate(delta).epsilon
    tails = (equal_pure(draw.epsilon, count), OPTIMAL_EQUAL) if count <= MOST_EQUAL else None
    return min(bound.value for bound in known_bounds([(draw, count)], delta, tails))


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
    rises = growth(family, count, guess, epsilon)
    return nearer(quick, epsilon, least, guess, _QUICK_ENOUGH, rises)


def growth(family: Family, count: int, rate: Fraction, epsilon: Fraction) -> Fraction:
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
    rises = max(Fraction(1), -Interval.of(delta, _SEARCHED).log().fractions()[0])
    start = bun_steinke_rho(epsilon, delta)
    return nearer(cost, delta, start, start, _QUICK_ENOUGH, rises)


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

    kind = PureDP if family is PureDP else LaplaceDominated  # as in `pure_sum`

    def added(rate: Fraction) -> Fraction:
        return kind(count * rate).approximate(delta).epsilon

    @cache
    def newton(rate: Fraction) -> Fraction:
        return newton_epsilon(equal_pure(rate, count), delta, epsilon)

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

    The search begins with a guess, which is mostly the result, or the next number.
    """

    def cost(each: Fraction) -> Fraction:
        return count * family(each).zcdp.rho

    draw = rho / count
    is_near = LEAST < draw < MOST
    return largest(cost, rho, rounded(guessed_epsilon(family, draw), BITS) if is_near else draw)


LEAST = Fraction(1, 2**60)
"""Of a rho: below it no rate is guessed, and an epsilon is less than 2**-28."""

MOST = 2**26
"""Of a rho: beyond it no rate is guessed, and nothing is kept private."""

_BITS = 128  # of a guess
_CLOSE = Fraction(1, 2**36)  # a step so small leaves an error of about its square
_SURE = Fraction(1, 2**60)  # more than the error, and far less than the last bit of a rate
_MOST_STEPS = 24  # of a guess; 5 are usual


def guessed_epsilon(family: Family, rho: Fraction) -> Fraction:
    """The epsilon of a draw that costs rho, or a little more; nothing is proved of it.

    By secants: the square root of rho is nearly linear in epsilon, and 0 where epsilon is.

    Requires: rho between LEAST and MOST.
    """
    wanted = _root(rho)
    at, last, held = 2 * wanted, Fraction(0), Fraction(0)
    for _ in range(_MOST_STEPS):
        found = _root(family(at).zcdp.rho)
        step = (wanted - found) * (at - last) / (found - held)
        last, held, at = at, found, rounded(at + step, _BITS)
        if abs(step) <= at * _CLOSE:
            break
    return at * (1 + _SURE)


def _root(value: Fraction) -> Fraction:
    return Fraction(isqrt((value.numerator << 2 * _BITS) // value.denominator), 1 << _BITS)

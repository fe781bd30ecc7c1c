"""The cost of many releases together: the best of the proved bounds.

The list of guarantees is fixed in advance.  The releases, and the choice of the next mechanism with
these guarantees, may depend on everything seen before.  The guarantees themselves may not: else the
choice of the best bound would depend on the data.  For such guarantees use a ledger's `Budget`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import get_args

from safeselect.accounting.bounds import (
    BASIC,
    CLOSE,
    OPTIMAL_EQUAL,
    ORDERS,
    Bound,
    basic,
    known_bounds,
    pure_sum,
    without_repetition,
)
from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.gaussian import FARTHEST, GaussianDP
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.moments import Base, Moments, Parts, Repetition, best_order, size
from safeselect.accounting.optimum.certified import least_delta, least_epsilon
from safeselect.accounting.optimum.pairs import profile
from safeselect.accounting.optimum.problem import MOST_LAWS, Part, sizes_of, squares_below
from safeselect.accounting.optimum.upper import LARGEST, problem_of, quick_epsilon
from safeselect.accounting.pure import smallest_delta
from safeselect.accounting.rate import growth
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.accounting.search import nearer
from safeselect.accounting.sums import (
    deltas_of,
    is_exactly_left,
    sum_of_deltas,
    total,
    what_is_left,
)
from safeselect.accounting.unequal import OPTIMAL_UNEQUAL, pure_tails
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, above_zero
from safeselect.exact.parameters import Number, describe, integer, rational, read_list
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Family,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

Accounted = AnyGuarantee | KnownLaw
"""What can be composed."""

GAUSSIAN = "Gaussian mechanisms add up in mu squared (Dong, Roth and Su 2022)"
PAIRS = "product of dominating pairs (Zhu, Dong and Wang 2022)"
ADAPTIVE = "adaptive optimum of bounded ranges (Dong, Durfee and Rogers 2020), fixed pairs first"

_FLOOR = -3000  # of ln delta: `above_zero` says 2**-4000 at least
_PROFILE = 256  # bits of a profile that is compared with delta

# Their order is that in which parts are added up: another one moves the last digits of a bound.
_KINDS: tuple[type, ...] = (BoundedRange, LaplaceDominated, *get_args(Accounted))
_FAMILIES = (BoundedRange, LaplaceDominated, PureDP)
MOST_PARTS = 2**62

ALONE = "its own guarantee"
NOTHING = "no releases"
CONCENTRATED = "zCDP adds up (Bun and Steinke 2016, Lemma 1.7)"

_Counted = list[tuple[Accounted, int]]


@dataclass(frozen=True, slots=True)
class Composition:
    """The guarantee of several releases together, and the theorem that proves it.

    Attributes:
        guarantee: guarantee of the whole list.
        theorem: name of the theorem that proves it.
        order: Rényi order that certifies it, if the theorem uses one.
        lower: with a delta, a lower bound on every valid epsilon; 0 if no better bound is known.
    """

    guarantee: Accounted
    theorem: str
    order: Fraction | None = None
    lower: Fraction = Fraction(0)


def compose(
    guarantees: Iterable[Accounted], delta: Number | None = None, precision: Number | None = "1e-6"
) -> Composition:
    """Return the strongest proved guarantee of several releases together, and the theorem that
    proves it.

    Fix the list before the first release. You may choose the mechanisms and their data after seeing
    earlier releases. If you also choose the guarantees in this way, use a ledger.

    - Without `delta`, the result is the strongest class that is proved. Gaussian guarantees give a
      Gaussian one. If a part is ZeroConcentratedDP, or if Gaussian and pure parts are mixed, the
      result is ZeroConcentratedDP.
    - With `delta`, the result is ApproximateDP(epsilon, delta) with the smallest epsilon of all
      known bounds: the sum, the product of Rényi moments, the optimum for pure guarantees, and the
      adaptive optimum of bounded ranges, Laplace-dominated, pure and Gaussian guarantees together.
    - `ApproximateDP` parts contribute their epsilon, and their delta is taken from the total: delta
      is 1 - (1 - rest) prod (1 - delta_i).

    Example:
        >>> from safeselect import BoundedRange, compose
        >>> compose([BoundedRange("1/10")] * 2).guarantee.epsilon
        Fraction(1, 5)

    Exactness: epsilon is rounded up to 64 significant bits; a sum is rounded only if it is too
        long. The adaptive optimum is computed from both sides, until the bounds are within
        `precision` of each other or a bounded amount of work is done. The result has both bounds.

    Args:
        guarantees: any number of guarantees in any order, such as the `parts` of results.
        delta: delta of the total, between 0 and 1; or None.
        precision: requested relative distance of the two bounds, a positive rational. None omits
            the adaptive optimum.

    Raises:
        ParameterError: an element is not a guarantee; delta is outside (0, 1), or not larger than
            that of the ApproximateDP parts; or ApproximateDP and ZeroConcentratedDP are mixed
            without delta.
    """
    parts = read_parts(guarantees)
    near = None if precision is None else rational(precision, "precision")
    if delta is None:
        return _plain(parts)
    return _best(parts, rational(delta, "delta", below=1), near)


def compose_delta(
    guarantees: Iterable[Accounted], epsilon: Number, precision: Number = "1e-6"
) -> Composition:
    """Return the smallest delta proved for several releases together at a given epsilon, and the
    theorem that proves it.

    This is `compose` for a given epsilon. `lower` of the result is a lower bound on delta. The
    guarantee is PureDP(epsilon) if no delta is needed.

    Args:
        guarantees, precision: as for `compose`.
        epsilon: epsilon of the total, a rational of at least 0.

    Raises:
        ParameterError: an element is not a guarantee, epsilon is not such a number, or no delta
            below 1 is known.
    """
    parts = read_parts(guarantees)
    at, near = rational(epsilon, "epsilon", zero=True), rational(precision, "precision")
    if not parts:
        return Composition(PureDP(at), NOTHING)
    deltas = deltas_of(parts)
    found = least_delta_bound(without_deltas(parts), at, near)
    listed = [*deltas, *([(found.value, 1)] if found.value else [])]
    whole = sum_of_deltas(listed) if found.value < 1 else Fraction(1)
    if whole >= 1:
        raise ParameterError(f"no delta below 1 is proved for epsilon {at}; use a larger epsilon")
    guarantee = ApproximateDP(at, whole) if whole else PureDP(at)
    return Composition(guarantee, found.theorem, found.order, found.lower)


def calibrate(
    family: Family,
    *,
    k: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    precision: Number | None = None,
) -> Fraction:
    """Return nearly the largest epsilon that each of k draws can have within a total cost.

    Use `BoundedRange` for draws of the exponential mechanism, `LaplaceDominated` for
    permute-and-flip and noisy maxima, and `PureDP` for all others. The draws may be adaptive. The
    result is rounded down to 32 significant bits, so that `compose([family(result)] * k, delta)` is
    within the total.

    With delta, the adaptive optimum is computed on a coarse grid. This takes a few hundredths of a
    second. The result is below the optimum by a few thousandths for up to a thousand draws, and
    by about a hundredth for thousands of bounded ranges. `precision="1e-6"` loses less and takes
    seconds; then pass the same precision to `compose`. The result is the same on every machine.

    Args:
        family: class of the guarantee of each draw.
        k: number of draws.
        epsilon: total cost, alone or with delta; a positive rational.
        delta: with epsilon, for an (epsilon, delta) total.
        rho: total cost in zCDP, instead of epsilon.
        precision: with delta, the requested relative distance from the optimum.

    Example:
        >>> from safeselect import BoundedRange, calibrate
        >>> calibrate(BoundedRange, k=4, epsilon=1)
        Fraction(1, 4)

    Raises:
        ParameterError: not exactly one of epsilon and rho, delta without epsilon, or a wrong value.
    """
    if not any(family is kind for kind in _FAMILIES):
        names = ", ".join(kind.__name__ for kind in _FAMILIES)
        raise ParameterError(f"family must be one of {names}, got {describe(family)}")
    cost = PrivacyCost.read(epsilon, delta, rho)
    count = integer(k, "k", minimum=1, maximum=MOST_PARTS)
    near = None if precision is None else rational(precision, "precision")
    each, most, at = cost.per_draw(family, count), cost.epsilon, cost.delta
    if most is None or at is None or near is None or family is PureDP or count == 1:
        return each

    def composed(rate: Fraction) -> Fraction | None:
        found = least_bound([(family(rate), count)], at, near)
        return None if found is None else found.value

    return nearer(composed, most, each, each, near, growth(family, count, each, most))


def read_parts(guarantees: Iterable[Accounted]) -> _Counted:
    """Read a list: equal ones together, without those that cost nothing.

    Raises:
        ParameterError: it is no list, or something in it is no guarantee.
    """
    given = read_list(guarantees, "guarantees", "; put it in a list: [...]")
    for guarantee in given:
        if not isinstance(guarantee, Accounted):
            raise ParameterError(
                f"every part must be a guarantee, got {describe(guarantee)}; pass, for example, "
                "result.guarantee or PureDP('0.5')"
            )
    return _ordered((guarantee, 1) for guarantee in given)


def _ordered(parts: Iterable[tuple[Accounted, int]]) -> _Counted:
    """Equal ones together, without those that cost nothing, in an order that is always the same."""
    counted: Counter[Accounted] = Counter()
    for guarantee, count in parts:
        counted[guarantee] += count
    costly = [
        (guarantee, count)
        for guarantee, count in counted.items()
        if isinstance(guarantee, (ApproximateDP, KnownLaw)) or size(guarantee)
    ]
    # Any order will do that does not depend on the caller's; that of integers is quick.
    return sorted(costly, key=lambda part: _numbers(part[0]))


def _numbers(guarantee: Accounted) -> tuple[int, ...]:
    values = [getattr(guarantee, each.name) for each in fields(guarantee)]
    own = [_numbers(v) if isinstance(v, Base) else v.as_integer_ratio() for v in values]
    return _KINDS.index(type(guarantee)), *(number for numbers in own for number in numbers)


def _plain(parts: _Counted) -> Composition:
    """Without a delta to spend."""
    if not parts:
        return Composition(PureDP(Fraction(0)), NOTHING)
    if len(parts) == 1 and parts[0][1] == 1:
        return Composition(parts[0][0], ALONE)
    plain = without_repetition(stated(parts))
    deltas, squares = deltas_of(plain), _squares(plain)
    if len(squares) == len(plain):
        return Composition(GaussianDP(total(squares)), GAUSSIAN)
    if whole := pure_sum(plain):
        if deltas:
            return Composition(ApproximateDP(whole.epsilon, sum_of_deltas(deltas)), BASIC)
        return Composition(whole, basic(whole))
    rhos = [(g.zcdp.rho, count) for g, count in plain if not isinstance(g, ApproximateDP)]
    if deltas:
        raise ParameterError(
            "to compose ApproximateDP with ZeroConcentratedDP or GaussianDP guarantees, pass delta="
        )
    return Composition(ZeroConcentratedDP(total(rhos)), CONCENTRATED)


def _best(parts: _Counted, delta: Fraction, precision: Fraction | None) -> Composition:
    """Return the smallest epsilon at this delta."""
    if not parts:
        return Composition(ApproximateDP(Fraction(0), delta), NOTHING)
    deltas = deltas_of(parts)
    if len(parts) == 1 and parts[0][1] == 1 and not deltas:
        own = parts[0][0].approximate(delta)
        best = least_bound(parts, delta, None) if isinstance(parts[0][0], Repetition) else None
        if best is not None and best.value < own.epsilon:
            return Composition(ApproximateDP(best.value, delta), best.theorem, best.order)
        lower = alone_below(parts[0][0], own.epsilon, delta, precision)
        return Composition(own, ALONE, lower=lower)
    rest = what_is_left(delta, deltas)
    best = least_bound(without_deltas(parts), rest, precision)
    if best is None:
        raise ParameterError("delta must be larger than the total delta of the ApproximateDP parts")
    # The lower bound holds at the remaining delta alone, which may have been rounded down.
    lower = best.lower if is_exactly_left(rest, delta, deltas) else Fraction(0)
    return Composition(ApproximateDP(best.value, delta), best.theorem, best.order, lower)


def without_deltas(parts: Sequence[tuple[Accounted, int]]) -> _Counted:
    """With probability 1 - delta they are as good as PureDP (Kairouz, Oh and Viswanath 2015)."""
    return _ordered(
        (PureDP(g.epsilon) if isinstance(g, ApproximateDP) else g, count) for g, count in parts
    )


def least_bound(
    parts: list[tuple[Accounted, int]], delta: Fraction, precision: Fraction | None
) -> Bound | None:
    """The best bound of parts none of which is ApproximateDP, or None where there is none.

    Without a precision the adaptive optimum is left out.
    """
    plain = stated(parts)
    are_pure = all(isinstance(guarantee, PureDP) for guarantee, _ in parts)
    known = known_bounds(plain, delta, pure_tails(plain) if delta else None, are_pure=are_pure)
    if not known or not delta:
        least = 1 - CLOSE if are_pure else 0  # without a delta, a sum of pure ones is exact
        return replace(known[0], lower=known[0].value * least) if known else None
    squares = _squares(plain)
    if squares and len(squares) == len(plain):
        exact = Bound(GaussianDP(total(squares)).approximate(delta).epsilon, GAUSSIAN)
        known = [exact, *known]  # of equal ones it comes first
    best = min(known, key=lambda bound: bound.value)
    if are_pure and known[0].theorem in (OPTIMAL_EQUAL, OPTIMAL_UNEQUAL):
        return replace(best, lower=known[0].lower)
    if all(isinstance(guarantee, (ZeroConcentratedDP, GaussianDP)) for guarantee, _ in plain):
        return replace(best, lower=_below_noise(plain, delta))
    if precision is None:
        return best
    best = _by_quick(parts, delta, best) or best
    large, others = apart(parts)
    if large and others:
        # A profile falls, so a part of epsilon e in any place moves that of the rest by at most e.
        rest = least_bound(others, delta, precision)
        if rest is not None and large + rest.value < best.value:
            return replace(rest, value=large + rest.value, order=None)
        # The rest alone costs no more than all of it, so its lower end holds.
        return best if rest is None else replace(best, lower=max(best.lower, rest.lower))
    bracket = _by_bracket(parts, delta, best.value, precision)
    if bracket is None:
        return best
    return bracket if bracket.value < best.value else replace(best, lower=bracket.lower)


def stated(parts: list[tuple[Accounted, int]]) -> list[tuple[AnyGuarantee, int]]:
    """The list with the pure guarantee of each known law, or its zCDP where it has none."""
    return [((g.pure or g.zcdp) if isinstance(g, KnownLaw) else g, count) for g, count in parts]


def _below_noise(parts: Parts, delta: Fraction) -> Fraction:
    """The lower end of zCDP and Gaussian noise: all of it may be Gaussian."""
    squares = [(2 * g.zcdp.rho, n) for g, n in parts if g.zcdp is not None]
    noise = GaussianDP(squares_below(squares))
    return surely_more(noise, noise.approximate(delta).epsilon, delta)


def _squares(parts: Parts) -> list[tuple[Fraction, int]]:
    return [(g.mu_squared, count) for g, count in parts if isinstance(g, GaussianDP)]


def _by_quick(parts: list[tuple[Accounted, int]], delta: Fraction, known: Bound) -> Bound | None:
    """The bound that a calibration uses, where it is better: so no result exceeds that bound."""
    if len(parts) != 1:
        return None
    part, count = parts[0]
    if not isinstance(part, (BoundedRange, LaplaceDominated)):
        return None
    found = quick_epsilon(part, count, delta)
    if found is None or found >= known.value:
        return None
    return Bound(found, bracket_theorem([(part, count)]))


def apart(parts: list[tuple[Accounted, int]]) -> tuple[Fraction, list[tuple[Accounted, int]]]:
    """The sum of the parts above 4 nats, which keep nothing private, and all others."""
    large: list[tuple[Fraction, int]] = []
    others: list[tuple[Accounted, int]] = []
    for part, count in parts:
        if part.pure is not None and part.pure.epsilon > LARGEST:
            large.append((part.pure.epsilon, count))
        else:
            others.append((part, count))
    return total(large), others


def _by_bracket(
    parts: list[tuple[Accounted, int]], delta: Fraction, most: Fraction, precision: Fraction
) -> Bound | None:
    """The adaptive optimum, between two bounds, where it can be computed."""
    problem = problem_of(computable(parts), delta, most)
    if problem is None:
        return None
    found = least_epsilon(problem, precision)
    return Bound(found.upper, bracket_theorem(parts), lower=found.lower)


def computable(parts: list[tuple[Accounted, int]]) -> list[tuple[Part, int]]:
    """The list, if the worst mechanism is known for every part; else an empty one."""
    kept: list[tuple[Part, int]] = [
        (part, count) for part, count in parts if not isinstance(part, (ApproximateDP, Repetition))
    ]
    # Laws cannot be made equal as numbers can, so there may not be many of them.
    laws = sum(isinstance(part, KnownLaw) for part, _ in kept)
    return kept if len(kept) == len(parts) and laws <= MOST_LAWS else []


def bracket_theorem(parts: list[tuple[Accounted, int]]) -> str:
    """The theorem behind the optimum, with its authors."""
    return ADAPTIVE if any(isinstance(g, BoundedRange) for g, _ in parts) else PAIRS


def least_delta_bound(
    parts: list[tuple[Accounted, int]], epsilon: Fraction, precision: Fraction
) -> Bound:
    """The same for delta at an epsilon: the numbers of the bound are deltas."""
    known, plain = [], stated(parts)
    if whole := pure_sum(plain):
        known.append(Bound(whole.delta(epsilon), basic(whole)))
        if not known[0].value:
            return known[0]
    delta, excess = delta_by_orders(plain, epsilon)
    known.insert(0, Bound(delta, ORDERS, 1 + excess))  # of equal bounds the first is named
    squares = _squares(plain)
    if len(squares) == len(plain):
        known.append(Bound(GaussianDP(total(squares)).delta(epsilon), GAUSSIAN))
    pure = pure_tails(plain)
    if pure is not None:
        known.append(Bound(smallest_delta(pure[0], epsilon), pure[1]))
    best = min(known, key=lambda bound: bound.value)
    if pure is not None and all(isinstance(guarantee, PureDP) for guarantee, _ in parts):
        return replace(best, lower=best.value * (1 - CLOSE))
    large, others = apart(parts)
    if large and others and large <= epsilon:
        rest = least_delta_bound(others, epsilon - large, precision)
        # The lower end of the rest is for less than this epsilon: it says nothing here.
        return replace(rest, lower=Fraction(0)) if rest.value < best.value else best
    listed = computable(parts)
    problem = problem_of(listed, best.value, max([epsilon, *sizes_of(listed)]))
    if problem is None:
        return best
    found = least_delta(problem, epsilon, precision)
    if found.upper < best.value:
        return Bound(found.upper, bracket_theorem(parts), lower=found.lower)
    return replace(best, lower=found.lower)


def delta_by_orders(parts: Parts, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """A delta that the product accountant certifies at this epsilon, and a - 1 for its order."""

    def log_delta(listed: Parts, excess: Fraction, precision: int) -> Interval:
        moments = Moments(excess, precision)
        return moments.log_product(listed) + moments.constant - excess * epsilon

    def least(precision: int) -> Interval:
        # The exponential of a number far below would have millions of digits.
        found, floor = log_delta(plain, best, precision), Interval.of(_FLOOR, precision)
        ends = max(found.lower, floor.lower), max(found.upper, floor.upper)
        return Interval(*ends, precision).exp()

    plain, best = best_order(parts, log_delta)
    return min(Fraction(1), above_zero(least)), best


def alone_below(
    part: AnyGuarantee | KnownLaw, epsilon: Fraction, delta: Fraction, precision: Fraction | None
) -> Fraction:
    """The lower end of one part alone at a delta, given the epsilon that its formula says; or 0."""
    if isinstance(part, (BoundedRange, LaplaceDominated, PureDP, GaussianDP)):
        return surely_more(part, epsilon, delta)
    if precision is None or not isinstance(part, KnownLaw):
        return Fraction(0)
    found = _by_bracket([(part, 1)], delta, epsilon, precision)
    return Fraction(0) if found is None else found.lower


def surely_more(
    part: BoundedRange | LaplaceDominated | PureDP | GaussianDP, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """A little less than this epsilon, if the part surely has a larger delta there; or 0."""
    less = epsilon * (1 - CLOSE)
    if not less or epsilon > FARTHEST:
        return Fraction(0)
    return less if profile(part, less, _PROFILE).lower > delta else Fraction(0)

"""The cost of many releases together: the best of the proved bounds.

The list of guarantees is fixed in advance.  The releases, and the choice of the next mechanism with
these guarantees, may depend on everything seen before.  The guarantees themselves may not: else the
choice of the best bound would depend on the data.  For such guarantees use a ledger's `Budget`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from safeselect.accounting.bounds import (
    BASIC,
    BASIC_LAPLACE,
    GAUSSIAN,
    Accounted,
    least_bound,
    least_delta_bound,
    pure_sum,
    stated,
    without_repetition,
)
from safeselect.accounting.changes import Base
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    KnownLaw,
    RandomizedResponse,
)
from safeselect.accounting.lower_ends import alone_below
from safeselect.accounting.repetition import PoissonRepeated, Repeated, Repetition
from safeselect.accounting.theorems.renyi import Parts, size
from safeselect.accounting.theorems.simple import (
    is_exactly_left,
    sum_of_deltas,
    total,
    what_is_left,
)
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

_STATED = (BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP, ApproximateDP, GaussianDP)
_KINDS = (
    *_STATED,
    Repeated,
    PoissonRepeated,
    DiscreteLaplace,
    DiscreteGaussian,
    RandomizedResponse,
)
MOST_PARTS = 2**62
_FINEST = Fraction(1, 10**6)

ALONE = "its own guarantee"
NOTHING = "nothing was released"
CONCENTRATED = "zCDP adds up (Bun and Steinke 2016, Lemma 1.7)"

_Counted = list[tuple[Accounted, int]]


@dataclass(frozen=True, slots=True)
class Composition:
    """The guarantee of a list of guarantees together.

    Attributes:
        guarantee: of all of them together.
        theorem: which result gave it, in words.
        order: the Rényi order that certifies it, where the theorem uses one.
        lower: with a delta: no list of such guarantees has a smaller epsilon at it, whatever the
            theorem; 0 where nothing better is known.
    """

    guarantee: Accounted
    theorem: str
    order: Fraction | None = None
    lower: Fraction = Fraction(0)


def compose(
    guarantees: Iterable[Accounted], delta: Number | None = None, precision: Number | None = "1e-6"
) -> Composition:
    """Return the best proved guarantee of a list of releases, and the theorem that gave it.

    The list must be fixed before anything is released.  The mechanisms themselves, and the data
    they look at, may be chosen after seeing earlier releases; where the guarantees are chosen so
    too, use a ledger.

    - Without `delta`: guarantees that need no delta add up, to the strongest kind that is proved;
      Gaussian ones to a Gaussian one; as soon as one is ZeroConcentratedDP, or they are mixed, all
      add up as that.
    - With `delta`: an ApproximateDP(epsilon, delta) with the least epsilon of all bounds that are
      known: the sum, the product of Rényi moments, what is optimal for pure guarantees, and the
      adaptive optimum of bounded ranges, Laplace-dominated, pure and Gaussian guarantees together.
    - `ApproximateDP` parts count with their epsilon and take their delta from the total's:
      delta is 1 - (1 - rest) prod (1 - delta_i).

    Example:
        >>> from safeselect import BoundedRange, compose
        >>> compose([BoundedRange("1/10")] * 2).guarantee.epsilon
        Fraction(1, 5)

    Exactness: an epsilon is rounded up to 64 significant bits, a sum only where it is too long.
        The adaptive optimum is computed from both sides until the two are within `precision` of
        each other, or a bounded amount of work is done; the result says how near they came.

    Args:
        guarantees: any number, in any order, such as the `parts` of results.
        delta: of the total, between 0 and 1; or None.
        precision: relative distance of the two bounds that is near enough; a positive rational.
            None leaves the adaptive optimum out, and finds what a ledger's budget at the `order`
            of the result can be spent on.

    Raises:
        ParameterError: something is no guarantee; delta is outside (0, 1), or not above what the
            ApproximateDP parts have already; they are mixed with ZeroConcentratedDP without delta.
    """
    parts = _read(guarantees)
    near = None if precision is None else rational(precision, "precision")
    if delta is None:
        return _plain(parts)
    return _best(parts, rational(delta, "delta", below=1), near)


def compose_delta(
    guarantees: Iterable[Accounted], epsilon: Number, precision: Number = "1e-6"
) -> Composition:
    """Return the least delta that is proved at an epsilon, and the theorem that gave it.

    As `compose`, with epsilon given: the `lower` of the result is one of delta.  The guarantee is
    PureDP(epsilon) where no delta is needed.

    Args:
        guarantees, precision: as for `compose`.
        epsilon: of the total; rational, at least 0.

    Raises:
        ParameterError: something is no guarantee; epsilon is no such number; or no delta below 1
            is known, so that nothing is promised.
    """
    parts = _read(guarantees)
    at, near = rational(epsilon, "epsilon", zero=True), rational(precision, "precision")
    if not parts:
        return Composition(PureDP(at), NOTHING)
    deltas = _deltas(parts)
    found = least_delta_bound(_without_deltas(parts), at, near)
    listed = [*deltas, *([(found.value, 1)] if found.value else [])]
    whole = sum_of_deltas(listed) if found.value < 1 else Fraction(1)
    if whole >= 1:
        raise ParameterError(f"at epsilon {at} no delta below 1 is proved; write a larger epsilon")
    guarantee = ApproximateDP(at, whole) if whole else PureDP(at)
    return Composition(guarantee, found.theorem, found.order, found.lower)


def composed_epsilon(parts: Parts, delta: object, precision: Fraction | None = _FINEST) -> Fraction:
    """The epsilon that `compose` finds at this delta for (guarantee, how many of it).

    Without a precision the adaptive optimum is left out.

    Raises:
        ParameterError: as for `compose`; or a count is not a positive integer.
    """
    at = rational(delta, "delta", below=1)
    for _, count in parts:
        integer(count, "the count of a part", minimum=1, maximum=MOST_PARTS)
    found = _best(_ordered(parts), at, precision).guarantee
    return found.epsilon if isinstance(found, ApproximateDP) else Fraction(0)


def _read(guarantees: Iterable[Accounted]) -> _Counted:
    if not isinstance(guarantees, Iterable):
        raise ParameterError(
            f"guarantees must be a list of guarantees, got {describe(guarantees)}; write [...] "
            "around it"
        )
    counted: Counter[Accounted] = Counter()
    for guarantee in guarantees:
        if not isinstance(guarantee, _KINDS):
            raise ParameterError(
                f"every part must be a guarantee, got {describe(guarantee)}; write "
                "result.guarantee, or PureDP('0.5')"
            )
        counted[guarantee] += 1
    return _ordered(counted.items())


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
    return sorted(costly, key=_place)


def _place(part: tuple[Accounted, int]) -> tuple[int, ...]:
    # Any order will do that does not depend on the caller's; that of integers is quick.
    guarantee, _ = part
    return _numbers(guarantee)


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
    deltas = _deltas(plain)
    squares = [(g.mu_squared, count) for g, count in plain if isinstance(g, GaussianDP)]
    if len(squares) == len(plain):
        return Composition(GaussianDP(total(squares)), GAUSSIAN)
    if not squares and all(not isinstance(g, ZeroConcentratedDP) for g, _ in plain):
        whole = pure_sum(plain)
        if deltas:
            return Composition(ApproximateDP(whole.epsilon, sum_of_deltas(deltas)), BASIC)
        return Composition(whole, BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE)
    rhos = [(g.zcdp.rho, count) for g, count in plain if not isinstance(g, ApproximateDP)]
    if deltas:
        raise ParameterError("ZeroConcentratedDP and ApproximateDP parts need a delta to be added")
    return Composition(ZeroConcentratedDP(total(rhos)), CONCENTRATED)


def _best(parts: _Counted, delta: Fraction, precision: Fraction | None) -> Composition:
    """The smallest epsilon at this delta."""
    if not parts:
        return Composition(ApproximateDP(Fraction(0), delta), NOTHING)
    if len(parts) == 1 and parts[0][1] == 1:
        own = parts[0][0].approximate(delta)
        found = _least_of_repeated(parts, delta, own.epsilon)
        lower = alone_below(parts[0][0], own.epsilon, delta, precision)
        return found or Composition(own, ALONE, lower=lower)
    deltas = _deltas(parts)
    rest = what_is_left(delta, deltas)
    best = least_bound(_without_deltas(parts), rest, precision)
    if best is None:
        raise ParameterError("delta must be larger than what the ApproximateDP parts have already")
    # The lower bound holds at the remaining delta alone, which may have been rounded down.
    lower = best.lower if is_exactly_left(rest, delta, deltas) else Fraction(0)
    return Composition(ApproximateDP(best.value, delta), best.theorem, best.order, lower)


def _least_of_repeated(parts: _Counted, delta: Fraction, own: Fraction) -> Composition | None:
    """Of one repetition alone: its moments at the best order, where they are better."""
    found = least_bound(parts, delta, None) if isinstance(parts[0][0], Repetition) else None
    if found is None or found.value >= own:
        return None
    return Composition(ApproximateDP(found.value, delta), found.theorem, found.order)


def _deltas(parts: Sequence[tuple[Accounted, int]]) -> list[tuple[Fraction, int]]:
    return [(g.delta, count) for g, count in parts if isinstance(g, ApproximateDP)]


def _without_deltas(parts: _Counted) -> _Counted:
    """With probability 1 - delta they are as good as PureDP (Kairouz, Oh and Viswanath 2015)."""
    return _ordered(
        (PureDP(g.epsilon) if isinstance(g, ApproximateDP) else g, count) for g, count in parts
    )

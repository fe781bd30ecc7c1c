"""What many releases cost together: the best of the bounds that are proved.

The list of guarantees is fixed in advance.  What is released, and which mechanism with these
guarantees comes next, may depend on everything seen before; what the guarantees are may not, or the
choice of the best bound would itself depend on the data: that is for a ledger's `Budget`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.optimal import MOST_EQUAL, EqualPure, Tails, smallest_epsilon
from safeselect.accounting.orders import Parts, epsilon_by_orders, size
from safeselect.accounting.ranges import EqualBoundedRange
from safeselect.accounting.sums import sum_of_deltas, total, what_is_left
from safeselect.accounting.unequal import UnequalPure
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Guarantee,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

__all__ = ["MOST_PARTS", "Composition", "compose", "composed_epsilon"]

_KINDS = (BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP, ApproximateDP)
MOST_PARTS = 2**62
_MOST_IN_BATCH = 10_000  # equal parts of bounded range up to which their optimum is worked out

ALONE = "its own guarantee"
NOTHING = "nothing was released"
BASIC = "basic composition (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006)"
BASIC_LAPLACE = "basic composition of Laplace-dominated guarantees (lemma L0)"
CONCENTRATED = "zCDP adds up (Bun and Steinke 2016, Lemma 1.7)"
ORDERS = "product of Rényi moments (Canonne, Kamath and Steinke 2020, Proposition 12)"
OPTIMAL_EQUAL = "optimal composition of pure DP (Kairouz, Oh and Viswanath 2015, Theorem 3.3)"
OPTIMAL_UNEQUAL = "optimal composition of pure DP (Murtagh and Vadhan 2016, Theorem 1.5)"
OPTIMAL_RANGES = "optimal composition of bounded range, not adaptive (Dong, Durfee and Rogers 2020)"


@dataclass(frozen=True, slots=True)
class Composition:
    """What a list of guarantees comes to.

    Attributes:
        guarantee: of all of them together.
        theorem: which result gave it, in words.
        order: the Rényi order that certifies it, where the theorem uses one.
    """

    guarantee: Guarantee
    theorem: str
    order: Fraction | None = None


def compose(
    guarantees: Iterable[Guarantee], delta: Number | None = None, *, adaptive: bool = True
) -> Composition:
    """Return the best proved guarantee of a list of releases, and the theorem that gave it.

    The list must be fixed before anything is released.  The mechanisms themselves, and the data
    they look at, may be chosen after seeing earlier releases; where the guarantees are chosen so
    too, use a ledger.

    - Without `delta`: guarantees that need no delta add up, to the strongest kind that is proved;
      as soon as one is ZeroConcentratedDP all add up as that.
    - With `delta`: an ApproximateDP(epsilon, delta) with the smallest epsilon of the sum, the
      product of Rényi moments and, up to twenty unequal or a million equal guarantees, the optimum
      for pure guarantees.
    - `ApproximateDP` parts count with their epsilon and take their delta from the total's:
      delta is 1 - (1 - rest) prod (1 - delta_i).

    Exactness: an epsilon is rounded up to 64 significant bits, a sum only where it is too long.

    Args:
        guarantees: any number, in any order, such as the `parts` of results.
        delta: of the total, between 0 and 1; or None.
        adaptive: False promises more: no mechanism depended on the output of another.  It helps
            equal BoundedRange parts, such as rows chosen by the exponential mechanism in one batch.

    Raises:
        ParameterError: something is no guarantee; delta is outside (0, 1), or not above what the
            ApproximateDP parts have already; they are mixed with ZeroConcentratedDP without delta.
    """
    if not isinstance(adaptive, bool):
        raise ParameterError(f"adaptive must be True or False, got {describe(adaptive)}")
    if not isinstance(guarantees, Iterable):
        raise ParameterError(
            f"guarantees must be a list of guarantees, got {describe(guarantees)}; write [...] "
            "around it"
        )
    counted: Counter[Guarantee] = Counter()
    for guarantee in guarantees:
        if not isinstance(guarantee, _KINDS):
            raise ParameterError(
                f"every part must be a guarantee, got {describe(guarantee)}; write "
                "result.guarantee, or PureDP('0.5')"
            )
        counted[guarantee] += 1
    parts = _ordered(counted.items())
    if delta is None:
        return _plain(parts)
    return _best(parts, rational(delta, "delta", below=1), adaptive=adaptive)


def composed_epsilon(parts: Parts, delta: Number) -> Fraction:
    """The epsilon that `compose` finds at this delta for (guarantee, how many of it).

    Raises:
        ParameterError: as for `compose`; or a count is not a positive integer.
    """
    at = rational(delta, "delta", below=1)
    for _, count in parts:
        integer(count, "the count of a part", minimum=1, maximum=MOST_PARTS)
    found = _best(_ordered(parts), at).guarantee
    return found.epsilon if isinstance(found, ApproximateDP) else Fraction(0)


def _ordered(parts: Iterable[tuple[Guarantee, int]]) -> Parts:
    """Equal ones together, without those that cost nothing, in an order that is always the same."""
    counted: Counter[Guarantee] = Counter()
    for guarantee, count in parts:
        counted[guarantee] += count
    costly = [
        (guarantee, count)
        for guarantee, count in counted.items()
        if isinstance(guarantee, ApproximateDP) or size(guarantee)
    ]
    return sorted(costly, key=_place)


def _place(part: tuple[Guarantee, int]) -> tuple[int, ...]:
    # Any order will do that does not depend on the caller's; that of integers is quick.
    guarantee, _ = part
    numbers = [size(guarantee)]
    if isinstance(guarantee, ApproximateDP):
        numbers.append(guarantee.delta)
    return _KINDS.index(type(guarantee)), *(x for n in numbers for x in n.as_integer_ratio())


def _plain(parts: Parts) -> Composition:
    """Without a delta to spend."""
    if not parts:
        return Composition(PureDP(Fraction(0)), NOTHING)
    if len(parts) == 1 and parts[0][1] == 1:
        return Composition(parts[0][0], ALONE)
    deltas = _deltas(parts)
    if all(not isinstance(guarantee, ZeroConcentratedDP) for guarantee, _ in parts):
        whole = _pure_sum(parts)
        if deltas:
            return Composition(ApproximateDP(whole.epsilon, sum_of_deltas(deltas)), BASIC)
        return Composition(whole, BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE)
    rhos = [(g.zcdp.rho, count) for g, count in parts if not isinstance(g, ApproximateDP)]
    if deltas:
        raise ParameterError("ZeroConcentratedDP and ApproximateDP parts need a delta to be added")
    return Composition(ZeroConcentratedDP(total(rhos)), CONCENTRATED)


def _best(parts: Parts, delta: Fraction, *, adaptive: bool = True) -> Composition:
    """The smallest epsilon at this delta."""
    if not parts:
        return Composition(ApproximateDP(Fraction(0), delta), NOTHING)
    if len(parts) == 1 and parts[0][1] == 1:
        return Composition(parts[0][0].approximate(delta), ALONE)
    rest = what_is_left(delta, _deltas(parts))
    # With probability 1 - rest they are as good as PureDP (Kairouz, Oh and Viswanath 2015).
    if _deltas(parts):
        parts = _ordered(
            (PureDP(g.epsilon) if isinstance(g, ApproximateDP) else g, count) for g, count in parts
        )
    found = [bound for bound in (_by_sum(parts, rest), _by_orders(parts, rest)) if bound]
    if not found:
        raise ParameterError("delta must be larger than what the ApproximateDP parts have already")
    best = min(found, key=_epsilon)
    for search in [_by_optimum] if adaptive else [_by_optimum, _by_batch]:
        better = search(parts, rest, best[0])
        if better is not None:
            best = min(better, best, key=_epsilon)
    epsilon, theorem, order = best
    return Composition(ApproximateDP(epsilon, delta), theorem, order)


_Bound = tuple[Fraction, str, Fraction | None]  # epsilon, theorem, order


def _epsilon(bound: _Bound) -> Fraction:
    return bound[0]


def _by_sum(parts: Parts, delta: Fraction) -> _Bound | None:
    if any(isinstance(guarantee, ZeroConcentratedDP) for guarantee, _ in parts):
        return None
    whole = _pure_sum(parts)
    epsilon = whole.approximate(delta).epsilon if delta else whole.epsilon
    return epsilon, BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE, None


def _by_orders(parts: Parts, delta: Fraction) -> _Bound | None:
    if not delta or not parts:
        return None
    epsilon, excess = epsilon_by_orders(parts, delta)
    return epsilon, ORDERS, 1 + excess


def _by_optimum(parts: Parts, delta: Fraction, most: Fraction) -> _Bound | None:
    """What is optimal for pure guarantees, where that is at most `most`."""
    counted: Counter[Fraction] = Counter()
    for guarantee, count in parts:
        if isinstance(guarantee, ZeroConcentratedDP):
            return None
        counted[size(guarantee)] += count
    pures, theorem = list(counted.items()), OPTIMAL_UNEQUAL
    tails: Tails | None = UnequalPure.of(pures)
    if len(pures) == 1:
        tails, theorem = EqualPure(*pures[0]), OPTIMAL_EQUAL
        if pures[0][1] > MOST_EQUAL:
            return None
    if not delta or not pures or tails is None:
        return None
    epsilon = smallest_epsilon(tails, delta, most)
    return None if epsilon is None else (epsilon, theorem, None)


def _by_batch(parts: Parts, delta: Fraction, most: Fraction) -> _Bound | None:
    """What is optimal for equal parts of bounded range, where that is at most `most`."""
    guarantee, count = parts[0] if len(parts) == 1 else (None, 0)
    if not delta or not isinstance(guarantee, BoundedRange) or count > _MOST_IN_BATCH:
        return None
    batch = EqualBoundedRange(guarantee.epsilon, count)
    epsilon = smallest_epsilon(batch, delta, most)
    if epsilon is None or (
        batch.truncations(epsilon) and batch.optimum(epsilon, 128).upper > delta
    ):
        return None  # the search saw only where its climbs ended
    return epsilon, OPTIMAL_RANGES, None


def _pure_sum(parts: Parts) -> LaplaceDominated | PureDP:
    """The sum of the epsilons; Laplace-dominated where all parts are.

    Along the line from one data set's locations to the neighbour's, the pair of products of Laplace
    laws is as far from itself as the way gone times the sum: the hypothesis of lemma L0.
    """
    epsilon = total([(size(guarantee), count) for guarantee, count in parts])
    dominated = all(isinstance(g, (BoundedRange, LaplaceDominated)) for g, _ in parts)
    return LaplaceDominated(epsilon) if dominated else PureDP(epsilon)


def _deltas(parts: Parts) -> list[tuple[Fraction, int]]:
    return [(g.delta, count) for g, count in parts if isinstance(g, ApproximateDP)]

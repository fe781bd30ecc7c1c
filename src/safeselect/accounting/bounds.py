"""The cost of a list of guarantees at a delta: the least of several bounds, with its theorem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.lower_ends import CLOSE, surely_more
from safeselect.accounting.optimum.certified import (
    least_delta,
    least_epsilon,
    quick_epsilon,
    worth_trying,
)
from safeselect.accounting.optimum.problem import MOST_KINDS, Part, Problem, sizes_of, squares_below
from safeselect.accounting.repetition import Repetition
from safeselect.accounting.theorems.equal_pure import (
    MOST_EQUAL,
    EqualPure,
    Tails,
    exceeds,
    smallest_delta,
    smallest_epsilon,
)
from safeselect.accounting.theorems.renyi import Parts, delta_by_orders, epsilon_by_orders, size
from safeselect.accounting.theorems.simple import total
from safeselect.accounting.theorems.unequal_pure import UnequalPure
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

Stated = AnyGuarantee
"""Guarantees that are stated by a number or two."""

Accounted = Stated | KnownLaw
"""What can be composed."""

BASIC = "basic composition (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006)"
BASIC_LAPLACE = "basic composition of Laplace-dominated guarantees (lemma L0)"
ORDERS = "product of Rényi moments (Canonne, Kamath and Steinke 2020, Proposition 12)"
OPTIMAL_EQUAL = "optimal composition of pure DP (Kairouz, Oh and Viswanath 2015, Theorem 3.3)"
OPTIMAL_UNEQUAL = "optimal composition of pure DP (Murtagh and Vadhan 2016, Theorem 1.5)"
GAUSSIAN = "Gaussian mechanisms add up in mu squared (Dong, Roth and Su 2022)"
PAIRS = "product of dominating pairs (Zhu, Dong and Wang 2022)"
ADAPTIVE = "adaptive optimum of bounded ranges (Dong, Durfee and Rogers 2020), fixed pairs first"


@dataclass(frozen=True, slots=True)
class Bound:
    """A valid epsilon at a delta, or a valid delta at an epsilon.

    Attributes:
        value: rational.
        theorem: which result gave it, in words.
        order: the Rényi order, where the theorem uses one.
        lower: no smaller value is possible; 0 where no better lower bound is known.
    """

    value: Fraction
    theorem: str
    order: Fraction | None = None
    lower: Fraction = Fraction(0)


def least_bound(
    parts: list[tuple[Accounted, int]], delta: Fraction, precision: Fraction | None
) -> Bound | None:
    """The best bound of parts none of which is ApproximateDP, or None where there is none.

    Without a precision the adaptive optimum is left out.
    """
    plain = stated(parts)
    if any(isinstance(guarantee, Repetition) for guarantee, _ in plain):
        return _with_repetition(plain, delta)
    known = [bound for bound in (_by_sum(plain, delta), _by_orders(plain, delta)) if bound]
    if not known or not delta:
        return known[0] if known else None
    most = min(bound.value for bound in known)
    pure, gaussian = _by_pure_optimum(parts, plain, delta, most), _by_gaussian(plain, delta)
    # Of equal ones the exact bound comes first.
    known = [bound for bound in (pure, gaussian) if bound] + known
    best = min(known, key=lambda bound: bound.value)
    exact = gaussian or (pure if is_pure(parts) else None)
    if exact:
        return replace(best, lower=exact.lower)
    if precision is None:
        return best
    quick = _by_quick(parts, delta, best)
    best = quick or best
    bracket = _by_bracket(parts, delta, best.value, precision)
    if bracket is None:
        return best
    return bracket if bracket.value < best.value else replace(best, lower=bracket.lower)


def stated(parts: list[tuple[Accounted, int]]) -> list[tuple[Stated, int]]:
    """The list with the pure guarantee of each known law, or its zCDP where it has none."""
    return [((g.pure or g.zcdp) if isinstance(g, KnownLaw) else g, count) for g, count in parts]


def pure_sum(parts: Sequence[tuple[Stated, int]]) -> LaplaceDominated | PureDP:
    """The sum of the epsilons; Laplace-dominated where all parts are.

    Along the line from one data set's locations to the neighbour's, the products of Laplace laws
    differ by at most the distance times the sum: the hypothesis of lemma L0.
    """
    epsilon = total([(size(guarantee), count) for guarantee, count in parts])
    dominated = all(isinstance(g, (BoundedRange, LaplaceDominated)) for g, _ in parts)
    return LaplaceDominated(epsilon) if dominated else PureDP(epsilon)


def without_repetition(parts: Sequence[tuple[Stated, int]]) -> list[tuple[Stated, int]]:
    """The same list with what follows from repeated runs, for theorems that do not know it."""
    return [(g.single if isinstance(g, Repetition) else g, count) for g, count in parts]


def _with_repetition(parts: list[tuple[Stated, int]], delta: Fraction) -> Bound | None:
    """The best of the upper bounds; nothing is known from below."""
    single = without_repetition(parts)
    known = [bound for bound in (_by_sum(single, delta), _by_orders(parts, delta)) if bound]
    if not known:
        return None
    most = min(bound.value for bound in known)
    pure = _by_pure_optimum([*single], single, delta, most) if delta else None
    best = min([pure, *known] if pure else known, key=lambda bound: bound.value)
    return replace(best, lower=Fraction(0))


def moments_of(parts: list[tuple[Stated, int]]) -> Parts:
    """The same list for the product accountant: mu-GDP has the moments of (mu**2 / 2)-zCDP."""
    return [(g.zcdp if isinstance(g, GaussianDP) else g, count) for g, count in parts]


def _concentrated(guarantee: Stated) -> bool:
    """Whether it has no epsilon of its own."""
    return isinstance(guarantee, (ZeroConcentratedDP, GaussianDP))


def _by_sum(parts: list[tuple[Stated, int]], delta: Fraction) -> Bound | None:
    if any(_concentrated(guarantee) for guarantee, _ in parts):
        return None
    whole = pure_sum(parts)
    epsilon = whole.approximate(delta).epsilon if delta else whole.epsilon
    return Bound(epsilon, BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE)


def _by_orders(parts: list[tuple[Stated, int]], delta: Fraction) -> Bound | None:
    if not delta or not parts:
        return None
    epsilon, excess = epsilon_by_orders(moments_of(parts), delta)
    return Bound(epsilon, ORDERS, 1 + excess)


def pure_tails(parts: list[tuple[Stated, int]]) -> tuple[Tails, str] | None:
    """The exact loss of randomized responses, with its theorem, where they are few or equal.

    Every part must imply PureDP.
    """
    counted: Counter[Fraction] = Counter()
    for guarantee, count in parts:
        if _concentrated(guarantee):
            return None
        counted[size(guarantee)] += count
    pures = list(counted.items())
    if len(pures) == 1:
        equal = EqualPure(*pures[0])
        return (equal, OPTIMAL_EQUAL) if pures[0][1] <= MOST_EQUAL else None
    unequal = UnequalPure.of(pures)
    return None if unequal is None or not pures else (unequal, OPTIMAL_UNEQUAL)


def is_pure(parts: list[tuple[Accounted, int]]) -> bool:
    """Whether randomized responses are really the worst."""
    return all(isinstance(guarantee, PureDP) for guarantee, _ in parts)


def _by_pure_optimum(
    parts: list[tuple[Accounted, int]],
    plain: list[tuple[Stated, int]],
    delta: Fraction,
    most: Fraction,
) -> Bound | None:
    """The optimum of pure guarantees, where that is at most `most`."""
    found = pure_tails(plain)
    if found is None:
        return None
    tails, theorem = found
    epsilon = smallest_epsilon(tails, delta, most)
    if epsilon is None:
        return None
    less = epsilon * (1 - CLOSE)
    sure = is_pure(parts) and exceeds(tails, less, delta)
    return Bound(epsilon, theorem, lower=less if sure else Fraction(0))


def _by_gaussian(parts: list[tuple[Stated, int]], delta: Fraction) -> Bound | None:
    """Where all are Gaussian, their sum."""
    if not parts or not all(isinstance(guarantee, GaussianDP) for guarantee, _ in parts):
        return None
    epsilon = GaussianDP(_squares(parts)).approximate(delta).epsilon
    less = GaussianDP(
        squares_below([(g.mu_squared, n) for g, n in parts if isinstance(g, GaussianDP)])
    )
    return Bound(epsilon, GAUSSIAN, lower=surely_more(less, epsilon, delta))


def _squares(parts: list[tuple[Stated, int]]) -> Fraction:
    return total([(g.mu_squared, n) for g, n in parts if isinstance(g, GaussianDP)])


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


def _by_bracket(
    parts: list[tuple[Accounted, int]], delta: Fraction, most: Fraction, precision: Fraction
) -> Bound | None:
    """The adaptive optimum, between two bounds, where it can be computed."""
    known = computable(parts)
    if known is None or not worth_trying(known, delta, most):
        return None
    found = least_epsilon(Problem.of(known, delta, most), precision)
    return Bound(found.upper, bracket_theorem(known), lower=found.lower)


def computable(parts: list[tuple[Accounted, int]]) -> list[tuple[Part, int]] | None:
    """The list, if the worst mechanism is known for every part."""
    kept: list[tuple[Part, int]] = []
    for guarantee, count in parts:
        if isinstance(guarantee, (ZeroConcentratedDP, ApproximateDP, Repetition)):
            return None
        kept.append((guarantee, count))
    # Laws cannot be made equal as numbers can, so there may not be many of them.
    return kept if sum(isinstance(part, KnownLaw) for part, _ in kept) <= MOST_KINDS else None


def bracket_theorem(parts: list[tuple[Part, int]]) -> str:
    """The theorem behind the optimum, with its authors."""
    return ADAPTIVE if any(isinstance(g, BoundedRange) for g, _ in parts) else PAIRS


def least_delta_bound(
    parts: list[tuple[Accounted, int]], epsilon: Fraction, precision: Fraction
) -> Bound:
    """The same for delta at an epsilon: the numbers of the bound are deltas."""
    known, plain = [], stated(parts)
    single = without_repetition(plain)
    if not any(_concentrated(guarantee) for guarantee, _ in single):
        whole = pure_sum(single)
        theorem = BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE
        known.append(Bound(whole.delta(epsilon), theorem))
        if not known[0].value:
            return known[0]
    delta, excess = delta_by_orders(moments_of(plain), epsilon)
    known.insert(0, Bound(delta, ORDERS, 1 + excess))  # of equal bounds the first is named
    if all(isinstance(guarantee, GaussianDP) for guarantee, _ in plain):
        normal = GaussianDP(_squares(plain))
        known.append(Bound(normal.delta(epsilon), GAUSSIAN))
    pure = pure_tails(single)
    if pure is not None:
        known.append(Bound(smallest_delta(pure[0], epsilon), pure[1]))
    best = min(known, key=lambda bound: bound.value)
    if any(isinstance(guarantee, Repetition) for guarantee, _ in plain):
        return best
    if is_pure(parts) and pure is not None:
        return replace(best, lower=best.value * (1 - CLOSE))
    listed = computable(parts)
    most = max([epsilon, *sizes_of(listed or [])])
    if not best.value or listed is None or not worth_trying(listed, best.value, most):
        return best
    found = least_delta(Problem.of(listed, best.value, most), epsilon, precision)
    if found.upper < best.value:
        return Bound(found.upper, bracket_theorem(listed), lower=found.lower)
    return replace(best, lower=found.lower)

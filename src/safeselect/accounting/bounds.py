"""The bounds that a formula gives: the sum, Rényi moments, the optimum of pure guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.moments import Composable, Parts, Repetition, epsilon_by_orders, size
from safeselect.accounting.pure import Tails, exceeds, smallest_epsilon
from safeselect.accounting.sums import total
from safeselect.promises.guarantees import (
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

BASIC = "basic composition (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006)"
BASIC_LAPLACE = "basic composition of Laplace-dominated guarantees (lemma L0)"
ORDERS = "product of Rényi moments (Canonne, Kamath and Steinke 2020, Proposition 12)"
OPTIMAL_EQUAL = "optimal composition of pure DP (Kairouz, Oh and Viswanath 2015, Theorem 3.3)"

CLOSE = Fraction(1, 2**30)
"""Relative distance of the two ends, where the optimum is exact."""


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


def known_bounds(
    parts: Parts, delta: Fraction, tails: tuple[Tails, str] | None, *, are_pure: bool = False
) -> list[Bound]:
    """All bounds on epsilon of parts none of which is ApproximateDP; of equal ones the exact first.

    Args:
        parts: what each guarantees, and how often.
        delta: 0 where only a sum will do.
        tails: the exact loss of randomized responses, with its theorem, where it is known.
        are_pure: whether nothing more is known of them, so that randomized responses are the worst.
    """
    known: list[Bound] = []
    whole = pure_sum(parts)
    if whole is not None:
        known.append(
            Bound(whole.approximate(delta).epsilon if delta else whole.epsilon, basic(whole))
        )
    if not delta or not parts:
        return known
    epsilon, excess = epsilon_by_orders(parts, delta)
    known.append(Bound(epsilon, ORDERS, 1 + excess))
    least = tails and smallest_epsilon(tails[0], delta, min(bound.value for bound in known))
    if not tails or least is None:
        return known
    less = least * (1 - CLOSE)
    sure = are_pure and exceeds(tails[0], less, delta)
    return [Bound(least, tails[1], lower=less if sure else Fraction(0)), *known]


def without_repetition(parts: Parts) -> Parts:
    """The same list with what follows from repeated runs, for theorems that do not know it."""
    return [(g.single if isinstance(g, Repetition) else g, count) for g, count in parts]


def pure_sum(parts: Parts) -> LaplaceDominated | PureDP | None:
    """The sum of the epsilons; Laplace-dominated where all parts are; None where one has none.

    Along the line from one data set's locations to the neighbour's, the products of Laplace laws
    differ by at most the distance times the sum: the hypothesis of lemma L0.
    """
    single = without_repetition(parts)
    if any(concentrated(guarantee) for guarantee, _ in single):
        return None
    epsilon = total([(size(guarantee), count) for guarantee, count in single])
    dominated = all(isinstance(g, (BoundedRange, LaplaceDominated)) for g, _ in single)
    return LaplaceDominated(epsilon) if dominated else PureDP(epsilon)


def basic(whole: LaplaceDominated | PureDP) -> str:
    """The theorem behind a sum."""
    return BASIC if isinstance(whole, PureDP) else BASIC_LAPLACE


def concentrated(guarantee: Composable) -> bool:
    """Whether it has no epsilon of its own."""
    return isinstance(guarantee, (ZeroConcentratedDP, GaussianDP))

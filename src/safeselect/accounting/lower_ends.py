"""What no epsilon is below, where the answer is exact: the same formula, rounded down."""

from __future__ import annotations

from fractions import Fraction

from safeselect.accounting.gaussian import FARTHEST, GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.optimum.certified import least_epsilon, worth_trying
from safeselect.accounting.optimum.problem import Problem
from safeselect.accounting.optimum.profiles import profile
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, LaplaceDominated, PureDP

CLOSE = Fraction(1, 2**30)
"""Relative distance of the two ends, where the optimum is exact."""

_PROFILE = 256  # bits of a profile that is compared with delta


def alone_below(
    part: AnyGuarantee | KnownLaw, epsilon: Fraction, delta: Fraction, precision: Fraction | None
) -> Fraction:
    """The lower end of one part alone at a delta, given the epsilon that its formula says.

    For an ApproximateDP part, that of the randomized response which has it; 0 where none is known.
    """
    if isinstance(part, ApproximateDP):
        rest = (delta - part.delta) / (1 - part.delta)
        pure = PureDP(part.epsilon)
        return surely_more(pure, pure.approximate(rest).epsilon, rest) if rest else part.epsilon
    if isinstance(part, (BoundedRange, LaplaceDominated, PureDP, GaussianDP)):
        return surely_more(part, epsilon, delta)
    listed = [(part, 1)] if isinstance(part, KnownLaw) else []
    if precision is None or not listed or not worth_trying(listed, delta, epsilon):
        return Fraction(0)
    return least_epsilon(Problem.of(listed, delta, epsilon), precision).lower


def surely_more(
    part: BoundedRange | LaplaceDominated | PureDP | GaussianDP, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """A little less than this epsilon, if the part surely has a larger delta there; or 0."""
    less = epsilon * (1 - CLOSE)
    if not less or epsilon > FARTHEST:
        return Fraction(0)
    return less if profile(part, less, _PROFILE).lower > delta else Fraction(0)

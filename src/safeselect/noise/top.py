"""The rankings that mechanisms ask for: which law, and one ranking or several with noise redrawn.

Scalar twins: `samplers.lazy` draws the same noises for one candidate, digit by digit.
"""

from __future__ import annotations

from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.rate import Decay
from safeselect.noise.arrays import BitSource, Numbers
from safeselect.noise.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.noise.plan import plan
from safeselect.noise.rank import combine, draw, settle
from safeselect.noise.ranking import Ranking

__all__ = ["exponential_peeled", "exponential_top", "gumbel_top", "laplace_top"]

_STEP = Fraction(1)


def exponential_top(
    steps: Numbers,
    k: int,
    decay: Decay,
    bits: BitSource,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
) -> Ranking:
    """Rank the k largest of score + exponential noise of decay rho; k = 1 is permute-and-flip.

    Args:
        steps: uint64, one score a candidate in grid steps; only differences matter.  Overwritten.
        k: how many to rank, 1 .. n (n - 1 with gaps).
        decay: rho, the factor of the noise's tail P(E > t + 1) / P(E > t) per grid step.
        bits: where random bytes come from.
        gaps: also return the floors of the gaps between neighbours, down to the (k+1)-th.
        gap_unit: the unit of the gaps in grid steps, worth 2**-40 nats or more.

    Exactness: the law of the real-valued noise; see `rank`.
    Reveals: requests and calls follow from n, k, decay and gaps, but with probability 2**-40.

    Raises:
        ParameterError: k is not between 1 and n (n - 1 with gaps).
    """
    return _top(EXPONENTIAL, steps, k, decay, bits, gaps, gap_unit)


def gumbel_top(
    steps: Numbers,
    k: int,
    decay: Decay,
    bits: BitSource,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
) -> Ranking:
    """Rank the k largest of score + Gumbel noise: the exponential mechanism, peeled k times.

    For k = 1 the winner is i with probability proportional to rho**-score_i.
    Arguments, exactness and errors are those of `exponential_top`.
    """
    return _top(GUMBEL, steps, k, decay, bits, gaps, gap_unit)


def laplace_top(
    steps: Numbers,
    k: int,
    decay: Decay,
    bits: BitSource,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
) -> Ranking:
    """Rank the k largest of score + continuous Laplace noise, density falling as rho**|x|.

    Arguments, exactness and errors are those of `exponential_top`.
    """
    return _top(LAPLACE, steps, k, decay, bits, gaps, gap_unit)


def exponential_peeled(steps: Numbers, k: int, decay: Decay, bits: BitSource) -> Ranking:
    """Select k candidates by k rounds of permute-and-flip on those that remain.

    Noise is redrawn in each round, so this is not `exponential_top`; see section 7
    of `docs/mathematics.md`.
    Winners are masked, not deleted: a round's work follows from n and its number.
    Arguments and errors are those of `exponential_top`.
    """
    _check(steps.size, k)
    winners: list[int] = []
    public = plan(EXPONENTIAL, 1, decay, False)
    for _ in range(k):
        draws = draw(steps.size, public, bits, len(winners))
        result = combine(steps, draws, public, winners)
        if result is None:
            result = settle(steps, draws, public, bits, winners)
        winners.append(result.indices[0])
    return Ranking(tuple(winners), None)


def _top(
    law: Law,
    steps: Numbers,
    k: int,
    decay: Decay,
    bits: BitSource,
    gaps: bool,
    gap_unit: Fraction,
) -> Ranking:
    _check(steps.size, k + gaps)
    public = plan(law, k, decay, True, gap_unit) if gaps else plan(law, k, decay, False)
    draws = draw(steps.size, public, bits)
    result = combine(steps, draws, public)
    # None has probability below 2**-40; see `combine`.
    return settle(steps, draws, public, bits) if result is None else result


def _check(n: int, need: int) -> None:
    if not 1 <= need <= n:
        raise ParameterError(f"k must be between 1 and the number of candidates, {n}, less gaps")

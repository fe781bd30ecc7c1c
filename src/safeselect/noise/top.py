"""The rankings that mechanisms ask for: one, or several with noise redrawn.

Scalar twins: `samplers.lazy` draws the same noises for one candidate, digit by digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.decay import Decay
from safeselect.noise.arrays import BitSource, Numbers
from safeselect.noise.laws import LAWS
from safeselect.noise.plan import Plan, plan
from safeselect.noise.rank import combine, draw, settle
from safeselect.noise.ranking import Ranking

__all__ = ["noisy_top_k", "peeled_top_k"]

_STEP = Fraction(1)


def noisy_top_k(
    noise: str,
    steps: Numbers,
    k: int,
    decay: Decay,
    bits: BitSource,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
) -> Ranking:
    """Rank the k largest of score + noise, drawn once for all of them.

    Exponential noise with k = 1 is permute-and-flip.  Gumbel noise is the exponential mechanism,
    peeled k times: for k = 1 the winner is i with probability proportional to rho**-score_i.

    Args:
        noise: "exponential", "laplace" (continuous, density falling as rho**|x|) or "gumbel".
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
    _check(steps.size, k + gaps)
    # The unit matters to gaps only: one plan for all rankings without.
    public = plan(LAWS[noise], k, decay, gaps, gap_unit if gaps else _STEP)
    return _ranked(steps, public, bits)


def peeled_top_k(noise: str, steps: Numbers, k: int, decay: Decay, bits: BitSource) -> Ranking:
    """Select k candidates in k rounds, each with noise of its own on those that remain.

    With exponential noise this is permute-and-flip k times, and not `noisy_top_k`: see section 7
    of `docs/mathematics.md`.
    Winners are masked, not deleted: a round's work follows from n and its number.
    Arguments and errors are those of `noisy_top_k`.
    """
    _check(steps.size, k)
    winners: list[int] = []
    public = plan(LAWS[noise], 1, decay, False)
    for _ in range(k):
        winners.append(_ranked(steps, public, bits, winners).indices[0])
    return Ranking(tuple(winners), None)


def _ranked(steps: Numbers, public: Plan, bits: BitSource, removed: Sequence[int] = ()) -> Ranking:
    draws = draw(steps.size, public, bits, len(removed))
    result = combine(steps, draws, public, removed)
    # None has probability below 2**-40; see `combine`.
    return settle(steps, draws, public, bits, removed) if result is None else result


def _check(n: int, need: int) -> None:
    if not 1 <= need <= n:
        raise ParameterError(f"k must be between 1 and the number of candidates, {n}, less gaps")

"""What a mechanism does on made-up scores: many draws with a seed, or all chances.  NOT PRIVATE.

Both read the scores once, by the door of the mechanisms, and calibrate the noise as they do.
Nothing is charged, and nothing here may be released: an experiment reveals the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import perm
from typing import Any, get_args

import numpy as np
from gmpy2 import pack, unpack
from numpy.typing import NDArray

from safeselect import engine
from safeselect.engine.arrays import Indices
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.exact.parameters import Number, integer, read_choice
from safeselect.mechanisms.select import CANDIDATES, Asked, Total
from safeselect.mechanisms.table import ORDERED, Calibration, Ordered, Peeled
from safeselect.randomness.bits import Bits
from safeselect.release.call import source_name
from safeselect.release.progress import counted
from safeselect.scores.candidates import Scores
from safeselect.scores.reading import GridScores
from safeselect.testing.sources import SimulationSource, refuse_in_production

_MOST = 10_000  # outcomes whose chances are computed
_MOST_DRAWS = 2**31 - 1
_FARTHEST = 2**11  # nats: a weight below exp(-2**11) counts as 0
_DIGITS = 128
_ONE = 1 << _DIGITS
_ROOM = 2 * _DIGITS + 16  # digits of a sum of up to 2**14 products
_ERROR = Fraction(1, 2**50)


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """The outcomes of many calls to a mechanism with the same scores. NOT PRIVATE.

    Attributes:
        indices: int64 array with the position of each winner, or of shape (repetitions, k), best
            first.
        source: source of the bytes.
    """

    indices: Indices
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities:
    """The probabilities of all outcomes of one call to a mechanism. NOT PRIVATE.

    Attributes:
        indices: int64 array of the outcomes: the positions 0 to n - 1; or shape (m, k), all m
            ordered lists of k candidates, best first.
        values: probability of each outcome.
        error: bound on the relative error of each value, except of values below 2**-1000. The exact
            sum of all values therefore differs from 1 by at most this bound.
        source: origin of the probabilities.
    """

    indices: Indices
    values: NDArray[np.float64]
    error: Fraction = _ERROR
    source: str = "the scores themselves (NOT PRIVATE)"


def simulate(
    mechanism: Ordered,
    scores: Scores[Any],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    k: int | None = None,
    repetitions: int = 10_000,
    seed: bytes | str | int,
) -> Simulation:
    """Call a mechanism many times on synthetic scores. NOT PRIVATE.

    The calls use the same engine as releases.

    The scores are read once, and the calls are independent. They are the rows of a batch in which
    every row has the same scores or, with `k`, separate rankings.

    Args:
        mechanism: "permute_and_flip", "exponential", "exponential_base2" or "one_shot_exponential",
            as for `top_k`; with one winner the last is permute-and-flip.
        scores: synthetic or public scores, as for `top_k`.
        epsilon, delta, rho: cost of each call.
        k: number of candidates that each call chooses, best first (default: one winner).
        repetitions: number of calls.
        seed: seed; the same seed gives the same outcomes.
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error: as for `top_k`.

    Returns:
        Simulation.

    Raises:
        ParameterError: a parameter is wrong, or SAFESELECT_REQUIRE_PRODUCTION is set.
        ScoreError: the scores cannot be read.

    Example:
        >>> from safeselect.testing import simulate
        >>> drawn = simulate("exponential", [3, 9, 5], epsilon=1, sensitivity=1, seed=7)
        >>> len(drawn.indices), drawn.source
        (10000, 'SimulationSource (NOT PRIVATE)')
    """
    read_choice(mechanism, "mechanism", ORDERED)
    count = integer(repetitions, "repetitions", minimum=1, maximum=_MOST_DRAWS)
    source = SimulationSource(seed)
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    plan, steps = _read(mechanism, scores, (epsilon, delta, rho), scored, k)
    with Bits(source) as bits:
        if k is None:
            rows = np.broadcast_to(steps, (count, steps.size))
            found = engine.noisy_max_rows(plan.law.noise, rows, plan.noise_rate, bits)
        else:
            found = np.empty((count, plan.k), np.int64)
            with counted("draws", count) as more:
                for place in range(count):
                    found[place] = plan.rank(steps.copy(), bits).indices
                    more(1)
    return Simulation(found, source_name(source))


def probabilities(
    scores: Scores[Any],
    *,
    mechanism: Peeled,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    k: int | None = None,
) -> Probabilities:
    """Return the probability of every outcome of a mechanism on synthetic scores. NOT PRIVATE.

    Exactness: enclosures and integers, rounded once, to the nearest float; see `error`.

    Args:
        scores: synthetic or public scores, as for `top_k`, at most 10 000. With `k`, there may be
            at most 10 000 ordered lists: 100 candidates for k = 2, 22 for k = 3.
        mechanism: "permute_and_flip", "exponential" or "exponential_base2".
        epsilon, delta, rho: cost of the call.
        k: number of candidates that the call chooses, best first (default: one winner).
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error: as for `top_k`.

    Raises:
        ParameterError: a parameter is wrong, there are too many outcomes, or
            SAFESELECT_REQUIRE_PRODUCTION is set.
        ScoreError: the scores cannot be read.

    Example:
        >>> from safeselect.testing import probabilities
        >>> law = probabilities([0, 1], mechanism="exponential", epsilon=2, sensitivity=1)
        >>> law.values  # 1 / (1 + e), e / (1 + e)
        array([0.26894142, 0.73105858])
    """
    refuse_in_production("probabilities")
    read_choice(mechanism, "mechanism", get_args(Peeled))
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    plan, read = _read(mechanism, scores, (epsilon, delta, rho), scored, k)
    if perm(read.size, plan.k) > _MOST:
        raise ParameterError(
            f"there are more than {_MOST} outcomes; use fewer candidates or a smaller k"
        )
    steps = read.tolist()
    chances: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(plan.k):
        following: dict[tuple[int, ...], Fraction] = {}
        for order, chance in chances.items():
            left = [place for place in range(len(steps)) if place not in order]
            each = _winners([steps[place] for place in left], plan)
            following |= {(*order, i): chance * p for i, p in zip(left, each, strict=True)}
        chances = following
    shape = len(chances) if k is None else (len(chances), k)
    indices = np.array([*chances], dtype=np.int64).reshape(shape)
    return Probabilities(indices, np.fromiter(map(float, chances.values()), np.float64))


def _read(
    mechanism: Ordered, scores: object, total: Total, scored: tuple[object, ...], k: object
) -> tuple[Calibration, GridScores]:
    """The noise of a call, and the scores in steps."""
    asked = Asked.read(total, scored, None, None, None)
    candidates = asked.on(scores, None).candidates
    limit = candidates.size
    count = 1 if k is None else integer(k, "k", minimum=1, maximum=limit, limit=CANDIDATES)
    plan = asked.calibrate_in_order(mechanism, count)
    return plan, candidates.scores_on_grid(asked.reading, minimize=asked.minimize)


def _winners(steps: Sequence[int], plan: Calibration) -> list[Fraction]:
    """The chance of each candidate to be chosen first, off by less than 2**-80 of itself."""
    best = max(steps)
    weights = [_weight(plan.noise_rate, best - each) for each in steps]
    fixed = [(weight.numerator << _DIGITS) // weight.denominator for weight in weights]
    if plan.law.noise == "gumbel":
        total = Fraction(sum(fixed), _ONE)
        return [weight / total for weight in weights]
    shares = _integrals(fixed)
    return [weight * Fraction(share, _ONE) for weight, share in zip(weights, shares, strict=True)]


@lru_cache(maxsize=1 << 14)
def _weight(noise_rate: NoiseRate, distance: int) -> Fraction:
    """rho**distance, rounded down by less than 2**-120 of it; 0 where it is below exp(-2**11)."""
    if distance * noise_rate.nats(64).fractions()[0] > _FARTHEST:
        return Fraction(0)
    return noise_rate.power(distance, 0, _DIGITS).fractions()[0]


def _integrals(chances: list[int]) -> list[int]:
    """For each r the integral over [0, 1] of prod_{j != r} (1 - p_j t) dt, all in 2**-128.

    Method: with u = 1 - t each factor is (1 - p_j) + p_j u, so that nothing is ever subtracted.
        From the leaves of a tree upwards, the products of its factors, as polynomials in u.  From
        the root downwards, the *moments* of a node: the integrals of u**i times all factors that
        are not below it.
    Exactness: a product loses less than a unit a coefficient.  Its coefficients add up to 1, so one
        of s factors lacks fewer than s (log2 s + 1) units.  A moment is at most 1, so on each floor
        it loses no more than that and a unit: fewer than 2**18 in all.  The chances themselves,
        fewer than 2**9 units too small, move an integral by fewer than 2**23.  It is at least
        1 / n, so less than 2**-90 of it is lost.
    """
    size = 1 << (len(chances) - 1).bit_length()
    padded = chances + [0] * (size - len(chances))
    floors = [[[_ONE - chance, chance] for chance in padded]]
    while len(floors[-1]) > 1:
        floors.append(
            [_times(*pair) for pair in zip(floors[-1][::2], floors[-1][1::2], strict=True)]
        )
    moments = [[_ONE // (i + 1) for i in range(size)]]
    for below in reversed(floors[:-1]):
        half = len(below[0]) - 1
        beside = (below[place ^ 1][::-1] for place in range(len(below)))
        # Entry half + i of the product is the sum over j of factor j times moment i + j.
        moments = [
            _times(other, moments[place // 2])[half : 2 * half]
            for place, other in enumerate(beside)
        ]
    return [share for share, *_ in moments[: len(chances)]]


def _times(left: list[int], right: list[int]) -> list[int]:
    """The product of two polynomials, each coefficient rounded down."""
    product = unpack(pack(left, _ROOM) * pack(right, _ROOM), _ROOM)
    found = [coefficient >> _DIGITS for coefficient in map(int, product)]
    return found + [0] * (len(left) + len(right) - 1 - len(found))

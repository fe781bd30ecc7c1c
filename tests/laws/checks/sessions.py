"""Sparse-vector sessions against their laws: one answer, two answers, two sessions.

The laws are worked out here from the published densities alone.  The threshold's noise is X and a
value's is Y, and only Y - X is compared; two answers share X.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import pairwise, product
from math import exp
from typing import Any

import numpy as np
from checks.finding import Refuted
from checks.mechanisms import SessionCase
from checks.releases import gate
from numpy.typing import NDArray

_CELLS = 1 << 14
_FINE = Fraction(1, 1 << 30)  # of gaps: two are equal by chance with probability below 2**-20


def check_answers(case: SessionCase, every: int) -> None:
    """Compare the answers to two queries of one session with their joint law.

    Both calibrations are looked at, and values below, at and above the threshold.

    Raises:
        Refuted: the shares of the answers contradict it.
    """
    count = 2000 if every == 1 else 80
    settings = [(True, 0), (False, -2), (True, 2), (False, 0)][: 4 if every == 1 else 2]
    for monotonic, value in settings:
        law = _two_answers(case, monotonic, value)
        pairs: Counter[Hashable] = Counter()
        for _ in range(count):
            session = _open(case, monotonic=monotonic)
            pairs[_branch(session.query(value)), _branch(session.query(value))] += 1
        gate(pairs, count, law)


def check_queries(case: SessionCase, every: int) -> None:
    """Two queries share the threshold's noise and nothing else; two sessions share nothing.

    Raises:
        Refuted: gaps are equal, or their order depends on another's.
    """
    count = 600 if every == 1 else 60
    signs_of: list[Hashable] = [*product((True, False), repeat=2)]
    quarter = dict.fromkeys(signs_of, (Fraction(1, 4),) * 2)
    whole = case.noise == "geometric"
    signs: Counter[Hashable] = Counter()
    firsts: list[Fraction] = []
    for _ in range(count):
        # Geometric noise has whole steps: a small epsilon makes ties rare.
        session = _open(
            case, k=8, epsilon="1/10000" if whole else 8, gap_grid=1 if whole else _FINE
        )
        gaps = [session.query(10**9).gap for _ in range(2)] + list(
            session.query_many([10**9] * 4).gaps
        )
        if len(set(gaps)) < len(gaps) - 2 * whole:
            raise Refuted("two answers share their noise")
        signs[gaps[0] > gaps[1], gaps[2] > gaps[3]] += 1
        firsts.append(gaps[0])
    loose = {pair: (Fraction(6, 25), Fraction(13, 50)) for pair in quarter} if whole else quarter
    gate(signs, count, loose)
    if len(set(firsts)) < count - 2 * whole:
        raise Refuted("two sessions share their noise")
    _one_threshold(case, count)
    middle = sorted(firsts)[count // 2]
    pairs: Counter[Hashable] = Counter(list(pairwise(gap > middle for gap in firsts))[::2])
    gate(pairs, count // 2, dict.fromkeys(quarter, (Fraction(6, 25), Fraction(13, 50))))


def _one_threshold(case: SessionCase, count: int) -> None:
    """All of epsilon but little pays for answers: their noise is small, and they agree."""
    same: Counter[Hashable] = Counter()
    for _ in range(count):
        session = _open(case, epsilon=10, split="1/1000")
        same[session.query(0).above == session.query(0).above] += 1
    # They differ where the threshold's noise, of scale 100, comes within the answers', of scale 1.
    most = Fraction(1, 40)
    gate(same, count, {True: (1 - most, Fraction(1)), False: (Fraction(0), most)})


# ---- the laws


def _open(case: SessionCase, **more: Any) -> Any:
    given = {"threshold": 0, "k": 2, "epsilon": 2, "sensitivity": 1, "noise": case.noise, **more}
    return case.open(**given)


def _branch(answer: Any) -> Hashable:
    return (answer.branch or "above") if answer.above else "below"


def _two_answers(
    case: SessionCase, monotonic: bool, value: int
) -> dict[Hashable, tuple[Fraction, Fraction]]:
    """Enclose the joint law of two answers, by the threshold's noise X in cells of equal mass."""
    k, epsilon, spread = 2, 2.0, 1 if monotonic else 2
    share = 1 / (1 + (spread * k) ** (2 / 3))
    start, each = epsilon * share, epsilon * (1 - share) / k / spread
    branches: list[tuple[Hashable, float, float]] = [("above", each, 0.0)]
    if case.adaptive:
        # By default the margin is the standard deviation of Laplace noise at this rate.
        branches = [("top", each / 2, 2**0.5 / (each / 2)), ("middle", each, 0.0)]
    below, alone = _chances(case.noise, start, value, branches)
    names: list[Hashable] = [name for name, _, _ in branches]
    marginals = {"below": below, **dict(zip(names, alone, strict=True))}
    return {
        (one, other): _mean_of_product(marginals[one], marginals[other])
        for one, other in product(marginals, repeat=2)
    }


def _mean_of_product(one: Any, other: Any) -> tuple[Fraction, Fraction]:
    """The mean of a product of two functions of the cell, each known at the cells' ends."""
    low = np.minimum(one[1:], one[:-1]) * np.minimum(other[1:], other[:-1])
    high = np.maximum(one[1:], one[:-1]) * np.maximum(other[1:], other[:-1])
    # A function of a branch may rise and fall within one cell by less than this.
    slack = Fraction(1, 1000)
    least, most = Fraction(float(np.mean(low))), Fraction(float(np.mean(high)))
    return max(least - slack, Fraction(0)), min(most + slack, Fraction(1))


def _chances(
    noise: str, start: float, value: int, branches: list[tuple[Hashable, float, float]]
) -> tuple[Any, list[Any]]:
    """Given X: the chance of "below", and of each branch, at the ends of the cells of X."""
    shares = np.arange(_CELLS + 1) / _CELLS
    shares[0], shares[-1] = 1e-12, 1 - 1e-12
    x = _noise_at(noise, start, shares) - _mean(noise, start)
    rest, found = np.ones_like(x), []
    for _, rate, margin in branches:
        # value + Y - mean(Y) >= x + margin
        least = x + margin - value + _mean(noise, rate)
        chance = _reaches(noise, rate, least)
        found.append(rest * chance)
        rest = rest * (1 - chance)
    return rest, found


def _noise_at(noise: str, rate: float, shares: Any) -> Any:
    if noise == "geometric":
        return np.floor(-np.log1p(-shares) / rate)
    return quantiles(noise, shares) / rate


def _reaches(noise: str, rate: float, least: Any) -> Any:
    """P(Y >= least)."""
    if noise == "geometric":
        # Means are rounded by 2**-20; no least value here is that near to a whole number.
        return np.exp(-rate * np.maximum(np.ceil(least - 1e-6), 0))
    return survival(noise, least * rate)


def _mean(noise: str, rate: float) -> float:
    if noise == "laplace":
        return 0.0
    return 1 / rate if noise == "exponential" else exp(-rate) / (1 - exp(-rate))


def quantiles(noise: str, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """x with P(E <= x) = share."""
    rest = np.maximum(-np.expm1(np.log(share)), 1e-18)
    if noise == "exponential":
        return -np.log(rest)
    if noise == "gumbel":
        return -np.log(np.maximum(-np.log(share), 1e-18))
    return np.where(share < 0.5, np.log(2 * share), -np.log(2 * rest))


def survival(noise: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(E > x)."""
    if noise == "exponential":
        return np.exp(-np.maximum(x, 0))
    if noise == "gumbel":
        return -np.expm1(-np.exp(-x))
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, 1 - tail, tail)

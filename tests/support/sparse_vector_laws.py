"""Exact laws of sparse vector transcripts, by quadrature over the threshold's noise, for the tests.

Given the threshold's noise, the answers are independent: so the law of all transcripts is one
integral of products.  The numbers of the mechanism (rates, places, margins, costs) are those of the
shipped `Terms`, or of a broken variant of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import floor, inf

import numpy as np

from safeselect.mechanisms.sessions import Terms

VALUES = range(4)
LAST = 3  # gaps of so many cells and more are one outcome


@dataclass(frozen=True)
class Way:
    """A branch in grid steps: above if value - place + noise - threshold noise >= margin."""

    rate: float  # inf: no noise at all
    place: float
    margin: float
    cell: float
    cost: float


@dataclass(frozen=True)
class Rules:
    """What the checker knows of a mechanism.

    Attributes:
        stop: the session ends once less than this is left of `budget`.
        released: "gap", "answer" or "value" (value + noise, rounded down).
    """

    noise: str
    rate: float
    ways: tuple[Way, ...]
    start: float
    budget: float
    stop: float
    released: str = "gap"

    @classmethod
    def of(cls, terms: Terms) -> Rules:
        ways = tuple(
            Way(
                float(branch.noise_rate.rate),
                branch.place / terms.denominator,
                branch.least / terms.denominator,
                branch.cell / terms.denominator,
                float(branch.epsilon),
            )
            for branch in terms.branches
        )
        budget, dearest = float(terms.epsilon - terms.start), max(way.cost for way in ways)
        return cls(
            terms.noise, float(terms.noise_rate.rate), ways, float(terms.start), budget, dearest
        )

    def with_rate(self, rate: float) -> Rules:
        return replace(self, ways=tuple(replace(way, rate=rate) for way in self.ways))


def tail(noise: str, rate: float, x):
    """P(noise >= x) for an array of x."""
    x = np.asarray(x, dtype=float)
    if rate == inf:
        return (x <= 0).astype(float)
    if noise == "geometric":
        # Places are off the grid by rounded means: 1e-12 keeps whole numbers whole.
        return np.exp(-rate * np.maximum(np.ceil(x - 1e-12), 0))
    if noise == "exponential":
        return np.exp(-rate * np.maximum(x, 0))
    half = np.exp(-rate * np.abs(x)) / 2
    return np.where(x >= 0, half, 1 - half)


def nodes(rules: Rules, points: int = 7):
    """Values and weights of the threshold's noise; exact where answers' laws have no kinks."""
    reach = 40 / rules.rate
    if rules.noise == "geometric":
        eta = np.arange(floor(reach) + 1, dtype=float)
        return eta, (1 - np.exp(-rules.rate)) * np.exp(-rules.rate * eta)
    kinks = {0.0}
    for way in rules.ways:
        kinks |= {way.place % 1, (way.place + way.margin) % 1}
    cells = np.arange(-floor(reach) if rules.noise == "laplace" else 0, floor(reach) + 1)
    ends = np.unique(np.round([cell + kink for cell in cells for kink in kinks], 12))
    ends = ends if rules.noise == "laplace" else np.unique(np.append(ends[ends >= 0], 0))
    x, w = np.polynomial.legendre.leggauss(points)
    width, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    eta = (middle[:, None] + width[:, None] * x).ravel()
    weight = (width[:, None] * w).ravel()
    density = rules.rate * np.exp(-rules.rate * np.abs(eta))
    return eta, weight * density / (2 if rules.noise == "laplace" else 1)


def outcomes(rules: Rules, value: float, eta) -> dict[tuple, tuple]:
    """For each outcome of one query: its probabilities given the noise `eta`, and its cost."""
    found: dict[tuple, tuple] = {}
    missed = np.ones_like(eta)
    for number, way in enumerate(rules.ways):
        needed = way.place + eta - value  # of the noise, for a difference of 0
        for m, low, high in _cells(rules, way, eta):
            share = tail(rules.noise, way.rate, low + needed)
            if high is not None:
                share = share - tail(rules.noise, way.rate, np.maximum(high, low) + needed)
            found[number, m] = missed * share, way.cost
        missed = missed * (1 - tail(rules.noise, way.rate, way.margin + needed))
    found[("below",)] = missed, 0.0
    return found


def _cells(rules: Rules, way: Way, eta) -> Iterable[tuple]:
    """What is released above: a number, and between which differences it is released."""
    if rules.released == "answer":
        yield 0, way.margin, None
        return
    # value + noise = difference + place + threshold noise
    shift = way.place + eta if rules.released == "value" else 0 * eta
    first = -2 if rules.released == "value" else floor(way.margin / way.cell)
    for m in range(first, LAST + 1):
        low = np.maximum(m * way.cell - shift, way.margin)
        yield m, low, None if m == LAST else (m + 1) * way.cell - shift


def table(rules: Rules, eta):
    """Names, costs, and probabilities [value, outcome, node]."""
    each = [outcomes(rules, value, eta) for value in VALUES]
    names = list(each[0])
    costs = np.array([each[0][name][1] for name in names])
    return names, costs, np.array([[by[name][0] for name in names] for by in each])


def joint(rules: Rules, n: int):
    """P(outcomes | values), axes value, outcome, value, outcome ...; and how much each spends.

    Outcomes that come after the session has ended have probability NaN.
    """
    eta, weight = nodes(rules)
    names, costs, given = table(rules, eta)
    flat = given.reshape(-1, len(eta))
    halves = [np.ones((1, len(eta))), np.ones((1, len(eta)))]
    for i in range(n):
        half = halves[i % 2]
        halves[i % 2] = (half[:, None, :] * flat[None]).reshape(-1, len(eta))
    # The halves hold queries 0, 2, .. and 1, 3, ..; their law does not depend on the order.
    law = ((halves[0] * weight) @ halves[1].T).reshape((len(VALUES), len(names)) * n)
    spent = np.zeros((1, len(names)) * n)
    ended = np.zeros_like(spent, dtype=bool)
    for i in range(n):
        ended |= rules.budget - spent < rules.stop - 1e-9
        spent = spent + costs.reshape((1, 1) * i + (1, -1) + (1, 1) * (n - 1 - i))
    return np.where(ended, np.nan, law), spent


@dataclass(frozen=True)
class Certificate:
    """loss: the largest log-ratio of a transcript's probabilities over all neighbours; excess: the
    largest amount by which one exceeds what the transcript itself has spent.
    """

    loss: float
    excess: float


def certify(
    rules: Rules, *, monotone: bool, n: int = 4, moves: Iterable[range] | None = None
) -> Certificate:
    """Compare all transcripts of up to n queries for all neighbours among VALUES.

    Args:
        moves: how far a value may move, all of them within the same range; by default by 1, up or
            down, or all the same way where they are monotone.
    """
    if moves is None:
        moves = [range(2), range(-1, 1)] if monotone else [range(-1, 2)]
    allowed = tuple(moves)
    loss = excess = -inf
    for count in range(1, n + 1):
        law, spent = joint(rules, count)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(law, 0))
        for move in {move for steps in allowed for move in product(steps, repeat=count)}:
            here = tuple(s for d in move for s in (slice(max(-d, 0), 4 - max(d, 0)), slice(None)))
            there = tuple(s for d in move for s in (slice(max(d, 0), 4 + min(d, 0)), slice(None)))
            with np.errstate(invalid="ignore"):
                ratio = logs[here] - logs[there]
            ratio = np.where(np.isnan(ratio), -inf, ratio)  # ended before, or impossible in both
            loss = max(loss, float(ratio.max()))
            excess = max(excess, float((ratio - spent).max()) - rules.start)
    return Certificate(loss, excess)

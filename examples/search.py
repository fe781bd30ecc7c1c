"""Hyper-parameter search over private scikit-learn models that releases only the best model.

A decision tree predicts whether a plane leaves New York at least 50 times a year. Each run draws
hyper-parameters, trains a tree on noisy counts and scores it with noise. The best run is released.

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: a run is 1/4-differentially private for each plane. The best of a geometric number of
runs, 20 on average, is 3/4-differentially private. The other runs are never released.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from itertools import product
from typing import Any

from flights import CARRIERS, MONTHS, by_plane
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.tree import DecisionTreeClassifier
from tuning import BUSY, Plane, carrier, first_month, reach

from safeselect import PureDP, best_of
from safeselect.engine.geometric import discrete_laplace
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.sources import OpenSSLSource

EACH, GAMMA = Fraction(1, 4), Fraction(1, 20)

# The attributes that a tree may use, with all their values as numbers. Both are public.
LOOKS: dict[str, tuple[Callable[[Plane], int], int]] = {
    "carrier": (lambda plane: CARRIERS.index(carrier(plane)), len(CARRIERS)),
    "first month": (lambda plane: first_month(plane) - 1, len(MONTHS)),
    "reach": (lambda plane: reach(plane) - 1, 20),
}
GRID = {
    "looks": [("reach",), ("carrier",), ("first month",), ("carrier", "reach")],
    "max_depth": [1, 2, 4, 8],
    "min_weight_fraction_leaf": [0.0, 0.01, 0.1],
}
Parameters, Halves = dict[str, Any], tuple[list[Plane], list[Plane]]


def noise(count: int) -> list[int]:
    """Return this many draws of discrete Laplace noise of rate EACH."""
    with Bits(OpenSSLSource()) as bits:
        found: list[int] = discrete_laplace(count, NoiseRate(EACH), bits).tolist()
    return found


def cell(looks: tuple[str, ...], plane: Plane) -> tuple[int, ...]:
    """Return the values of the attributes `looks` for a plane."""
    return tuple(LOOKS[look][0](plane) for look in looks)


def train(looks: tuple[str, ...], planes: list[Plane], **tree: Any) -> DecisionTreeClassifier:
    """Fit a tree to noisy counts of all cells.

    One more plane adds 1 to one count. Discrete Laplace noise of rate EACH on all counts, including
    those of empty cells, gives PureDP(EACH). Everything computed from the noisy counts costs
    nothing.
    """
    counts = Counter((*cell(looks, plane), len(plane) >= BUSY) for plane in planes)
    every = list(product(*(range(LOOKS[look][1]) for look in looks), (False, True)))
    weights = [max(0, counts[key] + x) for key, x in zip(every, noise(len(every)), strict=True)]
    rows, labels = [key[:-1] for key in every], [key[-1] for key in every]
    return DecisionTreeClassifier(random_state=0, **tree).fit(rows, labels, sample_weight=weights)


def score(model: DecisionTreeClassifier, looks: tuple[str, ...], planes: list[Plane]) -> int:
    """Return the noisy number of correct predictions, to which one more plane adds 0 or 1."""
    guesses = model.predict([cell(looks, plane) for plane in planes])
    right = sum(g == (len(p) >= BUSY) for g, p in zip(guesses, planes, strict=True))
    return int(right) + noise(1)[0]


def search(halves: Halves, draw: Callable[[], Parameters]) -> Any:
    """Return the best of a random number of runs, each with its own hyper-parameters."""

    def run(scope: Any) -> tuple[int, tuple[Parameters, DecisionTreeClassifier]]:
        parameters = draw()
        looks = parameters["looks"]
        # A plane is in only one half, so it changes the counts or the score. Each costs EACH.
        scope.check(PureDP(EACH))
        tree = {name: value for name, value in parameters.items() if name != "looks"}
        model = train(looks, halves[0], **tree)
        return score(model, looks, halves[1]), (parameters, model)

    return best_of(run, base=PureDP(EACH), gamma=GAMMA)


def grid_search() -> Iterator[Parameters]:
    """Search a grid: each run draws one of its points uniformly at random."""
    points = ParameterGrid(GRID)
    while True:
        yield points[int.from_bytes(os.urandom(8)) % len(points)]


def random_search() -> Iterator[Parameters]:
    """Search at random: scikit-learn draws from public lists or distributions."""
    while True:
        yield from ParameterSampler(GRID, n_iter=1, random_state=int.from_bytes(os.urandom(4)))


def main() -> None:
    halves: Halves = ([], [])
    for tail_number, plane in by_plane().items():
        # The half of a plane depends on this plane alone.
        halves[sha256(tail_number.encode()).digest()[0] % 2].append(plane)
    for name, draws in (("grid", grid_search()), ("random", random_search())):
        best = search(halves, draws.__next__)
        print(f"{name} search: {best.labels[0][0]}, noisy score: {best.value}")
        print(f"guarantee: {best.guarantee.pure}, {best.guarantee.expected_runs} runs expected")


if __name__ == "__main__":
    main()

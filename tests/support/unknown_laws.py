"""Exact laws of lists from unknown domains, and how well they tell neighbours apart.

`Teller` stands in for an engine: it tells which noise is asked for and gives out a noise of the
test's choice, so that the law of the real code is found by going through all of it.  `list_law`
and its mutants are written independently, from the definition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any
from unittest import mock

import mpmath
import numpy as np

from safeselect.engine import Ranking
from safeselect.mechanisms import unknown

Law = Mapping[Hashable, Any]
BOTTOM = "bot"


@dataclass
class Teller:
    """An engine whose noise the test chooses.

    Attributes:
        order: the ranking to give out.
        noise: the integers to give out.
        asked: what was asked for: (steps, k, decay) or (n, decay).
    """

    order: tuple[int, ...] = ()
    noise: tuple[int, ...] = ()
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def noisy_top_k(self, noise: str, steps: Any, k: int, noise_rate: Any, bits: object) -> Ranking:
        assert noise == "gumbel"
        self.asked.append(([int(step) for step in steps], k, noise_rate))
        return Ranking(self.order[:k] or tuple(range(k)), None)

    def discrete_laplace(self, n: int, noise_rate: Any, bits: object) -> Any:
        self.asked.append((n, noise_rate))
        return np.array(self.noise or [0] * n, dtype=np.int64)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """In the place of the engine, for lists."""
        with (
            mock.patch.object(unknown, "engine", self),
            mock.patch.object(unknown, "discrete_laplace", self.discrete_laplace),
        ):
            yield


def peeled(weights: list[Any], order: tuple[int, ...]) -> Any:
    """The probability that exponential mechanisms, each on what is left, choose in this order."""
    left, chance = sum(weights), mpmath.mpf(1)
    for place in order:
        chance, left = chance * weights[place] / left, left - weights[place]
    return chance


def law_of_list(run: Callable[[Teller], Hashable]) -> dict[Hashable, Any]:
    """The law of what `run` returns, where it asks an engine for one noisy ranking."""
    teller = Teller()
    run(teller)
    ((steps, k, noise_rate),) = teller.asked
    rate = mpmath.mpf(noise_rate.rate.numerator) / noise_rate.rate.denominator
    weights = [mpmath.exp(rate * (step - max(steps))) for step in steps]
    law: dict[Hashable, Any] = defaultdict(mpmath.mpf)
    for order in permutations(range(len(steps)), k):
        law[run(Teller(order=order))] += peeled(weights, order)
    return dict(law)


def list_law(
    counts: tuple[int, ...], k: int, k_bar: int, epsilon: Any, offset: Any, *, strict: bool = False
) -> dict[tuple[Hashable, ...], Any]:
    """The law of the list in terms of ranks, from the definition, dummies included.

    Args:
        counts: in descending order, k_bar + 1 of them.
        offset: from the (k_bar + 1)-th count to the bottom.
        strict: the mutant that lets only items above the (k_bar + 1)-th count compete.
    """
    bottom = counts[k_bar] + offset
    competing = [count for count in counts[:k_bar] if not strict or count > counts[k_bar]]
    weights = [mpmath.exp(epsilon * count) for count in competing]
    weights.append(mpmath.exp(epsilon * bottom))
    law: dict[tuple[Hashable, ...], Any] = defaultdict(mpmath.mpf)
    for order in permutations(range(len(weights)), min(k, len(weights))):
        listed: list[Hashable] = []
        for place in order:
            if place == len(competing) or counts[place] == 0:
                listed.append(BOTTOM)
                break
            listed.append(place)
        law[tuple(listed)] += peeled(weights, order)
    return dict(law)


def discrete_laplace_law(epsilon: float, reach: int) -> dict[int, float]:
    """P(X = x) for |x| <= reach."""
    noise_rate = float(mpmath.exp(-epsilon))
    return {
        x: (1 - noise_rate) / (1 + noise_rate) * noise_rate ** abs(x)
        for x in range(-reach, reach + 1)
    }


def law_of_counts(
    run: Callable[[tuple[int, ...]], Hashable], places: int, chances: Mapping[int, float]
) -> dict[Hashable, float]:
    """The law of what `run` makes of `places` independent integers, but for what `chances` lack."""
    law: dict[Hashable, float] = defaultdict(float)
    for noise in product(chances, repeat=places):
        chance = 1.0
        for value in noise:
            chance *= chances[value]
        law[run(noise)] += chance
    return dict(law)


def excess(law: Law, other: Law, factor: Any) -> Any:
    """The largest P(S) - factor * P'(S) over all events S: the delta at epsilon = ln(factor)."""
    return sum(max(chance - factor * other.get(key, 0), 0) for key, chance in law.items())


@dataclass(frozen=True)
class Pair:
    """Two neighbouring histograms as far as a list can tell: their largest counts, and which
    places of the one hold the items of the other's (None: an item that is not among them)."""

    counts: tuple[int, ...]
    other: tuple[int, ...]
    places: tuple[int | None, ...]


def neighbours(items: int, most: int, k_bar: int, contributions: int) -> Iterator[Pair]:
    """All pairs, both ways round, once each: h' lacks one user of h, who has at most so many items.

    Args:
        items, most: histograms of so many items with counts 0 .. most.
    """
    seen = set()
    for histogram in product(range(most + 1), repeat=items):
        for user in product(*((0, 1) if count else (0,) for count in histogram)):
            if 0 < sum(user) <= contributions:
                without = tuple(a - b for a, b in zip(histogram, user, strict=True))
                seen.add(_pair(histogram, without, k_bar))
                seen.add(_pair(without, histogram, k_bar))
    yield from seen


def _pair(histogram: tuple[int, ...], other: tuple[int, ...], k_bar: int) -> Pair:
    order, behind = _order(histogram), _order(other)
    first, padding = behind[:k_bar], (0,) * max(0, k_bar + 1 - len(histogram))
    return Pair(
        tuple(histogram[item] for item in order[: k_bar + 1]) + padding,
        tuple(other[item] for item in behind[: k_bar + 1]) + padding,
        tuple(first.index(item) if item in first else None for item in order[:k_bar]),
    )


def _order(histogram: tuple[int, ...]) -> list[int]:
    """Count descending, then the item's own number."""
    return sorted(range(len(histogram)), key=lambda item: (-histogram[item], item))


def renamed(law: Law, rename: Callable[[Any], Hashable]) -> dict[Hashable, Any]:
    """The law of renamed outcomes: tuples where their order is released, otherwise frozensets."""
    return {type(outcome)(map(rename, outcome)): chance for outcome, chance in law.items()}


def worst(
    pairs: Iterable[Pair],
    law: Callable[[tuple[int, ...]], Law],
    factor: Any,
    place: Callable[[Any, Callable[[int], Hashable]], Hashable] = lambda part, at: at(part),
) -> Any:
    """The largest delta at epsilon = ln(factor) over all pairs.

    Args:
        law: the law of a list in terms of ranks, given the largest counts.
        place: applies a renaming of ranks to a part of an outcome.
    """
    laws: dict[tuple[int, ...], Law] = {}
    found = 0 * factor
    for pair in pairs:
        for counts in (pair.counts, pair.other):
            if counts not in laws:
                laws[counts] = law(counts)

        def at(rank: Any, places: tuple[int | None, ...] = pair.places) -> Hashable:
            if not isinstance(rank, int):
                return rank
            return ("left", rank) if places[rank] is None else places[rank]

        mine = renamed(laws[pair.counts], lambda part, at=at: place(part, at))
        found = max(found, excess(mine, laws[pair.other], factor))
    return found

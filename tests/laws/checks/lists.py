"""Lists from unknown domains against their laws: what is listed, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from itertools import permutations, product
from math import exp, tanh
from typing import Any

import numpy as np
from checks.cells import Enclosure, ranking_law
from checks.mechanisms import ListCase
from checks.releases import gate

from safeselect.mechanisms.unknown import PayWhatYouGet
from safeselect.promises.guarantees import BoundedRange, ZeroConcentratedDP

_EPSILON, _DELTA = Fraction(1), Fraction(1, 10**6)
_COST: dict[str, Any] = {"epsilon": _EPSILON, "delta": _DELTA}
_SLACK = 1e-9
_REACH = 200  # discrete Laplace noise is summed so far; beyond lies less than 2**-280


def _offset(found: Any) -> Fraction:
    """How far the bottom lies above, as stated."""
    return Fraction(found.offset if hasattr(found, "offset") else found.provenance.number("offset"))


def check_list(case: ListCase, every: int) -> None:
    """Compare lists of two items near the bottom with the law, and with the stated offset.

    Raises:
        Refuted: the shares of the lists contradict it.
    """
    count = 3000 if every == 1 else 250
    released = _ask(case, {"a": 0, "b": 0}, 2, 2)
    bottom = round(_offset(released))
    counts = {"a": bottom + 1, "b": bottom - 1}
    law = (_law_of_list if case.noise == "gumbel" else _law_of_counts)(released, counts)
    found = [_ask(case, counts, 2, 2) for _ in range(count)]
    if case.noise == "gumbel":
        outcomes: Counter[Hashable] = Counter(_told(case, each.labels) for each in found)
        law = _merged(case, law)
    else:
        outcomes = Counter(tuple(sorted(each.labels)) for each in found)
    gate(outcomes, count, law)


def check_two_counts(case: ListCase, every: int) -> None:
    """Two items, or the first items of two lists, are independent.

    Raises:
        Refuted: they depend on each other.
    """
    count = 1500 if every == 1 else 150
    pairs: Counter[Hashable] = Counter()
    if case.noise == "laplace" or case.arguments.get("with_counts"):
        for _ in range(count):
            found = _ask(case, {"a": 10**6, "b": 2 * 10**6}, 2, 2)
            noise = dict(zip(found.labels, found.counts, strict=True))
            signs = np.sign([noise["a"] - 10**6, noise["b"] - 2 * 10**6]).tolist()
            pairs[tuple(signs)] += 1
        # Of two counts that one user may both have, sigma squared is 2 / (2 rho).
        laplace = case.noise == "laplace"
        zero = Fraction(tanh(0.5) if laplace else _zero(1 / float(_rho(found))))
        single: dict[Any, Fraction] = {-1: (1 - zero) / 2, 0: zero, 1: (1 - zero) / 2}
    else:
        counts = dict.fromkeys("abc", 10**6)
        firsts = [_ask(case, counts, 1, 3).labels[0] for _ in range(2 * count)]
        pairs.update(zip(firsts[::2], firsts[1::2], strict=True))
        single = dict.fromkeys("abc", Fraction(1, 3))
        if case.name.startswith("pay_what_you_get"):
            pairs.update(_two_queries(counts) for _ in range(count))
            count *= 2
    gate(pairs, count, {(a, b): (single[a] * single[b],) * 2 for a, b in product(single, repeat=2)})


def _told(case: ListCase, labels: tuple[Any, ...]) -> Hashable:
    """Labels as they come out; with counts these say in which order."""
    return tuple(sorted(labels)) if case.arguments.get("with_counts") else labels


def _merged(case: ListCase, law: Enclosure) -> Enclosure:
    """The law of what is told of the labels."""
    found: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for labels, (low, high) in law.items():
        assert isinstance(labels, tuple)
        before = found.get(_told(case, labels), (Fraction(0), Fraction(0)))
        found[_told(case, labels)] = before[0] + low, before[1] + high
    return found


def _rho(released: Any) -> Fraction:
    """What the counts of a list are stated to cost."""
    (found,) = (part.rho for part in released.parts if isinstance(part, ZeroConcentratedDP))
    return Fraction(found)


def _zero(squared: float) -> float:
    """The chance that discrete Gaussian noise is 0."""
    return 1 / sum(exp(-x * x / (2 * squared)) for x in range(-_REACH, _REACH + 1))


def _ask(case: ListCase, counts: Any, k: int, k_bar: int, **more: Any) -> Any:
    return case.ask(counts, k=k, k_bar=k_bar, places="all", **{**_COST, **case.arguments, **more})


def _law_of_list(released: Any, counts: dict[str, int]) -> Enclosure:
    """The law of a list: the two counts and the bottom, ranked, down to the bottom."""
    each = next(part.epsilon for part in released.parts if isinstance(part, BoundedRange))
    grid = 1 << 20
    scores = [counts["a"] * grid, counts["b"] * grid, round(_offset(released) * grid)]
    ranked = ranking_law("gumbel", scores, each / grid, k=2, fineness=7)
    law: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for order in permutations(range(3), 2):
        listed = tuple("ab"[place] for place in order[: order.index(2) if 2 in order else 2])
        low, high = ranked[order]
        known = law.get(listed, (Fraction(0), Fraction(0)))
        law[listed] = known[0] + low, known[1] + high
    return law


def _law_of_counts(released: Any, counts: dict[str, int]) -> Enclosure:
    """Who is strictly above the noisy bottom, all with discrete Laplace noise of rate 1."""
    noise = {x: tanh(0.5) * exp(-abs(x)) for x in range(-_REACH, _REACH + 1)}
    law: dict[Hashable, float] = {}
    for bottom, mass in noise.items():
        above = {}
        for label, count in counts.items():
            least = bottom + int(_offset(released)) + 1 - count
            above[label] = sum(m for x, m in noise.items() if x >= least)
        for chosen in product((True, False), repeat=2):
            listed = tuple(label for label, yes in zip(above, chosen, strict=True) if yes)
            chance = mass
            for label, yes in zip(above, chosen, strict=True):
                chance *= above[label] if yes else 1 - above[label]
            law[listed] = law.get(listed, 0.0) + chance
    near = Fraction(_SLACK)
    return {k: (max(Fraction(v) - near, Fraction(0)), Fraction(v) + near) for k, v in law.items()}


def _two_queries(counts: dict[str, int]) -> Hashable:
    session = PayWhatYouGet(outcomes=4, queries=2, **_COST)
    one, other = (session.query(counts, k=1, k_bar=3, places="all").labels for _ in range(2))
    return one[0], other[0]

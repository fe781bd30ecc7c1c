"""Measurements against the laws of their noise, and these against the guarantees, in floats.

The laws are worked out here from the published densities alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import erfc, exp, log, sqrt, tanh
from typing import Any

import numpy as np
from checks.cells import Enclosure
from checks.finding import Refuted
from checks.releases import gate
from checks.tables import MeasureCase

from safeselect.engine.gaussian import DiscreteGaussian, RoundedGaussian, draw_symmetric

_NEAR = Fraction(1, 10**9)
_SLACK = 1e-9
_REACH = 400
_MOST = 3  # larger noise is seen as so much


def check_few_values(case: MeasureCase, every: int) -> str:
    """Compare the noise of two values with its law.

    Raises:
        Refuted: the shares of the outcomes contradict it.
    """
    count = 3000 if every == 1 else 400
    found: Counter[Hashable] = Counter(_noise(case, [5, -3]) for _ in range(count))
    gate(found, count, _pairs(case))
    return f"{count} releases of two values follow their law"


def check_two_values(case: MeasureCase, every: int) -> str:
    """The first values of two releases, and two values far apart in one, are independent.

    Raises:
        Refuted: they depend on each other.
    """
    count = 1500 if every == 1 else 200
    firsts = [_noise(case, [10**6, 7])[0] for _ in range(2 * count)]
    gate(Counter(zip(firsts[::2], firsts[1::2], strict=True)), count, _pairs(case))
    one = _noise(case, [0] * (4 * count))
    gate(Counter(zip(one[: 2 * count], one[2 * count :], strict=True)), 2 * count, _pairs(case))
    return f"{count} pairs are independent"


def check_many_values(case: MeasureCase, n: int, every: int) -> str:
    """So many values in one release: each has noise of its own, of the law.

    Raises:
        Refuted: the noise does not follow its law, or comes back.
    """
    found = _noise(case, [0] * n)
    gate(Counter((each,) for each in found), n, {(x,): chance for x, chance in _one(case).items()})
    for lag in (1, 2, 512, 4096, 1 << 16, 1 << 17):
        # Every second block of pairs, so that none overlap.
        pairs = [(found[i], found[i + lag]) for i in range(n - lag) if i // lag % 2 == 0]
        if pairs:
            gate(Counter(pairs), len(pairs), _pairs(case))
    return f"{n} values in one release follow their law, each by itself"


def check_cost(case: MeasureCase, every: int) -> str:
    """The stated noise costs what is stated, for values that change by the sensitivity.

    Raises:
        Refuted: the noise is smaller than the cost allows, or the guarantee is another.
    """
    costs = (Fraction(1), Fraction(1, 3), Fraction(1, 10))
    for cost, change in product(costs, (1, 2)):
        given = dict.fromkeys(case.arguments, 0)
        paid, norm = given
        made = case.call(
            [0], **{paid: cost, norm: change if paid == "epsilon" else change * change}
        )
        if made.mechanism != case.name:
            raise Refuted("a measurement has another name")
        name = "noise_rate" if paid == "epsilon" else "sigma_squared"
        stated = made.provenance.number(name)
        law = _law(case.noise, float(stated))
        if not _covers(paid, float(cost), law, change):
            raise Refuted("the noise does not cover what one unit changes")
        if getattr(made.guarantee, _NUMBER[paid]) != (cost**2 if paid == "mu" else cost):
            raise Refuted("a measurement does not state the cost that was asked for")
    return f"{2 * len(costs)} costs: the noise covers the change of one unit"


def check_words(case: MeasureCase, every: int) -> str:
    """Gaussian numbers are the inversion of their random words, beside every threshold.

    Raises:
        Refuted: a word gives another number.
    """
    wanted, words = [], []
    kind = DiscreteGaussian if case.noise == "discrete Gaussian" else RoundedGaussian
    for squared in (Fraction(4), Fraction(1, 3), Fraction(100))[: 3 if every == 1 else 2]:
        law = _law(case.noise, float(squared))
        tail = 0.0
        for d in range(_REACH, 0, -1):
            tail += 2 * law.get(d, 0.0)
            # Words of 64 digits, nearer than any two thresholds, and farther than floats err.
            if tail > 2.0**-30:
                near, off = int(tail * 2.0**64), int(tail * 2.0**28) + 4
                for word, found in ((near + off, d - 1), (near - off, d)):
                    if word < 1 << 64:
                        words.append(word)
                        wanted.append(found)
        bits: Any = _Words(words)
        if [abs(x) for x in draw_symmetric(len(words), kind(squared), bits).tolist()] != wanted:
            raise Refuted("a number is not the inversion of its random word")
        wanted, words = [], []
    return "words beside the thresholds give the numbers of their sides"


class _Words:
    """Random bits that are given: the words, then zeros."""

    def __init__(self, words: list[int]) -> None:
        self._bytes = np.array(words, dtype=np.uint64).tobytes()

    def fill(self, buffer: memoryview) -> None:
        size = len(buffer)
        buffer[:] = self._bytes[:size].ljust(size, b"\0")
        self._bytes = self._bytes[size:]

    def take(self, count: int) -> int:
        return 0


_NUMBER = {"epsilon": "epsilon", "rho": "rho", "mu": "mu_squared"}


def _noise(case: MeasureCase, values: list[int]) -> tuple[int, ...]:
    found = case.run(values)
    noises = (noisy - value for noisy, value in zip(found.values, values, strict=True))
    return tuple(min(max(noise, -_MOST), _MOST) for noise in noises)


@cache
def _law(noise: str, parameter: float) -> Mapping[int, float]:
    """The chances of all noises that matter, by their law and its parameter."""
    numbers = range(-_REACH, _REACH + 1)
    if noise == "discrete Laplace":
        return {x: tanh(parameter / 2) * exp(-parameter * abs(x)) for x in numbers}
    if noise == "discrete Gaussian":
        weights = {x: exp(-x * x / (2 * parameter)) for x in numbers}
        total = sum(weights.values())
        return {x: weight / total for x, weight in weights.items()}
    return {
        x: _beyond((abs(x) - 0.5) / sqrt(parameter)) - _beyond((abs(x) + 0.5) / sqrt(parameter))
        for x in numbers
    }


def _beyond(z: float) -> float:
    """P(Z >= z) of a normal variable."""
    return erfc(z / sqrt(2)) / 2


def _covers(paid: str, cost: float, law: Mapping[int, float], change: int) -> bool:
    """Whether noise of this law costs no more, for a value that changes by so much."""
    pairs = [(p, law[x - change]) for x, p in law.items() if x - change in law]
    pairs = [(p, q) for p, q in pairs if p > 1e-250 and q > 1e-250]
    if paid == "epsilon":
        return max(log(p / q) for p, q in pairs) <= cost + _SLACK
    if paid == "rho":
        return all(
            log(sum(exp(a * log(p) - (a - 1) * log(q)) for p, q in pairs)) / (a - 1)
            <= a * cost + _SLACK
            for a in (1.5, 2.0, 4.0, 8.0)
        )
    return all(
        sum(max(0.0, p - exp(e) * q) for p, q in pairs)
        <= _beyond(e / cost - cost / 2) - exp(e) * _beyond(e / cost + cost / 2) + _SLACK
        for e in (0.0, cost / 2, cost, 2 * cost)
    )


def _one(case: MeasureCase) -> Mapping[int, tuple[Fraction, Fraction]]:
    return {
        x: (max(p - _NEAR, Fraction(0)), min(p + _NEAR, Fraction(1)))
        for x, p in _clipped(case).items()
    }


def _pairs(case: MeasureCase) -> Enclosure:
    law = _clipped(case)
    joint: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for one, other in product(law, repeat=2):
        chance = law[one] * law[other]
        joint[one, other] = max(chance - _NEAR, Fraction(0)), chance + _NEAR
    return joint


def _clipped(case: MeasureCase) -> dict[int, Fraction]:
    clipped: dict[int, Fraction] = {}
    for x, p in _law(case.noise, case.parameter).items():
        seen = min(max(x, -_MOST), _MOST)
        clipped[seen] = clipped.get(seen, Fraction(0)) + Fraction(p)
    return clipped

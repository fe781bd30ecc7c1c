"""Measurements against the laws of their noise, in floats.

The laws are worked out here from the published densities alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import erfc, exp, sqrt, tanh

from checks.cells import Enclosure
from checks.releases import gate
from checks.tables import MeasureCase

_NEAR = Fraction(1, 10**9)
_SLACK = 1e-9
_REACH = 400
_MOST = 3  # larger noise is seen as so much


def check_few_values(case: MeasureCase, every: int) -> None:
    """Compare the noise of two values with its law.

    Raises:
        Refuted: the shares of the outcomes contradict it.
    """
    count = 3000 if every == 1 else 400
    found: Counter[Hashable] = Counter(_noise(case, [5, -3]) for _ in range(count))
    gate(found, count, _pairs(case))


def check_two_values(case: MeasureCase, every: int) -> None:
    """The first values of two releases, and two values far apart in one, are independent.

    Raises:
        Refuted: they depend on each other.
    """
    count = 1500 if every == 1 else 200
    firsts = [_noise(case, [10**6, 7])[0] for _ in range(2 * count)]
    gate(Counter(zip(firsts[::2], firsts[1::2], strict=True)), count, _pairs(case))
    one = _noise(case, [0] * (4 * count))
    gate(Counter(zip(one[: 2 * count], one[2 * count :], strict=True)), 2 * count, _pairs(case))


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

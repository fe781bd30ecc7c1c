"""What checks of mechanisms of other forms share.

Their laws are worked out in floats from the published formulas alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product

from checks.cells import Enclosure
from checks.releases import gate

Chances = Mapping[Hashable, float]
"""A law: outcome -> probability."""

_NEAR = Fraction(1, 10**9)


def follow(found: Sequence[Hashable], law: Chances) -> None:
    """Compare outcomes with their law.

    Raises:
        Refuted: their shares contradict it.
    """
    gate(Counter(found), len(found), _enclosed(law))


def independent(found: Sequence[Hashable], law: Chances) -> None:
    """Compare pairs of outcomes that follow each other with independent ones.

    Raises:
        Refuted: they depend on each other.
    """
    pairs: list[Hashable] = [*zip(found[::2], found[1::2], strict=False)]
    both: dict[Hashable, float] = {
        (one, other): law[one] * law[other] for one, other in product(law, repeat=2)
    }
    follow(pairs, both)


def _enclosed(law: Chances) -> Enclosure:
    near: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for outcome, chance in law.items():
        p = Fraction(chance)
        near[outcome] = max(p - _NEAR, Fraction(0)), min(p + _NEAR, Fraction(1))
    return near

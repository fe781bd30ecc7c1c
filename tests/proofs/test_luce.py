"""The exponential mechanism and its peeling have the law that is proved (proofs/Luce.v).

Gumbel noise is continuous, so a law of the shipped engines is known by bounds: what noise in given
cells decides, and how much is left open (`cell_laws`).  The proved chances must lie between them.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from array_tier import Array
from cell_laws import cell_law, outside
from effort import LONG
from proved_tables import FACTORS, lists, read
from tiers import Noise, Tier

from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

Law = dict[tuple[int, ...], Fraction]


def proved_laws(w: int, n: int) -> dict[tuple[int, ...], Law]:
    """By scores: the chances of all ordered lists."""
    laws = {}
    for key, *answers in read("luce")[1]:
        factor, _, scores = key.partition(":")
        if int(factor) == w and len(scores) == n:
            chances = (Fraction(*map(int, answer.split(","))) for answer in answers)
            laws[tuple(map(int, scores))] = dict(zip(lists(n), chances, strict=True))
    return laws


def differ(
    tier: Tier, noise_rate: NoiseRate, level: int, scores: tuple[int, ...], law: Law, k: int
) -> int:
    """How many lists of k have a chance that is not between the bounds."""
    known = cell_law(tier, Noise("gumbel", noise_rate, level), scores, k)
    return outside(known, {order: p for order, p in law.items() if len(order) == k})


@pytest.mark.parametrize("w", FACTORS)
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2)])
def test_the_array_engine_has_the_proved_law(w: int, n: int, k: int) -> None:
    """Some of all scores below 3, with and without the table for few candidates.

    1746 chances with SAFESELECT_LONG=1.
    """
    step = {2: 1, 3: 1 if LONG else 13, 4: 3 if LONG else 40}[n]
    noise_rate, tiers = NoiseRate(Fraction(1), Fraction(1, w)), (Array(), Array(30))
    for place, (scores, law) in enumerate(list(proved_laws(w, n).items())[::step]):
        assert differ(tiers[place % 2], noise_rate, 5, scores, law, k) == 0, scores

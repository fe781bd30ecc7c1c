"""Gaps of the array engine: units and extremes; their law is tied in `tests/proofs`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Tape

from engine import TOPS
from safeselect.engine.rankings import Ranking
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

TOP = 2**64 - 1


@pytest.mark.parametrize("rank", TOPS.values())
@pytest.mark.parametrize("n", [3, 40, 5000])
@pytest.mark.parametrize("unit", [Fraction(1), Fraction(2**40), Fraction(1, 3)])
def test_extreme_scores(rank: Callable[..., Ranking], n: int, unit: Fraction) -> None:
    """The gaps of scores 2**64 - 1, 2**63 and 0, where the noise is nothing."""
    steps = np.zeros(n, dtype=np.uint64)
    steps[:2] = [TOP, 2**63]
    result = rank(steps, 2, NoiseRate(Fraction(2**19)), Tape(n), gaps=True, gap_unit=unit)
    assert result.indices == (0, 1)
    for gap, exact in zip(result.gaps or (), (TOP - 2**63, 2**63), strict=True):
        assert abs(gap - Fraction(exact) / unit) <= 1 + 1 / unit

"""Who is moved down to level + reach is never left out.

Section 10 of docs/mathematics.md, "Candidates that are moved down".
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.claim("C1")

N = 5000  # more than are worked out finely: keys decide
RATE = Fraction(1, 400)
FAR = 1 << 40  # steps; far beyond the reach


class Extreme:
    """The worst digits: candidate 0 has the least noise, as many as are looked at closely the most
    that has a bound.

    A source is asked for all digits at once; the words of 16 digits come last.
    """

    def __init__(self, close: int) -> None:
        self._close = close
        self._more = count(3)

    def fill(self, buffer: memoryview) -> None:
        lanes = np.frombuffer(buffer, dtype=np.uint64)
        if lanes.size > N // 4:
            # After 16 zeros, 57 more and a one: all different, and none without a bound.
            lanes[:] = 64 + np.arange(lanes.size, dtype=np.uint64) % 64
            words = lanes[-N // 4 :].view(np.uint16)
            words[:] = 1 << 15
            words[0], words[1 : self._close + 1] = (1 << 16) - 1, 0
        else:
            lanes[:] = [self.take(64) for _ in lanes]

    def take(self, bits: int) -> int:
        return pow(5, next(self._more), 1 << bits)


def first(law: str) -> int:
    """Who comes first of two, where candidate 0 has by far the largest score."""
    steps = np.zeros(N, dtype=np.uint64)
    steps[0] = FAR
    noise_rate = engine.NoiseRate(RATE)
    source = Extreme(engine.ranking_plan(engine.LAWS[law], 2, noise_rate, False).contenders)
    return engine.TOPS[law](steps, 2, noise_rate, source).indices[0]


@pytest.mark.parametrize("law", engine.LAWS)
def test_the_largest_score_wins_whatever_the_digits(law: str) -> None:
    assert first(law) == 0

"""Who is moved down to level + reach is never left out: 64 nats are more than any key adds.

Section 10 of docs/mathematics.md, "Candidates that are moved down".
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.claim("C1")

NAT = 1 << engine.tables.UNIT_BITS
N = 5000  # more than are worked out finely: keys decide
RATE = Fraction(1, 400)
FAR = 1 << 40  # steps; far beyond the reach


@pytest.mark.parametrize("law", engine.LAWS.values(), ids=engine.LAWS)
def test_no_bound_of_noise_adds_64_nats(law: engine.Law) -> None:
    """What the page says of the tables: at most 62.6 nats above the lowest noise there is."""
    found = engine.tables.bound_table(law)
    most = max(int(found.word_bounds.max()), int(found.tail_bounds.max()))
    assert most * 10 < 626 * NAT
    assert most < engine.tables.REACH * NAT


@pytest.mark.parametrize("law", engine.LAWS.values(), ids=engine.LAWS)
@pytest.mark.parametrize("exponent", range(-41, 19, 3))
def test_no_key_adds_as_much_as_the_reach(law: engine.Law, exponent: int) -> None:
    """In units of keys, at every rate: one below the level stays behind who is moved down."""
    found = engine.tables.keys(law, engine.NoiseRate(Fraction(3) * Fraction(2) ** exponent))
    most = max(int(found.word_bounds.max()), int(found.tail_bounds.max()))
    unit = Fraction(2) ** found.shift
    assert most < int(found.reach * unit)


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

"""The one mechanism of which a set is released: who is in it, and at which scale of the noise.

False alarms: 1e-9 each (Chernoff).  The random bytes are those of a fixed seed, so a pass stays a
pass.
"""

from __future__ import annotations

from collections import Counter
from math import exp, log, sqrt

import pytest
from chances import fits

import safeselect
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.claim("C1"), pytest.mark.slow("statistics with power")]

DRAWS = 6_000


def source() -> DeterministicSource:
    return DeterministicSource(b"statistics", i_understand_this_is_not_private=True)


def observed(run, **keywords) -> Counter:
    tape = source()
    return Counter(run(source=tape, **keywords) for _ in range(DRAWS))


def laplace_pair(gap: int, **keywords) -> int:
    """Which of two candidates is alone in the set; R = 1."""
    result = safeselect.top_k(
        [gap, 0], k=1, epsilon="0.2", delta="0.05", range_=1, mechanism="laplace", **keywords
    )
    (index,) = result.indices
    return index


def laplace_pair_law(gap: int) -> dict[int, float]:
    """P(X - Y < gap) for Laplace noise of scale 8 s sqrt(k ln(n / delta)) / epsilon, s = 1/2."""
    apart = gap * 0.2 / (4 * sqrt(log(2 / 0.05)))
    behind = (0.5 + apart / 4) * exp(-apart)
    return {0: 1 - behind, 1: behind}


@pytest.mark.claim("C1")
def test_laplace_set_has_the_scale_of_the_theorem():
    counts = observed(lambda **k: laplace_pair(50, **k))
    assert fits(counts, laplace_pair_law(50), sees=0.068)
    # Twice or half the scale is noticed.
    assert not fits(counts, laplace_pair_law(25), sees=0.068)
    assert not fits(counts, laplace_pair_law(100), sees=0.068)

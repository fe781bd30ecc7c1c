"""The entry points: laws against published vectors, peeling, arguments, statistics."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Tape

from engine import PEELED, TOPS
from safeselect.engine import Ranking
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")


@pytest.mark.parametrize(
    ("n", "k", "gaps"), [(3, 0, False), (3, 4, False), (3, 3, True), (0, 1, False)]
)
def test_impossible_k_is_refused(n: int, k: int, gaps: bool) -> None:
    tape = Tape(1)
    for rank in TOPS.values():
        with pytest.raises(ParameterError, match=r"at most [0-9]+, the number of candidates"):
            rank(np.zeros(n, dtype=np.uint64), k, NoiseRate(Fraction(1)), tape, gaps=gaps)
    with pytest.raises(ParameterError, match=r"at most [0-9]+, the number of candidates"):
        PEELED["exponential"](np.zeros(n, dtype=np.uint64), n + 1, NoiseRate(Fraction(1)), tape)
    assert tape.requests == []


@pytest.mark.claim("C1")
@pytest.mark.parametrize("top", TOPS.values())
@pytest.mark.parametrize("n", [4097, 24575, 49151])
@pytest.mark.parametrize("share", [130, 200, 1000])
def test_many_are_ranked_whatever_the_blocks_are(
    top: Callable[..., Ranking], n: int, share: int
) -> None:
    order, steps = np.random.default_rng(n).permutation(n), np.empty(n, dtype=np.uint64)
    steps[order] = np.arange(n, dtype=np.uint64)[::-1]
    k = n // share
    # A step is worth 1000 nats, so the noise changes nothing.
    assert top(steps, k, NoiseRate(Fraction(1000)), Tape(1)).indices == tuple(order[:k].tolist())

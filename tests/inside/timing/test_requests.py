"""L0: what is asked of the source does not depend on the scores, nor on the random bytes.

An exact test: for each mechanism and number of candidates, the list of request sizes is the same
for all families of scores and all tapes.  A call that differs with probability 2**-40 by design
(see the docstrings of `safeselect.engine`) is not met by these fixed tapes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import safeselect
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.spec.rankings import noisy_top_k
from safeselect.testing import DeterministicSource, RecordingSource

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning")

TAPES = 20
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max

# What every mechanism is told of the scores' change; rates run from one nat a step to 1/50.
COUNTS = {"sensitivity": 1, "monotonic": True}

MECHANISMS: dict[str, Callable[..., object]] = {
    "permute_and_flip": lambda scores, **more: safeselect.permute_and_flip(
        scores, epsilon=1, **COUNTS, **more
    ),
    "exponential_mechanism": lambda scores, **more: safeselect.exponential_mechanism(
        scores, epsilon="1/50", **COUNTS, **more
    ),
    "exponential_mechanism_base2": lambda scores, **more: safeselect.exponential_mechanism_base2(
        scores, base="1/2", **COUNTS, **more
    ),
    "report_noisy_max_laplace": lambda scores, **more: safeselect.report_noisy_max(
        scores, epsilon=1, noise="laplace", **COUNTS, **more
    ),
} | {
    f"top_k_{mechanism}": lambda scores, mechanism=mechanism, **more: safeselect.top_k(
        scores, k=5, epsilon=1, mechanism=mechanism, **COUNTS, **more
    )
    for mechanism in (
        "exponential",
        "exponential_base2",
        "permute_and_flip",
        "one_shot_exponential",
    )
}
MECHANISMS["top_k_laplace"] = lambda scores, **more: safeselect.top_k(
    scores, k=5, epsilon="0.2", delta="0.05", mechanism="laplace", **COUNTS, **more
)
MECHANISMS |= {
    "permute_and_flip_with_gap": lambda scores, **more: safeselect.permute_and_flip_with_gap(
        scores, epsilon=1, **COUNTS, **more
    ),
    "exponential_mechanism_with_gap": lambda scores, **more: (
        safeselect.exponential_mechanism_with_gap(
            scores, epsilon="1/50", gap_grid="1/3", **COUNTS, **more
        )
    ),
    "top_k_with_gaps": lambda scores, **more: safeselect.top_k_with_gaps(
        scores, k=5, epsilon=1, noise="laplace", gap_grid=7, **COUNTS, **more
    ),
}


def families(n: int) -> dict[str, NDArray[np.int64]]:
    """Score vectors of one public shape that differ in all that could be seen."""
    one = np.zeros(n, dtype=np.int64)
    one[n // 2] = 1
    return {
        "all equal": np.zeros(n, dtype=np.int64),
        "one dominating": one * 10**6,
        "neighbour": one,
        "staircase": np.arange(n, dtype=np.int64),
        "all lowest": np.full(n, LOW),
        "all highest": np.full(n, HIGH),
        "both extremes": np.where(np.arange(n) % 2 == 0, LOW, HIGH),
        "random": np.random.default_rng(3).integers(LOW, HIGH, n, endpoint=True),
    }


def requests(mechanism: str, scores: object, tape: int, **more: object) -> tuple[int, ...]:
    """The sizes of the requests of one call on the tape of that number."""
    tape_source = DeterministicSource(tape, i_understand_this_is_not_private=True)
    source = RecordingSource(tape_source)
    MECHANISMS[mechanism](scores, source=source, **more)
    return tuple(source.requests)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("n", [12, 700, 5000])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_requests_are_the_same_for_all_scores_and_tapes(mechanism: str, n: int) -> None:
    tapes = range(TAPES if n < 5000 else 4)
    seen = {
        (family, tape): requests(mechanism, scores, tape)
        for family, scores in families(n).items()
        for tape in tapes
    }
    usual = seen["all equal", 0]
    assert usual
    assert {key: value for key, value in seen.items() if value != usual} == {}


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    "kind", ["list", "reals on a grid", "floats", "column of floats", "singles"]
)
def test_requests_are_the_same_for_other_types_of_scores(kind: str) -> None:
    def read(scores: NDArray[np.int64]) -> dict[str, object]:
        if kind == "list":
            return {"scores": scores.tolist()}
        if kind == "floats":
            return {"scores": scores.astype(float)}
        if kind == "column of floats":
            return {"scores": scores / 3, "grid": "1/1000"}
        if kind == "singles":
            return {"scores": (scores / 3).astype(np.float32), "grid": "1/1024"}
        return {"scores": (scores / 3).tolist(), "grid": "1/8"}

    seen = {
        requests("permute_and_flip", given.pop("scores"), tape, **given)
        for scores in families(60).values()
        for tape in range(TAPES)
        for given in [read(scores)]
    }
    assert len(seen) == 1


def test_the_specification_is_seen_to_differ() -> None:
    """Positive control: lazily refined Laplace noise asks for more where scores are close."""

    def specified(scores: list[int], tape: int) -> tuple[int, ...]:
        source = RecordingSource(DeterministicSource(tape, i_understand_this_is_not_private=True))
        with Bits(source) as bits:
            noisy_top_k("laplace", scores, 1, NoiseRate(Fraction(1)), bits)
        return tuple(source.requests)

    equal, apart = (
        [specified(families(12)[family].tolist(), tape) for tape in range(20)]
        for family in ("all equal", "one dominating")
    )
    assert len(set(equal)) > 1, "the tapes are not told apart"
    assert equal != apart, "the scores are not told apart"

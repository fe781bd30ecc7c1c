"""L0: what is asked of the source does not depend on the scores, nor on the random bytes.

An exact test: for each mechanism and number of candidates, the list of request sizes is the same
for all families of scores and all tapes.  A call that differs with probability 2**-40 by design
(see the docstrings of `safeselect.engine`) is not met by these fixed tapes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from timed import MECHANISMS, families

from safeselect.testing import DeterministicSource, RecordingSource

TAPES = 20


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

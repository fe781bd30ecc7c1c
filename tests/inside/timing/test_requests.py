"""L0: what is asked of the source does not depend on the scores, nor on the random bytes.

An exact test: for each mechanism and number of candidates, the list of request sizes is the same
for all families of scores and all tapes.  A call that differs with probability 2**-40 by design
(see the docstrings of `safeselect.engine`) is not met by these fixed tapes.
"""

from __future__ import annotations

import pytest
from timed import MECHANISMS, families

from safeselect.testing import DeterministicSource, RecordingSource

TAPES = 20


def requests(mechanism: str, scores: object, tape: int, **more: object) -> tuple[int, ...]:
    """The sizes of the requests of one call on the tape of that number."""
    source = RecordingSource(DeterministicSource(tape, i_understand_this_is_not_private=True))
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

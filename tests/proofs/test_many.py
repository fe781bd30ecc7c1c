"""Of many candidates few are looked at, and what is decided is what is proved (proofs/Ceiling.v).

The path for more than 4096 candidates, with groups of the shipped size and of 4: keys of words,
tail words that join later, maxima of groups and of groups of groups, what peeling has removed.
"""

from __future__ import annotations

import proved
import pytest
from many import STYLES, peelings, rankings
from proved_tables import read

from safeselect import ParameterError

pytestmark = pytest.mark.claim("C1")


def answers(name: str) -> dict[str, str]:
    """By case; an answer may be empty."""
    return {row[0]: row[1] for row in read(name)[1]}


@pytest.mark.parametrize("style", STYLES)
def test_the_contenders_are_those_proved(style: str) -> None:
    """Which, in which order, and the largest key of all others."""
    told = answers("contenders")
    for case in rankings(style):
        assert proved.ManyCandidates(case).contenders() == told[case.name], case.name


@pytest.mark.parametrize("style", STYLES)
def test_many_candidates_are_ranked_as_proved(style: str) -> None:
    told = answers("ranked")
    for case in rankings(style):
        assert proved.ManyCandidates(case).ranked() == told[case.name], case.name


@pytest.mark.parametrize("style", STYLES)
def test_many_candidates_are_peeled_as_proved(style: str) -> None:
    told = answers("peeled")
    for case in peelings(style):
        assert proved.ManyCandidates(case).peeled() == told[case.name], case.name


def test_many_cases_are_decided_and_many_are_not() -> None:
    told = list(answers("ranked").values())
    assert 30 < told.count("-") < len(told) - 30
    assert sum(len(each.split(",")) == 3 for each in answers("peeled").values()) > 10


@pytest.mark.parametrize(("k", "gaps"), [(-1, False), (0, False), (4, False), (3, True)])
def test_k_is_one_to_n_and_with_gaps_below_n(k: int, gaps: bool) -> None:
    with pytest.raises(ParameterError, match=r"at most [0-9]+, the number of candidates"):
        proved.refuse(3, k, gaps=gaps)

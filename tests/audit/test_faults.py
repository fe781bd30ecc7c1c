"""Planted faults of known patterns make `safeselect verify` fail; `make faults` plants them all.

Here a handful is planted, each with the check that must notice it, and every text is looked up.
"""

from __future__ import annotations

import pytest
from mutants import Mutant, copy, evidence

from faults import FAULTS, all_at_once

SOME = {
    "the end of a large request is left as it was": "bits: requests",
    "two rows of a batch share their words": "noise: exponential: owners of words in batches",
    "ties of a batch go to the first": "noise: exponential: near ties in batches",
    "ties by the index": "releases: top_k_exponential/1: pairs",
    "delta is spent twice": "releases: unknown_domain_top_k_gumbel/1: bottom",
    "the threshold of a session is drawn anew for each query": (
        "releases: sparse_vector_laplace/1: queries"
    ),
    "the charge comes after the release": "rules: permute_and_flip/1: charge",
    "a session is shared across a fork": "rules: sparse_vector_laplace/1: fork",
    "a class is known by its name": "rules: permute_and_flip/1: sources",
    "weights decide who is compared and not who wins": (
        "releases: exponential_mechanism_weighted/1: few"
    ),
    "quantiles have the noise of half their range": "privacy: quantile/1: neighbours",
    "what lies above a cut is counted on both sides": "releases: quantiles/1: few",
    "the number of runs has a longer tail": "noise: best_of/1: words",
    "where no run passes the best one is released": "releases: first_above/1: few",
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_planted(name, tmp_path):
    """Its text is in the source once; otherwise the fault has to follow the code."""
    copy(tmp_path, Mutant(FAULTS[name], "C1", "verify"))


def test_forty_can_be_planted_at_once(tmp_path):
    _, planted = all_at_once(tmp_path)
    assert planted >= 40


@pytest.mark.slow("a broken copy and a process for each fault")
@pytest.mark.parametrize("name", SOME)
def test_a_fault_alone_is_noticed(name, tmp_path):
    assert not evidence(
        copy(tmp_path, Mutant(FAULTS[name], "C1", "verify")), f"verify {SOME[name]}"
    )


@pytest.mark.slow("a process for fourteen checks")
def test_the_same_checks_pass_on_an_unbroken_copy(tmp_path):
    assert evidence(copy(tmp_path), *(f"verify {check}" for check in SOME.values()))

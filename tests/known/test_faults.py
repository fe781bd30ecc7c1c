"""Planted faults of known patterns change a known answer; `make faults` plants them all.

Here a handful is planted, each with the row that must notice it.
"""

from __future__ import annotations

import re

import pytest
from mutants import Break, copy, evidence

from faults import BY_TESTS, FAULTS, all_at_once

SOME = {
    "two rows of a batch share their words": "select_many_exponential, 5 x 4",
    "delta is spent twice": "unknown_domain_top_k, offsets",
    "the charge comes after the release": "charged permute_and_flip",
    "quantiles have the noise of half their range": "quantile, add_remove, below, 1",
    "where no run passes the best one is released": "first_above, 8",
}


def test_those_that_tests_notice_are_faults():
    assert BY_TESTS.keys() <= FAULTS.keys()


def test_forty_can_be_planted_at_once(tmp_path):
    _, planted = all_at_once(tmp_path)
    assert planted >= 40


@pytest.mark.slow("a broken copy and a process for each fault")
@pytest.mark.parametrize("name", SOME)
def test_a_fault_alone_is_noticed(name, tmp_path):
    assert not evidence(copy(tmp_path, FAULTS[name]), f"known {SOME[name]}")


@pytest.mark.slow("a process for some rows")
def test_the_same_rows_are_given_by_an_unbroken_copy(tmp_path):
    assert evidence(copy(tmp_path), *(f"known {row}" for row in SOME.values()))


@pytest.mark.parametrize("text", ["no such line", "import"])
def test_a_fault_whose_text_is_gone_or_not_unique_is_an_error(text, tmp_path):
    with pytest.raises(ValueError, match=text):
        copy(tmp_path, [Break("exact/interval.py", text, "")])


@pytest.mark.nightly("a test of `make faults` alone")
@pytest.mark.slow("processes that import copies")
def test_evidence_that_cannot_be_had_is_an_error(tmp_path):
    plain = copy(tmp_path / "plain")
    for killer in (
        "known no such row",
        "law no such check",
        "tests/test_import.py::test_that_is_not_there",
    ):
        with pytest.raises(RuntimeError, match=re.escape(killer)):
            evidence(plain, killer)
    # A copy that cannot be imported is no fault that was noticed.
    (copy(tmp_path / "broken") / "safeselect" / "__init__.py").write_text("import nothing.here\n")
    for killer in ("known samplers.bernoulli", "tests/spec/test_uniform.py"):
        with pytest.raises(RuntimeError, match="nothing"):
            evidence(tmp_path / "broken", killer)

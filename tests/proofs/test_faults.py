"""Faults that the ties must notice alone: each can be planted, and a few are."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import ROOT, copy, evidence
from tie_faults import TIE_FAULTS, TIES


def test_each_fault_can_be_planted() -> None:
    for name, fault in TIE_FAULTS.items():
        source = (ROOT / fault.path).read_text()
        assert fault.made(source) != source, name


def test_every_area_has_faults() -> None:
    areas = {name.partition(":")[0] for name in TIE_FAULTS}
    assert areas == {
        *("noise", "contenders", "tails", "rankings", "gaps", "sessions", "calibration")
    }
    assert len(TIE_FAULTS) == 30


@pytest.mark.nightly("`make faults` plants all")
@pytest.mark.slow("a broken copy and a process for each fault")
@pytest.mark.parametrize(
    "name", ["contenders: one group too few", "tails: they keep their first keys"]
)
def test_a_fault_is_noticed_by_the_ties(name: str, tmp_path: Path) -> None:
    assert not evidence(copy(tmp_path, [TIE_FAULTS[name]]), *TIES)

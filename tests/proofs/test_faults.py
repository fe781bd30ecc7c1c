"""Faults that the ties must notice alone: each can be planted, and a few are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import ROOT, Break, copy, evidence
from tie_faults import PREMISES, TIE_FAULTS


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


PAGE = (ROOT / "docs/proofs.md").read_text("utf-8")
ROWS = PAGE.partition("| premise | code | test |")[2].partition("\n\n")[0].splitlines()[3:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_a_fault_in_the_code_of_a_premise_can_be_planted(row: str) -> None:
    assert any(f"`{place}`" in row for place in PREMISES)


@pytest.mark.nightly("the premises' own tests run by day")
@pytest.mark.slow("a broken copy and a process for each premise")
@pytest.mark.parametrize("place", PREMISES)
def test_the_test_beside_a_premise_notices(place: str, tmp_path: Path) -> None:
    (row,) = (row for row in ROWS if f"`{place}`" in row)
    (test,) = re.findall(r"`(tests/\S+\.py): (test_\w+)`", row)
    fault = Break(place.replace(": ", ":"), *PREMISES[place])
    assert not evidence(copy(tmp_path, [fault]), "::".join(test))

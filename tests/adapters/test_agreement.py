"""docs/adapter-prices.md: its table of fifty prices is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")

from adapter_cases import cases

PAGE = (Path(__file__).parents[2] / "docs" / "adapter-prices.md").read_text("utf-8")
ROW = re.compile(r"^\| (\d+) \| (.*) \| (\S+) \| (\S+) \| (\S+) \|$", re.MULTILINE)


@pytest.mark.claim("C2")
@pytest.mark.parametrize("number", range(1, 51))
def test_both_libraries_agree(number: int) -> None:
    case = cases()[number - 1]
    theirs = float(case.theirs())
    assert case.agrees(theirs)
    # The mutant: neither half of it nor twice as much would agree.
    assert not case.agrees(theirs / 2)
    assert not case.agrees(theirs * 2)


@pytest.mark.parametrize("number", range(1, 51))
def test_the_table_shows_it(number: int) -> None:
    shown = ROW.findall(PAGE)
    assert len(shown) == len(cases()) == 50
    case, (place, title, ours, theirs, room) = cases()[number - 1], shown[number - 1]
    assert (int(place), title) == (number, case.title)
    assert float(ours) == pytest.approx(float(case.ours), rel=1e-5)
    assert float(theirs) == pytest.approx(case.theirs(), rel=1e-5)
    assert float(room) == pytest.approx(float(case.room), rel=0.05)

"""`make bench-docs`: a page for readers and a page with all figures, from the results alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import documents

    yield documents
    for name in set(sys.modules) & {path.stem for path in (ROOT / "benchmarks").glob("*.py")}:
        sys.modules.pop(name)


def test_each_figure_of_ours_stands_beside_what_a_user_would_otherwise_run(documents: Any) -> None:
    import cases
    import competitors
    import ours
    from otherwise import otherwise

    found = [*cases.bar_cases(), *cases.grid_cases(quick=False)]
    assert len(found) > 60
    for case in found:
        labels = [entry.label for entry in case.entries]
        for each in case.entries:
            assert each.contender in {**ours.OURS, **competitors.COMPETITORS}
            other = otherwise(each.label, labels)
            assert (other in labels) == (each.contender in ours.OURS), each.label


def test_both_pages_stand_in_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8").splitlines()
    for name in ("performance", "benchmarks"):
        assert name in index
        assert "written by `make bench-docs`" in (ROOT / "docs" / f"{name}.md").read_text("utf-8")

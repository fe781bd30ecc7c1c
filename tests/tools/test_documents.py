"""`make bench-docs`: a page for readers and a page with all figures, from the results alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PF, FLOAT, DP = "permute_and_flip", "argmax(scores + rng.exponential)", "OpenDP noisy max (PF)"


def entry(label: str, n: int, median: float | None, **more: Any) -> dict[str, Any]:
    found = {"label": label, "n": n, "median": median, "unit": "ns", "status": "ok", "note": ""}
    return found | {"scores": "uniform", "low": 0.0, "high": 0.0, "samples": 3} | more


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import documents

    yield documents
    for name in (
        "documents",
        "report",
        "bars",
        "otherwise",
        "cases",
        "work",
        "ours",
        "competitors",
    ):
        sys.modules.pop(name, None)
    sys.modules.pop("measure", None)


@pytest.fixture
def record() -> dict[str, Any]:
    over = {"status": "over the cap", "low": 20e9}
    return {
        "machine": {
            "date": "2026-01-02 03:04 UTC",
            "cpu": "Abacus 9",
            "cores": 2,
            "memory_gb": 8,
            "system": "Linux",
            "python": "CPython 3.11",
            "versions": {"numpy": "2"},
            "load_before": 0.0,
            "others": 0.0,
            "warning": "",
        },
        "options": {"quick": False, "only": None},
        "bars": [
            {
                "text": "a bar that is missed",
                "limit": 1,
                "kind": "at most",
                "unit": "x",
                "goal": False,
                "reason": "it is hard",
                "value": 2.0,
                "bound": False,
                "outcome": "missed",
                "why": "",
            }
        ],
        "cases": {
            "grid-pf-uniform-1000000": {
                "title": "grid-pf",
                "entries": [entry(PF, 10**6, 3e6), entry(FLOAT, 10**6, 4e6), entry(DP, 10**6, 8e7)],
            },
            "grid-pf-zipf-1000000": {
                "title": "grid-pf",
                "entries": [entry(PF, 10**6, 3e6), entry(DP, 10**6, None, **over)],
            },
            "list-1000": {"title": "a list", "entries": [entry(PF, 1000, 2e5)]},
        },
    }


def test_readers_get_a_figure_three_sentences_and_one_table(
    documents: Any, record: dict[str, Any]
) -> None:
    page = "\n".join(documents.reader_page(record))
    assert page.count("](performance.svg)") == 1
    assert page.count("|--:|\n") == 1
    assert "| permute-and-flip | 1 000 000 | 3 ms | 4 ms | 80 ms | over 20 s |" in page
    assert "Abacus 9" in page
    assert "permute-and-flip 0.75 times" in page
    assert "a bar that is missed" not in page
    assert len(page.splitlines()) < 40


def test_all_figures_stand_on_the_page_for_maintainers(
    documents: Any, record: dict[str, Any]
) -> None:
    page = "\n".join(documents.figures_page(record))
    assert "| a bar that is missed | ≤ 1 × | 2 × | **missed by 100%** |" in page
    assert "Why: it is hard." in page
    for case in record["cases"].values():
        for each in case["entries"]:
            assert each["label"] in page
    assert "Abacus 9, 2 cores" in page


def test_each_figure_of_ours_stands_beside_what_a_user_would_otherwise_run(
    documents: Any, record: dict[str, Any]
) -> None:
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
    record["cases"]["list-1000"]["entries"].append(entry(FLOAT, 1000, 1e5))
    assert f"| list-1000 | {PF} | 200 µs | 200 ns | 2 × |" in documents.figures_page(record)


def test_both_pages_stand_in_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8").splitlines()
    for name in ("performance", "benchmarks"):
        assert name in index
        assert "written by `make bench-docs`" in (ROOT / "docs" / f"{name}.md").read_text("utf-8")

"""The code in docs/gaps.md runs as it stands, and says what the page says it does."""

from __future__ import annotations

import importlib
import re
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gaps.md").read_text("utf-8")
MEASURED = (ROOT / "docs" / "measured.md").read_text("utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(page: str) -> dict[str, object]:
    """All blocks of code of a page, one after the other, in one namespace."""
    names: dict[str, object] = {}
    for block in BLOCK.findall(page):
        exec(compile(block, "docs/gaps.md", "exec"), names)  # noqa: S102 - our own page
    return names


def test_the_page_runs(monkeypatch, capsys):
    """The draws are fresh ones; what is asserted fails with a probability below 1e-9."""
    monkeypatch.chdir(ROOT)
    names, printed = run(PAGE), capsys.readouterr().out.splitlines()
    assert sum(line.startswith("film ") for line in printed) == 10
    counts, better = names["counts"], names["better"]
    assert all(type(value) is Fraction for value in better)
    # Noise has scale 20 everywhere, so that an error of 600 is one in 10**12.
    assert np.abs(np.array(better, dtype=float) - counts[list(names["best"].indices)]).max() < 600
    assert 0 < names["p"] <= 1
    # Every number is in the ledger: two selections and two measurements.
    charged = [r.content for r in names["ledger"].records() if r.content["kind"] == "charged"]
    assert (len(charged), names["ledger"].balance("films").spent) == (4, {"epsilon": 2})
    assert (len(names["above"].indices), sum("at least" in line for line in printed)) == (7, 7)
    last = int(names["seen"][-1])
    assert abs(names["value"] - last) < 1000
    assert last - 2000 < names["low"] < last + 1000


def test_a_cell_of_the_table_is_what_the_program_says(monkeypatch):
    """The worst cell, to the last digit: all bytes come from a fixed seed."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    program = importlib.import_module("gap_table")
    counts = np.load(ROOT / "benchmarks" / "data" / program.FILES[1]).astype(np.int64)
    linear, ours, spread, _ = program.cell(counts, 10, Fraction("0.05"), "exponential", 400)
    (row,) = [
        line
        for line in MEASURED.splitlines()
        if line.startswith("| SEARCHLOGS, exponential | 10 |")
    ]
    assert row.split(" | ")[2] == f"{linear:.0f} / **{ours:.0f}** ± {spread:.1f}"

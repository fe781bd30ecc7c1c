"""A notebook shows tables and pictures, as Jupyter runs it."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

SETUP = """
from safeselect import Budget, Ledger, explain, top_k_with_gaps
from safeselect.estimates import explain_items
votes = {"<tea>": 3, "milk": 900, "rum": 2000}
found = top_k_with_gaps(votes, k=2, epsilon="2.1419", sensitivity=1)
ledger = Ledger.create(":memory:", {"<a>": Budget("person", "add_remove", epsilon=1)})
plans = explain_items(5, ["0.5", 1], "1e-7")
"""
TABLES = "found", "plans", "explain(2, 1)", "ledger", "ledger.balance('<a>')"
SHOWN = {**dict.fromkeys(TABLES, "text/html"), "found.plot()": "image/png"}


@pytest.mark.slow("starts a kernel of Jupyter")
@pytest.mark.filterwarnings("ignore")  # those of Jupyter are not ours
def test_a_notebook_shows_tables_and_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    cells = map(nbformat.v4.new_code_cell, [SETUP, *SHOWN])
    notebook = nbformat.v4.new_notebook(cells=[*cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    _, *rest = notebook.cells
    for cell, kind in zip(rest, SHOWN.values(), strict=True):
        (output,) = cell.outputs
        assert kind in output.data, cell.source
    table = rest[0].outputs[0].data["text/html"]
    assert "ε = 2.1419" in table
    assert "<th>gap" in table
    assert "<tea>" not in table
    assert "an item needs about" in rest[1].outputs[0].data["text/html"]
    assert "<td>one_shot_exponential" in rest[2].outputs[0].data["text/html"]
    assert "<dt>&lt;a&gt;<dd>epsilon 1: 0 % used" in rest[3].outputs[0].data["text/html"]
    assert "<dt>unit<dd>person" in rest[4].outputs[0].data["text/html"]

"""A notebook shows tables and pictures: every shape, and as Jupyter runs it."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from safeselect import PureDP
from safeselect.release.results import Numbers, TopK
from shapes import RELEASES, SAID

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


@pytest.mark.parametrize("name", RELEASES)
def test_a_notebook_shows_a_table_of_every_shape(name: str) -> None:
    release = RELEASES[name]
    shown, columns = release._repr_html_(), release.to_dict()
    assert [f"<th>{each}" in shown for each in columns] == [True] * len(columns)
    assert shown.count("<tr><td>") == len(next(iter(columns.values())))
    assert shown.startswith("<section><h2>the ")


def test_a_table_escapes_labels_and_says_what_it_leaves_out() -> None:
    shown = TopK(**SAID, labels=("<script>\x1b", *map(str, range(250))))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;\\x1b" in shown
    assert "the first 200 of 251" in shown
    assert shown.count("<tr><td>") == 200
    marked = replace(RELEASES["empty"], source="Tape (NOT PRIVATE)")._repr_html_()
    assert "Tape (NOT PRIVATE)" in marked
    assert "<dd>record 7" in RELEASES["a"]._repr_html_()
    assert "nothing was found in &#x27;y&#x27;" in RELEASES["groups"]._repr_html_()


def test_costs_in_a_table_are_rounded_up_and_bounds_outwards() -> None:
    odd = Fraction(1, 2) + Fraction(1, 10**20)  # as a float it is a half
    answers = replace(RELEASES["answers"], costs=(odd,) * len(RELEASES["answers"].indices))
    assert "<td>0.500001" in answers._repr_html_()
    third = replace(RELEASES["a"], guarantee=PureDP(Fraction(1, 3) + Fraction(1, 10**30)))
    assert "ε ≤ 0.334" in third._repr_html_()
    assert "PureDP(epsilon<=0.334)" in repr(third)


@pytest.mark.slow("starts a kernel of Jupyter")
@pytest.mark.filterwarnings("ignore")  # those of Jupyter are not ours
@pytest.mark.parametrize("text", ["1E-999999999", "-1E-400000", "1E+999999", "0E+9999999", "sNaN"])
def test_far_decimals_are_shown_as_they_are_written(text: str) -> None:
    assert f"<td>{text}" in Numbers(**SAID, values=(Decimal(text),))._repr_html_()


def test_a_notebook_shows_tables_and_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    nbclient, nbformat = map(pytest.importorskip, ("nbclient", "nbformat"))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, [SETUP, *SHOWN])])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    _, *rest = notebook.cells
    for cell, kind in zip(rest, SHOWN.values(), strict=True):
        (output,) = cell.outputs
        assert kind in output.data, cell.source
    table = rest[0].outputs[0].data["text/html"]
    assert "ε = 2.1419" in table
    assert "<th>gap" in table
    assert "<tea>" not in table
    assert "users needed" in rest[1].outputs[0].data["text/html"]
    assert "<td>one_shot_exponential" in rest[2].outputs[0].data["text/html"]
    assert "<dt>&lt;a&gt;<dd>epsilon 1: 0 % used" in rest[3].outputs[0].data["text/html"]
    assert "<dt>unit<dd>person" in rest[4].outputs[0].data["text/html"]

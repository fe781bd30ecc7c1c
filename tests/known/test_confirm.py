"""One-shot rankings among the known answers, confirmed from the definitions alone."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import confirm
import pytest
from effort import LONG


def test_it_imports_nothing_of_the_package():
    tree = ast.parse(Path(confirm.__file__).read_text())
    named = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert "safeselect" not in " ".join(map(ast.unparse, named))


def test_no_answer_is_wrong_and_nearly_all_are_confirmed():
    """Of every third row; on tapes of zeros, ones, tails and ties further digits were drawn."""
    found = dict(confirm.confirmed("small", step=1 if LONG else 3))
    assert [name for name, verdicts in found.items() if verdicts["WRONG"]] == []
    assert [name for name, verdicts in found.items() if not verdicts["confirmed"]] == []
    assert len(found) >= (90 if LONG else 30)
    total = sum(found.values(), Counter())
    assert total["confirmed"] > 10 * total["possible"]


@pytest.mark.nightly("one row more; the answer itself is compared in `test_known.py`")
def test_one_of_hundreds_of_thousands_is_confirmed():
    ((_, verdicts),) = confirm.confirmed("large", "max_laplace, 270000")
    assert verdicts == {"confirmed": 1}


def test_a_slot_that_another_contender_takes_is_noticed(monkeypatch):
    """Above 4096 candidates the order of the contenders decides."""
    right = confirm.in_order
    monkeypatch.setattr(confirm, "in_order", lambda *args: right(*args)[::-1])
    ((_, verdicts),) = confirm.confirmed("small", "300 places")
    assert verdicts["WRONG"]

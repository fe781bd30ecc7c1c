"""Every broken copy of the accounting is noticed by the test that it names.

Those of one kind each run with the others; all of them, some seconds each, in `make nightly`.
"""

from __future__ import annotations

import pytest
from accounting_mutants import ACCOUNTING
from effort import LONG
from mutants import ROOT, copy, evidence

pytestmark = [
    pytest.mark.claim("C2"),
    pytest.mark.slow("a broken copy and a process for each mutant"),
]

ALWAYS = (
    "tangent for chord: offsets on the grid alone",
    "rounding down: products",
    "range before Gaussian",
    "tail dropped: large losses",
)
KILLERS = sorted({test for _, test in ACCOUNTING.values()})


@pytest.mark.parametrize("name", ACCOUNTING if LONG else ALWAYS)
def test_the_mutant_is_noticed(name, tmp_path):
    each, test = ACCOUNTING[name]
    assert not evidence(copy(tmp_path, [each]), test)


@pytest.mark.parametrize("killer", KILLERS if LONG else KILLERS[-1:])
def test_an_unbroken_copy_passes(killer, tmp_path):
    assert evidence(copy(tmp_path), killer)


def test_the_page_lists_every_mutant():
    page = (ROOT / "docs" / "mutants.md").read_text()
    for name, (each, test) in ACCOUNTING.items():
        assert f"| {name} | `{each.file}` | `{test}` |" in page

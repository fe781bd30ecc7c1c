"""Every broken copy of the accounting is noticed by the test that it names.

They take some seconds each, in `make nightly`.
"""

from __future__ import annotations

import pytest
from accounting_mutants import ACCOUNTING
from mutants import ROOT, copy, evidence

pytestmark = [
    pytest.mark.claim("C2"),
    pytest.mark.slow("a broken copy and a process for each mutant"),
]

KILLERS = sorted({test for _, test in ACCOUNTING.values()})


@pytest.mark.nightly("tests beside the code notice each; this looks at whether they do")
@pytest.mark.parametrize("name", ACCOUNTING)
def test_the_mutant_is_noticed(name, tmp_path):
    each, test = ACCOUNTING[name]
    assert not evidence(copy(tmp_path, [each]), test)


@pytest.mark.nightly("they pass in `make test` itself")
@pytest.mark.parametrize("killer", KILLERS)
def test_an_unbroken_copy_passes(killer, tmp_path):
    assert evidence(copy(tmp_path), killer)


def test_the_page_lists_every_mutant():
    page = (ROOT / "docs" / "mutants.md").read_text()
    for name, (each, test) in ACCOUNTING.items():
        assert f"| {name} | `{each.file}` | `{test}` |" in page

"""Every broken copy of the package in `support/mutants.py` is noticed by the evidence it names.

The same evidence holds for an unbroken copy, so what is noticed is the change.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import MUTANTS, ROOT, Mutant, copy, evidence

pytestmark = pytest.mark.slow("a broken copy and a process for each mutant")

KILLERS = sorted({mutant.killer for mutant in MUTANTS.values()})
KINDS = {
    kind: [killer for killer in KILLERS if killer.startswith(kind)]
    for kind in ("known ", "law ", "tests/")
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_noticed(name, tmp_path):
    assert not evidence(copy(tmp_path, MUTANTS[name]), MUTANTS[name].killer)


@pytest.mark.parametrize("killers", KINDS.values(), ids=list(KINDS))
def test_an_unbroken_copy_passes(killers, tmp_path):
    assert evidence(copy(tmp_path), *killers)


@pytest.mark.parametrize("text", ["no such line", "import"])
def test_a_mutant_whose_text_is_gone_or_not_unique_is_an_error(text, tmp_path):
    with pytest.raises(ValueError, match=text):
        copy(tmp_path, Mutant((("exact/interval.py", text, ""),), "C1", ""))


def test_evidence_that_cannot_be_had_is_an_error(tmp_path):
    plain = copy(tmp_path / "plain")
    for killer in (
        "known no such row",
        "law no such check",
        "tests/test_import.py::test_that_is_not_there",
    ):
        with pytest.raises(RuntimeError, match=re.escape(killer)):
            evidence(plain, killer)
    # A copy that cannot be imported is no mutant that was noticed.
    (copy(tmp_path / "broken") / "safeselect" / "__init__.py").write_text("import nothing.here\n")
    for killer in ("known samplers.bernoulli", "tests/spec/test_uniform.py"):
        with pytest.raises(RuntimeError, match="nothing"):
            evidence(tmp_path / "broken", killer)


def test_the_copy_is_what_is_looked_at(tmp_path):
    broken = copy(tmp_path)
    assert evidence(broken, "known samplers.uniform_below")
    (broken / "safeselect" / "spec" / "samplers.py").write_text(
        Path(broken / "safeselect" / "spec" / "samplers.py")
        .read_text()
        .replace("return value if value < n else None", "return 0")
    )
    assert not evidence(broken, "known samplers.uniform_below")


def test_the_page_lists_every_mutant():
    page = (ROOT / "docs" / "mutants.md").read_text()
    for name, mutant in MUTANTS.items():
        files = ", ".join(sorted({file for file, _, _ in mutant.changes}))
        assert f"| {name} | `{files}` | {mutant.claim} | `{mutant.killer}` |" in page

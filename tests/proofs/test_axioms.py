"""The check of axioms refuses what it must: it reads what Coq printed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from proved_tables import ROOT

SPEC = importlib.util.spec_from_file_location("axioms", ROOT / "proofs" / "axioms.py")
assert SPEC is not None
assert SPEC.loader is not None
AXIOMS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(AXIOMS)

CLOSED = "Closed under the global context\n"
USED = "Axioms:\nclassic : forall P : Prop, P \\/ ~ P\n"
ASKED = "Print Assumptions one.\nPrint Assumptions two.\n"


@pytest.mark.parametrize(
    ("source", "told", "wrong"),
    [
        (ASKED, CLOSED + CLOSED, 0),
        (ASKED, CLOSED + USED, 1),
        (ASKED, USED + CLOSED, 1),
        (ASKED, CLOSED, 1),
        (ASKED + "Lemma x : False. Admitted.\n", CLOSED + CLOSED, 1),
        (ASKED + "Axiom x : False.\n", CLOSED + CLOSED, 1),
    ],
)
def test_axioms_are_refused(
    source: str, told: str, wrong: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AXIOMS, "HERE", tmp_path)
    (tmp_path / "Some.v").write_text(source)
    (tmp_path / "Some.out").write_text(told)
    assert AXIOMS.main(tmp_path, ["Some"]) == wrong

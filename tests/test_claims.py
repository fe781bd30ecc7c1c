"""docs/claims.md cannot rot: it names the tests that are marked, and code that exists."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from breaks import BREAKS
from mutants import Break

import claims
import execute_claims

ROOT = Path(__file__).parents[1]
PAGE = claims.PAGE.read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
TABLES = PAGE.split("\n## ")
CLAIMS = re.findall(r"^\| (C\d+) \|", TABLES[0], re.MULTILINE)
CODE = re.findall(r"^\| (C\d+) \| `([^`:]+)(?:::([\w.]+))?` \|$", TABLES[1], re.MULTILINE)
EVIDENCE = re.findall(r"^\| (C\d+) \| `([^`:]+)(?:::(\w+))?` \|$", TABLES[2], re.MULTILINE)


def test_every_claim_has_a_line_code_and_a_test():
    claimed = re.findall(r"^\| (C\d+) \|", SECURITY, re.MULTILINE)
    assert (len(claimed), claimed) == (13, CLAIMS)
    assert {claim for claim, *_ in EVIDENCE} == set(claimed)
    assert {claim for claim, *_ in CODE} <= set(claimed)


def test_the_page_is_what_the_marks_say():
    """Otherwise: `make claims`."""
    assert claims.written(PAGE, claims.evidence()) == PAGE


def test_no_claim_changes_unseen():
    """Otherwise: name the sentence in CHANGELOG.md, with what the code does, and `make claims`."""
    listed = claims.SENTENCES.read_text("utf-8")
    assert listed.count("\nSECURITY.md: | C") == 12  # and the first line
    assert listed.count("Guarantee: ") > 30
    assert claims.sentences() == listed


def test_every_claim_has_code_that_can_be_broken():
    assert {claim for each in BREAKS for claim in each.claims} == set(CLAIMS)


def test_a_break_changes_the_place_that_it_names():
    """Its text is there once, inside a function of that name; the broken file still compiles."""
    for each in BREAKS:
        source = (ROOT / each.path).read_text()
        assert each.function
        assert each.text != each.other
        compile(each.made(source), each.path, "exec")


@pytest.mark.parametrize("text", ["no such line", "def "])
def test_a_break_whose_text_is_gone_or_not_unique_is_an_error(text):
    with pytest.raises(ValueError, match=f"times: {text}"):
        replace(BREAKS[0], place=BREAKS[0].file, text=text).made(
            (ROOT / BREAKS[0].path).read_text()
        )


def test_a_copy_has_every_file_that_git_keeps(tmp_path):
    """Evidence of C13 reads `.gitignore`, and that of proofs `proofs/`: a list was too short."""
    copied = execute_claims.copy(tmp_path / "copy", None)
    found = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
    assert {".gitignore", ".ci/run", "Makefile", "proofs/Makefile", "tests/test_claims.py"} <= found
    assert not any(name.startswith((".venv", ".git/")) or ".pyc" in name for name in found)
    if (ROOT / ".git").exists():
        kept = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True
        ).stdout.split("\0")
        assert {name for name in kept if (ROOT / name).is_file()} <= found


SMALL = """
import pytest, small
def test_notices(): assert small.answer() == 42
def test_fails_anyhow(): assert small.answer() == 43
@pytest.mark.parametrize("case", ["right", "wrong"])
def test_fails_in_one_case(case): assert case == "right"
def test_is_skipped(): pytest.skip(str(small.answer()))
"""


def test_only_what_passes_unbroken_and_fails_broken_is_evidence(tmp_path, monkeypatch, capsys):
    """A repository of one module, of which one break and some evidence are known."""
    for name, text in {
        "src/safeselect/__init__.py": "",
        "src/safeselect/answers.py": "RIGHT = True\n",
        "src/small.py": "from safeselect import answers\n"
        "def answer(): return 42 if answers.RIGHT else 41\n",
        "tests/support/claim_evidence.py": (
            ROOT / "tests" / "support" / "claim_evidence.py"
        ).read_text(),
        "tests/test_small.py": SMALL,
        "tests/test_torn.py": "import no_such_module\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    change = Break("answers.py", "RIGHT = True", "RIGHT = False", ("C1",))
    monkeypatch.setattr(execute_claims, "ROOT", tmp_path)
    monkeypatch.setattr(execute_claims, "BREAKS", [change])
    small = "tests/test_small.py"
    names = ("notices", "fails_anyhow", "fails_in_one_case", "is_skipped")
    asked = [*(f"{small}::test_{name}" for name in names), "tests/test_torn.py"]
    monkeypatch.setattr(claims, "evidence", lambda: [("C1", each) for each in asked])
    kept = ["--kept", str(tmp_path / "noticed.json")]
    assert execute_claims.main(kept) == 1
    printed = capsys.readouterr().out
    unnoticed = [f"C1 {each}" for each in asked[1:]]
    assert "\n    ".join(["5 pieces of evidence no break noticed: 4", *unnoticed]) in printed
    for case in ("fails_anyhow\n", "fails_in_one_case[wrong]\n"):
        assert f"    {small}::test_{case}" in printed
    monkeypatch.setattr(execute_claims, "broken", None)  # it goes on where it stopped: all is made
    assert execute_claims.main(kept) == 1
    assert "no break noticed: 4\n" in capsys.readouterr().out


def test_marks_of_a_test_and_of_a_file(tmp_path):
    path = tmp_path / "test_example.py"
    path.write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.slow, pytest.mark.claim('C2')]\n"
        "def helper(): ...\n"
        "@pytest.mark.claim('C1')\n"
        "@pytest.mark.claim('C3')\n"
        "def test_one(): ...\n"
        "def test_two(): ...\n"
    )
    assert list(claims.marked(path)) == [("C2", ""), ("C1", "test_one"), ("C3", "test_one")]

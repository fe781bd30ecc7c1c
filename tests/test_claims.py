"""docs/claims.md cannot rot: it names the tests that are marked, and code that exists."""

from __future__ import annotations

import ast
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from breaks import BREAKS

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
    assert len(claimed) == 13
    assert claimed == CLAIMS
    assert {claim for claim, *_ in EVIDENCE} == set(claimed)
    assert {claim for claim, *_ in CODE} <= set(claimed)


def test_the_page_is_what_the_marks_say():
    """Otherwise: `make claims`."""
    assert claims.written(PAGE, claims.evidence()) == PAGE


def test_every_claim_has_code_that_can_be_broken():
    assert {claim for each in BREAKS for claim in each.claims} == set(CLAIMS)


def names_its_place(each):
    """Its text is there once, inside a function of that name; the broken file still compiles."""
    source = (ROOT / each.path).read_text()
    if source.count(each.text) != 1 or each.other == each.text:
        return False
    start = source[: source.index(each.text)].count("\n") + 1
    end = start + each.text.rstrip("\n").count("\n")
    ast.parse(source.replace(each.text, each.other))
    return any(
        node.lineno <= start and end <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == each.function
    )


def test_a_break_changes_the_place_that_it_names():
    lost = [f"{each.path}::{each.function}" for each in BREAKS if not names_its_place(each)]
    assert lost == []


@pytest.mark.nightly("`make execute` breaks all of them")
@pytest.mark.slow("breaks two claims in copies of the repository, and runs their evidence there")
@pytest.mark.parametrize(
    ("function", "evidence", "unconcerned"),
    [
        (
            "require_production",
            "tests/randomness/test_source.py::test_sources_for_tests_are_refused_when_hardened",
            "tests/spec/test_permutation.py",
        ),
        (
            "permutation",
            "tests/spec/test_permutation.py",
            "tests/randomness/test_source.py::test_sources_for_tests_are_refused_when_hardened",
        ),
    ],
)
def test_evidence_fails_where_its_code_is_broken_and_only_there(function, evidence, unconcerned):
    """A small part of `make execute`, which `make nightly` runs for all claims."""
    (change,) = (each for each in BREAKS if each.function == function)
    passed, anyhow = execute_claims.unbroken({evidence, unconcerned}, 120)
    assert {case.partition("::")[0] for case in passed} == {
        each.partition("::")[0] for each in (evidence, unconcerned)
    }
    assert anyhow == []
    failed = execute_claims.broken(change, {evidence, unconcerned}, 120, passed)
    assert failed.keys() == {evidence}
    assert failed[evidence] in passed


def test_a_break_whose_text_is_gone_is_an_error(tmp_path):
    gone = replace(BREAKS[0], text="no such line")
    with pytest.raises(ValueError, match="has 0 times: no such line"):
        execute_claims.copy(tmp_path / "copy", gone)


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
def test_fails_differently(): assert False, small.answer()
@pytest.mark.parametrize("case", ["right", "wrong"])
def test_fails_in_one_case(case): assert case == "right"
def test_is_skipped(): pytest.skip(str(small.answer()))
@pytest.fixture
def gone():
    yield
    raise OSError("a teardown that fails")
def test_is_not_torn_down(gone): assert small.answer() == 42
"""
NOTICES = "tests/test_small.py::test_notices"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of one module, of which one break and some evidence are known."""
    place = tmp_path / "repository"
    (place / "src" / "safeselect").mkdir(parents=True)
    (place / "src" / "safeselect" / "__init__.py").touch()
    (place / "src" / "safeselect" / "answers.py").write_text("RIGHT = True\n")
    (place / "src" / "small.py").write_text(
        "from safeselect import answers\ndef answer(): return 42 if answers.RIGHT else 41\n"
    )
    (place / "tests" / "support").mkdir(parents=True)
    (place / "tests" / "support" / "claim_evidence.py").write_bytes(
        (ROOT / "tests" / "support" / "claim_evidence.py").read_bytes()
    )
    (place / "tests" / "test_small.py").write_text(SMALL)
    (place / "tests" / "test_torn.py").write_text("import no_such_module\n")
    change = execute_claims.Break(("C1",), "answers.py", "answer", "RIGHT = True", "RIGHT = False")
    monkeypatch.setattr(execute_claims, "ROOT", place)
    monkeypatch.setattr(execute_claims, "BREAKS", [change])
    return place


def executed(monkeypatch, capsys, evidence):
    monkeypatch.setattr(claims, "evidence", lambda: [("C1", each) for each in evidence])
    return execute_claims.main([]), capsys.readouterr().out


def test_what_passes_unbroken_and_fails_broken_is_evidence(repository, monkeypatch, capsys):
    status, printed = executed(monkeypatch, capsys, [NOTICES])
    assert status == 0
    assert "passed without a break: 1\nfailed without a break: 0\n" in printed
    assert "failed under a break: 1\n" in printed


FAIL_ANYHOW = {
    "fails_anyhow": "fails_anyhow",
    "fails_differently": "fails_differently",
    "fails_in_one_case": "fails_in_one_case[wrong]",
    "is_not_torn_down": "is_not_torn_down",
}


def test_what_fails_without_a_break_is_no_evidence(repository, monkeypatch, capsys):
    """It failed under every break as well, and counted."""
    others = [f"tests/test_small.py::test_{each}" for each in (*FAIL_ANYHOW, "is_skipped")]
    torn = "tests/test_torn.py"
    status, printed = executed(monkeypatch, capsys, [NOTICES, *others, torn])
    assert status == 1
    listed = [*(f"tests/test_small.py::test_{each}" for each in FAIL_ANYHOW.values()), torn]
    lines = "".join(f"    {each}\n" for each in sorted(listed))
    assert f"failed without a break: {len(listed)}\n{lines}" in printed
    unnoticed = "".join(f"    C1 {each}\n" for each in sorted([*others, torn]))
    assert f"failed under a break: 1\nno break noticed: 6\n{unnoticed}" in printed


def test_a_file_of_evidence_that_fails_anyhow_counts_by_what_passes(
    repository, monkeypatch, capsys
):
    status, printed = executed(monkeypatch, capsys, ["tests/test_small.py"])
    assert status == 1
    assert "passed without a break: 2\nfailed without a break: 4\n" in printed
    assert "no break noticed: 0\n" in printed


def test_every_line_is_short_and_says_one_thing():
    assert max(map(len, PAGE.splitlines())) < 200


def test_the_lines_are_there():
    """By the text of the files, not through the generator: each named test exists, bears its mark,
    and no file that is marked as a whole is missing.
    """
    assert len(EVIDENCE) == len(set(EVIDENCE)) > 200
    for claim, file, name in EVIDENCE:
        text = (ROOT / file).read_text("utf-8")
        mark = rf"claim\(['\"]{claim}['\"]\)"
        if name:
            assert re.search(rf"{mark}\n(@.*\n|[ )\]].*\n)*def {name}\(", text), (claim, name)
        else:
            assert re.search(rf"^pytestmark = (?s:.)*?{mark}", text, re.MULTILINE), (claim, file)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for claim in re.findall(
            r"^pytestmark = .*claim\(['\"](C\d+)['\"]\)", path.read_text(), re.M
        ):
            assert (claim, path.relative_to(ROOT).as_posix(), "") in EVIDENCE


def test_a_test_too_few_and_one_too_many_are_noticed():
    found = claims.evidence()
    assert claims.written(PAGE, found[1:]) != PAGE
    assert claims.written(PAGE, [*found, ("C1", "tests/x.py::y")]) != PAGE


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


def test_the_code_of_a_claim_exists():
    lost = [
        (claim, file, name)
        for claim, file, name in CODE
        if not re.search(
            rf"^\s*(def|class) {name.split('.')[-1]}\b" if name else "",
            (ROOT / file).read_text(),
            re.MULTILINE,
        )
    ]
    assert lost == []

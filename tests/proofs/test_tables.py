"""The tables of answers are those of the programs that the proofs are about."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import proved
import pytest
from proved_tables import CASES, ROOT, digest, read


@pytest.mark.parametrize("name", CASES)
def test_a_table_names_the_sources_that_stand_here(name: str) -> None:
    """Whoever changes a program must extract it again."""
    assert read(name)[0] == digest()


@pytest.mark.parametrize("name", CASES)
def test_a_table_has_every_case(name: str) -> None:
    rows = read(name)[1]
    assert [(row[0], len(row) - 1) for row in rows] == [(a, len(b)) for a, b in CASES[name]()]


def copied(place: Path, text: str, other: str) -> subprocess.CompletedProcess[str]:
    """What the check of statements says of a copy of one file with another text in one place."""
    for name in ("statements.py", "statements.txt"):
        shutil.copy(ROOT / "proofs" / name, place)
    source = (ROOT / "proofs" / "Ledger.v").read_text()
    assert source.count(text) >= 1
    (place / "Ledger.v").write_text(source.replace(text, other, 1))
    pinned = (place / "statements.txt").read_text().split("\n\n")
    kept = [each for each in pinned if each.split("\n")[0].split(" ")[1].startswith("Ledger.")]
    (place / "statements.txt").write_text("\n\n".join(kept) + "\n")
    subprocess.run(["coqc", "-q", "-w", "none", "Ledger.v"], cwd=place, check=True)
    command = [sys.executable, "statements.py", str(place), "Ledger"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.nightly("`make proofs` compares the statements; this plants two that say less")
@pytest.mark.slow("compiles a proof")
def test_a_theorem_that_says_less_is_found(tmp_path: Path) -> None:
    """A premise more, and a theorem that is asked about no more."""
    theorem = re.search(
        r"^Theorem spend_cap ([^:]*):", (ROOT / "proofs/Ledger.v").read_text(), re.M
    )
    assert theorem is not None
    for text, other, status in [
        (theorem[0], theorem[0], 0),
        (theorem[0], f"Theorem spend_cap {theorem[1]}(only : cap = 7) :", 1),
        ("Print Assumptions spend_total.\n", "", 1),
    ]:
        done = copied(tmp_path, text, other)
        assert (done.returncode, done.stderr) == (status, ""), (other, done.stdout)


def test_every_theorem_that_is_named_stands_in_the_proofs() -> None:
    """What the pages call proved, Coq was asked about; and docs/proofs.md lists all of that."""
    on_paper, listed = (
        set(re.findall(r"`(\w+)\.v: (\w+)`", (ROOT / page).read_text("utf-8")))
        for page in ("docs/mathematics.md", "docs/proofs.md")
    )
    asked = {
        (path.stem, theorem)
        for path in (ROOT / "proofs").glob("*.v")
        for theorem in re.findall(r"^Print Assumptions (\w+)\.$", path.read_text(), re.MULTILINE)
    }
    assert len(on_paper) > 10
    assert on_paper <= asked == listed


def test_no_proof_is_left_open() -> None:
    for path in (ROOT / "proofs").glob("*.v"):
        assert not re.search(r"\b(Admitted|admit|Abort|Axiom)\b", path.read_text()), path.name


def test_code_that_is_named_is_there() -> None:
    """What the page calls the code of a theorem: a function, a method, or an argument of one."""
    known, arguments = set[str](), set[str]()
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_bytes())
        for each in tree.body:
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                known.add(each.name)
            if isinstance(each, ast.ClassDef):
                members = [item for item in each.body if isinstance(item, ast.FunctionDef)]
                known |= {f"{each.name}.{item.name}" for item in members}
        arguments |= {f"{each.arg}=" for each in ast.walk(tree) if isinstance(each, ast.arg)}
    named = set[str]()
    for line in (ROOT / "docs/proofs.md").read_text("utf-8").splitlines():
        cells = line.split(" | ")
        if len(cells) == 5 and ".v: " in cells[1]:
            found = re.findall(r"`([A-Za-z_.]+=?)[^`]*`", cells[3])
            named |= {name for name in found if not name.endswith(".v")}
    assert len(named) > 15
    assert named <= known | arguments


def defined(path: Path) -> set[str]:
    """All functions, methods and classes of a file."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {each.name for each in ast.walk(ast.parse(path.read_bytes())) if isinstance(each, kinds)}


def test_every_premise_names_code_and_a_test_that_are_there() -> None:
    page = (ROOT / "docs/proofs.md").read_text("utf-8")
    table = page.partition("| premise | code | test |")[2].partition("\n\n")[0]
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) == 16
    for premise, code, test in rows[1:]:
        named = re.findall(r"`(\S+\.py): (\w+)`", code)
        proven = re.findall(r"`(tests/\S+\.py): (test_\w+)`", test)
        assert named, premise
        assert proven, premise
        for file, name in named:
            assert name in defined(ROOT / "src/safeselect" / file), premise
        for file, name in proven:
            assert name in defined(ROOT / file), premise
    # The premises that have names are those of the theorems.
    source = (ROOT / "proofs/EndToEnd.v").read_text()
    for name in re.findall(r"`(\w+)`", " ".join(row[0] for row in rows)):
        assert re.search(rf"\b{name}\b", source), name


def test_what_is_neither_proved_nor_tied_names_code_that_is_there() -> None:
    page = (ROOT / "docs/proofs.md").read_text("utf-8")
    rest = page.partition("## What is neither proved nor tied here")[2]
    everywhere = set().union(*map(defined, (ROOT / "src").rglob("*.py")))
    named = set(re.findall(r"`([a-z_]+)`", rest))
    assert len(named) > 20
    assert named <= everywhere


def test_every_mechanism_is_on_the_page() -> None:
    """Each of the table of laws by name, as proved, tied or neither."""
    page = (ROOT / "docs/proofs.md").read_text("utf-8")
    listed = page.partition("| mechanism |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(proved.LAWS)

"""Every snippet of every page runs, page by page and in order, or is listed here with the reason.

- ```python blocks run in one namespace a page.  With prompts they are doctests; without, what
  stands in a comment behind an expression is compared with its repr, where it is a value.
- ```console blocks: `safeselect ...` and two programs of `examples` run, and the lines below
  a command must be what it prints.
- A block of another kind, or a command that is neither run nor listed, fails.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pages import PAGES, ROOT

from safeselect.cli import main
from walks import type_in

duckdb = pytest.importorskip("duckdb")

FENCE = re.compile(r"^```(\S*)(?: [^\n]*)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^(?: {4}|\t)(?:\$ |(?:safeselect|make|pip|python3?|git) )", re.MULTILINE)
OTHER_KINDS = {
    "bibtex": "how to cite",
    "text": "a drawing, or what a program printed",
    "{literalinclude}": "a file: the examples, which tests/test_examples.py runs",
    "{include}": "a page of this list",
    "{eval-rst}": "Sphinx",
    "{toctree}": "Sphinx",
}

# Commands that are not run here, by how they begin, and why.
NOT_RUN = {
    "make demo": "runs in .ci/run, in a fresh environment",
    "make test": "is what runs this",
    "make quick": "the same",
    "make check": "runs in .ci/run",
    "make docs": "runs in .ci/run",
    "make format": "writes into the checkout",
    "make bench": "takes a quarter of an hour; no test depends on a clock",
    "make timing": "the same",
    "python benchmarks/timing/": "the same",
    ".venv-release/bin/python tools/verify_release.py": "tests/release runs it, as the page has it",
    "pip install": "needs the network; .ci/run installs the built wheel",
    "python examples/batch.py": "runs in tests/test_examples.py",
    "head -c 32 /dev/urandom": "makes a key, as tests/adapters/test_service.py does",
    "python examples/service/": "runs in tests/adapters/test_service.py, with a server",
    "export SERVICE_": "the same",
    "curl -X PUT localhost:8000/releases/": "the same",
    "safeselect audit release.json --log log.jsonl": "runs in tests/audit/test_release.py",
}
BLOCKS_NOT_RUN = {
    "from dpmm.models.aim import": "tests/adapters/test_synthetic_data.py, with `make dropins`",
    "import mst\n": "benchmarks/synthetic.py runs the programs themselves so",
    "import diffprivlib.models.forest": "tests/adapters/test_diffprivlib.py, with `make dropins`",
    "import diffprivlib.tools": "tests/adapters/test_diffprivlib.py, with `make dropins`",
    "import pipeline_dp\n": "tests/adapters/test_pipeline_dp_engine.py, with `make pipeline-dp`",
    "from pathlib import Path\n\nimport psycopg\n": "tests/tables/test_dialects.py, with a server",
    "from safeselect.ledger.stores": "tests/ledger/stores/test_postgres.py, with a server",
}
NEEDS = {  # a page runs where these are installed
    "docs/adapters.md": ("opendp", "dp_accounting"),
    "docs/engineer.md": ("opentelemetry.sdk",),
    "docs/replay.md": ("pandas", "opendp", "sklearn"),
}
PAGES_RUN_ELSEWHERE = {
    "docs/gaps.md": "tests/estimates/test_page.py, with what it says",
    "CONTRIBUTING.md": "tests/test_contributing.py makes its edits in a copy and runs that",
}


class Block(NamedTuple):
    """A fenced block: what it calls itself, its text and the line where it begins."""

    kind: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    return [
        Block(found[1], found[2], page.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(page)
    ]


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, in one line, and the lines that it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        first, *printed = part.replace("\\\n", " ").rstrip("\n").split("\n")
        yield first, printed


# ------------------------------------------------------------------ what a page takes for granted


def trips(names: dict[str, Any]) -> None:
    rows = (
        "SELECT 'city ' || i % 7 AS city, i AS rider, i % 50 AS fare FROM range(100) AS numbers(i)"
    )
    duckdb.execute(f"COPY ({rows}) TO 'trips.parquet' (FORMAT parquet)")
    Path("carriers.txt").write_text("AA\nB6\nDL\nUA\n")


def visits(names: dict[str, Any]) -> None:
    Path("visits.csv").write_text("ward,patient\nnorth,1\nsouth,2\nsouth,1\n")
    Path("wards.txt").write_text("east\nnorth\nsouth\nwest\n")


GRANTED: dict[str, Callable[[dict[str, Any]], None]] = {
    "docs/tables.md": trips,
    "docs/ledger.md": visits,
}

# ----------------------------------------------------------------------------------- running a page


def run_python(block: Block, names: dict[str, Any], page: str) -> None:
    if any(block.text.startswith(start) for start in BLOCKS_NOT_RUN):
        return
    if block.text.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line)
        said, runner = io.StringIO(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=said.write, clear_globs=False)
        names.update(test.globs)
        assert runner.failures == 0, said.getvalue()
        return
    type_in(block.text, names, page)


def run_console(command: str) -> str:
    """Run a command and return what it prints."""
    found = re.sub(r"\$\(cat (\w+)\)", lambda each: Path(each[1]).read_text(), command)
    words = shlex.split(found, comments=True)
    target = words.pop() if words[-2:-1] == [">"] else None
    said = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()) as error:
        if words[0] == "safeselect":
            code = main(words[1 : -1 if target else None])
            wanted = 3 if command.endswith("# exit code 3") else 0
            assert code == wanted, f"{command}\n{error.getvalue()}"
        else:
            runpy.run_path(words[1], run_name="__main__")
    said.seek(0)
    printed = said.read()
    if target:
        Path(target).write_text(printed)
    return printed


def check_console(block: Block, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = list(commands(block.text))
    assert ran, f"{page}:{block.line}: no line begins with $"
    for command, printed in ran:
        if any(command.startswith(start) for start in NOT_RUN):
            assert not printed, f"{page}: {command}"
            continue
        assert re.match(r"safeselect |python examples/(choosing|clinic_export)\.py ", command), (
            f"{page}:{block.line}: neither run nor listed: {command}"
        )
        monkeypatch.setattr(sys, "argv", shlex.split(command)[1:])
        out = run_console(command).rstrip("\n")
        if any(printed):
            assert out == "\n".join(printed).rstrip("\n"), f"{page}: {command}"


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package)
    text = (ROOT / page).read_text("utf-8")
    assert not INDENTED.search(text), f"{page}: put commands into ```console"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    for folder in ("examples", "benchmarks", "docs"):
        Path(folder).symlink_to(ROOT / folder)
    names: dict[str, Any] = {}
    GRANTED.get(page, lambda _: None)(names)
    for block in blocks(text):
        assert block.kind in ("python", "console", *OTHER_KINDS), f"{page}:{block.line}"
        if block.kind == "python" and page not in PAGES_RUN_ELSEWHERE:
            run_python(block, names, page)
        elif block.kind == "console":
            check_console(block, page, monkeypatch)


def test_what_is_listed_is_there() -> None:
    """A reason without its snippet is out of date."""
    found = [(page, block) for page in PAGES for block in blocks((ROOT / page).read_text("utf-8"))]
    typed = [
        command
        for _, block in found
        if block.kind == "console"
        for command, _ in commands(block.text)
    ]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in typed), start
    for start in BLOCKS_NOT_RUN:
        assert any(block.text.startswith(start) for _, block in found), start
    for page in (*PAGES_RUN_ELSEWHERE, *GRANTED):
        assert any(name == page and block.kind == "python" for name, block in found), page

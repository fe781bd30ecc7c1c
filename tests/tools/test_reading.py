"""The route of a reviewer holds every file that decides a release, by imports and first calls."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import Break, copy, evidence

import reading

ROOT = reading.ROOT.parent
PAGE = " ".join((ROOT / "docs" / "reading.md").read_text("utf-8").split())


def test_each_file_comes_behind_what_it_imports() -> None:
    places = {file.module: place for place, file in enumerate(reading.core())}
    for module, place in places.items():
        for other in reading.imports(module, inside=False):
            assert places.get(other, -1) < place or other == module, (module, other)


def test_the_core_has_no_ledger_no_session_and_no_specification() -> None:
    rooms = {file.room for file in reading.core()}
    assert rooms.isdisjoint({"ledger", "spec", "estimates", "audit", "tables"})
    assert not {"mechanisms/sessions.py", "mechanisms/unknown.py"} & {
        file.path for file in reading.core()
    }


def test_every_file_that_is_imported_or_runs_is_on_a_day() -> None:
    assert reading.missing() == {}


def test_every_file_of_the_route_is_there_and_on_one_day() -> None:
    names = [name for files in reading.days().values() for name in files]
    assert len(names) == len(set(names)) > 60
    package = reading.ROOT / reading.PACKAGE
    assert [name for name in names if not (package / name).is_file()] == []


def test_day_one_is_short() -> None:
    package = reading.ROOT / reading.PACKAGE
    first, *_ = reading.days().values()
    assert len(first) <= 12
    assert sum(reading.code_lines(package / name) for name in first) <= 2100


NO_LINE = {
    *("accounting/__init__.py", "engine/__init__.py"),  # names alone
    *(f"accounting/{name}.py" for name in ("rate", "bounds", "sums", "pure", "unequal")),
    *("accounting/optimum/problem.py", "accounting/optimum/upper.py", "spec/sessions.py"),
    "scores/columns.py",
    *(f"ledger/{name}.py" for name in ("balance", "signing", "witness")),
}
"""Files of which no single line is named yet."""


def test_every_file_of_the_route_has_a_line_and_a_test_that_breaks() -> None:
    package, changes = reading.ROOT / reading.PACKAGE, reading.changes()
    names = [name for files in reading.days().values() for name in files]
    assert {name for name in names if name not in changes} <= NO_LINE
    lost = []
    for name, (text, other, test) in changes.items():
        path, _, function = test.partition("::")
        written = (ROOT / path).is_file() and f"def {function}(" in (ROOT / path).read_text()
        once = (package / name).read_text("utf-8").count(text) == 1
        if not (once and written and text != other):
            lost.append(name)
    assert lost == []


SAMPLE = ("accounting/cost.py", "release/call.py")


@pytest.mark.slow("a copy of the package and a process for each line")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SAMPLE else pytest.mark.nightly("one of many"))
        for name in reading.changes()
    ],
)
def test_the_named_test_fails_when_the_line_is_changed(name: str, tmp_path: Path) -> None:
    text, other, test = reading.changes()[name]
    assert not evidence(copy(tmp_path, [Break(name, text, other)]), test)


def test_a_call_runs_what_it_should() -> None:
    """A tracer that saw nothing would find every file on its day."""
    assert {"release/call.py", "engine/rankings.py"} <= reading.ran("pure").keys()
    assert "accounting/optimum/upper.py" in reading.ran("delta").keys() - reading.ran("pure")
    assert "ledger/budget.py" in reading.ran("charged")


def test_a_file_on_no_day_is_told(monkeypatch, capsys) -> None:
    monkeypatch.setattr(reading, "days", lambda: {"Day one": ["errors.py"]})
    assert reading.main([]) == 1
    assert "on no day: release/call.py (imported, pure, " in capsys.readouterr().out


def test_the_page_says_a_round_number_that_is_not_exceeded() -> None:
    """Of lines one in hundreds, and of files one that is a little larger than what is printed."""
    files = reading.core()
    pure, delta = (reading.ran(call).keys() for call in ("pure", "delta"))
    more = sum(name.startswith("accounting/") for name in delta - pure)
    for words, count, room in (
        (r"import at most (\d+) files with", len(files), 5),
        (r"files with at most (\d+) lines of code", sum(file.lines for file in files), 300),
        (r"without `delta` runs at most (\d+) of", len(pure), 5),
        (r"with at most (\d+) further files of `accounting/`", more, 5),
    ):
        stated = re.findall(words, PAGE)
        assert stated, words
        assert all(0 <= int(each) - count <= room for each in stated), (words, count)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""What."""\n\n# why\nx = 1\n', 1),
        ('def f():\n    """Says."""\n    return (\n        1\n    )\n', 4),
        ('x = """\na\n"""\n', 3),
    ],
)
def test_lines_of_code(source: str, lines: int, tmp_path) -> None:
    path = tmp_path / "m.py"
    path.write_text(source)
    assert reading.code_lines(path) == lines


@pytest.mark.parametrize("name", ["accounting", "ledger", "mechanisms", "adapters"])
def test_a_room_is_read_in_the_order_of_its_imports(name: str) -> None:
    files = [file.module for file in reading.room(name)]
    for place, module in enumerate(files):
        inside = {other for other in reading.imports(module, inside=False) if other in files}
        assert inside <= set(files[: place + 1]), module


def test_a_room_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemExit, match="there is no room 'leger'"):
        reading.main(["leger"])


def test_the_command_prints_a_room() -> None:
    run = subprocess.run(
        [sys.executable, reading.__file__, "ledger"], capture_output=True, text=True, check=True
    )
    assert "ledger/replay.py" in run.stdout
    assert run.stdout.startswith("ledger: ")

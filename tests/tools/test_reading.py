"""The order of reading is that of the imports, and the core stays what it is said to be."""

from __future__ import annotations

import subprocess
import sys

import pytest

import reading


def test_each_file_comes_behind_what_it_imports() -> None:
    places = {file.module: place for place, file in enumerate(reading.core())}
    for module, place in places.items():
        for other in reading.imports(module):
            assert places.get(other, -1) < place or other == module, (module, other)


def test_the_core_has_no_ledger_no_session_and_no_specification() -> None:
    rooms = {file.room for file in reading.core()}
    assert rooms == {"errors", "exact", "promises", "randomness", "noise", "scores", "selection"}


def test_one_selection_imports_what_the_tool_says() -> None:
    """Asked of Python itself: what is loaded after one release, but for the front door."""
    code = (
        "import importlib.abc, sys, safeselect\n"
        "safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1)\n"
        "print(chr(10).join(m for m in sys.modules if m.startswith('safeselect')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {file.module for file in reading.core()} <= loaded
    assert "safeselect.reference._rankings" not in loaded


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


def test_the_command_prints_the_sum() -> None:
    run = subprocess.run(
        [sys.executable, reading.__file__], capture_output=True, text=True, check=True
    )
    files = reading.core()
    total = f"{sum(file.lines for file in files)} lines in {len(files)} files"
    assert run.stdout.endswith(f"the decision core: {total}\n")


@pytest.mark.parametrize("name", ["accounting", "ledger", "sessions", "adapters"])
def test_a_room_is_read_in_the_order_of_its_imports(name: str) -> None:
    files = [file.module for file in reading.room(name)]
    folder = reading.ROOT / reading.PACKAGE / name
    assert len(files) == len(list(folder.rglob("*.py"))) > 5
    for place, module in enumerate(files):
        inside = {other for other in reading.imports(module) if other in files}
        assert inside <= set(files[: place + 1]), module


def test_the_command_prints_a_room() -> None:
    run = subprocess.run(
        [sys.executable, reading.__file__, "ledger"], capture_output=True, text=True, check=True
    )
    assert "ledger.records.replay" in run.stdout
    assert run.stdout.splitlines()[-1].startswith("ledger: ")

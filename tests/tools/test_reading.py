"""The order of reading is that of the imports, and the core stays what it is said to be."""

from __future__ import annotations

import re
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
    inner = {"errors", "exact", "promises", "randomness", "release", "engine", "scores"}
    assert rooms == {*inner, "mechanisms"}


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
    assert "safeselect.spec.rankings" not in loaded


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


def printed_rooms(*rooms: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, reading.__file__, *rooms], capture_output=True, text=True, check=True
    )
    return [line.partition(":")[0] for line in run.stdout.splitlines() if line[0] != " "][:-1]


def test_each_room_is_printed_behind_those_it_imports() -> None:
    rooms = printed_rooms()
    for file in reading.core():
        for other in reading.imports(file.module):
            if (room := other.split(".")[1]) in rooms:
                assert rooms.index(room) <= rooms.index(file.room), (file.module, other)


def test_readme_says_the_order_that_is_printed() -> None:
    readme = (reading.ROOT.parent / "README.md").read_text("utf-8")
    steps = re.findall(r"^[1-9]\. (.*?):", readme.partition("Read upwards")[2], re.MULTILINE)
    named = [name.removesuffix(".py") for step in steps for name in re.findall(r"`(\w+)", step)]
    assert named == printed_rooms()


@pytest.mark.parametrize("name", ["accounting", "ledger", "mechanisms", "adapters"])
def test_a_room_is_read_in_the_order_of_its_imports(name: str) -> None:
    files = [file.module for file in reading.room(name)]
    folder = reading.ROOT / reading.PACKAGE / name
    assert len(files) == len(list(folder.rglob("*.py"))) > 5
    for place, module in enumerate(files):
        inside = {other for other in reading.imports(module) if other in files}
        assert inside <= set(files[: place + 1]), module


def test_every_room_can_be_printed() -> None:
    """Files alone are rooms, too, and some files import the package itself."""
    package = reading.ROOT / reading.PACKAGE
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    for name in rooms - {"__init__", "__pycache__"}:
        files = reading.room(name)
        count = len(list((package / name).rglob("*.py"))) or 1
        assert [file.room for file in files] == [name] * count


def test_a_room_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemExit, match="there is no room 'leger'"):
        reading.main(["leger"])


def test_the_command_prints_a_room() -> None:
    run = subprocess.run(
        [sys.executable, reading.__file__, "ledger"], capture_output=True, text=True, check=True
    )
    assert "ledger.replay" in run.stdout
    assert run.stdout.splitlines()[-1].startswith("ledger: ")

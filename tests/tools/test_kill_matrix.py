"""`make kills`: who is shown a fault, what the lists say, and that a run is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kill_matrix

FILE = "src/safeselect/exact/interval.py"


def test_every_known_fault_is_of_a_text_that_is_there_once():
    known = kill_matrix.faults()
    kinds = {name.partition(" ")[0].rstrip(":") for name in known}
    assert kinds == {"fault", "accounting", "claim", "law", "survivor"}
    lost = [
        name
        for name, changes in known.items()
        for path, text, _ in changes
        if (kill_matrix.ROOT / path).read_text().count(text) != 1
    ]
    assert lost == []


def test_a_fault_is_shown_to_those_who_execute_it_and_else_to_its_file():
    source = (kill_matrix.ROOT / FILE).read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(source, 1) if line.startswith("    def "))
    lines = {FILE: {place: ["near"], place + 1: ["next"], 1: ["far"]}}
    here = ((FILE, "".join(source[place - 1 : place + 1]), ""),)
    assert kill_matrix.reached(here, lines) == {"near", "next"}
    unseen = ((FILE, source[0], ""),)
    assert kill_matrix.reached(unseen, {FILE: {5: ["far"]}}) == {"far"}
    assert kill_matrix.reached(unseen, {}) == set()


def test_the_quickest_come_first_and_only_as_many_as_there_is_time():
    seconds = {"a": 50.0, "b": 1.0, "c": 50.0}
    assert kill_matrix.quickest(["a", "b", "c", "unknown"], seconds) == ["b", "a"]


FOUND = [
    {"fault": "one", "tests": 3, "killed by": ["q.py::x", "s.py::x"]},
    {"fault": "two", "tests": 3, "killed by": ["s.py::y"]},
    {"fault": "three", "tests": 3, "killed by": []},
    {"fault": "survivor: four", "tests": 3, "killed by": []},
]


def test_what_the_lists_say():
    assert kill_matrix.unnoticed(FOUND) == ["three"]
    seconds = {"q.py::x": 1.0, "s.py::x": 2.0, "s.py::y": 2.0, "t.py::x": 9.0, "t.py::y": 1.0}
    assert kill_matrix.needless(FOUND, seconds) == {"t.py": 10.0}
    assert kill_matrix.needless(FOUND[:1], seconds) == {"s.py": 4.0, "t.py": 10.0}


def test_what_was_made_is_not_made_again(tmp_path: Path, monkeypatch, capsys):
    asked = []
    changes = dict.fromkeys(("one", "two", "three"), ((FILE, "from __future__", "x"),))
    monkeypatch.setattr(kill_matrix, "faults", lambda: changes)
    monkeypatch.setattr(kill_matrix, "executed", lambda place: {FILE: {1: ["q.py::x"]}})
    monkeypatch.setattr(kill_matrix, "killers", lambda changes, tests: asked.append(tests) or tests)
    (tmp_path / "seconds.json").write_text('{"q.py::x": 1.0}')
    (tmp_path / "faults.jsonl").write_text("".join(json.dumps(each) + "\n" for each in FOUND[:3]))
    assert kill_matrix.main(["--place", str(tmp_path)]) == 1
    assert asked == []
    (tmp_path / "faults.jsonl").write_text(json.dumps(FOUND[0]) + "\n")
    assert kill_matrix.main(["--place", str(tmp_path), "--only", "t"]) == 0
    assert asked == [["q.py::x"]] * 2
    assert "faults: 3 of 3\nnothing notices: 0\n" in capsys.readouterr().out
    assert len((tmp_path / "faults.jsonl").read_text().splitlines()) == 3


@pytest.mark.nightly("a test of `make kills` alone")
@pytest.mark.slow("a copy of the repository, and a process in it")
def test_a_fault_in_a_copy_is_noticed():
    changes = ((FILE, "from __future__", "from __no_future__"),)
    test = "tests/exact/test_interval.py"
    assert kill_matrix.killers(changes, [test]) == [test]

"""`make kills`: who is shown a fault, what the lists say, and that a run is resumed."""

from __future__ import annotations

import json
from pathlib import Path

from mutants import Break

import kill_matrix

FILE = "src/safeselect/exact/interval.py"
CHANGE = Break("exact/interval.py", "from __future__", "from __no_future__")


def test_every_known_fault_is_of_a_text_that_is_there_once():
    for name, changes in kill_matrix.faults().items():
        for each in changes:
            assert len(each.starts((kill_matrix.ROOT / each.path).read_text())) == 1, name


def test_a_fault_is_shown_to_those_who_execute_it_and_else_to_its_file():
    source = (kill_matrix.ROOT / FILE).read_text()
    place = source[: source.index(CHANGE.text)].count("\n") + 1
    lines = {FILE: {place: ["near"], place + 1: ["far"]}}
    assert kill_matrix.reached([CHANGE], lines) == {"near"}
    assert kill_matrix.reached([CHANGE], {FILE: {place + 5: ["far"]}}) == {"far"}
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


def test_what_was_made_is_not_made_again(tmp_path: Path, monkeypatch):
    asked = []
    faults = {name: [CHANGE] for name in ("one", "two", "three")}
    monkeypatch.setattr(kill_matrix, "faults", lambda: faults)
    monkeypatch.setattr(kill_matrix, "executed", lambda place: {FILE: {1: ["q.py::x"]}})
    monkeypatch.setattr(kill_matrix, "killers", lambda changes, tests: asked.append(tests) or tests)
    (tmp_path / "seconds.json").write_text('{"q.py::x": 1.0}')
    (tmp_path / "faults.jsonl").write_text(json.dumps(FOUND[0]) + "\n")
    assert kill_matrix.main(["--place", str(tmp_path), "--only", "t"]) == 0
    assert asked == [["q.py::x"]] * 2
    assert len((tmp_path / "faults.jsonl").read_text().splitlines()) == 3

"""Known answers: what is released, charged and refused, and what reaches the engine.

A changed answer needs a sentence in the change log, and `python tests/support/known.py record`.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checks.mechanisms import names

import execute_claims
import known
import safeselect
from safeselect import known_answers
from safeselect.known_answers import Tape

TOOL = Path(__file__).parents[1] / "support" / "known.py"


KINDS = ("random", "zeros", "ones", "tails", "ties", "near 47")


MANY = pytest.mark.slow("hundreds of thousands of candidates, and texts of every release")


@pytest.mark.parametrize(
    "which",
    [pytest.param(each, marks=() if each == "small" else MANY) for each in known_answers.SETS],
)
def test_all_rows_answer_as_recorded(which):
    assert [name for name, same in known_answers.differences(which) if not same] == []


@pytest.mark.slow("each draw is observed")
def test_what_reaches_the_engine_is_as_recorded():
    recorded, rows = known.read("draws"), known.drawing()
    assert [name for name in rows if known.draws(name, rows[name]) != recorded.get(name)] == []
    assert list(recorded) == list(rows)


def test_every_mechanism_has_rows_and_none_have_vanished():
    small, written, large = map(known.read, known_answers.SETS)
    assert min(len(small) - 863, len(large) - 69, len(written) - 39) >= 0
    stated = {said[0] for row in small.values() for said in row["stated"]}
    assert set(names()) <= stated
    tapes = {kind.split()[0] for row in small.values() for kind in row["told"]}
    assert tapes == {"random", "zeros", "ones", "tails", "ties", "near", "ends", "none"}


INDIRECT = {"Budget", "Ledger", "explain", "from_json", "prepared.StatedLaw"}
"""Asked through other calls, or no release."""


def test_every_parameter_has_two_values_that_are_not_its_default():
    asked_for = [each.split(": ") for each in known_answers.not_asked()]
    lacking = [each for each in asked_for if each[0] not in INDIRECT]
    # Several quantiles are proved for one value a user, the default, alone.
    assert lacking == [["quantiles", "max_contributions"]]


def test_parameters_that_rows_give_too_few_values_are_named(monkeypatch):
    step = ["top_k", [[1, 2]], {"k": 2, "epsilon": 1, "monotonic": True}]
    other = ["top_k", [[3, 2]], {"k": 1, "epsilon": 1, "ledger": {"$scope": [["a"]]}}]
    row = {"do": [step, other, ["top_k", [[1]], {"grid": 3, "epsilon": 2}]]}
    row |= {"told": {"random": [[{}, {}, "ParameterError"], 0]}}
    needs = ["no_such_library", "temporary files"]
    rows = {"only": row, "left out": row | {"needs": needs}}
    monkeypatch.setattr(known_answers, "read", lambda which: rows)
    monkeypatch.setattr(known_answers, "gettempdir", Path("there is no such file").stat)
    assert known_answers.not_asked()[:2] == [f"all that needs {each}" for each in needs]
    assert [name for name, _ in known_answers.differences("small")] == ["only"]
    lacking = {each[7:] for each in known_answers.not_asked() if each.startswith("top_k: ")}
    words = set(inspect.signature(safeselect.top_k).parameters) - {"source"}
    assert lacking == words - {"scores", "k", "monotonic", "ledger"}


def test_rows_are_as_the_tool_writes_them():
    for which in (*known_answers.SETS, "draws"):
        assert known.place(which).read_text("utf-8") == known.written(which, known.read(which))


@pytest.mark.nightly("they are given once above, behind whatever ran before")
def test_answers_are_the_same_in_another_order():
    assert known.check([], backwards=True) == []


@pytest.mark.parametrize("name", ["permute_and_flip, 5000", "quantiles, add_remove, below"])
def test_answers_are_the_same_alone(name):
    ran = subprocess.run([sys.executable, TOOL, "check", name], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"rows with another answer: 0\n")


@pytest.mark.nightly("a comment is no change of code; the page says so of every answer")
def test_answers_are_the_same_after_a_comment_was_added(tmp_path):
    """Otherwise a row would prove that nobody touched a file, and no more."""
    place = execute_claims.copy(tmp_path / "copy", None)
    for path in (place / "src").rglob("*.py"):
        path.write_text(path.read_text() + "\n# a comment\n")
    ran = subprocess.run(
        [sys.executable, place / "tests" / "support" / "known.py", "check"],
        env=execute_claims.environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "rows with another answer: 0\n")


def test_another_answer_and_an_error_are_told(monkeypatch):
    rows = {name: known.read("small")[name] for name in ("permute_and_flip, 3", "samplers.Coin")}
    rows["samplers.Coin"]["do"] = [["no such call"]]
    rows["permute_and_flip, 3"]["told"]["ties"][1] += 1
    rows["top_k_exponential, 3"] = known.read("small")["top_k_exponential, 3"]
    monkeypatch.setattr(known_answers, "read", lambda which: rows)
    assert [same for _, same in known_answers.differences("small")] == [False, False, True]


def test_one_row_is_recorded_and_no_other_is_touched(tmp_path, monkeypatch):
    place = tmp_path / "small.json"
    rows = {name: known.read("small")[name] for name in ("permute_and_flip, 3", "samplers.Coin")}
    right = json.loads(json.dumps(rows))
    for row in rows.values():
        row["told"]["ties"][1] += 1
    place.write_text(known.written("small", rows), "utf-8")
    monkeypatch.setattr(known, "place", lambda which: place)
    assert len(known.record("small", "samplers.Coin")) == 1
    again = json.loads(place.read_text("utf-8"))
    assert again["samplers.Coin"] == right["samplers.Coin"]
    assert again["permute_and_flip, 3"] == rows["permute_and_flip, 3"]
    with pytest.raises(SystemExit, match="there is no row 'Coin'"):
        known.record("small", "Coin")
    assert known.main(["record", "small"]) == known.main([]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_tape_is_the_same_in_pieces_and_at_once(kind):
    pieces, whole = Tape("a row", kind), Tape("a row", kind)
    one, other = bytearray(3 << 16), bytearray(3 << 16)
    for start in range(0, len(one), 1 << 12):
        pieces.fill(memoryview(one)[start : start + (1 << 12)])
    whole.fill(other)
    assert one == other
    assert pieces.asked == whole.asked == len(one)


def test_tapes_differ_and_are_what_they_say():
    found = {}
    for kind in KINDS:
        found[kind] = bytearray(1 << 16)
        Tape("a row", kind).fill(found[kind])
    other = bytearray(1 << 16)
    Tape("another", "random").fill(other)
    assert len({*map(bytes, found.values()), bytes(other)}) == len(KINDS) + 1
    assert (set(found["zeros"][:256]), set(found["ones"][:256])) == ({0}, {255})
    words = {kind: np.frombuffer(found[kind], "<u8") for kind in KINDS}
    assert len(set(words["ties"].tolist())) < words["ties"].size / 3
    assert np.count_nonzero(np.frombuffer(found["tails"], "<u2") < 32) > 1000
    assert set((words["near 47"][64:128] - words["near 47"][:64]).tolist()) == {1 << 47}

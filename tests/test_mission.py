"""`tests/mission.json`: every mechanism answers as recorded, and its law has a test that can fail.

A row may change its call.  It never vanishes.
"""

from __future__ import annotations

import json
from pathlib import Path

import mission
import pytest
from broken_laws import BROKEN
from checks.mechanisms import names

import known
from safeselect import samplers

ROOT = Path(__file__).parents[1]
FOUND = mission.read()
DRAW_NOTHING = {"Bits", "LazyNoise", "NoiseRate"}


def test_no_row_has_vanished():
    assert len(FOUND) >= 87


def test_every_mechanism_and_every_public_sampler_has_a_row():
    """A new one needs a row; the tests of laws list the mechanisms."""
    assert set(names()) <= FOUND.keys()
    assert len(names()) >= 64
    public = {f"samplers.{name}" for name in samplers.__all__ if name not in DRAW_NOTHING}
    assert public == {name for name in FOUND if name.startswith("samplers.")}


@pytest.mark.parametrize("name", FOUND)
def test_a_row_answers_as_recorded(name):
    """Otherwise: a sentence in the change log, and `known.py record mission ROW`."""
    assert mission.answer(name, FOUND[name]) == FOUND[name]["answer"]


def lacks(name: str, row: mission.Json) -> bool:
    """Whether a row leaves something out, or answers without a bit."""
    answers = [row["answer"][tape]["released"] for tape in mission.TAPES[:3]]
    drawn = any(each != answers[0] for each in answers)
    return not (
        tuple(row) == mission.KEYS
        and tuple(row["answer"]) == mission.TAPES
        and row["law"] == (name if "/" in name else None)
        and (row["law"] is None or json.dumps(row["law"]) in json.dumps(row["answer"]))
        # Which words refuse follows from no bit.
        and (drawn or name == "SAFESELECT_REQUIRE_PRODUCTION")
    )


def test_a_row_says_all_it_has_to():
    assert [name for name, row in FOUND.items() if lacks(name, row)] == []


def test_the_tests_of_laws_are_there_and_no_break_is_left_over():
    """Those of rows by their names; `make laws` asks for each of them with its parameters."""
    for test in {row["test"] for row in FOUND.values()}:
        path, _, function = test.partition("::")
        function, _, name = function.partition("[")
        assert f"\ndef {function}(" in (ROOT / path).read_text(), test
        assert "test_rows" not in path or name.removesuffix("]") in names(), test
    assert {row["broken"] for row in FOUND.values()} == set(BROKEN)


def test_the_file_is_laid_out_as_it_is_recorded():
    """A row is recorded anew by `known.py record mission ROW`; there is no way to record all."""
    assert known.written("mission", FOUND) == mission.PLACE.read_text("utf-8")

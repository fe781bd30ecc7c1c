"""`make nightly`: every part runs, a failure is kept, and figures stand in a table."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

import nightly

ROOT = Path(__file__).parents[2]
SAID = {
    "soak": "      1200 releases  10** -1.0  one\n       300 releases  10** -2.0  two\n",
    "mutants": "20 of 30 tests in use\nNot explained: 0\n",
    "execute": (
        "evidence: 9\nfailed under a break: 8\nno break noticed: 1\nfailed without a break: 0\n"
    ),
    "laws": "the rate of a list: 3 tests and 3 answers of 3 rows, 5 s\nrows: 87\nnot noticed: 0\n",
    "faults": "noticed alone: 41 of 41\nplanted at once: 40\n",
    "timing": "t = 1.2\nall within bounds\n",
    "test": "= 5 passed, 1 skipped in 3.00s =\n",
    "proofs": "Ranking.within_mass  no axioms\n62 theorems, no axioms\n",
    "service": "clients 200, workers 2, kills 40\nanswers 1000 in 60.0 s\nwrong 0\n",
    "durations": "Over 2 s and not marked slow: 3\n     2.5 s  tests/test_one.py::test_one\n",
    "matrix": "matrix: ran on python3.11; not found: python3.14\n",
    "spark": "= 30 passed, 1 skipped in 3.00s =\n",
    "pipeline-dp": "= 14 passed in 3.00s =\n",
    "dropins": "= 68 passed in 3.00s =\n= 67 passed in 3.00s =\n= 93 passed in 3.00s =\n",
    "types": "= 14 passed in 3.00s =\n",
    "fuzz": "fuzz_table\n470 runs, nothing found\n",
}


@pytest.fixture
def make(tmp_path) -> Path:
    """What says the same as `make`, and fails for the target in the file `fails`."""
    for target, text in SAID.items():
        (tmp_path / target).write_text(text)
    script = tmp_path / "make"
    script.write_text(
        f'#!/bin/sh\ncd "{tmp_path}"\ncat "$3"\n'
        'echo "$3 $4 LONG=$SAFESELECT_LONG" >> asked\n! grep -qx "$3" fails\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "fails").write_text("")
    return script


def test_all_parts_run_and_show_their_figures(make, capfd):
    assert nightly.main(["--make", str(make)]) == 0
    rows = capfd.readouterr().out.split("figures\n")[1].splitlines()
    expected = [
        "soak +passed +0 s  releases 1500",
        "mutants +passed +0 s  tests 20, not explained 0",
        "execute +passed +0 s  evidence 9, failed under a break 8, no break noticed 1, anyhow 0",
        "laws +passed +0 s  rows 87, not noticed 0",
        "faults +passed +0 s  alone 41 of 41, at once 40",
        "timing +passed +0 s  last all within bounds",
        "long +passed +0 s  tests 5 passed, 1 skipped in 3.00s",
        "proofs +passed +0 s  theorems 62",
        "service +passed +0 s  answers 1000, kills 40, wrong 0",
        "durations +passed +0 s  slow without a reason 3",
        "matrix +passed +0 s  pythons matrix: ran on python3.11; not found: python3.14",
        "spark +passed +0 s  tests passed 30",
        "pipeline-dp +passed +0 s  tests passed 14",
        "dropins +passed +0 s  tests passed 228",
        "types +passed +0 s  tests passed 14",
        "fuzz +passed +0 s  last 470 runs, nothing found",
    ]
    for row, pattern in zip(rows, expected, strict=True):
        assert re.fullmatch(pattern.replace("+0 s", r"+\d+ s").replace(".", r"\."), row)
    asked = make.with_name("asked").read_text().splitlines()
    assert asked[0] == "soak ARGS=--minutes 30 LONG="
    assert asked[6] == "test ARGS= LONG=1"


@pytest.mark.parametrize("target", SAID)
def test_a_part_that_fails_is_kept_and_the_others_run(target, make, capfd):
    make.with_name("fails").write_text(target + "\n")
    assert nightly.main(["--make", str(make)]) == 1
    rows = capfd.readouterr().out.split("figures\n")[1].splitlines()
    failed = [row.split()[0] for row in rows if "FAILED" in row]
    assert failed == ["long" if target == "test" else target]
    assert len(rows) == len(nightly.PARTS)


def test_every_target_that_runs_tests_is_a_part():
    """What has an environment of its own is run by nobody else: a new one fails until it is here.

    `oldest` is in `.ci/run`, and `quick` is a part of `test`.
    """
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    tested = {name for name, lines in targets if "-m pytest" in lines}
    known = {part.target for part in nightly.PARTS.values()}
    assert tested - known == {"quick", "oldest"}


def test_every_part_is_a_target():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {part.target for part in nightly.PARTS.values()} <= set(targets)

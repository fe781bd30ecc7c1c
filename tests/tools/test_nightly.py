"""`make nightly`: every part runs, a failure is kept, and figures stand in a table."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

import nightly

ROOT = Path(__file__).parents[2]
SAID = {part.target: "" for part in nightly.PARTS.values()} | {
    "soak": "      1200 releases  10** -1.0  one\n       300 releases  10** -2.0  two\n",
    "laws": "the rate of a list: 3 tests and 3 answers of 3 rows, 5 s\nrows: 87\nnot noticed: 0\n",
    "test": "= 5 passed, 1 skipped in 3.00s =\n",
    "dropins": "= 68 passed in 3.00s =\n= 67 passed in 3.00s =\n= 93 passed in 3.00s =\n",
}


@pytest.mark.parametrize("fails", ["", "laws"])
def test_all_parts_run_and_show_their_figures_and_a_failure_is_kept(fails, tmp_path, capfd):
    for target, text in SAID.items():
        (tmp_path / target).write_text(text)
    (tmp_path / "fails").write_text(f"{fails}\n")
    make = tmp_path / "make"
    make.write_text(
        f'#!/bin/sh\ncd "{tmp_path}"\ncat "$3"\n'
        'echo "$3 $4 LONG=$SAFESELECT_LONG" >> asked\n! grep -qx "$3" fails\n'
    )
    make.chmod(make.stat().st_mode | stat.S_IXUSR)
    assert nightly.main(["--make", str(make)]) == bool(fails)
    found = capfd.readouterr().out.split("figures\n")[1].splitlines()
    assert len(found) == len(nightly.PARTS)
    rows = {row.split()[0]: row.split(maxsplit=4) for row in found}
    assert [name for name, row in rows.items() if row[1] == "FAILED"] == [fails] * bool(fails)
    assert rows["soak"][4] == "releases 1500"
    assert rows["laws"][4] == "rows 87, not noticed 0"
    assert rows["long"][4] == "tests 5 passed, 1 skipped in 3.00s"
    assert rows["dropins"][4] == "tests passed 228"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "soak ARGS=--minutes 30 LONG="
    assert asked[6] == "test ARGS= LONG=1"


def test_every_target_that_runs_tests_is_a_part():
    """What has an environment of its own is run by nobody else: a new one fails until it is here.

    `oldest` is in `.ci/run`, and `quick` is a part of `test`.
    """
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    tested = {name for name, lines in targets if "-m pytest" in lines}
    known = {part.target for part in nightly.PARTS.values()}
    assert tested - known == {"quick", "oldest"}
    assert known <= {name for name, _ in targets}


@pytest.mark.parametrize("mark", [pytest.mark.slow, pytest.mark.nightly("")])
def test_a_mark_without_its_reason_is_refused(mark, request):
    """By the settings of all tests, which look at every item."""
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    request.node.add_marker(mark)
    with pytest.raises(pytest.UsageError, match=f'write pytest.mark.{mark.name}\\("the reason"'):
        conftest.pytest_collection_modifyitems([request.node])

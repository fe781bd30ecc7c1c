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
    "execute": "failed without a break: 0\nof 9 pieces of evidence no break noticed: 1\n    C1 x\n",
    "test": "= 5 passed, 1 skipped in 3.00s =\n",
    "dropins": "= 68 passed in 3.00s =\n= 67 passed in 3.00s =\n= 93 passed in 3.00s =\n",
}


def made(place: Path, fails: str = "") -> str:
    """A program that answers for `make`, writes down what is asked, and fails for one target."""
    for target, text in SAID.items():
        (place / target).write_text(text)
    (place / "fails").write_text(f"{fails}\n")
    make = place / "make"
    make.write_text(
        f'#!/bin/sh\ncd "{place}"\ncat "$3"\n'
        'echo "$3 $4 LONG=$SAFESELECT_LONG" >> asked\n! grep -qx "$3" fails\n'
    )
    make.chmod(make.stat().st_mode | stat.S_IXUSR)
    return str(make)


@pytest.mark.parametrize("fails", ["", "laws"])
def test_all_parts_run_and_show_their_figures_and_a_failure_is_kept(fails, tmp_path, capfd):
    assert nightly.main(["--weekly", "--make", made(tmp_path, fails)]) == bool(fails)
    found = capfd.readouterr().out.split("--:|---|\n")[1].splitlines()
    rows = {name.strip(): cells for _, name, *cells, _ in (row.split("|") for row in found)}
    assert list(rows) == list(nightly.PARTS)
    assert [name for name, row in rows.items() if row[0] == " FAILED "] == [fails] * bool(fails)
    assert (rows["soak"][2], rows["laws"][2]) == (" releases 1500 ", " rows 87, not noticed 0 ")
    assert rows["execute"][2] == " evidence 9, no break noticed 1, anyhow 0 "
    assert rows["long"][2] == " tests 5 passed, 1 skipped in 3.00s "
    assert rows["dropins"][2] == " tests passed 228 "
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:2] == ["test ARGS= LONG=", "test ARGS= LONG=1"]
    assert asked[-5] == "test ARGS= LONG=1"


def test_a_part_that_takes_too_long_is_ended_with_its_children_and_has_failed(tmp_path):
    make = Path(made(tmp_path))
    make.write_text("#!/bin/sh\necho 5 passed\nsleep 60\n")
    found = nightly.run("slow", nightly.Part("test", 0.01, {"tests": r"(\d+) passed"}), str(make))
    assert found.status != 0
    assert found.seconds < 30
    assert found.figures == "tests 5"


def test_a_night_is_shorter_than_three_hours_and_writes_its_table(tmp_path, monkeypatch, capsys):
    assert sum(part.minutes for part in nightly.NIGHTLY.values()) < 180
    asked = []
    monkeypatch.setattr(nightly, "git", lambda *words: asked.append(words) or "")
    monkeypatch.setattr(nightly, "NIGHTS", tmp_path / "nights.md")
    for parts in ("one", "two"):
        nightly.commit([nightly.Outcome(parts, 0, 60, "figures")])
    text = (tmp_path / "nights.md").read_text()
    assert text.count("# Nights") == 1
    assert text.index("| two | passed | 60 | figures |") < text.index("| one |")
    assert [words[0] for words in asked if words[0] != "rev-parse"] == ["add", "commit"] * 2
    monkeypatch.setattr(nightly, "git", lambda *words: " M file")
    with pytest.raises(SystemExit, match="2"):
        nightly.main(["--commit"])
    assert "a commit that is checked out unchanged" in capsys.readouterr().err


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

"""`make durations`: slow tests without a reason are listed, and nothing fails by its time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import durations

ROOT = Path(__file__).parents[2]


def test_what_is_listed_and_in_which_order():
    lines = [
        "2.100\tnone\ttests/a.py::test_slow[one two]\n",
        "9.000\tnone\ttests/a.py::test_slower\n",
        "2.000\tnone\ttests/a.py::test_at_the_limit\n",
        "9.000\town\ttests/a.py::test_marked[1]\n",
        "0.100\town\ttests/a.py::test_marked[2]\n",
        "0.300\town\ttests/b.py::test_marked_for_nothing[1]\n",
        "0.100\tfile\ttests/c.py::test_in_a_marked_file\n",
    ]
    assert durations.report(lines) == [
        "7 tests, 23 s of processor time",
        "Over 2 s and not marked slow: 2",
        "     9.0 s  tests/a.py::test_slower",
        "     2.1 s  tests/a.py::test_slow[one two]",
        "Marked slow, and under 0.5 s: 1",
        "            tests/b.py::test_marked_for_nothing",
    ]


@pytest.mark.parametrize("mark", ["slow", "nightly('')"])
def test_a_mark_without_its_reason_is_refused(mark, tmp_path):
    place = tmp_path / "test_some.py"
    place.write_text(f"import pytest\n@pytest.mark.{mark}\ndef test_one(): pass\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n nightly\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(place)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert f'write pytest.mark.{mark.partition("(")[0]}("the reason")' in run.stderr + run.stdout

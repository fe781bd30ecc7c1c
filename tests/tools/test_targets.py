"""Targets of the Makefile and `.ci/run`: what could not be done is a failure, and never passes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ceiling

ROOT = Path(__file__).parents[2]
NO_COQ = "make: Coq with mathcomp not found"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Commands without Coq: only what the scripts need, and an `apt-get` that installs nothing."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ["bash", "cat", "dirname", "env", "git", "id", "ls", "mktemp", "rm", "sh"]:
        found = shutil.which(name)
        assert found, name
        (place / name).symlink_to(found)
    for name in ("apt-get", "make"):
        (place / name).write_text("#!/bin/sh\nexit 0\n")
        (place / name).chmod(0o755)
    return str(place)


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_proofs_without_coq_fail(path: str, tmp_path: Path) -> None:
    make = shutil.which("make") or "make"
    ran = run(make, "-C", ROOT, f"PROOFS={tmp_path / 'build'}", "proofs", PATH=path)
    assert ran.returncode != 0
    assert NO_COQ in ran.stderr


def test_ci_without_coq_fails(path: str, tmp_path: Path) -> None:
    """Whatever else passes: here `make` does, whatever it is asked."""
    place = tmp_path / "checkout"
    for name in (".ci/run", "proofs/install.sh"):
        (place / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, place / name)
    ran = run(place / ".ci" / "run", PATH=path, HOME=str(tmp_path))
    assert ran.returncode != 0
    assert NO_COQ in ran.stderr
    assert "--- make demo\n" in ran.stdout
    assert "--- make check" not in ran.stdout


@pytest.mark.parametrize("target", ["quick", "oldest"])
def test_a_list_of_the_makefile_names_what_is_there(target: str) -> None:
    """Whoever moves a file of tests moves it in `QUICK` and `SMALL` too."""
    ran = run("make", "-C", ROOT, "-n", target, **{**os.environ, "MAKEFLAGS": ""})
    assert ran.returncode == 0
    named = re.findall(r"(?<=[ =])tests/[\w/.]+", ran.stdout)
    assert len(named) > 5
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_the_ceiling_is_above_what_is_there_and_below_twice_that(tmp_path: Path) -> None:
    count = ceiling.held(ceiling.ROOT / ceiling.PACKAGE)
    assert count <= ceiling.CEILING < 2 * count
    (tmp_path / "one.py").write_text('"""Says."""\n\nx = 1  # why\n')
    (tmp_path / "page.html").write_text("<p>\n\n</p>\n")
    (tmp_path / "known_answers").mkdir()
    (tmp_path / "known_answers" / "small.json").write_text("{}\n")
    assert ceiling.held(tmp_path) == 3

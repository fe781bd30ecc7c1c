"""What a release by the command has in it, and what it does not show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typed import TOP, TRIPS, started


@pytest.mark.slow("starts the command many times")
@pytest.mark.parametrize("contributions", [[], ["--max-contributions", "2"]])
def test_no_user_and_one_user_look_alike(tmp_path: Path, contributions: list[str]) -> None:
    """Nothing but a release may tell them apart, and here that happens with probability 1e-12."""
    unknown, said = [*TOP[:-3], "--epsilon", "1", "--delta", "1e-12", *contributions], []
    for rows in ("", "Oslo,ann\n", ",ann\nOslo,ann\nRome,ann\nBern,ann\n"):
        (tmp_path / "trips.csv").write_text(f"city,rider\n{rows}")
        done = started(tmp_path, *unknown)
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0][:2] == (0, b"")
    assert b"guarantee epsilon = 1, delta = 1/1000000000000 in total" in said[0][2]
    assert said == said[:1] * 3


def test_the_release_is_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS.replace("Oslo", "Tromsø"), "utf-8")
    settings = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = started(tmp_path, *TOP, env=settings)
    assert (done.returncode, done.stdout) == (0, "Tromsø\n".encode())

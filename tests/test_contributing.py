"""The worked examples of CONTRIBUTING.md: each is made in a copy of the package, and run there."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import ROOT, copy

import execute_claims

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
EDIT = re.compile(
    r"^`(?P<file>[a-z_/]+\.py)`, (?P<how>before|after|instead of) `(?P<text>[^\n]+)`:\n\n"
    r"```python\n(?P<code>.*?)```\n",
    re.M | re.S,
)


def edits(title: str) -> list[re.Match[str]]:
    """The edits of one example, from its title to the next."""
    _, _, rest = TEXT.partition(f"**{title}**")
    return list(EDIT.finditer(re.split(r"\n\*\*|\n## ", rest)[0]))


def example(place: Path, title: str) -> Path:
    """A copy of the package with the edits of an example."""
    package = copy(place) / "safeselect"
    for edit in edits(title):
        path, text, code = package / edit["file"], edit["text"], edit["code"]
        source = path.read_text()
        assert source.count(text) == 1, text
        if edit["how"] == "before":
            new = code + ("" if text.startswith(" ") else "\n\n") + text
        else:
            new = f"{text}\n{code.rstrip()}" if edit["how"] == "after" else code.rstrip()
        path.write_text(source.replace(text, new))
    return place


def run(place: Path, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NOISE = """
from collections import Counter
from math import exp
from safeselect import report_noisy_max, report_noisy_max_with_gap, select_many
from safeselect.engine.laws import LAWS, enclose
from safeselect.testing import DeterministicSource

law = LAWS["logistic"]
for v in (1, 3, 1 << 30, (1 << 60) + 1, (1 << 64) - 2):
    for bits, precision in ((64, 40), (128, 90)):
        shifted = v << bits - 64
        low, high = enclose(law, shifted, bits, precision)
        x = (low + high) / 2 ** (precision + 1)
        assert abs(1 / (1 + exp(x)) * 2**64 - v) <= max(2, v * 1e-6), (v, x)
assert 1 / (1 + exp(law.lowest / 64)) > 1 - 2**-16
source = DeterministicSource(1, i_understand_this_is_not_private=True)
print(Counter(
    report_noisy_max([1, 0], noise="logistic", epsilon=2, range_=1, source=source).index
    for _ in range(4000)
)[0])
print(report_noisy_max_with_gap([9, 0], noise="logistic", epsilon=9, range_=1).gap >= 0)
"""


def test_a_new_noise_is_a_row_and_at_most_ten_lines(tmp_path: Path) -> None:
    """P(1 + X > Y), X and Y logistic of scale 1/2: 1/2 at 0; with d = 2 nats
    e^d (d - 1) + 1 over (e^d - 1)**2 is the chance of the other.

    False alarm: 4000 draws, 6.1 standard deviations either side: 1e-9.
    """
    made = edits("A new noise")
    assert len([line for line in made[0]["code"].splitlines() if line.startswith("    ")]) <= 10
    first, gap = run(example(tmp_path, "A new noise"), NOISE).split()
    d = 2.0
    behind = (2.718281828459045**d * (d - 1) + 1) / (2.718281828459045**d - 1) ** 2
    expected = 4000 * (1 - behind)
    assert abs(int(first) - expected) <= 6.1 * (expected * behind) ** 0.5
    assert gap == "True"


@pytest.mark.nightly("ruff, mypy and the contracts of imports, on a copy of the repository")
@pytest.mark.slow("the same")
def test_make_check_passes_with_the_new_noise(tmp_path: Path) -> None:
    place = execute_claims.copy(tmp_path / "copy", None)
    example(place / "src", "A new noise")
    targets = (ROOT / "Makefile").read_text().partition("\ncheck: ")[2].splitlines()[1:]
    checks = itertools.takewhile(lambda line: line.startswith("\t$(BIN)/"), targets)
    for line in ("\t$(BIN)/ruff format .", *checks):
        name, *words = line.removeprefix("\t$(BIN)/").split()
        done = subprocess.run(
            [Path(sys.executable).parent / name, *words],
            cwd=place,
            env=execute_claims.environment(place),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)

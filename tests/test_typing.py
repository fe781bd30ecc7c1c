"""What a type checker tells a client: mypy, strict, on a program that uses the public functions."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import client
import pytest

import safeselect

ROOT = Path(__file__).parents[1]

api = pytest.importorskip("mypy.api")

CLIENT = """
from safeselect import (
    measure, permute_and_flip, quantile, report_noisy_max, select_partitions, top_k, top_k_above,
)
from safeselect.estimates import estimate_fixed_from_gaps

cities = {"Bern": 5, "Basel": 3}
permute_and_flip(cities, epsilon=[1], sensitivity=1)  # wrong
permute_and_flip(cities, epsilom=1, sensitivity=1)  # wrong
permute_and_flip(cities, epsilon=1, sensitivity=1, monotonic="yes")  # wrong
report_noisy_max(cities, noise="normal", epsilon=1, sensitivity=1)  # wrong
top_k(cities, epsilon=1, sensitivity=1)  # wrong
top_k_above(cities, threshold=2, k=1, epsilon=1, sensitivity=1, rho=1)  # wrong
measure(3, epsilon=1, sensitivity_l1=1)  # wrong
quantile([1], quantile="1/2", lowest=[0], highest=9, step=1, epsilon=1)  # wrong
quantile([1], quantile="1/2", lowest=0, highest=9, step=1, epsilon=1, neighbours="replace")  # wrong
select_partitions(cities, labels=3, epsilon=1, delta="1e-9", max_partitions=1)  # wrong
estimate_fixed_from_gaps(3, [1], variance_ratio=1)  # wrong
"""


@pytest.mark.slow("mypy reads NumPy's types")
def test_a_client_is_told_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    said, _, _ = api.run(["--strict", "--python-executable", sys.executable, str(client)])
    wrong = [number for number, line in enumerate(CLIENT.splitlines(), 1) if "# wrong" in line]
    told = {int(line) for line in re.findall(r"client\.py:(\d+): error", said)}
    assert told == set(wrong), said


PROGRAM = ROOT / "tests" / "support" / "client.py"


@pytest.mark.slow("mypy reads NumPy's types")
def test_a_program_with_every_public_function_passes() -> None:
    """What `assert_type` says there of labels is checked, too."""
    said, _, status = api.run(["--strict", "--python-executable", sys.executable, str(PROGRAM)])
    assert status == 0, said


def test_every_public_name_is_in_that_program() -> None:
    """All that the interface page documents and `safeselect` exports, but for exceptions."""
    page = (ROOT / "docs" / "interface.md").read_text("utf-8")
    public = set(re.findall(r"^\.\. auto(?:function|class):: (\w+)", page, re.MULTILINE))
    public |= {
        name
        for name in safeselect.__all__
        if not (
            inspect.isclass(found := getattr(safeselect, name)) and issubclass(found, Exception)
        )
    }
    assert len(public) > 100
    _, found, body = PROGRAM.read_text("utf-8").partition("\ndef use(")
    assert found
    assert not sorted(name for name in public if not re.search(rf"\b{name}\b", body))


@pytest.mark.parametrize("run", client.RUNS, ids=lambda run: run.__name__)
def test_that_program_runs(run: Callable[[], None]) -> None:
    run()


@pytest.mark.slow("pyright reads NumPy's types")
def test_pyright_agrees(tmp_path: Path) -> None:
    """`make types` has it."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    (tmp_path / "client.py").write_text(PROGRAM.read_text("utf-8"))
    settings = {"typeCheckingMode": "strict", "include": ["client.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

"""The net catches what leaks: in a message, in what hangs behind it, in output, logs, warnings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sentinels import LABEL, NUMBER, found_in, near

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.parametrize(
    "form",
    [
        str(NUMBER),
        f"scores [{NUMBER + 3}, 2]",
        hex(NUMBER),
        f"{NUMBER:,}",
        repr(float(NUMBER)),
        f"{NUMBER:.9e}",
        str(-NUMBER),
        str(NUMBER + 2**63),
        str(2**64 - 1 - NUMBER),
        str(near(20)),
        LABEL.lower(),
        NUMBER.to_bytes(8, "little"),
        NUMBER.to_bytes(8, "big"),
        f"{NUMBER}".encode(),
    ],
    ids=repr,
)
def test_every_form_is_found(form):
    assert found_in(form)


def test_other_things_are_not_found():
    assert found_in("epsilon must be greater than zero, got -1; 9223372036854775807; 2**42") == []
    assert found_in(bytes(range(256)) * 16) == []


LEAKING = """
import logging, sys, warnings
import pytest
from sentinels import LABEL, NUMBER

def test_quiet(): print("nothing to see")
def test_out(): print("score", NUMBER)
def test_err(): sys.stderr.write(LABEL)
def test_log(): logging.getLogger("deep.down").debug("scores %s", [NUMBER])
def test_warning(): warnings.warn(f"odd score {NUMBER}", UserWarning)
def test_failure(): assert [1] == [NUMBER]
"""


def session(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A session of its own with the same plugin and the same setting for logs."""
    (folder / "conftest.py").write_text(
        "from leak_net import LeakNet\n"
        "def pytest_configure(config): config.pluginmanager.register(LeakNet())\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nlog_level = DEBUG\n")
    plugins = ("-p", "xdist", "-p", "no:cacheprovider")
    path = os.pathsep.join([str(SUPPORT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_session_whose_output_leaks_fails(tmp_path, workers):
    """In this process, and where a worker's reports come back over a wire."""
    (tmp_path / "test_leaking.py").write_text(LEAKING)
    done = session(tmp_path, "-n", workers)
    told = done.stdout.partition("private values in the output of tests")[2]
    assert done.returncode == 1
    assert "1 failed, 5 passed" in done.stdout
    for name, place in (
        ("out", "stdout"),
        ("err", "stderr"),
        ("log", "log"),
        ("warning", "warning"),
        ("failure", "report"),
    ):
        assert [place in line for line in told.splitlines() if f"::test_{name}:" in line] == [True]
    assert "test_quiet" not in told

"""The command as a stranger meets it: scripts of whole commands, streams, signals, exit codes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typed import COMMAND, TOP, TRIPS, started, typed

import safeselect
from safeselect.cli import main
from safeselect.release.results import code
from safeselect.tables import items

pytest.importorskip("duckdb")
SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))
LARGE = "safeselect: warning: epsilon="  # an epsilon above 10


@dataclass
class Step:
    """One command of a script and what it must do."""

    line: int
    command: str
    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    code: int = 0


def parse(text: str) -> Iterator[Step | tuple[str, str]]:
    """The steps of a script; a file to write is a pair of its name and content."""
    step: Step | None = None
    lines, place = text.splitlines(), 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if line.startswith("file "):
            content = []
            while place < len(lines) and lines[place].startswith("    "):
                content.append(lines[place][4:])
                place += 1
            yield line[5:], "".join(f"{row}\n" for row in content)
        elif line.startswith("$ safeselect"):
            step = Step(place, line[2:])
        elif step is not None and line.startswith("? "):
            step.code = int(line[2:])
        elif step is not None and line.startswith("! "):
            step.stderr.append(line[2:])
        elif step is not None and line and not line.startswith("#"):
            step.stdout.append(line)
        if step is not None and (place == len(lines) or not lines[place]):
            yield step
            step = None


def matches(out: str, wanted: list[str]) -> bool:
    """Whether these lines came out; "..." as the last stands for one line or more."""
    version, deciding, source_tree = code()
    out = (
        out.replace(source_tree, "HASH")
        .replace(deciding, "HASH")
        .replace(f'"version": "{version}"', '"version": "VERSION"')
    )
    if wanted[-1:] == ["..."]:
        start = "".join(f"{line}\n" for line in wanted[:-1])
        return out.startswith(start) and out.endswith("\n") and len(out) > len(start)
    return out == "".join(f"{line}\n" for line in wanted)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    steps = 0
    for step in parse(script.read_text("utf-8")):
        if isinstance(step, tuple):
            Path(step[0]).write_text(step[1], "utf-8", newline="")
            continue
        steps += 1
        code, out, error = typed(step.command.partition(" ")[2], capfdbinary)
        where = f"{script.name}:{step.line}: {step.command}\n{error}"
        assert code == step.code, where
        assert matches(out, step.stdout), where
        for wanted in step.stderr:
            assert wanted in error, where
        told = error.splitlines()
        if not any("warning" in wanted for wanted in step.stderr):
            told = [line for line in told if not line.startswith(LARGE)]
        assert len(told) == len(step.stderr), where
    assert steps > 0


def test_as_a_process_stdout_is_the_release_and_stderr_the_rest(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS)
    done = started(tmp_path, *TOP)
    assert (done.returncode, done.stdout) == (0, b"Oslo\n")
    warning, _, rest = done.stderr.partition(b"\n")
    assert warning.startswith(LARGE.encode())
    assert rest.startswith(b"guarantee epsilon = 10000")
    release = json.loads(started(tmp_path, *TOP, "--json").stdout)
    assert release["labels"] == {"kinds": "text", "texts": ["Oslo"]}
    assert release["schema"] == "safeselect.top-k/1"
    failed = started(tmp_path, *TOP[:-1])  # an unknown domain, without --delta
    assert (failed.returncode, failed.stdout) == (2, b"")
    assert failed.stderr.count(b"\n") == 1


def test_help_explains_known_candidates_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for command in ("top-k", "select", "keys", ""):
        with pytest.raises(SystemExit, match=r"^0$"):
            main([command, "--help"] if command else ["--version"])
        said[command] = capsys.readouterr().out
    text = " ".join(said["top-k"].split())
    for phrase in ("an unknown domain", "--candidates-are-public", "assert that"):
        assert phrase in text
    for meaning in (
        "0 success",
        "3 release refused by a budget",
        "5 ledger not usable",
        "6 ledger busy",
        "1 unexpected",
    ):
        for command in ("top-k", "select", "keys"):
            assert meaning in " ".join(said[command].split())
    assert "must be public" in said["select"]
    assert said[""].startswith("safeselect ")


ERRORS = [
    (safeselect.ParameterError, 2),
    (safeselect.ScoreError, 2),
    (safeselect.InputError, 2),
    (safeselect.BudgetError, 3),
    (safeselect.SourceError, 4),
    (KeyboardInterrupt, 130),
    (ValueError, 1),
    (MemoryError, 1),
    (RecursionError, 1),
]


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_every_error_has_its_exit_code_and_no_traceback(
    error: type[BaseException],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error("Zebedee-4711")

    monkeypatch.chdir(tmp_path)
    Path("trips.csv").write_text(TRIPS)
    monkeypatch.setattr(items, "top_k", fail)
    assert main(TOP) == code
    out, said = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in said
    # Our own errors speak for themselves; anything else may quote data and is not repeated.
    assert ("Zebedee-4711" in said) == issubclass(error, safeselect.SafeSelectError)
    assert said.count("\n") == (0 if error is KeyboardInterrupt else 1)


def into(out: Any, folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Buffered, as for a stranger: otherwise nothing would be left to flush at the end."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    said, command = subprocess.PIPE, [*COMMAND, *arguments]
    return subprocess.run(command, cwd=folder, stdout=out, stderr=said, env=settings, check=False)


@pytest.mark.parametrize("arguments", [TOP, ["--help"], ["top-k", "--help"], ["--version"]])
def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = into(closed, tmp_path, arguments)
    assert all(line.startswith(LARGE.encode()) for line in done.stderr.splitlines())
    # argparse itself forgives a reader of its help that leaves.
    assert done.returncode == 141 or (done.returncode == 0 and "--help" in arguments)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
def test_closed_streams(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS)
    line = shlex.join([*COMMAND, *TOP])
    # Without standard output nothing is drawn; without standard error the release still arrives,
    # and nothing else slips into its place.
    closed = subprocess.run(f"{line} >&-", cwd=tmp_path, shell=True, capture_output=True)  # noqa: S602
    assert closed.returncode == 2
    assert b"standard output is closed" in closed.stderr
    silent = subprocess.run(f"{line} 2>&-", cwd=tmp_path, shell=True, capture_output=True)  # noqa: S602
    assert (silent.returncode, silent.stdout) == (0, b"Oslo\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [TOP, ["top-k", "--help"], ["--version"]])
def test_a_release_that_cannot_be_written_is_a_failure(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS)
    with open("/dev/full", "wb") as full:
        done = into(full, tmp_path, arguments)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if not line.startswith(LARGE.encode())]
    assert b"".join(said) == (
        b"safeselect: standard output cannot be written: No space left on device; the output "
        b"is lost, but any charge to a ledger remains"
    )


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    # Many different users, so that the count is still running when the signal comes.
    (tmp_path / "scratch").mkdir()
    with open(tmp_path / "trips.csv", "w") as file:
        file.write("city,rider\n")
        file.writelines(f"{i % 7},{i * 7919}-{i}\n" for i in range(1_500_000))
    process = subprocess.Popen(
        [*COMMAND, *TOP],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
    )
    while process.poll() is None and not list((tmp_path / "scratch").glob("safeselect-*/input")):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (130, b"", b"")
    assert list((tmp_path / "scratch").iterdir()) == []

"""What an engine writes to disk: who is killed leaves it, and the next start sweeps it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import some

from safeselect.tables import duckdb as engine
from safeselect.tables.duckdb import private_directory

pytestmark = pytest.mark.slow("starts and kills processes")

PRIVATE = "Zebedee-4711"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "scratch"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def left(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def abandoned(folder: Path, name: str = "safeselect-rows-abcdefgh") -> Path:
    """What a process that was killed leaves: private bytes, a link to the table, folders in it."""
    made = folder / name
    made.mkdir(mode=0o700)
    (made / "spill").mkdir(mode=0o700)
    (made / "spill" / "duckdb_temp_storage_DEFAULT-0.tmp").write_text(PRIVATE)
    return made


def swept() -> None:
    with private_directory():
        pass


WAITING = """
import sys, time
from safeselect.tables.duckdb import private_directory
with private_directory() as private:
    (private / "spill").mkdir()
    (private / "spill" / "rows").write_text("Zebedee-4711")
    print(private, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def started(folder: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], Path]]]:
    running: list[subprocess.Popen[str]] = []

    def start(program: str = WAITING) -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        running.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield start
    for each in running:
        each.kill()
        each.communicate()


@pytest.mark.parametrize("how", some([signal.SIGKILL, signal.SIGTERM], 2))
def test_the_dead_are_swept_and_the_living_are_not(
    folder: Path, started: Any, how: signal.Signals
) -> None:
    (dead, theirs), (alive, ours) = started(), started()
    swept()
    assert left(folder) == sorted([theirs, ours])
    dead.send_signal(how)
    dead.wait()
    swept()
    assert (left(folder), (ours / "spill" / "rows").read_text()) == ([ours], PRIVATE)
    alive.kill()
    alive.wait()
    swept()
    assert left(folder) == []


def test_a_directory_is_private_and_removed_also_after_an_error(folder: Path) -> None:
    with private_directory() as private:
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        (private / "a" / "b").mkdir(parents=True)
        (private / "a" / "b" / "rows").write_text(PRIVATE)
        with private_directory() as other:  # another of the same process
            assert other != private
        assert (private / "a" / "b" / "rows").exists()
    assert left(folder) == []
    with pytest.raises(KeyboardInterrupt), private_directory() as private:
        raise KeyboardInterrupt
    assert left(folder) == []


def test_links_are_not_followed_neither_to_a_directory_nor_in_it(
    folder: Path, tmp_path: Path
) -> None:
    """A link of our name, and links inside what is swept: what they point at stays."""
    precious = tmp_path / "precious"
    (precious / "deep").mkdir(parents=True, mode=0o700)
    precious.chmod(0o700)
    (precious / "deep" / "file").write_text("kept")
    (folder / "safeselect-rows-linklink").symlink_to(precious)
    (folder / "safeselect-rows-lostlink").symlink_to(tmp_path / "nothing")
    made = abandoned(folder)
    (made / "input").symlink_to(precious / "deep" / "file")
    (made / "spill" / "away").symlink_to(precious)
    os.link(precious / "deep" / "file", made / "hard")
    swept()
    assert not made.exists()
    assert (precious / "deep" / "file").read_text() == "kept"
    assert sorted(each.name for each in left(folder)) == [
        "safeselect-rows-linklink",
        "safeselect-rows-lostlink",
    ]


def test_other_names_and_other_modes_are_left_alone(folder: Path) -> None:
    names = ("abcdefgh", "rows-abc", "rows-abcdefgh.bak", "rows-ABCDEFGH", "rows-abcdefgh\n")
    others = [abandoned(folder, f"safeselect-{name}") for name in names]
    others.append(abandoned(folder, "xsafeselect-rows-abcdefgh"))
    for kind, make in (("file", Path.touch), ("pipe", os.mkfifo)):
        others.append(folder / f"safeselect-rows-{kind * 2}")
        make(others[-1])
    made = [abandoned(folder, f"safeselect-rows-{mode:08}") for mode in range(4)]
    for each, mode in zip(made, (0o755, 0o770, 0o500, 0o777), strict=True):
        each.chmod(mode)
    swept()
    assert left(folder) == sorted([*others, *made])
    for each in made:
        each.chmod(0o2700)  # where the folder hands on its group
    swept()
    assert left(folder) == sorted(others)


def test_another_user_is_told_by_its_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, mine = abandoned(folder), os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: mine + 1)
        swept()
    assert made in left(folder)


FORKING = """
import os, sys, time
from safeselect.tables.duckdb import private_directory
manager = private_directory()
private = manager.__enter__()
(private / "rows").write_text("Zebedee-4711")
child = os.fork()
if child == 0:
    {child}
print(private, flush=True)
{parent}
"""


def test_a_child_that_was_forked_removes_nothing(folder: Path, started: Any) -> None:
    program = FORKING.format(
        child="manager.__exit__(None, None, None); os._exit(0)",
        parent="os.waitpid(child, 0); print('done', flush=True); time.sleep(600)",
    )
    process, private = started(program)
    assert process.stdout.readline() == "done\n"
    swept()
    assert (private / "rows").exists()  # the parent lives, and holds the lock
    process.kill()
    process.wait()
    swept()
    assert left(folder) == []


def test_nothing_is_swept_while_a_child_of_the_owner_lives(folder: Path, started: Any) -> None:
    program = FORKING.format(child="os.close(1); time.sleep(3); os._exit(0)", parent="os._exit(9)")
    process, private = started(program)
    process.wait()
    swept()
    assert (private / "rows").exists()
    deadline = time.monotonic() + 30
    while left(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
        swept()
    assert left(folder) == []


def test_a_program_that_the_owner_started_holds_no_lock(folder: Path, started: Any) -> None:
    program = (
        "import subprocess, sys, os\n"
        "from safeselect.tables.duckdb import private_directory\n"
        "with private_directory() as private:\n"
        "    other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'],\n"
        "        stdout=subprocess.DEVNULL)\n"
        "    print(private, flush=True)\n"
        "    os._exit(9)\n"
    )
    process, private = started(program)
    process.wait()
    assert private.exists()
    swept()
    assert left(folder) == []


@pytest.mark.parametrize("when", ["before it is opened", "before it is locked"])
def test_an_owner_that_is_swept_before_it_has_its_lock_makes_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Another process starts in the one moment in which a directory has no lock."""
    name = "open" if when == "before it is opened" else "flock"
    module: Any = os if name == "open" else fcntl
    real, sweeping = getattr(module, name), [False]
    gone: list[Path] = []

    def between(*arguments: Any, **options: Any) -> Any:
        fresh = [each for each in left(folder) if not gone]
        if fresh and not sweeping[0]:
            sweeping[0] = True
            engine._sweep(folder)
            gone.extend(fresh)
            assert left(folder) == []
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, between)
    with private_directory() as private:
        assert gone
        assert private not in gone
        (private / "rows").write_text(PRIVATE)
        engine._sweep(folder)
        assert (private / "rows").exists()
    assert left(folder) == []


def test_without_locks_a_count_works_and_nothing_is_swept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = abandoned(folder)
    for number in (errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP):

        def none(*_: Any, number: int = number) -> None:
            raise OSError(number, "no locks here")

        monkeypatch.setattr(fcntl, "flock", none)
        with private_directory() as private:
            assert private.exists()
        assert left(folder) == [made]


def test_what_cannot_be_removed_stops_no_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = abandoned(folder)

    def fails(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, "not now")

    with monkeypatch.context() as patch:
        for name in ("unlink", "rmdir"):
            patch.setattr(os, name, fails)
        with private_directory():
            pass
    assert made in left(folder)
    swept()
    assert left(folder) == []


def test_a_name_that_came_to_mean_another_directory_is_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the lock and the removal somebody swaps the directory for another."""
    made, precious = abandoned(folder), tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "file").write_text("kept")
    real = fcntl.flock

    def swapped(held: int, how: int) -> None:
        real(held, how)
        if made.exists() and not made.is_symlink():
            made.rename(tmp_path / "moved")
            made.symlink_to(precious)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", swapped)
        engine._sweep(folder)
    assert (precious / "file").read_text() == "kept"
    assert made.is_symlink()
    assert list((tmp_path / "moved").iterdir()) == []  # the bytes that were locked are gone

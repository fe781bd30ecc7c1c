"""A PostgreSQL server of our own: in a temporary folder, on a Unix socket, without privileges."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def binaries() -> Path | None:
    """Where initdb and postgres are, Debian's place included."""
    places = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "postgres").exists()), None)


REQUIRED = os.environ.get("SAFESELECT_REQUIRE_POSTGRES", "") != ""
MISSING = [
    name
    for name, there in (
        ("psycopg", importlib.util.find_spec("psycopg")),
        ("PostgreSQL's programs", binaries()),
    )
    if not there
]
needs_postgres = pytest.mark.skipif(
    bool(MISSING) and not REQUIRED, reason=f"not installed: {', '.join(MISSING)}"
)


@contextmanager
def running_server(**settings: str) -> Iterator[Server]:
    """A server that runs until the block ends."""
    programs = binaries()
    assert programs is not None, "SAFESELECT_REQUIRE_POSTGRES is set, and there is no PostgreSQL"
    started = Server(programs)
    try:
        started.start(**settings)
        yield started
    finally:
        started.remove()


class Server:
    """Started by `start`; its folder goes away with `remove`."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        # Not in pytest's folder: the path of a socket may have 107 bytes, and root's is root's.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        # The server refuses to run as root.
        self._options: dict[str, Any] = {}
        if os.getuid() == 0:
            os.chown(self.folder, 65534, 65534)
            self._options = {"user": 65534, "group": 65534, "extra_groups": []}
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "owner", "-E", "UTF8", "-N")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def conninfo(self) -> str:
        return f"host={self.folder} user=owner dbname=postgres"

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self, **settings: str) -> None:
        import psycopg

        command = [str(self._programs / "postgres"), "-D", self._data, "-k", str(self.folder)]
        command += ["-h", "", "-c", "max_connections=40"]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, **self._options
            )
        for _ in range(600):
            try:
                psycopg.connect(self.conninfo).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is a quick orderly end, SIGQUIT one without any order, as in a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self._options,
        )

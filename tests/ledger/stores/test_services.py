"""What a ledger meets in service: a pool of connections, a standby that takes over, a full disk."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import new, scope
from postgres import REQUIRED, binaries, needs_postgres, running_server

import safeselect
from safeselect import Ledger, LedgerError
from safeselect.ledger.stores.postgres import PostgresStore

pytestmark = [
    pytest.mark.nightly("programs that are started and stopped, of which some may be missing"),
    pytest.mark.skipif(os.getuid() != 0, reason="starts programs as another user"),
]
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
POOLER = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
EPSILON = Fraction(1, 10)


def charge(ledger: Ledger) -> None:
    """One answer that is charged."""
    safeselect.permute_and_flip([1, 2, 3], epsilon=EPSILON, sensitivity=1, ledger=scope(ledger))


def charged(ledger: Ledger) -> Fraction:
    """How many answers were charged."""
    return ledger.balance("a").spent["epsilon"] / EPSILON


@contextmanager
def nobodys_folder() -> Iterator[Path]:
    """A folder for a socket, whose path may be 107 bytes long."""
    with tempfile.TemporaryDirectory(prefix="pg-") as place:
        os.chown(place, 65534, 65534)
        yield Path(place)


@contextmanager
def running(*command: object, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs until the block ends."""
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, **NOBODY, **more
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def eventually(holds: Callable[[], object]) -> None:
    """Wait until it does."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@needs_postgres
@pytest.mark.skipif(not Path(POOLER).exists() and not REQUIRED, reason="no PgBouncer")
@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_a_pool_of_connections_keeps_a_transaction_or_is_refused(mode: str) -> None:
    with running_server() as server, nobodys_folder() as folder:
        (folder / "ini").write_text(
            f"[databases]\npostgres = host={server.folder} user=owner\n[pgbouncer]\n"
            f"unix_socket_dir = {folder}\nauth_type = any\npool_mode = {mode}\n"
            "listen_port = 6432\ndefault_pool_size = 2\n"
        )
        place = f"host={folder} port=6432 user=owner dbname=postgres"
        with running(POOLER, folder / "ini"):
            eventually((folder / ".s.PGSQL.6432").exists)
            store = PostgresStore(place, schema="pooled")
            if mode == "statement":
                with pytest.raises(LedgerError, match="nothing was charged"):
                    new(store, epsilon=100)
                return
            ledger = new(store, epsilon=100)

            def several() -> None:
                for _ in range(20):
                    charge(ledger)

            threads = [threading.Thread(target=several) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert charged(Ledger.open(PostgresStore(place, schema="pooled"))) == 80


@needs_postgres
def test_no_answer_is_lost_when_a_synchronous_standby_takes_over() -> None:
    import psycopg

    def asked(where: str, *statements: str) -> Any:
        with psycopg.connect(where, autocommit=True) as connection:
            found = [connection.execute(each) for each in statements]  # type: ignore[arg-type]
            return found[-1].fetchone()

    programs, lost = binaries(), []
    assert programs is not None
    with running_server(wal_level="replica") as server, nobodys_folder() as folder:
        there = f"host={folder} user=owner dbname=postgres"
        ledger = new(PostgresStore(server.conninfo, schema="s"), epsilon=100)
        source = ["-h", str(server.folder), "-U", "owner", "-X", "stream", "-c", "fast"]
        command = [str(programs / "pg_basebackup"), *source, "-D", str(folder / "data"), "-R"]
        subprocess.run(command, check=True, cwd=folder, **NOBODY)
        options = ("-k", folder, "-h", "", "-c", "max_connections=40")
        with running(programs / "postgres", "-D", folder / "data", *options, cwd=folder) as standby:
            waits = "ALTER SYSTEM SET synchronous_standby_names = '{}'"
            asked(server.conninfo, waits.format("*"), "SELECT pg_reload_conf()")
            state = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            eventually(lambda: asked(server.conninfo, state))
            for _ in range(20):
                charge(ledger)
            with pytest.raises(LedgerError, match="standby"):
                charge(Ledger.open(PostgresStore(there, schema="s")))

            def unanswered() -> None:
                try:
                    charge(ledger)
                except LedgerError as error:
                    lost.append(str(error))

            subprocess.run(["pkill", "-STOP", "-P", str(standby.pid)], check=True)
            waiting = threading.Thread(target=unanswered)
            waiting.start()
            waiting.join(2)
            assert waiting.is_alive()  # no answer without the standby
            server.stop(signal.SIGQUIT)
            waiting.join(60)
            assert len(lost) == 1
            assert "nothing is released" in lost[0]
            subprocess.run(["pkill", "-CONT", "-P", str(standby.pid)], check=True)
            asked(there, "SELECT pg_promote()")
            asked(there, waits.format(""), "SELECT pg_reload_conf()")
            after = Ledger.open(PostgresStore(there, schema="s"))
            assert charged(after) in (20, 21)
            charge(after)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system that can be filled; temporary folders are on it."""
    with tempfile.TemporaryDirectory() as place:
        words = ["mount", "-t", "tmpfs", "-o", "size=150m", "none", place]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        monkeypatch.setattr(tempfile, "tempdir", place)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", place], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the space that is left."""
    place = disk / "filling"
    with place.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return place


@pytest.mark.filterwarnings("ignore:the ledger is on a file system of type tmpfs")
@pytest.mark.parametrize("kind", ["file", pytest.param("PostgreSQL", marks=needs_postgres)])
def test_a_full_disk_refuses_and_releases_nothing(kind: str, small_disk: Path) -> None:
    def looked_at(make: Callable[[], Any]) -> None:
        ledger, answers = new(make(), epsilon=1000), 0
        charge(ledger)
        filling, refused = fill(small_disk), ""
        while not refused and answers < 2000:
            try:
                charge(ledger)
                answers += 1
            except LedgerError as error:
                refused = str(error)
        assert "the disk is full" in refused or "out of space" in refused
        filling.unlink()
        eventually(lambda: shutil.disk_usage(small_disk).free > 2**20)
        charge(ledger)
        ledger.close()
        assert charged(Ledger.open(make())) - answers in (2, 3)

    if kind == "file":
        looked_at(lambda: small_disk / "a.ledger")
    else:
        with running_server(max_wal_size="64MB") as server:
            looked_at(lambda: PostgresStore(server.conninfo, schema="s"))

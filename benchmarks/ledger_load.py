"""A ledger under load, as ratios of one run: `python benchmarks/ledger_load.py [BAR ...]`.

Starts a PostgreSQL server of its own in a temporary folder (`initdb` and `postgres` must be there).
Each bar is a pair that takes turns, our charges against plain work of the same server or disk; its
figure is the median of the turns' ratios.  The floors insert rows of a record's length.

alone     one process: charges, against INSERT, each with its commit
threads   eight threads of one process and one ledger, against INSERT by one connection
processes eight processes, against INSERT behind one locked row by eight connections
far       one of eight processes is 20 ms away: its charges, against an eighth of all
file      the ledger in a file, charges of eight processes against those of one
overload  answers (a charge and its outcome) of sixteen processes, against the most that one, four
          or eight give; with a lock that is waited for 1 s
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import psycopg
from postgres import Server, running_server

from ledger import charge
from safeselect import Budget, Ledger, LedgerError
from safeselect.ledger import Scope
from safeselect.ledger.stores.postgres import PostgresStore

WRITERS, SECONDS, TURNS, AWAY = 8, 3.0, 3, 0.020
BODY = "x" * 780
FORK = multiprocessing.get_context("fork")

Work = Callable[[], object]
"""One unit of work; it may raise `LedgerError`, and then counts as nothing."""


def scope_of(place: Any) -> Scope:
    words = {"unit": "person", "neighbours": "add_remove", "purpose": "benchmark"}
    return Ledger.open(place).scope("a", **words)


def made(place: Any) -> None:
    Ledger.create(place, {"a": Budget("person", "add_remove", epsilon=10**9)}).close()


def counted(work: Work, seconds: float) -> int:
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            work()
        except LedgerError:
            continue
        done += 1
    return done


def rates(prepare: list[Callable[[], Work]], seconds: float = SECONDS) -> list[float]:
    """How often a second each of these processes does its work, all at once."""
    ready, found = FORK.Barrier(len(prepare)), FORK.Queue()

    def run(place: int) -> None:
        work = prepare[place]()
        ready.wait()
        found.put((place, counted(work, seconds)))

    children = [FORK.Process(target=run, args=(place,)) for place in range(len(prepare))]
    for child in children:
        child.start()
    counts = dict(found.get() for _ in children)
    for child in children:
        child.join()
    return [counts[place] / seconds for place in range(len(prepare))]


@contextmanager
def away(folder: Path, delay: float) -> Iterator[Path]:
    """A folder with the server's socket, whose bytes take this long there and back."""
    there = Path(tempfile.mkdtemp(prefix="far-"))
    name = ".s.PGSQL.5432"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(there / name))
    listening.listen()

    def carry(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(2**16):
            time.sleep(delay / 2)
            target.sendall(data)
        target.close()

    def serve() -> None:
        while True:
            near, _ = listening.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(folder / name))
            for pair in ((near, server), (server, near)):
                threading.Thread(target=carry, args=pair, daemon=True).start()

    process = FORK.Process(target=serve, daemon=True)
    process.start()
    try:
        yield there
    finally:
        process.kill()
        process.join()


class Bars:
    """The bars; each method returns a ratio of one turn."""

    def __init__(self, server: Server) -> None:
        self.server, self._names = server, 0
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute("CREATE TABLE plain (id bigserial PRIMARY KEY, body text)")
            connection.execute("CREATE TABLE locked (one boolean)")
            connection.execute("INSERT INTO locked VALUES (true)")

    def _ledger(self) -> str:
        self._names += 1
        name = f"l{self._names}"
        made(PostgresStore(self.server.conninfo, schema=name))
        return name

    def _charging(self, name: str, conninfo: str = "") -> Callable[[], Work]:
        def prepare() -> Work:
            there = scope_of(PostgresStore(conninfo or self.server.conninfo, schema=name))
            return lambda: there.pay(charge())

        return prepare

    def _inserting(self, *, locked: bool) -> Callable[[], Work]:
        def prepare() -> Work:
            connection = psycopg.connect(self.server.conninfo, autocommit=True)

            def insert() -> None:
                connection.execute("INSERT INTO plain (body) VALUES (%s)", (BODY,))

            def behind() -> None:
                connection.execute("BEGIN")
                connection.execute("SELECT FROM locked FOR UPDATE")
                insert()
                connection.execute("COMMIT")

            return behind if locked else insert

        return prepare

    def alone(self) -> float:
        (floor,) = rates([self._inserting(locked=False)])
        (ours,) = rates([self._charging(self._ledger())])
        return said(ours, floor)

    def threads(self) -> float:
        (floor,) = rates([self._inserting(locked=False)])
        name = self._ledger()

        def prepare() -> Work:
            work, done = self._charging(name)(), list[int]()

            def all_threads() -> None:
                threads = [
                    threading.Thread(target=lambda: done.append(counted(work, SECONDS)))
                    for _ in range(WRITERS)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                sent.put(sum(done) / SECONDS)

            return all_threads

        sent = FORK.Queue()
        rates([prepare], seconds=0.001)
        return said(sent.get(), floor)

    def processes(self) -> float:
        floor = rates([self._inserting(locked=True)] * WRITERS)
        return said(sum(rates([self._charging(self._ledger())] * WRITERS)), sum(floor))

    def far(self) -> float:
        name = self._ledger()
        with away(self.server.folder, AWAY) as folder:
            conninfo = self.server.conninfo.replace(str(self.server.folder), str(folder))
            one = self._charging(name, conninfo)
            found = rates([one, *[self._charging(name)] * (WRITERS - 1)])
        return said(found[0], sum(found) / WRITERS)

    def file(self) -> float:
        def prepare() -> Work:
            there = scope_of(path)
            return lambda: there.pay(charge())

        found = []
        for writers in (1, WRITERS):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "a.ledger"
                made(path)
                found.append(sum(rates([prepare] * writers)))
        return said(found[1], found[0])

    def overload(self) -> float:
        """Twice as many writers as give the most."""
        name = self._ledger()

        def answering(writers: int) -> float:
            def prepare() -> Work:
                there = scope_of(PostgresStore(self.server.conninfo, schema=name, wait=1))
                return lambda: there.pay(charge()).released("x", b"s" * 32)

            return sum(rates([prepare] * writers))

        best = max(answering(writers) for writers in (1, WRITERS // 2, WRITERS))
        ours = answering(2 * WRITERS)
        kept = Ledger.open(PostgresStore(self.server.conninfo, schema=name)).check()
        print(f"           charges without an answer: {len(kept.pending)}")
        return said(ours, best)


def said(ours: float, floor: float) -> float:
    print(f"           {ours:8.0f} a second against {floor:8.0f}: {ours / floor:.2f}", flush=True)
    return ours / floor


BARS = {"alone": 0.45, "threads": 1.2, "processes": 0.65, "far": 0.5, "file": 0.8, "overload": 0.8}


def main() -> None:
    print(f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}")
    with running_server() as server:
        bars = Bars(server)
        for name in sys.argv[1:] or BARS:
            found = statistics.median(getattr(bars, name)() for _ in range(TURNS))
            print(f"{name:10} {found:.2f}, bar {BARS[name]}", flush=True)


if __name__ == "__main__":
    main()

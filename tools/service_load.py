"""Asks the service of examples/service from many clients at once while its workers are killed.

    make service                       200 clients, two workers, one killed every second

A PostgreSQL server and the service are started here.  A client repeats its request, with its key,
until it has an answer, whatever happens to the connection; if the service says that the request
died, it asks under a new key.  Afterwards the ledger is replayed and compared with what the clients
saw and with the outbox.  The exit status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).parents[1]
SERVICE = ROOT / "examples" / "service"
for place in (SERVICE, ROOT / "tests" / "support"):
    if str(place) not in sys.path:
        sys.path.append(str(place))

__all__ = ["Load", "Service", "Setup", "main", "run", "wrong"]

LONGEST = 8  # seconds after which the service takes a call for dead
START = 60  # seconds until it must answer at first; five times as long for a question
AGAIN = (425, 503)
SURE = {"north": "north B", "south": "south E", "west": "west A"}


@dataclass(slots=True)
class Load:
    """What the clients saw.

    Attributes:
        answers: the text of each answer, by analyst and key.
        asked: the region of each.
        statuses: how often each status was answered.
        dropped: connections that broke, and requests that were sent anew for it.
        seconds: how long each question took, from the first try to the answer.
        wrong: what no client may see.
    """

    answers: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    dropped: int = 0
    kills: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Setup:
    """What `prepare.py` is given: budgets, the tokens of analysts, keys."""

    database: str
    key: Path
    tokens: dict[str, str]
    content: dict[str, Any]

    @classmethod
    def of(cls, database: str, folder: Path, data: str = "100", each: str = "30") -> Setup:
        """New tokens and keys, with these budgets."""
        from safeselect.ledger.signing import Ed25519Signer

        key = folder / "key"
        key.write_bytes(os.urandom(32))
        tokens = {name: uuid4().hex for name in ("ada", "ben", "cyd", "dan")}
        analysts = {
            name: {"epsilon": each, "token_sha256": hashlib.sha256(token.encode()).hexdigest()}
            for name, token in tokens.items()
        }
        approver = Ed25519Signer(os.urandom(32), key_id="approver").public_key.hex()
        content = {"data": data, "analysts": analysts, "approvers": [approver]}
        return cls(database, key, tokens, content)

    def prepare(self) -> str:
        """Make the ledger, or find it made; return its head."""
        from prepare import main as prepare

        return str(prepare(self.database, self.database, str(self.key), self.content))


class Service:
    """The service on a free port, with some workers."""

    def __init__(self, setup: Setup, workers: int, log: Path, longest: int = LONGEST) -> None:
        self.tokens = setup.tokens
        database = setup.database.replace("user=owner", "user=service")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, str(SERVICE / "serve.py"), str(self.port), str(workers)],
            env={
                **os.environ,
                "SERVICE_DATABASE": database,
                "SERVICE_WITNESS": database,
                "SERVICE_KEY": str(setup.key),
                "SERVICE_LONGEST": str(longest),
            },
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def workers(self) -> list[int]:
        """The processes that answer, the youngest last."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def ask(self, method: str, path: str, token: str, body: Any = None) -> tuple[int, str]:
        """One request on a connection of its own.

        Raises:
            OSError, HTTPException: the connection broke.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + START
        while self._process.poll() is None and time.monotonic() < until:
            try:
                if self.ask("GET", "/ready", "")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        self.stop()
        raise TimeoutError(f"the service did not start, see {self._log.name}")

    def stop(self) -> None:
        """All its processes."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()


def client(service: Service, load: Load, number: int, questions: int, kills: int = 0) -> None:
    """Ask some questions, one after the other, each until it is answered.

    Args:
        questions: at least so many, and more until there were so many kills.
    """
    analyst = list(service.tokens)[number % len(service.tokens)]
    for turn in count():
        if turn >= questions and load.kills >= kills:
            return
        region = sorted(SURE)[(number + turn) % len(SURE)]
        start = time.monotonic()
        outcome = asked(service, load, analyst, region)
        with load.lock:
            load.seconds.append(time.monotonic() - start)
            if outcome is not None:
                load.answers[outcome[0]], load.asked[outcome[0]] = outcome[1], region


def asked(service: Service, load: Load, analyst: str, region: str) -> tuple[str, str] | None:
    """The identity under which a question was answered, and the answer; None without budget."""
    key, until = str(uuid4()), time.monotonic() + 5 * START
    while time.monotonic() < until:
        try:
            status, text = service.ask(
                "PUT", f"/releases/{key}", service.tokens[analyst], {"region": region, "k": 1}
            )
        except (OSError, http.client.HTTPException):
            with load.lock:
                load.dropped += 1
            time.sleep(0.1)
            continue
        with load.lock:
            load.statuses[status] += 1
        if status == 200:
            return f"{analyst}/{key}", text
        if status == 403:
            return None
        if status == 410:
            key = str(uuid4())
        elif status in AGAIN:
            time.sleep(0.5)
        else:
            with load.lock:
                load.wrong.append(f"status {status}: {text[:200]}")
            return None
    with load.lock:
        load.wrong.append("a question was never answered")
    return None


def killer(service: Service, load: Load, over: threading.Event, every: float) -> None:
    """Kill a worker every so many seconds, in turns."""
    while not over.wait(every):
        found = service.workers()
        if found:
            try:
                os.kill(found[load.kills % len(found)], signal.SIGKILL)
                load.kills += 1
            except ProcessLookupError:
                continue


def run(service: Service, *, clients: int, questions: int, every: float, kills: int = 1) -> Load:
    """Ask, and kill meanwhile; then repeat some of the requests."""
    load, over = Load(), threading.Event()
    threads = [
        threading.Thread(target=client, args=(service, load, number, questions, kills))
        for number in range(clients)
    ]
    reaper = threading.Thread(target=killer, args=(service, load, over, every))
    for thread in (*threads, reaper):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    reaper.join()
    service.wait()
    for identity in list(load.answers)[:: max(1, len(load.answers) // 50)]:
        analyst, key = identity.split("/")
        body = {"region": load.asked[identity], "k": 1}
        again = service.ask("PUT", f"/releases/{key}", service.tokens[analyst], body)
        if again != (200, load.answers[identity]):
            load.wrong.append(f"a retry was answered otherwise: {again[0]}")
    return load


def wrong(load: Load, database: str) -> tuple[list[str], dict[str, int]]:
    """Compare what the clients saw with ledger and outbox: what is wrong, and how much there is."""
    import psycopg
    from answering import EPSILON, LEDGER

    from safeselect import Ledger, from_json
    from safeselect.ledger.record import commitment
    from safeselect.ledger.stores.postgres import PostgresStore

    said = list(load.wrong)
    ledger = Ledger.open(PostgresStore(database, schema=LEDGER))
    ledger.check()
    records = [record.content for record in ledger.records()]
    charged = [record for record in records if record["kind"] == "charged"]
    released = [record for record in records if record["kind"] == "released"]
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT request, charge, salt, output FROM service.requests WHERE output IS NOT NULL"
        ).fetchall()
    outbox = {request: (charge, bytes(salt), output) for request, charge, salt, output in rows}
    requests = [record["request"]["id"] for record in charged]
    if len(set(requests)) != len(requests):
        said.append("a request was charged twice")
    outcomes = [record["charge"] for record in released]
    if len(set(outcomes)) != len(outcomes):
        said.append("a charge was released twice")
    price = Fraction(EPSILON)
    for name, balance in ledger.scopes().items():
        mine = sum(any(c["scope"] == name for c in record["charges"]) for record in charged)
        if (
            balance.spent["epsilon"] != mine * price
            or balance.spent["epsilon"] > balance.budget.terms.epsilon
        ):
            said.append(f"{name} has another total than its charges")
    for identity, text in load.answers.items():
        release = from_json(text)
        receipt, region = release.receipt, load.asked[identity]
        if release.labels != (SURE[region],):
            said.append(f"a wrong answer for {region}")
        record = records[receipt.record]
        entry = outbox.get(identity)
        if entry is None:
            said.append("an answer is not in the outbox")
            continue
        charge, salt, output = entry
        if (record["kind"], record["charge"]) != ("released", str(charge)):
            said.append("an answer is not in the log")
        if salt != receipt.salt or commitment(salt, output) != record["commitment"]:
            said.append("the log commits to another answer than the outbox holds")
        known = ledger.request(identity)
        if known is None or known.charge != charge or known.outcome != "released":
            said.append("the ledger does not know the request of an answer")
        bare = {name: value for name, value in json.loads(text).items() if name != "receipt"}
        if json.loads(output) != bare:
            said.append("the outbox holds another answer than the client saw")
    open_ = len(charged) - len([r for r in records if r["kind"] in ("released", "aborted")])
    figures = {
        "charges": len(charged),
        "released": len(released),
        "charged and died": open_,
        "aborted": sum(record["kind"] == "aborted" for record in records),
        "records": len(records),
    }
    return said, figures


def main(arguments: list[str] | None = None) -> int:
    """Start everything, ask, compare, print the figures."""
    from postgres import Server, binaries

    words = argparse.ArgumentParser(description="Ask the service while its workers are killed.")
    words.add_argument("--clients", type=int, default=200)
    words.add_argument("--questions", type=int, default=5, help="of each client")
    words.add_argument("--workers", type=int, default=2)
    words.add_argument("--every", type=float, default=1.0, help="seconds between two kills")
    words.add_argument("--kills", type=int, default=30, help="at least; clients ask until then")
    words.add_argument("--log", type=Path, default=Path(os.devnull))
    options = words.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    programs = binaries()
    if programs is None:
        print("PostgreSQL's programs are not installed")
        return 1
    server = Server(programs)
    try:
        server.start(client_connection_check_interval="200ms", max_connections="120")
        setup = Setup.of(server.conninfo, server.folder, "100000", "20000")
        setup.prepare()
        service = Service(setup, options.workers, options.log)
        try:
            service.wait()
            start = time.monotonic()
            load = run(
                service,
                clients=options.clients,
                questions=options.questions,
                every=options.every,
                kills=options.kills,
            )
            took = time.monotonic() - start
        finally:
            service.stop()
        said, figures = wrong(load, server.conninfo)
    finally:
        server.remove()
    load.seconds.sort()
    print(f"clients {options.clients}, workers {options.workers}, kills {load.kills}")
    print(f"answers {len(load.answers)} in {took:.1f} s")
    print(f"dropped connections {load.dropped}; statuses {dict(sorted(load.statuses.items()))}")
    print(", ".join(f"{name} {number}" for name, number in figures.items()))
    for part in (50, 95, 100):
        at = min(len(load.seconds) - 1, part * len(load.seconds) // 100)
        print(f"{part} % answered within {load.seconds[at]:.1f} s")
    for sentence, number in Counter(said).items():
        print(f"WRONG: {sentence} ({number} times)")
    print(f"wrong {len(said)}")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())

"""What the tests of the ledger share: charges, a small store of one's own, a script to run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safeselect import Budget, Ledger, PureDP
from safeselect.errors import LedgerError
from safeselect.ledger import Row
from safeselect.ledger.record import START, canonical, log_line, record_hash
from safeselect.ledger.scope import Payment
from safeselect.ledger.signing import signed_message
from safeselect.release.call import Charge
from safeselect.sources import Observed

TERMS = {"unit": "person", "neighbours": "add_remove"}


def pure(epsilon: object = "1/10", *, nonce: bytes | None = None, **other: Any) -> Payment:
    """A charge of this epsilon, with a nonce that no other charge has."""
    guarantee = other.pop("guarantee", None) or PureDP(epsilon)
    terms = {
        "mechanism": "test/1",
        "guarantee": guarantee,
        "parts": ((guarantee, 1),),
        "parameters": {"candidates": "3"},
    }
    source = Observed(*other.pop("source", ("OpenSSLSource", "yes", "passed")))
    return Payment(Charge(**(terms | other)), source, nonce or os.urandom(16))


def new(place: Any, *, signer: Any = None, **budget: object) -> Ledger:
    """A ledger with the one scope "a"."""
    budgets = {"a": Budget(**TERMS, **(budget or {"epsilon": 1}))}  # type: ignore[arg-type]
    return Ledger.create(place, budgets, signer=signer)


def scope(ledger: Ledger, name: str = "a") -> Any:
    return ledger.scope(name, **TERMS, purpose="a test")


class ListStore:
    """A store of one's own, as short as the protocol allows: a list that only grows."""

    name = "a list"
    torn = None

    def __init__(self, kept: list[Row] | None = None) -> None:
        self.kept = kept
        self.new: list[Row] = []

    def about(self) -> dict[str, str]:
        return {}

    def create(self, work: Callable[[Any], Any]) -> Any:
        if self.kept is not None:
            raise LedgerError("there is a list already")
        self.kept = []
        try:
            return self.write(work)
        except BaseException:
            self.kept = None
            raise

    def write(self, work: Callable[[Any], Any]) -> Any:
        if self.kept is None:
            raise LedgerError("there is no list")
        self.new = []
        done = work(self)
        self.kept += self.new
        return done

    read = write

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        return (self.kept or [])[first : first + count]

    def append(self, row: Row) -> Row:
        self.new.append(row)
        return row


def outcomes(ledger: Ledger) -> list[str]:
    """Behind the first two records: each one's kind, or the reason for which there is no answer."""
    kinds = [record.content for record in ledger.records()][2:]
    return [each.get("reason", each["kind"]) for each in kinds]


def forge(path: Path, change: Callable[[dict[str, Any]], object], place: int = -1) -> None:
    """Change one record of an unsigned file, and compute the chain anew, as whoever may write can.

    Args:
        change: changes the record in place.
        place: which record; the last by default.
    """
    records = records_of(path)
    change(records[place])
    path.write_bytes(chained(records))


def chained(records: list[dict[str, Any]], keys: list[Any] | None = None) -> bytes:
    """The lines of these records, numbered and hashed anew.

    Args:
        keys: for each record who signs it; None leaves the signature empty.
    """
    lines, before = b"", START
    for place, record in enumerate(records):
        body = canonical({**record, "seq": str(place), "previous": before})
        before = record_hash(body)
        key = keys[place] if keys else None
        signature = key.sign(signed_message("record", before)).hex() if key else ""
        lines += log_line(body, before, signature)
    return lines


def records_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file, to be changed."""
    return [json.loads(line)["record"] for line in path.read_bytes().splitlines()]


def head_of(lines: list[bytes]) -> str | None:
    """The head of a log of these lines."""
    return f"{len(lines) - 1}:{json.loads(lines[-1])['hash']}" if lines else None


def pem(seed: bytes) -> bytes:
    """A private key as `openssl genpkey` writes it."""
    form = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    keys = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key, plain = keys.Ed25519PrivateKey.from_private_bytes(seed), form.NoEncryption()
    written: bytes = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain)
    return written


class Kept:
    """A witness as its protocol says, in memory; may fail."""

    def __init__(self, head: str | None = None) -> None:
        self.head = head
        self.lines: list[bytes] = []
        self.fail: BaseException | None = None
        self.deaf = False
        self.most = 0

    def last(self) -> str | None:
        if self.fail is not None:
            raise self.fail
        return self.head

    def keep(self, head: str, lines: list[bytes], after: str | None) -> None:
        if self.fail is not None or self.deaf:
            raise self.fail or OSError("blue")
        self.most = max(self.most, len(lines))
        if self.head == after:
            self.head = head
            self.lines += lines

    @property
    def text(self) -> bytes:
        assert self.head == head_of(self.lines)
        return b"".join(self.lines)

    def forget(self, keep: int) -> None:
        """Be as it was when the ledger had so many records."""
        self.lines = self.lines[:keep]
        self.head = head_of(self.lines)


class Box:
    """An outbox in memory; when it got an answer, something may happen."""

    def __init__(self, then: Callable[[], object] = lambda: None, *, keeps: bool = True) -> None:
        self.then, self.keeps = then, keeps
        self.kept: list[tuple[int, bytes, str]] = []

    def __call__(self, request: str, charge: int, salt: bytes, output: str) -> None:
        if self.keeps:
            self.kept.append((charge, salt, output))
        self.then()


def script(text: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a Python process that runs this text; `tests/support` is on its path."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )

"""What the tests of the ledger share: charges, a small store of one's own, a script to run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safeselect import Budget, Ledger, PureDP
from safeselect.accounting import Charge, Row
from safeselect.errors import LedgerError

TERMS = {"unit": "person", "neighbours": "add_remove"}


def pure(epsilon: object = "1/10", **other: Any) -> Charge:
    """A charge of this epsilon, with a nonce that no other charge has."""
    guarantee = other.pop("guarantee", None) or PureDP(epsilon)
    return Charge(
        **{
            "mechanism": "test/1",
            "guarantee": guarantee,
            "parts": ((guarantee, 1),),
            "parameters": {"candidates": "3"},
            "source": "OpenSSLSource",
            "production": True,
            "nonce": os.urandom(16),
        }
        | other
    )


def new(place: Any, *, signer: Any = None, **budget: object) -> Ledger:
    """A ledger with the one scope "a"."""
    budgets = {"a": Budget(**TERMS, **(budget or {"epsilon": 1}))}  # type: ignore[arg-type]
    return Ledger.create(place, budgets, signer=signer)


def scope(ledger: Ledger, name: str = "a") -> Any:
    return ledger.scope(name, **TERMS, purpose="a test")


class ListStore:
    """A store of one's own, as short as the protocol allows: a list that only grows."""

    name = "a list"

    def __init__(self, kept: list[Row] | None = None) -> None:
        self.kept = kept

    @contextmanager
    def create(self) -> Iterator[ListStore]:
        if self.kept is not None:
            raise LedgerError("there is a list already")
        self.kept = []
        try:
            yield self
        except BaseException:
            self.kept = None
            raise

    @contextmanager
    def writing(self) -> Iterator[ListStore]:
        if self.kept is None:
            raise LedgerError("there is no list")
        before = len(self.kept)
        try:
            yield self
        except BaseException:
            del self.kept[before:]
            raise

    reading = writing

    def last(self) -> Row | None:
        return self._kept[-1] if self._kept else None

    def rows(self, first: int, count: int) -> list[Row]:
        return self._kept[first : first + count]

    def total(self, scope: str) -> Row | None:
        return next((row for row in reversed(self._kept) if row.total_of == scope), None)

    def has_nonce(self, nonce: str) -> bool:
        return any(row.nonce == nonce for row in self._kept)

    def is_settled(self, charge: int) -> bool:
        return any(row.settles == charge for row in self._kept)

    def append(self, row: Row) -> None:
        self._kept.append(row)

    @property
    def _kept(self) -> list[Row]:
        return [] if self.kept is None else self.kept


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

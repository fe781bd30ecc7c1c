"""The inside of a ledger: records that follow each other, written in transactions.

- A charge is in the book, and on the disk, before `charge` returns.
- Within its transaction the running total is compared with the record before it, the caps are
  checked, and the nonce of the call must be new: one that was seen before means that the source of
  randomness is a copy of another.
- Each charge gets one second record: released, aborted or, for a session that reserved the worst
  case, settled.  One without was cut short; it stands, and so does one with: nothing is freed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time_ns
from typing import Literal, final

from safeselect.accounting._ledger_budget import Budget, add, check_cap
from safeselect.accounting._ledger_store import Journal, Row, Store
from safeselect.accounting._record_check import Checker, Standing, filed, read_record
from safeselect.accounting._record_sign import Signer, key_of, signed_message
from safeselect.accounting.library import library
from safeselect.accounting.record import (
    SCHEMA,
    START,
    Charge,
    Content,
    Receipt,
    canonical,
    commitment,
    numbers,
    record_hash,
    told,
)
from safeselect.errors import LedgerError, ParameterError, SourceError

__all__ = ["Book", "Pending", "Scope"]


@final
class Book:
    """The records of one ledger: made with `make` or read with `read`."""

    __slots__ = ("_seen", "_signed", "_signer", "_store", "id")

    def __init__(self, store: Store, signer: Signer | None, id_: str, *, signed: bool) -> None:
        self.id = id_
        self._store = store
        self._signer = signer
        self._signed = signed
        # Place and hash of a record that was there: it must never be missing again.
        self._seen: tuple[int, str] | None = None

    @classmethod
    def make(
        cls, store: Store, signer: Signer | None, id_: str, budgets: Mapping[str, Budget]
    ) -> Book:
        """Write the first records: of the making, and of each scope."""
        book = cls(store, signer, id_, signed=signer is not None)
        about: dict[str, Content] = {"library": dict(library()), "signer": dict(key_of(signer))}
        with store.create() as journal:
            row = book._append(journal, "created", {**about, "utc": _utc()})
            for name, budget in budgets.items():
                row = book._append(journal, "scope", _opened(name, budget))
        book._seen = (row.seq, row.hash)
        return book

    @classmethod
    def read(cls, store: Store, signer: Signer | None) -> Book:
        """Read the first record, and remember the last.

        Raises:
            ParameterError: the ledger has another key.
            LedgerError: it cannot be read.
        """
        with store.reading() as journal:
            first, last = journal.rows(0, 1), _last(journal)
        record = Checker().check(first[0].body, first[0].hash, first[0].signature)
        if signer is not None and record["signer"] != key_of(signer):
            raise ParameterError("signer is not the one with which the ledger was made")
        book = cls(store, signer, record["ledger"], signed=bool(record["signer"]))
        book._seen = (last.seq, last.hash)
        return book

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._store.name

    @property
    def signer(self) -> Signer | None:
        """The key, if there is one."""
        return self._signer

    def open_scope(self, name: str, budget: Budget) -> None:
        """Write the record of a new scope."""
        with self._writing() as journal:
            if journal.total(name) is not None:
                raise ParameterError(f"there is a scope {name!r} already")
            row = self._append(journal, "scope", _opened(name, budget))
        self._seen = (row.seq, row.hash)

    def standing(self, scope: str) -> Standing:
        """Where a scope stands, by its last record."""
        with self.reading() as journal:
            return _standing(journal, scope)

    def last(self) -> Row:
        """The last record."""
        with self.reading() as journal:
            return _last(journal)

    def charge(self, scope: str, purpose: str, charge: Charge) -> int:
        """Charge a release durably and return the place of the record; see `Scope.charge`."""
        content = _charged(scope, purpose, charge)
        with self._writing() as journal:
            standing = _standing(journal, scope)
            price = standing.budget.price(charge.guarantee, charge.parts)
            check_cap(scope, standing.spent, price, standing.budget.caps)
            if journal.has_nonce(charge.nonce.hex()):
                raise SourceError(
                    "the source gave a nonce that this ledger has seen: its randomness is a copy "
                    "of another's; nothing was charged and nothing released"
                )
            content["terms"] = standing.budget.told()
            content["budget"] = {
                "before": numbers(standing.spent),
                "charge": numbers(price),
                "after": numbers(add(standing.spent, price)),
            }
            row = self._append(journal, "charged", content)
        self._seen = (row.seq, row.hash)
        return row.seq

    def settle(
        self, charge: int, kind: Literal["released", "aborted", "settled"], **what: Content
    ) -> int:
        """Write the outcome of a charge and return the place of the record."""
        with self._writing() as journal:
            if journal.is_settled(charge):
                raise LedgerError(f"the outcome of charge {charge} is in the ledger already")
            row = self._append(journal, kind, {"charge": str(charge), **what})
        self._seen = (row.seq, row.hash)
        return row.seq

    @contextmanager
    def reading(self) -> Iterator[Journal]:
        """A transaction that reads."""
        with self._store.reading() as journal:
            self._check_seen(journal)
            yield journal

    @contextmanager
    def _writing(self) -> Iterator[Journal]:
        if self._signed and self._signer is None:
            raise LedgerError("the ledger is signed: open it with signer= to write to it")
        with self._store.writing() as journal:
            self._check_seen(journal)
            yield journal

    def _check_seen(self, journal: Journal) -> None:
        """A copy from before, put in the ledger's place, would make the budget whole again."""
        if self._seen is not None:
            seq, hash_ = self._seen
            if [row.hash for row in journal.rows(seq, 1)] != [hash_]:
                raise LedgerError(
                    "the ledger lacks a record that this process has seen in it: it was replaced"
                )

    def _append(self, journal: Journal, kind: str, content: Mapping[str, Content]) -> Row:
        """Add a record after the last one."""
        last = journal.last()
        seq, previous = (0, START) if last is None else (last.seq + 1, last.hash)
        if last is not None and record_hash(last.body) != last.hash:
            raise LedgerError(f"record {last.seq} was changed")
        record: dict[str, Content] = dict(content)
        record |= {"schema": SCHEMA, "kind": kind, "ledger": self.id}
        record |= {"seq": str(seq), "previous": previous}
        body = canonical(record)
        hash_, signature = record_hash(body), ""
        if self._signer is not None:
            signature = self._signer.sign(signed_message(hash_)).hex()
        row = filed(record, body, hash_, signature)
        journal.append(row)
        return row


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope of a ledger and a purpose: what mechanisms take as `ledger=`."""

    book: Book
    name: str
    unit: str
    neighbours: str
    purpose: str

    def charge(self, charge: Charge) -> Pending:
        """Charge a release durably, before its first random bit is drawn.

        Raises:
            ParameterError: the scope's budget adds up what the guarantee does not bound.
            BudgetError: a cap does not allow it.
            SourceError: the nonce is not new.
            LedgerError: the ledger cannot be used.
        """
        return Pending(self.book, self.book.charge(self.name, self.purpose, charge))


@dataclass(frozen=True, slots=True)
class Pending:
    """A release that was charged and whose outcome is to be written, once."""

    book: Book
    charge: int

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output, which may be shown only when this has returned.

        Raises:
            LedgerError: it could not be written; the charge stands.
        """
        committed = commitment(salt, output)
        record = self.book.settle(self.charge, "released", commitment=committed)
        return Receipt(self.book.id, record, salt)

    def settled(self, output: str, salt: bytes, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what was reserved; the charge stands as it is.

        Args:
            spent: by the names under which the charge's parameters say how much there is.

        Raises:
            LedgerError: it could not be written.
        """
        committed, used = commitment(salt, output), {name: str(n) for name, n in spent.items()}
        record = self.book.settle(self.charge, "settled", commitment=committed, spent={**used})
        return Receipt(self.book.id, record, salt)

    def aborted(self, reason: Literal["source", "interrupt", "error", "input"]) -> None:
        """Write that there will be no output; the charge stands."""
        self.book.settle(self.charge, "aborted", reason=reason)


def _standing(journal: Journal, scope: str) -> Standing:
    row = journal.total(scope)
    if row is None:
        raise ParameterError(f"there is no scope {scope!r} in this ledger")
    where = f"record {row.seq}"
    if record_hash(row.body) != row.hash:
        raise LedgerError(f"{where} was changed")
    record = read_record(row.body, where)
    if record.get("scope") != scope:
        raise LedgerError(f"{where} is filed under another name than its own")
    return Standing.after(record, where)


def _last(journal: Journal) -> Row:
    row = journal.last()
    if row is None:
        raise LedgerError("the ledger has no records, not even that of its making")
    return row


def _opened(name: str, budget: Budget) -> dict[str, Content]:
    return {"utc": _utc(), "scope": name, "terms": budget.told()}


def _charged(scope: str, purpose: str, charge: Charge) -> dict[str, Content]:
    """What the record of a charge says but for the amounts."""
    parts: list[Content] = [
        {"count": str(count), "each": told(guarantee)} for guarantee, count in charge.parts
    ]
    # A source that fails its tests raises: whoever is charged passed.
    production = "yes" if charge.production else "no"
    source: dict[str, Content] = {"name": charge.source, "production": production}
    source["health"] = "passed"
    return {
        "utc": _utc(),
        "library": dict(library()),
        "scope": scope,
        "purpose": purpose,
        "mechanism": charge.mechanism,
        "guarantee": told(charge.guarantee),
        "parts": parts,
        "parameters": dict(charge.parameters),
        "source": source,
        "nonce": charge.nonce.hex(),
    }


def _utc() -> str:
    """The time to the second, no finer."""
    return datetime.fromtimestamp(time_ns() // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

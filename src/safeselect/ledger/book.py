"""The core of a ledger: what this process knows of it, and the records it writes.

- A charge is in the book, and on the disk, before `charge` returns.
- Nothing counts that was not replayed and checked.  In its transaction a writer reads and checks
  the new records.  The same checker judges the writer's own record before it is written.
- What is known is never half updated: it is removed during an update.  After an interrupt or a fork
  in between, it is computed anew.
- Each charge gets one further record: released, aborted or, for a session that reserved the worst
  case, settled.  A charge without one was cut short.  With or without, it stands: nothing is freed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, final

from safeselect.errors import LedgerDamaged, LedgerError, LedgerRolledBack, ParameterError
from safeselect.ledger.entries import Written, made, opened_scope, was_torn
from safeselect.ledger.events import OnEvent
from safeselect.ledger.following import REPLACED, following
from safeselect.ledger.records.approvals import Approvers
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.lines import log_line
from safeselect.ledger.records.reading import Reading
from safeselect.ledger.records.record import LONGEST, SCHEMA, canonical, record_hash
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Signer, Verifier, is_key, signed_message
from safeselect.ledger.records.skim import Carrying, skim
from safeselect.ledger.store import Closing, Journal, Row, Store
from safeselect.ledger.stores.turn import Turn
from safeselect.promises.records import Content

__all__ = ["Book"]

T = TypeVar("T")

_WAIT = 30
CARRY_EVERY = 50_000  # records


@dataclass(slots=True)
class _Known:
    """The state that follows from all rows up to the last."""

    checker: Checker
    last: Row


@final
class Book:
    """The records of one ledger: made with `make` or read with `read`."""

    __slots__ = (
        *("_closed", "_known", "_seen", "_signer", "_store", "_tried", "_turn", "_verifier"),
        *("id", "on_event"),
    )

    def __init__(self, store: Store, signer: Signer | None, verifier: Verifier | None) -> None:
        self.id = ""
        self.on_event: OnEvent | None = None
        self._closed = False
        self._store = store
        self._signer = signer
        self._verifier = signer if verifier is None else verifier
        self._turn = Turn(_WAIT)
        self._known: _Known | None = None
        # A head that was seen; its record must stay in the ledger.
        self._seen: str | None = None
        self._tried = 0  # the place of the last attempt to carry totals over

    @classmethod
    def make(
        cls,
        store: Store,
        signer: Signer | None,
        id_: str,
        budgets: Mapping[str, tuple[Budget, int]],
        approvers: Approvers | None = None,
    ) -> Book:
        """Write the first records: the ledger's, and one for each scope."""
        book = cls(store, signer, None)
        book.id = id_
        first = [made(signer, store.about(), approvers)]
        first += [opened_scope(name, *terms) for name, terms in budgets.items()]

        def work(journal: Journal) -> _Known:
            checker, last = Checker(signer), Row(0, "", "", "")
            for written in first:
                reading = book._judged(checker, written)
                last = journal.append(reading.row)
                checker.take(reading)
            return _Known(checker, last)

        book._know(store.create(work))
        return book

    @classmethod
    def read(
        cls, store: Store, signer: Signer | None, verifier: Verifier | None, head: str | None
    ) -> Book:
        """Replay all records.

        Raises:
            ParameterError: the ledger has another key.
            LedgerError: it cannot be read, or a record fails its check.
        """
        book = cls(store, signer, verifier)
        for row in store.read(lambda journal: journal.rows(0, 1)):
            first = Checker()
            first.check(row.body, row.hash, row.signature)
            if signer is not None and not is_key(signer, first.signer):
                raise ParameterError("signer is not the one with which the ledger was made")
            book.id = first.ledger
        book._seen = head
        book._turn.take(book._look)
        return book

    @property
    def name(self) -> str:
        """The ledger's name in messages."""
        return self._store.name

    @property
    def verifier(self) -> Verifier | None:
        """The verifying key, if there is one."""
        return self._verifier

    def state(self, read: Callable[[Checker], T]) -> T:
        """Return what is read from the state so far, all of which is on the disk."""
        return self._turn.take(lambda: read(self._look().checker))

    def last(self) -> Row:
        """Return the last record."""
        return self._turn.take(lambda: self._look().last)

    def write(self, decide: Callable[[Checker], Written]) -> int:
        """Write the record that `decide` returns for the state so far; return its place.

        Args:
            decide: if it raises, nothing is written.

        Raises:
            LedgerError: it could not be written, or a record fails its check.
        """
        return self._turn.take(lambda: self._written(decide))

    def rows(self) -> Iterator[Row]:
        """Yield all rows that exist now, oldest first, as they are stored.

        Raises:
            LedgerRolledBack: the last of them disappeared before it was reached.
        """
        end = self.last()
        last: Row | None = None
        while last is None or last.seq < end.seq:
            batch = self._store.read(partial(following, last=last))
            if not batch:
                raise LedgerRolledBack(REPLACED)
            for row in batch[: end.seq - batch[0].seq + 1]:
                yield row
                last = row
        if last.hash != end.hash:
            raise LedgerRolledBack(REPLACED)

    def close(self) -> None:
        """Close the store; nothing is read or written any more."""
        self._closed = True
        if isinstance(self._store, Closing):
            self._store.close()

    def _look(self) -> _Known:
        """Return the state, updated to the last row that exists."""
        if self._closed:
            raise LedgerError(f"the ledger {self.name!r} was closed: open it again")
        return self._store.read(self._caught_up)

    def _written(self, decide: Callable[[Checker], Written]) -> int:
        known = self._known
        if known is None or self._closed:
            known = self._look()  # the long first read needs no lock
        if known.checker.signer and self._signer is None:
            raise LedgerError("the ledger is signed: open it with signer= to write to it")
        while True:
            known, reading, is_torn = self._store.write(lambda journal: self._add(journal, decide))
            self._known = None
            known.checker.take(reading)
            known.last = reading.row
            self._know(known)
            if not is_torn:
                break
        if known.checker.count >= self._next_carried(known.checker):
            self._carry()
        return reading.row.seq

    def _add(
        self, journal: Journal, decide: Callable[[Checker], Written]
    ) -> tuple[_Known, Reading, bool]:
        """Append one record: of a torn end, if there is one, else the requested one."""
        known, torn = self._caught_up(journal), journal.torn
        written = decide(known.checker) if torn is None else was_torn(torn)
        reading = self._judged(known.checker, written)
        return known, replace(reading, row=journal.append(reading.row)), torn is not None

    def _carry(self) -> None:
        """Write what follows from all records, so that the next process need not replay them."""

        def decide(checker: Checker) -> Written:
            if checker.count < checker.carried_at + CARRY_EVERY:
                raise LedgerError("another process has just carried the totals over")
            return "carried", checker.carried()

        # The record before it is already written: it does not matter to it if this one fits a line.
        with suppress(LedgerError):
            self._tried = self._known.checker.count if self._known is not None else 0
            self._written(decide)

    def _next_carried(self, checker: Checker) -> int:
        return max(checker.carried_at, self._tried) + CARRY_EVERY

    def _know(self, known: _Known) -> None:
        self._known, self._seen = known, known.checker.head
        self.id = known.checker.ledger

    def _caught_up(self, journal: Journal) -> _Known:
        """Read and check the new records."""
        known = self._known
        if known is None:
            return self._replayed(journal)
        rows = following(journal, known.last)
        if rows:
            self._known = None
            while rows:
                for row in rows:
                    known.checker.take(known.checker.read(row))
                    known.last = row
                rows = following(journal, known.last)
            self._know(known)
        return known

    def _replayed(self, journal: Journal) -> _Known:
        """Read and check all records."""
        checker, last = self._skimmed(journal)
        while rows := following(journal, last):
            for row in rows:
                checker.take(checker.read(row, verify=False))
                last = row
        checker.finish()
        if last is None:
            raise LedgerDamaged("there is no record; every ledger has at least one")
        # By the chain of hashes, the last signature covers all records before it.
        checker.verify(last)
        known = _Known(checker, last)
        self._know(known)
        return known

    def _skimmed(self, journal: Journal) -> tuple[Checker, Row | None]:
        """Return what the last "carried" record states, if there is one."""
        lines = journal.to_carried() if isinstance(journal, Carrying) else None
        if lines is not None:
            # If something is wrong, the replay of all records says what.
            with suppress(LedgerDamaged, ValueError):
                checker = Checker(self._verifier, self._seen)
                return checker, skim(checker, lines)
        return Checker(self._verifier, self._seen), None

    def _judged(self, checker: Checker, written: Written) -> Reading:
        """Return the next record, signed, and judged by the checker that judges all records."""
        kind, content = written
        record: dict[str, Content] = dict(content)
        record |= {"schema": SCHEMA, "kind": kind, "ledger": self.id}
        record |= {"seq": str(checker.count), "previous": checker.last}
        body = canonical(record)
        hash_, signature = record_hash(body), ""
        if self._signer is not None:
            signature = self._signer.sign(signed_message(hash_)).hex()
        if len(log_line(body, hash_, signature)) > LONGEST:
            raise LedgerError(f"a record would be longer than {LONGEST} bytes: nothing was charged")
        try:
            return checker.read(Row(checker.count, body, hash_, signature))
        except LedgerDamaged as error:
            said = f"nothing was written, because a reader would refuse it: {error}"
            raise LedgerError(said) from None

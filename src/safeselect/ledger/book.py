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

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, final

from safeselect.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
)
from safeselect.ledger.elsewhere import Elsewhere, Untold
from safeselect.ledger.entries import Written, made, opened_scope, was_torn
from safeselect.ledger.events import OnEvent
from safeselect.ledger.following import all_rows, following, rows_between
from safeselect.ledger.known import Known, judged
from safeselect.ledger.records.approvals import Approvers
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.keys import may_lead
from safeselect.ledger.records.reading import Reading
from safeselect.ledger.records.record import Clock
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Signer, Verifier, is_key
from safeselect.ledger.store import Closing, Journal, Row, Store
from safeselect.ledger.stores.turn import Turn, pause

T = TypeVar("T")

_WAIT = 30


@final
class Book:
    """The records of one ledger: made with `make` or read with `read`."""

    __slots__ = (
        *("_closed", "_elsewhere", "_known", "_seen", "_signer", "_store", "_turn"),
        *("_verifier", "id", "on_event"),
    )

    def __init__(
        self, store: Store, signer: Signer | None, verifier: Verifier | None, elsewhere: Elsewhere
    ) -> None:
        self.id = ""
        self._elsewhere = elsewhere
        self.on_event: OnEvent | None = None
        self._closed = False
        self._store = store
        self._signer = signer
        self._verifier = signer if verifier is None else verifier
        self._turn = Turn(_WAIT)
        self._known: Known | None = None
        # A head that was seen; its record must stay in the ledger.
        self._seen: str | None = None

    @classmethod
    def make(
        cls,
        store: Store,
        signer: Signer | None,
        id_: str,
        budgets: Mapping[str, tuple[Budget, int]],
        approvers: Approvers | None,
        clock: Clock,
        elsewhere: Elsewhere,
    ) -> Book:
        """Write the first records: the ledger's, and one for each scope."""
        book = cls(store, signer, None, elsewhere)
        book.id = id_
        elsewhere.check_unused()
        first = [made(signer, store.about(), approvers, clock)]
        first += [opened_scope(name, *terms) for name, terms in budgets.items()]

        def work(journal: Journal) -> Known:
            known = Known(Checker(signer))
            for written in first:
                reading = judged(known.checker, written, id_, signer)
                known.add(reading, journal.append(reading.row))
            return known

        book._know(store.create(work))
        book._tell(str(book._seen))
        return book

    @classmethod
    def read(
        cls,
        store: Store,
        signer: Signer | None,
        verifier: Verifier | None,
        head: str | None,
        elsewhere: Elsewhere,
    ) -> Book:
        """Replay all records.

        Raises:
            ParameterError: the ledger has another key.
            LedgerError: it cannot be read, or a record fails its check.
        """
        book = cls(store, signer, verifier, elsewhere)
        for row in store.read(lambda journal: journal.rows(0, 1)):
            first = Checker()
            first.check(row.body, row.hash, row.signature)
            if signer is not None and not may_lead(first.signer, signer):
                raise ParameterError("signer is not the one with which the ledger was made")
            book.id = first.ledger
        book._seen = head
        elsewhere.check_used()
        book._turn.take(book._look)
        return book

    @property
    def name(self) -> str:
        """The ledger's name in messages."""
        return self._store.name

    @property
    def signer(self) -> Signer | None:
        """The key that signs, if there is one."""
        return self._signer

    @property
    def verifier(self) -> Verifier | None:
        """The verifying key, if there is one."""
        return self._verifier

    def state(self, read: Callable[[Checker], T]) -> T:
        """Return what is read from the state so far; all of it is on the disk and anchored."""
        return self._turn.take(lambda: read(self._look().checker))

    def last(self) -> Row:
        """Return the last record."""
        return self._turn.take(self._look).last

    def write(
        self, decide: Callable[[Checker], Written], signer: Signer | None = None, *, wait: int = 0
    ) -> Reading:
        """Write the record that `decide` returns, unless it raises; return the record.

        Args:
            signer: another key, which signs this record and the later ones of this process.
            wait: seconds for which to try again while others hold the lock.

        Raises:
            LedgerBusy: others held the lock; the record was not written.
            Untold: it was written.
            LedgerError: it could not be written, or a record fails its check.
        """
        deadline = time.monotonic_ns() + wait * 10**9

        def work() -> Reading:
            while True:
                try:
                    return self._written(decide, signer)
                except LedgerBusy:
                    if time.monotonic_ns() > deadline:
                        raise
                pause()

        return self._turn.take(work, wait)

    def rows(self) -> Iterator[Row]:
        """Return all rows that exist now, oldest first, as they are stored.

        Raises:
            LedgerRolledBack: the last of them disappeared before it was reached.
        """
        return all_rows(self._store, self.last())

    def close(self) -> None:
        """Close the store; nothing is read or written any more."""
        self._closed = True
        if isinstance(self._store, Closing):
            self._store.close()

    def _look(self) -> Known:
        """Return the state, updated to the last row that exists."""
        if self._closed:
            raise LedgerError(f"the ledger {self.name!r} was closed: open it again")
        known = self._store.read(self._caught_up)
        if self._elsewhere.is_behind(known.last.seq):
            # Whatever is told of a record is sent first, if it continues what was sent before.
            self._elsewhere.ask()
            known = self._store.read(self._caught_up)
            self._tell(known.checker.head)
        return known

    def _tell(self, head: str) -> None:
        """Bring what is kept elsewhere up to this head."""

        def rows_after(after: str | None, head: str) -> Iterator[list[Row]]:
            at = None if self._known is None else self._known.at(after)
            return rows_between(self._store, after, head, at)

        self._elsewhere.bring(head, rows_after, lambda: self._store.read(self._caught_up))

    def _written(self, decide: Callable[[Checker], Written], signer: Signer | None) -> Reading:
        known = self._known
        if known is None or self._closed:
            known = self._look()  # the long first read needs no lock
        self._elsewhere.ask()
        if known.checker.signer and self._signer is None and signer is None:
            raise LedgerError("the ledger is signed: open it with signer= to write to it")
        while True:
            known, reading, row, is_torn = self._store.write(
                lambda journal: self._add(journal, decide, signer)
            )
            self._known = None
            known.add(reading, row)
            self._know(known)
            if not is_torn:
                break
        self._signer = signer or self._signer
        try:
            self._tell(known.checker.head)
        except (LedgerDamaged, LedgerRolledBack):
            raise
        except LedgerError as error:
            untold = Untold(reading, error)
        else:
            return reading
        raise untold

    def _add(
        self, journal: Journal, decide: Callable[[Checker], Written], signer: Signer | None
    ) -> tuple[Known, Reading, Row, bool]:
        """Append one record: of a torn end, if there is one, else the requested one."""
        known = self._caught_up(journal)
        # The old key may be lost, so that nobody could sign that an end was torn.
        torn = journal.torn if signer is None else None
        if signer is None:
            self._check_signer(known.checker)
        written = decide(known.checker) if torn is None else was_torn(torn)
        reading = judged(known.checker, written, self.id, signer or self._signer)
        return known, reading, journal.append(reading.row), torn is not None

    def _know(self, known: Known) -> None:
        self._known, self._seen = known, known.checker.head
        self.id = known.checker.ledger

    def _caught_up(self, journal: Journal) -> Known:
        """Read and check the new records, among them those that are known elsewhere."""
        known = self._known
        if known is None or not all(map(known.expects, self._elsewhere.expected)):
            return self._replayed(journal)
        rows = following(journal, known.last)
        if rows:
            self._known = None
            while rows:
                known.take(rows)
                rows = following(journal, known.last)
            self._know(known)
        known.checker.finish()
        return known

    def _replayed(self, journal: Journal) -> Known:
        """Read and check all records."""
        checker, last = Checker(self._verifier, self._seen), None
        for head in self._elsewhere.expected:
            checker.heads.want(head)
        known = Known(checker)
        while rows := following(journal, last):
            known.take(rows, verify=False)
            last = rows[-1]
        if last is not None:
            self._check_signer(checker)
        checker.finish()
        if last is None:
            raise LedgerDamaged("there is no record; every ledger has at least one")
        # By the chain of hashes, the last signature covers all records before it.
        checker.verify(last)
        self._know(known)
        return known

    def _check_signer(self, checker: Checker) -> None:
        if self._signer is not None and not is_key(self._signer, checker.signer):
            raise ParameterError("signer is not the one with which the ledger is signed now")

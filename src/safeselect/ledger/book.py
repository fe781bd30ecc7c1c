"""The core of a ledger: what this process knows of it, the records it writes, and who is told.

- A charge is in the book, and on the disk, before `charge` returns.
- Nothing counts that was not replayed and checked.  In its transaction a writer reads and checks
  the new records.  The same checker judges the writer's own record before it is written.
- What is known is never half updated: it is removed during an update.  After an interrupt or a fork
  in between, it is computed anew.
- Each charge gets one further record: released, aborted or, for a session that reserved the worst
  case, settled.  A charge without one was cut short.  With or without, it stands: nothing is freed.
- A turn is the right of one thread to use what this process knows.  Only `with` on the lock itself
  ends it, so no exception of a signal handler can come in between.
- A hook for logs and metrics gets public numbers, never data.  It runs outside the ledger's lock,
  after the record is on the disk.  So it may use the ledger, and whatever it raises loses neither a
  charge nor a release.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Literal, TypeVar, cast, final
from weakref import WeakSet

from safeselect.errors import (
    BudgetError,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
    RepeatedRequest,
    SafeSelectWarning,
    SourceError,
)
from safeselect.ledger.balance import Budget, exact_texts
from safeselect.ledger.record import START, Clock, head_of, library, read_head, record_hash, spell
from safeselect.ledger.replay import Checker, Reading
from safeselect.ledger.signing import Approvers, Signer, is_key, key_of, signed_message
from safeselect.ledger.store import Closing, Journal, Row, Store, Torn
from safeselect.ledger.stores.turn import pause
from safeselect.ledger.witness import Untold, Witnessed
from safeselect.promises.guarantees import Content
from safeselect.release.progress import counted

Written = tuple[str, Mapping[str, Content]]
"""The kind of a record, and its content without the fields of every record and the time."""


def made(
    signer: Signer | None, place: Mapping[str, str], approvers: Approvers | None, clock: Clock
) -> Written:
    """Return the first record."""
    about: dict[str, Content] = {"clock": clock, "library": dict(library())}
    if approvers is not None:
        about["approvers"] = approvers.as_record()
    return "created", about | {"signer": dict(key_of(signer)), "place": dict(place)}


def opened_scope(name: str, budget: Budget, max_refusals: int) -> Written:
    """Return the record of a new scope; it states derived caps too, for readers."""
    return "scope", {
        "scope": name,
        "terms": budget.as_record(),
        "caps": exact_texts(budget.caps),
        "max_refusals": str(max_refusals),
    }


def was_torn(torn: Torn) -> Written:
    """Return the record of bytes that were cut off before it."""
    return "torn", {"length": str(torn.length), "sha256": torn.sha256}


def repaired(first: int, last: int, reason: str) -> Written:
    """Return the record that sets aside the wrong signatures from one place to another."""
    return "repaired", {"first": str(first), "last": str(last), "reason": reason}


_BATCH = 1000  # rows per read
REPLACED = (
    "a record that this process has seen in the ledger is missing: the ledger was replaced, or "
    "its end was cut off"
)


def following(journal: Journal, last: Row | None) -> list[Row]:
    """Return the rows after a row that was seen; that row must still be in its place."""
    if last is None:
        return journal.rows(0, _BATCH)
    try:
        rows = journal.rows(last.seq, _BATCH, last.at)
    except LedgerDamaged:
        seen: list[Row] = []
        with suppress(LedgerDamaged):
            seen = journal.rows(last.seq, 1, last.at)
        if seen == [last]:
            raise  # it is there still: a row after it is damaged
        raise LedgerRolledBack(REPLACED) from None
    if not rows or rows[0] != last:
        raise LedgerRolledBack(REPLACED)
    return rows[1:]


def each_row(journal: Journal) -> Iterator[Row]:
    """Yield all rows of a journal."""
    last: Row | None = None
    while rows := following(journal, last):
        yield from rows
        last = rows[-1]


def all_rows(store: Store, end: Row) -> Iterator[Row]:
    """Yield all rows up to this one, as they are stored.

    Raises:
        LedgerRolledBack: the last of them disappeared before it was reached.
    """
    last: Row | None = None
    while last is None or last.seq < end.seq:
        batch = store.read(partial(following, last=last))
        if not batch:
            raise LedgerRolledBack(REPLACED)
        for row in batch[: end.seq - batch[0].seq + 1]:
            yield row
            last = row
    if last.hash != end.hash:
        raise LedgerRolledBack(REPLACED)


def rows_between(store: Store, after: str | None, head: str, at: int | None) -> Iterator[list[Row]]:
    """Yield the rows after one head up to another, in batches; their chain of hashes is checked.

    Args:
        after: None from the first row on.
        at: `Row.at` of the row of `after`; if it is not known, all rows are read.

    Raises:
        LedgerRolledBack: these are not the rows between the two heads.
    """
    start, last = read_head(after) or (-1, START)
    end, hash_ = read_head(head) or (-1, START)
    seq, at = (0, 0) if at is None else (start, at)
    while True:
        rows = store.read(partial(_batch, seq, at))
        found = [row for row in rows if start < row.seq <= end]
        for row in rows:
            if row.seq == start and row.hash != last:
                raise LedgerRolledBack(REPLACED)
        for row in found:
            if record_hash(row.body) != row.hash or f'"previous":"{last}"' not in row.body:
                raise LedgerRolledBack(REPLACED)
            last = row.hash
        if found:
            yield found
            start = found[-1].seq
        if start == end and last == hash_:
            return
        if not rows or (rows[-1].seq, rows[-1].at) == (seq, at):
            raise LedgerRolledBack(REPLACED)
        seq, at = rows[-1].seq, rows[-1].at


def _batch(seq: int, at: int, journal: Journal) -> list[Row]:
    return journal.rows(seq, _BATCH, at)


_RECENT = 100  # rows that are kept, for a witness that is a little behind


@dataclass(slots=True)
class Known:
    """The state that follows from all rows up to the last.

    Attributes:
        recent: the last rows.
    """

    checker: Checker
    recent: deque[Row] = field(default_factory=lambda: deque(maxlen=_RECENT))

    @property
    def last(self) -> Row:
        """The last row."""
        return self.recent[-1]

    def take(self, rows: Sequence[Row], *, verify: bool = True) -> None:
        """Check the next rows, and apply them.

        Args:
            verify: whether to check their signatures, if a later one covers them too.
        """
        checker = self.checker
        for row in rows:
            checker.take(checker.read(row, verify=verify))
        self.recent.extend(rows)

    def add(self, reading: Reading, row: Row) -> None:
        """Apply the record that the checker has just judged, as it was stored."""
        self.checker.take(reading)
        self.recent.append(row)

    def expects(self, head: str) -> bool:
        """Whether a head is among the rows, or awaited; if not, only a replay of all rows can tell.

        Raises:
            LedgerRolledBack: another record is in its place.
        """
        place, hash_ = read_head(head) or (-1, START)
        if place > self.last.seq:
            self.checker.heads.want(head)
            return True
        row = self._recent(place)
        if row is not None and row.hash != hash_:
            raise LedgerRolledBack(f"record {place} differs from the published record")
        return row is not None

    def at(self, head: str | None) -> int | None:
        """Return the store's place of the row of a head, if it is among the last."""
        found = read_head(head)
        row = None if found is None else self._recent(found[0])
        return None if row is None else row.at

    def _recent(self, place: int) -> Row | None:
        back = self.last.seq - place
        return self.recent[-1 - back] if 0 <= back < len(self.recent) else None


def check_key(signer: Signer | None, checker: Checker) -> None:
    """Check that a signer, if there is one, has the key in force.

    Raises:
        ParameterError: it has another.
    """
    if signer is not None and not is_key(signer, checker.signer):
        raise ParameterError("signer is not the current signer of the ledger")


def judged(checker: Checker, written: Written, ledger: str, signer: Signer | None) -> Reading:
    """Return the next record, signed, and judged by the checker that judges all records.

    Raises:
        LedgerError: a reader would refuse the record.
    """
    kind, content = written
    clock = checker.clock if checker.count else cast("Clock", content.get("clock"))
    body, hash_ = spell(kind, content, ledger, checker.count, checker.last, clock)
    signature = ""
    if signer is not None:
        signature = signer.sign(signed_message("record", hash_)).hex()
    try:
        return checker.read(Row(checker.count, body, hash_, signature))
    except LedgerDamaged as error:
        said = f"nothing was written, because readers would reject the record: {error}"
        raise LedgerError(said) from None


_FAILURES: tuple[tuple[type[Exception], Literal["repeated", "refused", "busy", "failed"]], ...] = (
    (RepeatedRequest, "repeated"),
    (BudgetError, "refused"),
    (LedgerBusy, "busy"),
    (LedgerError, "failed"),
    (SourceError, "failed"),
)


@dataclass(frozen=True, slots=True)
class Event:
    """An event at a ledger.

    Attributes:
        kind: "charged", "released", "settled" or "aborted", as the record that was written; or, if
            none was, "refused" for lack of budget or by a closed scope, "repeated" for a request
            that was charged, or an answer that was released before, "busy" if others held the lock,
            or "failed".
        scopes: the names of the scopes.
        mechanism: name of the mechanism and version of its law; empty from `Ledger.finish`.
        amounts: the price for each scope, by name as in `Balance.spent`; empty where none was
            worked out.
        seconds: how long the ledger took: to wait for its turn, check, write and sync.  The time
            that a mechanism takes may depend on data, and is never told.
    """

    kind: Literal[
        "charged", "released", "settled", "aborted", "refused", "repeated", "busy", "failed"
    ]
    scopes: tuple[str, ...]
    mechanism: str
    amounts: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    seconds: Fraction = Fraction(0)


OnEvent = Callable[[Event], object]
"""A hook for logs and metrics."""


@final
class Turn:
    """One thread of this process at a time.

    Args:
        wait: seconds to wait for the other threads.
    """

    __slots__ = ("__weakref__", "_lock", "_owner", "_wait")

    def __init__(self, wait: int) -> None:
        self._lock, self._owner, self._wait = threading.Lock(), 0, wait
        _turns.add(self)

    def renew(self) -> None:
        """Make a new lock in a child, where the thread that held it does not exist."""
        self._lock, self._owner = threading.Lock(), 0

    def take(self, work: Callable[[], T], wait: int = 0) -> T:
        """Run the work in this thread's turn.

        Args:
            wait: seconds to wait, if that is longer than usual.

        Raises:
            LedgerBusy: other threads took too long, or this thread is in a turn already, for
                example in a signal handler that interrupted it.
        """
        me, mine = threading.get_ident(), 0
        wait = max(wait, self._wait)
        deadline = time.monotonic_ns() + wait * 10**9
        while (lock := self._lock).locked():
            # Checked twice: a thread may be switched between taking the lock and recording it.
            mine = mine + 1 if self._owner == me else 0
            if mine > 1:
                raise LedgerBusy(
                    "a signal handler cannot use the ledger while its thread is using it; nothing "
                    "was charged, try again afterwards"
                )
            if time.monotonic_ns() > deadline:
                raise LedgerBusy(
                    f"other threads used the ledger for {wait} seconds; nothing was charged, try "
                    "again"
                )
            pause()
        with lock:
            self._owner = me
            done = work()
            self._owner = 0
        return done


_turns: WeakSet[Turn] = WeakSet()


def _renew_turns() -> None:
    for turn in list(_turns):
        turn.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


T = TypeVar("T")

_WAIT = 30


@final
class Book:
    """The records of one ledger: made with `make` or read with `read`."""

    __slots__ = (
        *("_closed", "_known", "_published", "_seen", "_signer", "_store", "_turn", "_witness"),
        *("id", "on_event", "public_keys"),
    )

    def __init__(
        self,
        store: Store,
        signer: Signer | None,
        public_keys: Collection[bytes],
        witness: Witnessed | None,
    ) -> None:
        self.id = ""
        self._witness = witness
        self.on_event: OnEvent | None = None
        self._closed = False
        self._store = store
        self._signer = signer
        own = () if signer is None else (signer.public_key,)
        self.public_keys = public_keys or own
        self._turn = Turn(_WAIT)
        self._known: Known | None = None
        # The last record that was seen, and a published head: both must stay in the ledger.
        self._seen: Row | None = None
        self._published: str | None = None

    @classmethod
    def make(
        cls,
        store: Store,
        signer: Signer | None,
        id_: str,
        budgets: Mapping[str, tuple[Budget, int]],
        approvers: Approvers | None,
        clock: Clock,
        witness: Witnessed | None,
    ) -> Book:
        """Write the first records: the ledger's, and one for each scope."""
        book = cls(store, signer, (), witness)
        book.id = id_
        if witness is not None and witness.ask() is not None:
            raise LedgerError("the witness already has a ledger; each ledger needs its own")
        first = [made(signer, store.about(), approvers, clock)]
        first += [opened_scope(name, *terms) for name, terms in budgets.items()]

        def work(journal: Journal) -> Known:
            known = Known(Checker(book.public_keys))
            for written in first:
                reading = judged(known.checker, written, id_, signer)
                known.add(reading, journal.append(reading.row))
            return known

        book._know(store.create(work))
        book._tell()
        return book

    @classmethod
    def read(
        cls,
        store: Store,
        signer: Signer | None,
        public_keys: Collection[bytes],
        head: str | None,
        witness: Witnessed | None,
    ) -> Book:
        """Replay all records.

        Raises:
            ParameterError: the ledger has another key.
            LedgerError: it cannot be read, or a record fails its check.
        """
        book = cls(store, signer, public_keys, witness)
        for row in store.read(lambda journal: journal.rows(0, 1)):
            first = Checker()
            first.check(row.body, row.hash, row.signature)
            if signer is not None and not first.signer:
                raise ParameterError("signer is not the signer that created the ledger")
            book.id = first.ledger
        book._published = head
        if witness is not None and witness.ask() is None and head is None:
            # Nothing would tell the ledger from any older copy.
            raise LedgerError("the witness has no ledger yet; pass head= when you first open one")
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

    def reported(self, event: Event, work: Callable[[], T]) -> T:
        """Do the work, and tell the hook, if there is one, what came of it.

        Args:
            event: what happened if the work succeeds.
        """
        if self.on_event is None:
            return work()
        start = time.monotonic_ns()
        try:
            done = work()
        except Exception as error:
            for kind, name in _FAILURES:
                if isinstance(error, kind):
                    _tell(self.on_event, replace(event, kind=name, seconds=_since(start)))
                    break
            raise
        _tell(self.on_event, replace(event, seconds=_since(start)))
        return done

    def state(self, read: Callable[[Checker], T]) -> T:
        """Return what is read from the state so far; all of it is on the disk and witnessed."""
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
            raise LedgerError(f"the ledger {self.name!r} is closed; open it again")
        known = self._store.read(self._caught_up)
        if self._witness is not None and self._witness.reached < known.last.seq:
            # Whatever is told of a record is sent first, if it continues what was sent before.
            self._witness.ask()
            known = self._store.read(self._caught_up)
            self._tell()
        return known

    def _tell(self) -> None:
        """Bring the witness, if there is one, up to the last record that was seen."""
        if self._witness is None or self._seen is None:
            return

        def rows_after(after: str | None, head: str) -> Iterator[list[Row]]:
            at = None if self._known is None else self._known.at(after)
            return rows_between(self._store, after, head, at)

        head = head_of(self._seen.seq, self._seen.hash)
        self._witness.bring(head, rows_after, lambda: self._store.read(self._caught_up))

    def _written(self, decide: Callable[[Checker], Written], signer: Signer | None) -> Reading:
        known = self._known
        if known is None or self._closed or getattr(self._store, "is_busy", False):
            known = self._look()  # a long read needs no lock, nor one of what others write
        if self._witness is not None:
            self._witness.ask()
        if known.checker.keys.signer and self._signer is None and signer is None:
            raise LedgerError("the ledger is signed; open it with signer= to write to it")
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
            self._tell()
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
            check_key(self._signer, known.checker)
        written = decide(known.checker) if torn is None else was_torn(torn)
        reading = judged(known.checker, written, self.id, signer or self._signer)
        return known, reading, journal.append(reading.row), torn is not None

    def _know(self, known: Known) -> None:
        self._known, self._seen = known, known.last
        self.id = known.checker.ledger

    def _caught_up(self, journal: Journal) -> Known:
        """Read and check the new records, among them what the witness knows."""
        known, expected = self._known, None if self._witness is None else self._witness.expected
        if known is None or (expected is not None and not known.expects(expected)):
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
        checker, last = Checker(self.public_keys, self._published), None
        if self._seen is not None:
            checker.heads.want(head_of(self._seen.seq, self._seen.hash))
        if self._witness is not None:
            checker.heads.want(self._witness.expected)
        known = Known(checker)
        with counted("records checked") as more:
            while rows := following(journal, last):
                known.take(rows, verify=False)
                more(len(rows))
                last = rows[-1]
        if last is not None:
            check_key(self._signer, checker)
        checker.finish()
        if last is None:
            raise LedgerDamaged(
                "there is no record: this is not a ledger, or its first line was cut"
            )
        # By the chain of hashes, the last signature covers all records before it.
        checker.verify(last)
        self._know(known)
        return known


def _since(start: int) -> Fraction:
    return Fraction(time.monotonic_ns() - start, 10**9)


def _tell(hook: OnEvent, event: Event) -> None:
    try:
        hook(event)
    except Exception as error:  # noqa: BLE001 - a log that fails must lose no charge and no release
        # A filter may turn the warning into an error, which must not get out either.
        with suppress(Warning):
            warnings.warn(
                f"on_event failed with {type(error).__name__}", SafeSelectWarning, stacklevel=2
            )

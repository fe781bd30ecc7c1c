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
- Who has the turn writes the records that other threads wait for, too, in one transaction.  Each is
  judged on those before it, and answered after the commit.  Whose record was taken up and never
  answered, because that thread was interrupted or the transaction failed, writes it alone.
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
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import islice
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
    SafeSelectError,
    SafeSelectWarning,
    SourceError,
)
from safeselect.ledger.balance import Budget, exact_texts
from safeselect.ledger.record import START, Clock, head_of, read_head, spell
from safeselect.ledger.replay import Checker, Reading
from safeselect.ledger.signing import Signer, is_key, signed_message
from safeselect.ledger.store import Closing, Journal, Row, Store, Torn
from safeselect.ledger.stores.turn import pause
from safeselect.ledger.witness import Untold, Witnessed
from safeselect.promises.guarantees import Content
from safeselect.release.progress import counted

Written = tuple[str, Mapping[str, Content]]
"""The kind of a record, and its content without the fields of every record and the time."""


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


_BATCH = 1000  # rows per read
REPLACED = (
    "a record that this process has seen in the ledger is missing: the ledger was replaced or "
    "truncated"
)


def holds(journal: Journal, row: Row) -> bool:
    """Whether a row is in its place."""
    with suppress(LedgerDamaged):  # the place in a file may be within another line
        return journal.rows(row.seq, 1, row.at) == [row]
    return False


def following(journal: Journal, last: Row | None) -> list[Row]:
    """Return the rows after a row that was seen; that row must still be in its place."""
    if last is None:
        return journal.rows(0, _BATCH)
    try:
        rows = journal.rows(last.seq, _BATCH, last.at)
    except LedgerDamaged:
        if holds(journal, last):
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

    def add(self, reading: Reading) -> None:
        """Apply the record that the checker has just judged, as it was stored."""
        self.checker.take(reading)
        self.recent.append(reading.row)

    def after(self, head: str | None) -> list[Row] | None:
        """Return the rows after a head, or after the beginning; None if the last are too few."""
        place, _ = read_head(head) or (-1, START)
        if self.recent[0].seq > place + 1:
            return None
        return [row for row in self.recent if row.seq > place]

    def expects(self, head: str) -> bool:
        """Whether a head is among the rows, or awaited; if not, only a replay of all rows can tell.

        Raises:
            LedgerRolledBack: another record is in its place.
        """
        place, hash_ = read_head(head) or (-1, START)
        if place > self.last.seq:
            self.checker.want(head)
            return True
        found = [row.hash for row in self.recent if row.seq == place]
        if found not in ([], [hash_]):
            raise LedgerRolledBack(f"record {place} differs from the published head")
        return bool(found)


def check_key(
    signer: Signer | None, checker: Checker, wrong: type[SafeSelectError] = ParameterError
) -> None:
    """Check that a signer, if there is one, has the key in force.

    Raises:
        SafeSelectError: it has another; of the class `wrong`.
    """
    if signer is not None and not is_key(signer, checker.signer):
        raise wrong("signer is not the current signer of the ledger, or it has none")


def judged(checker: Checker, written: Written, ledger: str, signer: Signer | None) -> Reading:
    """Return the next record, signed, and judged by the checker that judges all records.

    Raises:
        LedgerError: the signer failed, or a reader would refuse the record.
    """
    kind, content = written
    clock = checker.clock if checker.count else cast("Clock", content.get("clock"))
    body, hash_ = spell(kind, content, ledger, checker.count, checker.last, clock)
    signature = ""
    if signer is not None:
        try:
            signature = signer.sign(signed_message("record", hash_)).hex()
        except Exception as error:  # noqa: BLE001 - its own words may say too much
            raise LedgerError(f"the signer failed with {type(error).__name__}") from None
    try:
        return checker.read(Row(checker.count, body, hash_, signature), is_ours=True)
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
    """A notification from a ledger to your program.

    Attributes:
        kind: "charged", "released", "settled" or "aborted" if such a record was written. Otherwise
            "refused" for a closed scope or lack of budget, "repeated" for a request that was
            already charged or an answer that was already released, "busy" if others held the lock,
            or "failed".
        scopes: the names of the scopes.
        mechanism: name of the mechanism and version of its law; empty from `Ledger.finish`.
        amounts: price for each scope, by name as in `Balance.spent`; empty if no price was
            computed.
        seconds: time that the ledger took to wait for its turn, check, write and sync. The time of
            a mechanism may depend on the data, and is never reported.
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


@dataclass(slots=True, eq=False)
class Asked:
    """A record that a thread waits for.

    Attributes:
        decide: returns the record, or raises.
        signer: another key, which signs this record and the later ones of this process.
        deadline: until when it is tried again while others hold the lock.
        reading: the record as it was judged; it may be in the ledger.
        answer: what came of it; None until somebody knows.
    """

    decide: Callable[[Checker], Written]
    signer: Signer | None
    deadline: int
    reading: Reading | None = None
    answer: Reading | Exception | None = None


@final
class Turn:
    """One thread of this process at a time.

    Args:
        wait: seconds to wait for the other threads.

    Attributes:
        queue: what threads wait for and nobody has taken up.
    """

    __slots__ = ("__weakref__", "_lock", "_owner", "_wait", "queue")

    def __init__(self, wait: int) -> None:
        self._wait = wait
        self.renew()
        _turns.add(self)

    def renew(self) -> None:
        """Begin anew; also in a child, where the threads that held and waited do not exist."""
        self._lock, self._owner, self.queue = threading.Lock(), 0, deque[Asked]()

    def take(self, work: Callable[[], T], wait: int = 0, asked: Asked | None = None) -> T:
        """Run the work in this thread's turn.

        Args:
            wait: seconds to wait, if that is longer than usual.
            asked: the record that the work writes; once it is answered, no turn is needed.

        Raises:
            LedgerBusy: other threads took too long, or this thread is in a turn already, for
                example in a signal handler that interrupted it.
        """
        me, mine = threading.get_ident(), 0
        wait = max(wait, self._wait)
        deadline = time.monotonic_ns() + wait * 10**9
        while (lock := self._lock).locked():
            if asked is not None and asked.answer is not None:
                return work()
            # Checked twice: a thread may be switched between taking the lock and recording it.
            mine = mine + 1 if self._owner == me else 0
            if mine > 1:
                raise LedgerBusy(
                    "a signal handler cannot use the ledger while the thread that it interrupted "
                    "is using it; nothing was charged, so try again afterwards"
                )
            if time.monotonic_ns() > deadline:
                raise LedgerBusy(
                    f"other threads used the ledger for {wait} seconds; nothing was charged, so "
                    "try again"
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
_GROUP = 32  # records of one transaction


@final
class Book:
    """The records of one ledger: first `make` or `read` them."""

    __slots__ = (
        *("_closed", "_known", "_published", "_seen", "_store", "_turn", "_witness"),
        *("id", "name", "on_event", "public_keys", "signer"),
    )

    def __init__(
        self,
        store: Store,
        signer: Signer | None,
        witness: Witnessed | None,
        on_event: OnEvent | None,
        public_keys: Collection[bytes] = (),
    ) -> None:
        self.id, self.name = "", store.name
        self.on_event = on_event
        self._store, self.signer, self._witness = store, signer, witness
        own = () if signer is None else (signer.public_key,)
        self.public_keys = public_keys or own
        self._closed = False
        self._turn = Turn(_WAIT)
        self._known: Known | None = None
        # The last record that was seen, and a published head: both must stay in the ledger.
        self._seen: Row | None = None
        self._published: str | None = None

    def make(self, id_: str, first: Sequence[Callable[[Checker], Written]]) -> None:
        """Write the first records: the ledger's, and one for each scope."""
        if self._witness is not None and self._witness.ask() is not None:
            raise LedgerError("the witness already holds the head of a ledger; use another witness")

        def work(journal: Journal) -> Known:
            known = Known(Checker(self.public_keys))
            for decide in first:
                reading = judged(known.checker, decide(known.checker), id_, self.signer)
                reading.row = journal.append(reading.row)
                known.add(reading)
            return known

        self._know(self._store.create(work))
        self._tell()

    def read(self, head: str | None) -> None:
        """Replay all records.

        Raises:
            ParameterError: the ledger has another key.
            LedgerError: it cannot be read, or a record fails its check.
        """
        for row in self._store.read(lambda journal: journal.rows(0, 1)):
            first = Checker()
            first.check(row.body, row.hash, row.signature)
            if self.signer is not None and not first.signer:
                raise ParameterError("the ledger was created without a signer; omit signer=")
        self._published = head
        if self._witness is not None and self._witness.ask() is None and head is None:
            # Nothing would tell the ledger from any older copy.
            raise LedgerError("the witness has no head yet; pass head= when you open the ledger")
        self._turn.take(self._look)

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
            for name in [name for kind, name in _FAILURES if isinstance(error, kind)][:1]:
                _tell(self.on_event, replace(event, kind=name, seconds=_since(start)))
            raise
        _tell(self.on_event, replace(event, seconds=_since(start)))
        return done

    def state(self, read: Callable[[Checker], T]) -> T:
        """Return a copy of what is read from the state so far, all on the disk and witnessed.

        So no caller can change the state.
        """
        return deepcopy(self._turn.take(lambda: read(self._look().checker)))

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
        asked = Asked(decide, signer, time.monotonic_ns() + wait * 10**9)
        queue = self._turn.queue
        queue.append(asked)
        while True:
            try:
                answer = self._turn.take(lambda: self._serve(asked), wait, asked)
                break
            except BaseException as error:
                try:
                    queue.remove(asked)
                except ValueError:  # another thread has taken it up
                    if isinstance(error, LedgerBusy):
                        continue
                raise
        if isinstance(answer, Exception):
            answer.__context__ = None  # which may be of the thread that wrote
            raise answer
        return answer

    def rows(self) -> Iterator[Row]:
        """Return all rows that exist now, oldest first, as they are stored.

        Raises:
            LedgerRolledBack: the last of them disappeared before it was reached.
        """
        return all_rows(self._store, self._turn.take(self._look).last)

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
        if self._witness is not None and not self._witness.has(known.checker.head):
            # Whatever is told of a record is sent first, if it continues what was sent before.
            self._witness.ask()
            known = self._store.read(self._caught_up)
            self._tell()
        return known

    def _tell(self) -> None:
        """Bring the witness, if there is one, up to the last record that was seen."""
        if self._witness is not None and self._seen is not None:
            head = head_of(self._seen.seq, self._seen.hash)
            self._witness.bring(head, self._rows_after, lambda: self._store.read(self._caught_up))

    def _rows_after(self, head: str | None) -> Iterator[list[Row]]:
        """Yield the rows after a head up to the last that was seen, in batches."""
        found = None if self._known is None else self._known.after(head)
        if found is not None or self._seen is None:
            yield found or []
            return
        place, _ = read_head(head) or (-1, START)
        checker, rows = Checker(), all_rows(self._store, self._seen)
        while batch := list(islice(rows, _BATCH)):
            for row in batch:
                checker.take(checker.read(row, verify=False))
            if batch[-1].seq > place:
                yield [row for row in batch if row.seq > place]

    def _serve(self, asked: Asked) -> Reading | Exception:
        """Write what threads wait for, in their order, until this thread's record is written."""
        queue = self._turn.queue
        while asked.answer is None:
            batch = [asked]  # what was taken up in vain goes alone
            if asked in queue:
                batch = [queue.popleft()]
                with suppress(IndexError):
                    while len(batch) < _GROUP:
                        batch.append(queue.popleft())
            try:
                self._write(batch)
            except LedgerBusy as error:
                for each in batch:
                    if time.monotonic_ns() > each.deadline:
                        each.answer = copy(error)
                pause()
            except Exception as error:  # noqa: BLE001 - it is raised in the thread that asked
                if len(batch) == 1:
                    batch[0].answer = error
        return asked.answer

    def _write(self, batch: Sequence[Asked]) -> None:
        if self._known is None or self._closed:
            self._look()  # a long read needs no lock
        if self._witness is not None:
            self._witness.ask()
        known, answers = self._store.write(lambda journal: self._add(journal, batch))
        self._known = None
        for asked, answer in answers:
            if isinstance(answer, Reading):
                self.signer = asked.signer or self.signer
                if answer.row.seq > known.last.seq:
                    known.add(answer)
        self._know(known)
        untold: LedgerError | None = None
        try:
            self._tell()
        except (LedgerDamaged, LedgerRolledBack):
            raise
        except LedgerError as error:
            untold = error
        for asked, answer in answers:
            if untold is not None and isinstance(answer, Reading):
                asked.answer = Untold(answer, untold)
            else:
                asked.answer = answer

    def _add(
        self, journal: Journal, batch: Sequence[Asked]
    ) -> tuple[Known, list[tuple[Asked, Reading | Exception]]]:
        """Append the records of the batch, or that of a torn end, if there is one."""
        known, signer = self._caught_up(journal), batch[0].signer
        checker = known.checker
        answers: list[tuple[Asked, Reading | Exception]] = []
        if signer is None:
            if checker.keys.signer and self.signer is None:
                raise LedgerError("the ledger is signed; open it with signer= to write to it")
            check_key(self.signer, checker, LedgerError)
            # With another key the old one may be lost, and nobody could sign that an end was torn.
            if (torn := journal.torn) is not None:
                batch = [Asked(lambda _: was_torn(torn), None, 0)]
        for asked in batch:
            if asked.signer is not signer:
                break
            if asked.reading is not None and holds(journal, asked.reading.row):
                answers.append((asked, asked.reading))
                continue
            try:
                reading = judged(checker, asked.decide(checker), self.id, signer or self.signer)
            except Exception as error:  # noqa: BLE001 - it is raised in the thread that asked
                answers.append((asked, error))
                continue
            if not reading.fits(checker):
                break  # it is judged after the commit
            reading.row = journal.append(reading.row)
            asked.reading = reading
            answers.append((asked, reading))
            if asked is not batch[-1]:
                checker = checker.after(reading)
        return known, answers

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
            checker.want(head_of(self._seen.seq, self._seen.hash))
        if self._witness is not None:
            checker.want(self._witness.expected)
        known = Known(checker)
        with counted("records checked") as more:
            while rows := following(journal, last):
                known.take(rows, verify=False)
                more(len(rows))
                last = rows[-1]
        if last is not None:
            check_key(self.signer, checker, LedgerError if self._seen else ParameterError)
        checker.finish()
        # By the chain of hashes, the last signature covers all records before it.
        checker.keys.check(known.last)
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

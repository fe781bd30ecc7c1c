"""What a process knows of a ledger after reading its rows, and the next record that follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from safeselect.errors import LedgerDamaged, LedgerError, LedgerRolledBack
from safeselect.ledger.entries import Written
from safeselect.ledger.records.fields import read_head, states_time
from safeselect.ledger.records.lines import log_line
from safeselect.ledger.records.reading import Reading
from safeselect.ledger.records.record import LONGEST, SCHEMA, Clock, canonical, record_hash, utc_now
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Signer, signed_message
from safeselect.ledger.store import Row
from safeselect.promises.records import Content

_RECENT = 100  # rows that are kept, for an anchor that is a little behind


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

    def expects(self, head: str | None) -> bool:
        """Whether a head is among the rows, or awaited; if not, only a replay of all rows can tell.

        Raises:
            LedgerRolledBack: another record is in its place.
        """
        found = read_head(head)
        if found is None:
            return True
        place, hash_ = found
        if place > self.last.seq:
            self.checker.heads.want(head)
            return True
        row = self._recent(place)
        if row is not None and row.hash != hash_:
            raise LedgerRolledBack(f"record {place} is another one than was published")
        return row is not None

    def at(self, head: str | None) -> int | None:
        """Return the store's place of the row of a head, if it is among the last."""
        found = read_head(head)
        row = None if found is None else self._recent(found[0])
        return None if row is None else row.at

    def _recent(self, place: int) -> Row | None:
        back = self.last.seq - place
        return self.recent[-1 - back] if 0 <= back < len(self.recent) else None


def judged(checker: Checker, written: Written, ledger: str, signer: Signer | None) -> Reading:
    """Return the next record, signed, and judged by the checker that judges all records.

    Raises:
        LedgerError: the record is too long, or a reader would refuse it.
    """
    kind, content = written
    record: dict[str, Content] = dict(content)
    record |= {"schema": SCHEMA, "kind": kind, "ledger": ledger}
    record |= {"seq": str(checker.count), "previous": checker.last}
    if states_time(kind):
        first = cast("Clock", content.get("clock"))
        record["utc"] = utc_now(checker.clock if checker.count else first)
    body = canonical(record)
    hash_, signature = record_hash(body), ""
    if signer is not None:
        signature = signer.sign(signed_message(hash_)).hex()
    if len(log_line(body, hash_, signature)) > LONGEST:
        raise LedgerError(f"a record would be longer than {LONGEST} bytes: nothing was charged")
    try:
        return checker.read(Row(checker.count, body, hash_, signature))
    except LedgerDamaged as error:
        said = f"nothing was written, because a reader would refuse it: {error}"
        raise LedgerError(said) from None

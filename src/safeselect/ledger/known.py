"""What a process knows of a ledger after reading its rows, and the next record that follows."""

from __future__ import annotations

from dataclasses import dataclass, field

from safeselect.errors import LedgerDamaged, LedgerError, LedgerRolledBack
from safeselect.ledger.entries import Written
from safeselect.ledger.records.fields import read_head
from safeselect.ledger.records.lines import log_line
from safeselect.ledger.records.reading import Reading
from safeselect.ledger.records.record import LONGEST, SCHEMA, canonical, record_hash
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Signer, signed_message
from safeselect.ledger.store import Row
from safeselect.promises.records import Content

_RECENT = 100  # hashes that are kept, for an anchor that is a little behind


@dataclass(slots=True)
class Known:
    """The state that follows from all rows up to the last.

    Attributes:
        recent: the last hashes, by place, each with the store's place of it.
    """

    checker: Checker
    last: Row
    recent: dict[int, tuple[str, int]] = field(default_factory=dict)

    def take(self, reading: Reading) -> None:
        """Apply the record that the checker has just judged."""
        self.checker.take(reading)
        self.last = row = reading.row
        self.recent[row.seq] = row.hash, row.at
        self.recent.pop(row.seq - _RECENT, None)

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
        if place not in self.recent:
            return False
        if self.recent[place][0] != hash_:
            raise LedgerRolledBack(f"record {place} is another one than was published")
        return True

    def at(self, head: str | None) -> int | None:
        """Return the store's place of the row of a head, if it is among the last."""
        found = read_head(head)
        return self.recent[found[0]][1] if found is not None and found[0] in self.recent else None


def judged(checker: Checker, written: Written, ledger: str, signer: Signer | None) -> Reading:
    """Return the next record, signed, and judged by the checker that judges all records.

    Raises:
        LedgerError: the record is too long, or a reader would refuse it.
    """
    kind, content = written
    record: dict[str, Content] = dict(content)
    record |= {"schema": SCHEMA, "kind": kind, "ledger": ledger}
    record |= {"seq": str(checker.count), "previous": checker.last}
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

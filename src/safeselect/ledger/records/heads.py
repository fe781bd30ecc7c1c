"""Published heads, which must be among the records that are replayed."""

from __future__ import annotations

from dataclasses import dataclass, field

from safeselect.errors import LedgerRolledBack
from safeselect.ledger.records.fields import read_head


@dataclass(slots=True)
class Heads:
    """Heads that are still to be found.

    Attributes:
        wanted: their hashes, by place.
    """

    wanted: dict[int, str] = field(default_factory=dict)

    def want(self, head: str | None) -> None:
        """Take in a head that was published, of a record to come.

        Raises:
            LedgerRolledBack: another head with its place is awaited already.
        """
        found = read_head(head)
        if found is not None and self.wanted.setdefault(*found) != found[1]:
            raise LedgerRolledBack(f"two different heads were published for record {found[0]}")

    def check(self, seq: int, hash_: str) -> None:
        """Compare a record with the published heads that name its place.

        Raises:
            LedgerRolledBack: one names another record.
        """
        if self.wanted.get(seq, hash_) != hash_:
            raise LedgerRolledBack(f"record {seq} is another one than the published head says")

    def finish(self, count: int) -> None:
        """Check after so many records that no head names a later one.

        Raises:
            LedgerRolledBack: one does.
        """
        if any(place >= count for place in self.wanted):
            raise LedgerRolledBack(
                f"the records end at {count - 1}, before the published head: the end was cut"
            )

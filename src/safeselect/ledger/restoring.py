"""Makes an older copy of a ledger whole again, from the lines that its receiver has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Set

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.arguments import read_place
from safeselect.ledger.following import following
from safeselect.ledger.records.fields import read_record
from safeselect.ledger.records.lines import read_line
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Verifier, read_verifier
from safeselect.ledger.store import Journal, Row, Store

__all__ = ["append"]


def append(
    place: str | os.PathLike[str] | Store,
    lines: Iterable[bytes],
    *,
    verifier: Verifier | None = None,
    head: str | None = None,
    accepted: Set[str] = frozenset(),
) -> Checker:
    """Add the lines that an older copy of a ledger lacks: all of them, or none.

    Lines that the copy has already must be the same ones.  Open the ledger afterwards, with its
    anchor and its receiver: they tell whether it is whole.

    Args:
        place: the copy; nobody may use it meanwhile.
        lines: lines of the ledger, each with its newline, without holes and in order: what a
            receiver got, or an exported log.
        verifier: checks the signatures; required for a signed ledger.
        head: a head that must be among the records then.
        accepted: public keys in hexadecimal digits; with any, every key of the ledger must be among
            them.

    Returns:
        Checker: the state that follows from all records.

    Raises:
        ParameterError: the ledger is signed and there is no verifier; or these are no lines.
        LedgerDamaged: the lines do not continue the ledger, or a record is not what a ledger
            writes; nothing was written.
        LedgerRolledBack: the head is not among the records; nothing was written.
        LedgerError: the place cannot be used.
    """
    checker, given = Checker(read_verifier(verifier), head, accepted), _rows(lines)

    def work(journal: Journal) -> Checker:
        last: Row | None = None
        while rows := following(journal, last):
            for row in rows:
                checker.check(row.body, row.hash, row.signature)
                if row.seq in given and _stored(row) != _stored(given[row.seq]):
                    raise LedgerDamaged(f"line {row.seq} is another one than that of the ledger")
                last = row
        if checker.signer and checker.verifier is None:
            raise ParameterError("the ledger is signed: lines are added only with its verifier")
        if given and min(given) > checker.count:
            raise LedgerDamaged(
                f"the lines begin at record {min(given)}, and the ledger ends at record "
                f"{checker.count - 1}: lines in between are missing"
            )
        for seq in range(checker.count, max(given, default=-1) + 1):
            row = given[seq]
            checker.check(row.body, row.hash, row.signature)
            journal.append(row)
        checker.finish()
        return checker

    return read_place(place).write(work)


def _rows(lines: object) -> dict[int, Row]:
    """Return the rows of lines that follow each other, by place."""
    if isinstance(lines, (str, bytes)) or not isinstance(lines, Iterable):
        raise ParameterError(f"lines must be a list of lines, got {describe(lines)}")
    found: dict[int, Row] = {}
    for number, line in enumerate(lines, 1):
        if not isinstance(line, bytes):
            raise ParameterError(f"line {number} must be bytes, got {describe(line)}")
        if not line.endswith(b"\n"):
            raise LedgerDamaged(f"line {number} has no newline: it was cut")
        row = read_line(line[:-1], max(found, default=-1) + 1)
        if not found:
            row = read_line(line[:-1], _place(row))
        found[row.seq] = row
    return found


def _place(row: Row) -> int:
    seq = read_record(row.body, "line 1")["seq"]
    if not seq.isascii() or not seq.isdecimal() or len(seq) > _DIGITS:
        raise LedgerDamaged("line 1 has no place in a ledger")
    return int(seq)


def _stored(row: Row) -> tuple[str, str, str]:
    return row.body, row.hash, row.signature


_DIGITS = 18

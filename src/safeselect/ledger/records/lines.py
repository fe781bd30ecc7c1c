"""The text of a ledger: one line of canonical JSON for each record.

A ledger's file and an exported log are the same text:

    {"hash":"<64 hexadecimal digits>","record":{...},"signature":"<hexadecimal or empty>"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from safeselect.errors import LedgerDamaged
from safeselect.ledger.records.record import LONGEST, Record, canonical
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.store import Row

_LINE = re.compile(
    rb'\{"hash":"([0-9a-f]{64})","record":(\{.*\}),"signature":"((?:[0-9a-f]{2})*)"\}'
)


def log_line(body: str, hash_: str, signature: str) -> bytes:
    """Return the line of a record, with its newline."""
    return f'{{"hash":"{hash_}","record":{body},"signature":"{signature}"}}\n'.encode("ascii")


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of an exported log, each with its newline."""
    for each in records:
        yield log_line(canonical(each.content), each.hash, each.signature).decode("ascii")


def read_line(line: bytes, seq: int, at: int = 0) -> Row:
    """Return the row of a line without its newline; the record's content is not checked.

    Raises:
        LedgerDamaged: it is not such a line.
    """
    match = _LINE.fullmatch(line)
    if match is None or not line.isascii():
        raise LedgerDamaged(f"record {seq} is not a line of a ledger: it was changed or cut")
    hash_, body, signature = match.groups()
    return Row(seq, body.decode("ascii"), hash_.decode("ascii"), signature.decode("ascii"), at)


def check_log(log: BinaryIO, checker: Checker) -> Iterator[Record]:
    """Check an exported log to its end, and yield its records.

    Every byte counts: a line that `log_lines` would spell differently is refused.

    Raises:
        LedgerError: the log is not what was exported; the records yielded before it are.
    """
    while line := log.readline(LONGEST):
        if not line.endswith(b"\n"):
            raise LedgerDamaged(f"line {checker.count + 1} of the log is cut, or too long")
        row = read_line(line[:-1], checker.count)
        yield Record(checker.check(row.body, row.hash, row.signature), row.hash, row.signature)
    checker.finish()

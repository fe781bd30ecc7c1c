"""The text of a ledger: one line of canonical JSON for each record.

A ledger's file and an exported log are the same text:

    {"hash":"<64 hexadecimal digits>","record":{...},"signature":"<hexadecimal or empty>"}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from safeselect.errors import LedgerDamaged
from safeselect.ledger.records.record import LONGEST, Record, canonical
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.store import Row

_SIGNATURE = ',"signature":"'


def log_line(body: str, hash_: str, signature: str) -> bytes:
    """Return the line of a record, with its newline."""
    return f'{{"hash":"{hash_}","record":{body},"signature":"{signature}"}}\n'.encode("ascii")


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of an exported log, each with its newline."""
    for each in records:
        yield log_line(canonical(each.content), each.hash, each.signature).decode("ascii")


def read_line(line: str, seq: int, at: int = 0) -> Row:
    """Return the row of a line without its newline; the record's content is not checked.

    Args:
        line: its bytes as Latin-1: no canonical JSON has a character beyond ASCII.

    Raises:
        LedgerDamaged: it is not such a line.
    """
    end = line.rfind(_SIGNATURE)
    start = end + len(_SIGNATURE)
    framed = line.startswith('{"hash":"') and line.startswith('","record":', 73)
    if end < 0 or not framed or not line.endswith('"}', start):
        raise LedgerDamaged(f"record {seq} is not a line of a ledger: it was changed or cut")
    return Row(seq, line[84:end], line[9:73], line[start:-2], at)


def check_log(log: BinaryIO, checker: Checker) -> Iterator[Record]:
    """Check an exported log to its end, and yield its records.

    Every byte counts: a line that `log_lines` would spell differently is refused.

    Raises:
        LedgerError: the log is not what was exported; the records yielded before it are.
    """
    while line := log.readline(LONGEST):
        if not line.endswith(b"\n"):
            raise LedgerDamaged(f"line {checker.count + 1} of the log is cut, or too long")
        row = read_line(line[:-1].decode("latin-1"), checker.count)
        yield Record(checker.check(row.body, row.hash, row.signature), row.hash, row.signature)
    checker.finish()

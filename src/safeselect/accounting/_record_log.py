"""A ledger as a text file: one line of canonical JSON for each record, for those who audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from safeselect.accounting._record_check import Checker
from safeselect.accounting.record import Content, Record, canonical, parse
from safeselect.errors import LedgerError

__all__ = ["check_log", "log_lines"]

_LONGEST_LINE = 2**18


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """The lines of an exported log, each with its newline."""
    for each in records:
        line: dict[str, Content] = {"hash": each.hash, "record": each.content}
        line["signature"] = each.signature
        yield f"{canonical(line)}\n"


def check_log(log: BinaryIO, checker: Checker) -> Iterator[Record]:
    """Check an exported log to its end, and give out its records.

    Every byte counts: a line in another spelling than the one that `log_lines` writes is refused.

    Raises:
        LedgerError: the log is not what was exported; the records given out before are.
    """
    while line := log.readline(_LONGEST_LINE):
        where = f"line {checker.count + 1} of the log"
        if not line.endswith(b"\n") or not line.isascii():
            raise LedgerError(f"{where} is cut, too long, or not ASCII")
        content = parse(line[:-1].decode("ascii"), where)
        if content.keys() != {"hash", "record", "signature"} or not (
            isinstance(content["record"], dict)
            and isinstance(content["hash"], str)
            and isinstance(content["signature"], str)
        ):
            raise LedgerError(f"{where} is no record with its hash and signature")
        stated = content["hash"], content["signature"]
        yield Record(checker.check(canonical(content["record"]), *stated), *stated)
    checker.finish()

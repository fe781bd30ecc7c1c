"""Opens a long ledger quickly: what is before the last record of kind "carried" is only skimmed.

Whoever wrote that record had replayed all before it, and it states what follows.  Skimming checks
that these are the records that it speaks of: their hashes, their chain, and the hash of all nonces
and requests, which are too many to be stated.  `Ledger.check`, `ledger verify` and `ledger report`
replay everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol, runtime_checkable

from safeselect.errors import LedgerDamaged
from safeselect.ledger._ledger_store import Row
from safeselect.ledger._record_check import read_record
from safeselect.ledger._record_log import read_line
from safeselect.ledger._record_replay import Checker
from safeselect.ledger.record import RECORD_DOMAIN, record_hash

__all__ = ["Carrying", "skim"]

_HASH, _BODY = slice(9, 73), 84  # where they stand in a line
_SIGNATURE, _PREVIOUS = b',"signature":"', b'"previous":"'
_NONCE, _REQUEST = b'"nonce":"', b'"request":{"asked":'


@runtime_checkable
class Carrying(Protocol):
    """A journal that finds a record of kind "carried" from its end."""

    def to_carried(self) -> Iterator[tuple[int, bytes]] | None:
        """All lines up to that record, each with its place in the file; None without one."""


def skim(checker: Checker, lines: Iterator[tuple[int, bytes]]) -> Row:
    """Let a new checker take over what the last of these lines carries over; returns its row.

    Raises:
        LedgerDamaged: they are not the lines that it speaks of.
        LedgerRolledBack: the published head is not among them.
    """
    at, line = next(lines)
    first = read_line(line, 0, at)
    checker.take(checker.read(first, verify=False))
    last, nonces, requests = checker.last.encode(), checker.nonces, checker.requests
    wanted, count = checker.wanted, 0
    for count, (at, line) in enumerate(lines, 1):  # noqa: B007 - both are used of the last one
        body = line[_BODY : line.rfind(_SIGNATURE)]
        stated = line[_HASH]
        if sha256(RECORD_DOMAIN + body).hexdigest().encode() != stated:
            raise LedgerDamaged(f"record {count} does not have the hash that is stated for it")
        # The last place: parameters, which may be called anything, come before it.
        place = body.rfind(_PREVIOUS) + len(_PREVIOUS)
        if body[place : place + 64] != last:
            raise LedgerDamaged(f"record {count} does not follow the record before it")
        last = stated
        if wanted is not None and wanted[0] == count:
            checker.check_wanted(count, stated.decode())
        place = body.find(_NONCE)
        if place >= 0:
            nonces.add(int(body[place + 9 : place + 41], 16))
            if _REQUEST in body:
                requests.add(json.loads(body)["request"].get("id"))
    row = read_line(line, count, at)
    record = read_record(row.body, f"record {count}")
    if record_hash(row.body) != row.hash or record["kind"] != "carried":
        raise LedgerDamaged(f"record {count} carries nothing over")
    checker.adopt(row, record)
    return row

"""Opens a long ledger quickly: the records before the last "carried" record are only skimmed.

The writer of that record had replayed all records before it, and the record states the result.
Skimming checks that the records are the same: their hashes, their chain, and the hash of all nonces
and requests, which are too many to be listed.  `Ledger.check`, `ledger verify` and `ledger report`
replay everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol, runtime_checkable

from safeselect.errors import LedgerDamaged
from safeselect.ledger.records.fields import read_record
from safeselect.ledger.records.lines import read_line
from safeselect.ledger.records.record import RECORD_DOMAIN, record_hash
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.store import Row

_HASH, _BODY = slice(9, 73), 84  # their places in a line
_SIGNATURE, _PREVIOUS = b',"signature":"', b'"previous":"'
_KEY = b'"kind":"key"'
_NONCE, _REQUEST, _OUTCOME = b'"nonce":"', b'"request":{"asked":', b'{"charge":"'

# How the records of scopes, limits and keys begin, and no others: their fields are sorted.
_CHANGES = (b'{"after":', b'{"approvals":', b'{"caps":')


@runtime_checkable
class Carrying(Protocol):
    """A journal that finds the last record of kind "carried"."""

    def to_carried(self) -> Iterator[tuple[int, bytes]] | None:
        """Return all lines up to that record, each with its place in the file; None without one."""


def skim(checker: Checker, lines: Iterator[tuple[int, bytes]]) -> Row:
    """Give a new checker the state that the last of these lines states; return its row.

    Raises:
        LedgerDamaged: they are not the lines that the record was written after.
        LedgerRolledBack: the published head is not among them.
    """
    at, line = next(lines)
    first = read_line(line, 0, at)
    checker.take(checker.read(first, verify=False))
    last, nonces, requests = checker.last.encode(), checker.nonces, checker.requests
    wanted, count = checker.heads.wanted, 0
    for count, (at, line) in enumerate(lines, 1):
        body = line[_BODY : line.rfind(_SIGNATURE)]
        stated = line[_HASH]
        if sha256(RECORD_DOMAIN + body).hexdigest().encode() != stated:
            raise LedgerDamaged(f"record {count} does not have the hash that is stated for it")
        # The last occurrence: parameters, which may have any name, come before it.
        place = body.rfind(_PREVIOUS) + len(_PREVIOUS)
        if body[place : place + 64] != last:
            raise LedgerDamaged(f"record {count} does not follow the record before it")
        last = stated
        if body.startswith(_CHANGES):
            if _KEY in body:
                _replace_key(checker, read_line(line, count, at))
            checker.changed = stated.decode()
        if count in wanted:
            checker.heads.check(count, stated.decode())
        place = body.find(_NONCE)
        if place >= 0:
            nonces.add(int(body[place + 9 : place + 41], 16))
            if _REQUEST in body:
                requests.skim(count, json.loads(body))
        elif requests.found and body.startswith(_OUTCOME):
            requests.skim(count, json.loads(body))
    row = read_line(line, count, at)
    record = read_record(row.body, f"record {count}")
    if record_hash(row.body) != row.hash or record["kind"] != "carried":
        raise LedgerDamaged(f"record {count} carries nothing over")
    checker.adopt(row, record)
    return row


def _replace_key(checker: Checker, row: Row) -> None:
    """Take in a record of another key; its hash and its place are checked already."""
    where = f"record {row.seq}"
    record = read_record(row.body, where)
    if record["kind"] == "key":
        checker.keys.check_next(row, record, checker.approvers, checker.changed, where)
        checker.keys.take(record["signer"])

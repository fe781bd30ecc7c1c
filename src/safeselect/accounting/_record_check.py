"""Checks a ledger's records one after the other, from the first: is this what a ledger writes?

An edit, a reordering, an insertion and a deletion break the chain of hashes; a log cut at its end
is whole in itself, and is found only with a head that was published before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from safeselect.accounting._ledger_budget import Amounts, Budget, add
from safeselect.accounting._ledger_store import Row
from safeselect.accounting._record_sign import Verifier, key_of, signed_message
from safeselect.accounting.record import SCHEMA, START, parse, read_numbers, record_hash
from safeselect.errors import LedgerError, ParameterError

__all__ = ["Checker", "Standing", "filed", "head_of", "read_record"]

_COMMON = {"schema", "kind", "ledger", "seq", "previous"}
_KINDS = {
    "created": {"utc", "library", "signer"},
    "scope": {"utc", "scope", "terms"},
    "charged": {
        *("utc", "library", "scope", "terms", "purpose", "mechanism", "guarantee", "parts"),
        *("parameters", "budget", "source", "nonce"),
    },
    "released": {"charge", "commitment"},
    "aborted": {"charge", "reason"},
    "settled": {"charge", "commitment", "spent"},
}
_OUTCOMES = ("released", "aborted", "settled")
_LISTS = {"parts"}
_OBJECTS = {"library", "signer", "terms", "guarantee", "parameters", "budget", "source", "spent"}
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_SIGNATURE = re.compile(r"([0-9a-f]{2})+", re.ASCII)


def head_of(seq: int, hash_: str) -> str:
    """What to publish of a ledger: the place and the hash of its last record."""
    return f"{seq}:{hash_}"


def _read_head(head: object) -> tuple[int, str] | None:
    if head is None:
        return None
    match = _HEAD.fullmatch(head) if isinstance(head, str) else None
    if match is None:
        raise ParameterError("head must be a text such as '12:9f86d0…', as the ledger gave it")
    return int(match.group(1)), match.group(2)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a scope stands.

    Attributes:
        budget: its terms.
        spent: what was charged in all.
    """

    budget: Budget
    spent: Amounts

    @property
    def left(self) -> Amounts:
        """What may still be charged."""
        return {name: cap - self.spent[name] for name, cap in self.budget.caps.items()}

    @classmethod
    def after(cls, record: dict[str, Any], where: str) -> Standing:
        """What a record of a scope or of a charge states, checked by its own sum and cap.

        Raises:
            LedgerError: before and charge do not add up to after, the charge is not positive, or a
                cap is exceeded.
        """
        budget = Budget.of(record["terms"])
        caps = budget.caps
        if record["kind"] == "scope":
            return cls(budget, dict.fromkeys(caps, Fraction(0)))
        if record["budget"].keys() != {"before", "charge", "after"}:
            raise LedgerError(f"{where} has not the amounts of a charge")
        before, charge, after = (
            read_numbers(record["budget"][name], where) for name in ("before", "charge", "after")
        )
        if not caps.keys() == before.keys() == charge.keys() or after != add(before, charge):
            raise LedgerError(f"{where} does not add up")
        if not any(charge.values()) or any(after[name] > cap for name, cap in caps.items()):
            raise LedgerError(f"{where} is no charge that its budget allows")
        return cls(budget, after)


@dataclass(slots=True)
class Checker:
    """What the records seen so far say; `check` takes the next one.

    Attributes:
        verifier: checks signatures; without it those of a signed ledger are not checked.
        published: a head that must lie among the records.
        ledger: identity of the ledger.
        count: how many records there were.
        last: hash of the last one.
        signer: algorithm and name of the key; empty for a ledger without signatures.
        scopes: where each scope stands.
    """

    verifier: Verifier | None = None
    published: str | None = None
    ledger: str = ""
    count: int = 0
    last: str = START
    signer: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, Standing] = field(default_factory=dict)
    _nonces: set[str] = field(default_factory=set)
    _reserved: dict[str, dict[str, Any]] = field(default_factory=dict)
    _wanted: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self._wanted = _read_head(self.published)

    @property
    def pending(self) -> set[str]:
        """Places of charges without an outcome: their calls run still, or died.  They stand."""
        return set(self._reserved)

    @property
    def head(self) -> str:
        """What to publish: the place and the hash of the last record."""
        return head_of(self.count - 1, self.last)

    def check(self, body: str, hash_: str, signature: str) -> dict[str, Any]:
        """Check the next record and return its content.

        Raises:
            LedgerError: it is not what a ledger would have written here.
        """
        where = f"record {self.count}"
        record = read_record(body, where)
        if record_hash(body) != hash_:
            raise LedgerError(f"{where} does not have the hash that is stated for it")
        if record["seq"] != str(self.count) or record["previous"] != self.last:
            raise LedgerError(f"{where} does not follow the record before it")
        if (record["kind"] == "created") != (self.count == 0):
            raise LedgerError(f"{where} is of a kind that does not belong at this place")
        if self.count == 0:
            self.ledger, self.signer = record["ledger"], record["signer"]
            self._check_key()
        if record["ledger"] != self.ledger:
            raise LedgerError(f"{where} belongs to another ledger")
        self._check_signature(hash_, signature, where)
        self._follow(record, where)
        if self._wanted is not None and self._wanted[0] == self.count and self._wanted[1] != hash_:
            raise LedgerError(f"{where} is another one than the published head says")
        self.count, self.last = self.count + 1, hash_
        return record

    def finish(self) -> None:
        """Check that nothing is missing at the end, as far as anybody can know.

        Raises:
            LedgerError: there is no record, or not the one that the published head names.
        """
        if not self.count:
            raise LedgerError("there is no record; every ledger has at least one")
        if self._wanted is not None and self._wanted[0] >= self.count:
            raise LedgerError(
                f"the records end at {self.count - 1}, before the published head: the end was cut"
            )

    def _check_key(self) -> None:
        other = self.verifier
        if other is not None and self.signer != key_of(other):
            raise LedgerError("the ledger is not signed with the key that is to verify it")

    def _check_signature(self, hash_: str, signature: str, where: str) -> None:
        if not self.signer:
            if signature:
                raise LedgerError(f"{where} is signed, in a ledger without signatures")
        elif not _SIGNATURE.fullmatch(signature):
            raise LedgerError(f"{where} has no signature")
        elif self.verifier is not None and not self.verifier.verify(
            signed_message(hash_), bytes.fromhex(signature)
        ):
            raise LedgerError(f"the signature of {where} is wrong")

    def _follow(self, record: dict[str, Any], where: str) -> None:
        if record["kind"] == "scope":
            if record["scope"] in self.scopes:
                raise LedgerError(f"{where} opens a scope that is open already")
            self.scopes[record["scope"]] = Standing.after(record, where)
        elif record["kind"] == "charged":
            standing, now = self.scopes.get(record["scope"]), Standing.after(record, where)
            before = read_numbers(record["budget"]["before"], where)
            if standing is None or (now.budget, before) != (standing.budget, standing.spent):
                raise LedgerError(f"{where} does not continue the running total of its scope")
            if record["nonce"] in self._nonces:
                raise LedgerError(f"{where} repeats a nonce")
            self._nonces.add(record["nonce"])
            self.scopes[record["scope"]] = now
            self._reserved[record["seq"]] = record["parameters"]
        elif record["kind"] != "created":
            if record["charge"] not in self._reserved:
                raise LedgerError(f"{where} tells the outcome of a charge that awaits none")
            reserved = self._reserved.pop(record["charge"])
            if record["kind"] == "settled":
                _check_spent(record["spent"], reserved, where)


def _check_spent(spent: Mapping[str, Any], reserved: Mapping[str, Any], where: str) -> None:
    """What a session used is counted, and no more than its charge says there was."""
    used = read_numbers(spent, where)
    there = read_numbers({name: reserved.get(name) for name in spent}, where)
    if not used or any(n.denominator != 1 or n > there[name] for name, n in used.items()):
        raise LedgerError(f"{where} does not tell what was used of what was reserved")


def filed(record: Mapping[str, Any], body: str, hash_: str, signature: str) -> Row:
    """The row of a record, filed under what the record says of itself."""
    total_of = record["scope"] if record["kind"] in ("scope", "charged") else None
    settles = int(record["charge"]) if record["kind"] in _OUTCOMES else None
    return Row(int(record["seq"]), body, hash_, signature, total_of, record.get("nonce"), settles)


def read_record(body: str, where: str) -> dict[str, Any]:
    """Read a record: canonical, with the fields of its kind, each of its type.

    Raises:
        LedgerError: it is something else.
    """
    record = parse(body, where)
    kind = record.get("kind")
    if record.get("schema") != SCHEMA or not isinstance(kind, str) or kind not in _KINDS:
        raise LedgerError(f"{where} is not of schema {SCHEMA}")
    kinds = {name: list if name in _LISTS else dict if name in _OBJECTS else str for name in record}
    if record.keys() != _COMMON | _KINDS[kind] or not all(
        isinstance(record[name], kinds[name]) for name in record
    ):
        raise LedgerError(f"{where} has not the fields of its kind")
    return record

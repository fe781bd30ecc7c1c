"""Replays a ledger's records one after the other, from the first: what follows from them?

Whatever a process knows of a ledger it knows from here: each record is checked before anything
follows from it.  An edit, a reordering, an insertion and a deletion break the chain of hashes; a
log cut at its end is whole in itself, and is found only with a head that was published before.

`Checker.read` judges a record and changes nothing; `Checker.take` takes over what follows from it.
So the writer asks about its own record before it writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from safeselect.errors import LedgerDamaged, LedgerRolledBack
from safeselect.ledger._ledger_store import Row
from safeselect.ledger._record_check import (
    OUTCOMES,
    Fields,
    charges_of,
    head_of,
    read_head,
    read_record,
)
from safeselect.ledger._record_reading import Open, Reading, check_spent, read_open
from safeselect.ledger._record_scope import Standing, charged, refused, reopened
from safeselect.ledger._record_sign import Verifier, is_key, signed_message
from safeselect.ledger.record import START, record_hash

__all__ = ["Checker"]

_SIGNATURE = re.compile(r"([0-9a-f]{2})+", re.ASCII)


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
        torn: how many records tell of bytes that were cut off, of those replayed.
        carried_at: how many records there were when all was last carried over.
        unfinished: bytes behind the last whole record, where a file was read.
        nonces: of all charges.
        requests: identities of all requests that were charged.
        wanted: place and hash of the published head.
    """

    verifier: Verifier | None = None
    published: str | None = None
    ledger: str = ""
    count: int = 0
    last: str = START
    signer: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, Standing] = field(default_factory=dict)
    torn: int = 0
    carried_at: int = 0
    unfinished: int = 0
    nonces: set[int] = field(default_factory=set)
    requests: set[str] = field(default_factory=set)
    _open: dict[int, Open] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Open] = field(default_factory=dict)
    wanted: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self.wanted = read_head(self.published)

    @property
    def pending(self) -> set[str]:
        """Places of charges without an outcome: their calls run still, or died.  They stand."""
        return {str(seq) for seq in self._open}

    @property
    def head(self) -> str:
        """What to publish: the place and the hash of the last record."""
        return head_of(self.count - 1, self.last)

    def has_nonce(self, nonce: bytes) -> bool:
        """Whether a charge had this nonce."""
        return int.from_bytes(nonce, "big") in self.nonces

    def awaits(self, charge: int) -> Open | None:
        """The charge of this place, if it has no outcome yet."""
        return self._open.get(charge)

    def check(self, body: str, hash_: str, signature: str) -> Fields:
        """Check the next record, take it over and return its content.

        Raises:
            LedgerDamaged: it is not what a ledger would have written here.
            LedgerRolledBack: it is another one than the published head says.
        """
        reading = self.read(Row(self.count, body, hash_, signature))
        self.take(reading)
        return reading.record

    def read(self, row: Row, *, verify: bool = True) -> Reading:
        """Judge the next record, and change nothing.

        Args:
            verify: whether to check its signature; that of a later record covers it too.

        Raises:
            LedgerDamaged, LedgerRolledBack: as `check` does.
        """
        where = f"record {self.count}"
        record = read_record(row.body, where)
        if record_hash(row.body) != row.hash:
            raise LedgerDamaged(f"{where} does not have the hash that is stated for it")
        if record["seq"] != str(self.count) or record["previous"] != self.last:
            raise LedgerDamaged(f"{where} does not follow the record before it")
        if (record["kind"] == "created") != (self.count == 0):
            raise LedgerDamaged(f"{where} is of a kind that does not belong at this place")
        if self.count == 0:
            self._check_first(record, where)
        elif record["ledger"] != self.ledger:
            raise LedgerDamaged(f"{where} belongs to another ledger")
        signer = record["signer"] if self.count == 0 else self.signer
        self._check_signature(row, signer, self.verifier if verify else None)
        self.check_wanted(self.count, row.hash)
        return self._follow(row, record, where)

    def take(self, reading: Reading) -> None:
        """Take over what follows from the record that `read` has just judged."""
        if self.count == 0:
            self.ledger, self.signer = reading.record["ledger"], reading.record["signer"]
        self.scopes |= reading.scopes
        if reading.nonce is not None:
            self.nonces.add(reading.nonce)
        if reading.request is not None:
            self.requests.add(reading.request)
        if reading.opens is not None:
            self._open[self.count] = reading.opens
        if reading.closes is not None:
            del self._open[reading.closes]
        self.torn += reading.record["kind"] == "torn"
        if reading.record["kind"] == "carried":
            self.carried_at = self.count + 1
        self.count, self.last = self.count + 1, reading.row.hash

    def check_wanted(self, seq: int, hash_: str) -> None:
        """Compare a record with the published head, if that names its place.

        Raises:
            LedgerRolledBack: it is another one.
        """
        if self.wanted is not None and self.wanted[0] == seq and self.wanted[1] != hash_:
            raise LedgerRolledBack(f"record {seq} is another one than the published head says")

    def verify(self, row: Row) -> None:
        """Check the signature of a row that `read` has judged without it.

        Raises:
            LedgerDamaged: it is wrong.
        """
        self._check_signature(row, self.signer, self.verifier)

    def finish(self) -> None:
        """Check that nothing is missing at the end, as far as anybody can know.

        Raises:
            LedgerDamaged: there is no record.
            LedgerRolledBack: not the one that the published head names.
        """
        if not self.count:
            raise LedgerDamaged("there is no record; every ledger has at least one")
        if self.wanted is not None and self.wanted[0] >= self.count:
            raise LedgerRolledBack(
                f"the records end at {self.count - 1}, before the published head: the end was cut"
            )

    def carried(self) -> Fields:
        """All that follows from the records so far, as a record of kind "carried" states it."""
        nonces = b"".join(nonce.to_bytes(16, "big") for nonce in sorted(self.nonces))
        requests = "\n".join(sorted(self.requests)).encode()
        return {
            "scopes": {name: standing.told() for name, standing in self.scopes.items()},
            "open": {
                str(seq): {"scopes": [*charge.scopes], "parameters": dict(charge.parameters)}
                for seq, charge in self._open.items()
            },
            "nonces": sha256(nonces).hexdigest(),
            "requests": sha256(requests).hexdigest(),
        }

    def adopt(self, row: Row, record: Fields) -> None:
        """Take over what a record of kind "carried" states, whose nonces and requests are known.

        Raises:
            LedgerDamaged: they are others than it speaks of, or it states nothing that can be.
        """
        where = f"record {row.seq}"
        hashes = self.carried()
        if any(record[name] != hashes[name] for name in ("nonces", "requests")):
            raise LedgerDamaged(f"{where} speaks of other charges than those before it")
        if (record["seq"], record["ledger"]) != (str(row.seq), self.ledger):
            raise LedgerDamaged(f"{where} is of another place")
        self.scopes = {
            name: Standing.carried(content, where) for name, content in record["scopes"].items()
        }
        self._open = {int(seq): read_open(open_, where) for seq, open_ in record["open"].items()}
        self.count, self.last, self.carried_at = row.seq + 1, row.hash, row.seq + 1

    def _check_first(self, record: Fields, where: str) -> None:
        signer = record["signer"]
        if not all(isinstance(value, str) for value in signer.values()) or (
            signer and not signer.keys() >= {"algorithm", "key_id"}
        ):
            raise LedgerDamaged(f"{where} names no key")
        if self.verifier is not None and not is_key(self.verifier, signer):
            raise LedgerDamaged("the ledger is not signed with the key that is to verify it")

    def _check_signature(
        self, row: Row, signer: Mapping[str, str], verifier: Verifier | None
    ) -> None:
        where = f"record {row.seq}"
        if not signer:
            if row.signature:
                raise LedgerDamaged(f"{where} is signed, in a ledger without signatures")
        elif not _SIGNATURE.fullmatch(row.signature):
            raise LedgerDamaged(f"{where} has no signature")
        elif verifier is not None and not verifier.verify(
            signed_message(row.hash), bytes.fromhex(row.signature)
        ):
            raise LedgerDamaged(f"the signature of {where} is wrong")

    def _follow(self, row: Row, record: Fields, where: str) -> Reading:
        kind = record["kind"]
        if kind == "charged":
            return self._charged(row, record, where)
        if kind in OUTCOMES:
            return self._outcome(row, record, where)
        if kind == "scope":
            if record["scope"] in self.scopes:
                raise LedgerDamaged(f"{where} opens a scope that is open already")
            return Reading(row, record, {record["scope"]: Standing.opened(record, where)})
        if kind == "raised":
            return Reading(row, record, reopened(self.scopes, record, where))
        if kind == "carried" and any(
            record[name] != value for name, value in self.carried().items()
        ):
            raise LedgerDamaged(f"{where} does not state what follows from the records before it")
        return Reading(row, record)

    def _charged(self, row: Row, record: Fields, where: str) -> Reading:
        nonce, request = int(record["nonce"], 16), record.get("request", {}).get("id")
        if nonce in self.nonces:
            raise LedgerDamaged(f"{where} repeats a nonce")
        if request in self.requests:
            raise LedgerDamaged(f"{where} repeats a request")
        scopes: dict[str, Standing] = {}
        for charge in charges_of(record):
            if charge["scope"] in scopes:
                raise LedgerDamaged(f"{where} charges a scope twice")
            scopes[charge["scope"]] = charged(self.scopes.get(charge["scope"]), charge, where)
        parameters = record["parameters"]
        if not all(isinstance(value, str) for value in parameters.values()):
            raise LedgerDamaged(f"{where} has a parameter that is no text")
        # Charges of one kind share what is kept of them while they wait.
        key = (*scopes, *parameters.items())
        waits = self._known.get(key)
        if waits is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            waits = self._known[key] = Open(tuple(scopes), parameters)
        return Reading(row, record, scopes, nonce, request, waits)

    def _outcome(self, row: Row, record: Fields, where: str) -> Reading:
        # A text that is no number of the usual spelling is the place of nothing.
        seq = int(record["charge"]) if _PLACE.fullmatch(record["charge"]) else -1
        charge = self._open.get(seq)
        if charge is None:
            raise LedgerDamaged(f"{where} tells the outcome of a charge that awaits none")
        scopes: dict[str, Standing] = {}
        if record["kind"] == "settled":
            check_spent(record["spent"], charge.parameters, where)
        elif record["kind"] == "aborted" and record["reason"] == "input":
            scopes = {name: refused(self.scopes[name]) for name in charge.scopes}
        elif record["kind"] == "released" and any(
            self.scopes[name].is_closed for name in charge.scopes
        ):
            raise LedgerDamaged(f"{where} releases an answer from a scope that was closed")
        return Reading(row, record, scopes, closes=seq)


_KNOWN = 256  # kinds of charges whose parameters are kept once
_PLACE = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)

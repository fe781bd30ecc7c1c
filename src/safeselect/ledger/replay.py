"""Replays a ledger's records one after the other, from the first.

A process learns about a ledger only here: each record is checked before it has any effect.  An
edit, a reordering, an insertion and a deletion break the chain of hashes.  A log that was cut at
its end is consistent in itself; only a head that was published before reveals the cut.

`Checker.read` judges a record and changes nothing; `Checker.take` applies it.  So a writer can have
its own record judged before it writes it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

from safeselect.errors import LedgerDamaged, LedgerRolledBack, ParameterError
from safeselect.ledger.balance import Balance, Budget, charged, names_of, opened, raised, refused
from safeselect.ledger.record import (
    OUTCOMES,
    START,
    Clock,
    Fields,
    canonical,
    head_of,
    log_line,
    read_head,
    read_numbers,
    read_row,
    read_time,
)
from safeselect.ledger.signing import (
    Approvers,
    check_approved,
    check_signature,
    check_signer,
    handover_message,
    is_signed,
    read_public_keys,
)
from safeselect.ledger.store import Row
from safeselect.release.page import did_you_mean


@dataclass(frozen=True, slots=True)
class Open:
    """A charge that has no outcome yet: its scopes, parameters, and its request."""

    scopes: tuple[str, ...]
    parameters: Mapping[str, str]
    request: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read.

    Attributes:
        content: its fields.
        hash: its hash.
        signature: hexadecimal, or empty.
        library: what ran at this place, as the last record says that states it.
        budgets: the budgets of the scopes that it changes, by name.
    """

    content: Fields
    hash: str
    signature: str
    library: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[str, Budget] = field(default_factory=dict)


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of an exported log, each with its newline."""
    for each in records:
        yield log_line(canonical(each.content), each.hash, each.signature).decode("ascii")


@dataclass(slots=True)
class Reading:
    """A correct record, and what follows from it.

    Attributes:
        row: the record as it is stored.
        record: its content.
        scopes: the new balances of the scopes that it changes.
        nonce: the nonce of a charge.
        request: the two hashes of the request that was charged, if it had one.
        opens: a charge that awaits its outcome.
        closes: the place of the charge whose outcome this record states.
        is_signed: whether its signature is right, as far as it was checked.
    """

    row: Row
    record: Fields
    scopes: Mapping[str, Balance] = field(default_factory=dict)
    nonce: int | None = None
    request: tuple[str, str] | None = None
    opens: Open | None = None
    closes: str | None = None
    is_signed: bool = True

    @property
    def keys(self) -> set[object]:
        """What no two charges and outcomes share; empty for a record that changes more."""
        if self.record["kind"] not in ("charged", *OUTCOMES):
            return set()
        used: list[object] = [self.nonce, self.closes, *(self.request or ())[:1]]
        return {*used} - {None}

    def fits(self, checker: Checker) -> bool:
        """Whether it shares nothing with records that `Checker.after` has added."""
        return not checker.used or bool(self.keys and self.keys.isdisjoint(checker.used))


def check_spent(spent: Fields, reserved: Mapping[str, str], where: str) -> None:
    """Check that a session used counted amounts, and no more than its charge reserved."""
    used = read_numbers(spent, where)
    there = read_numbers({name: reserved.get(name) for name in spent}, where)
    if not used or any(n.denominator != 1 or n > there[name] for name, n in used.items()):
        raise LedgerDamaged(f"{where} must state used amounts as integers, up to those reserved")


Outcome = Literal["released", "settled", "aborted"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a ledger has recorded about a request: its charge and its outcome.

    Attributes:
        charge: position of the record of the charge.
        asked: hash of the question.
        outcome: "released", "settled" or "aborted"; None if the call is still running or its
            process ended.
        record: position of the record of the outcome.
        commitment: commitment to the output in a released record.
    """

    charge: int
    asked: str
    outcome: Outcome | None = None
    record: int | None = None
    commitment: str = ""


@dataclass(slots=True)
class Keys:
    """The keys of a ledger so far.

    Attributes:
        pinned: public keys that somebody trusts: one of the ledger's keys must be among them, and
            if they are several, all of its keys.  Without any, signatures of records are not
            verified.
        signer: what the records state of the key in force; empty in a ledger without signatures.
        used: all public keys so far.
    """

    pinned: frozenset[str] = frozenset()
    signer: dict[str, str] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    def check_first(self, row: Row, signer: Mapping[str, str], where: str) -> None:
        """Check what the first record states of the key, and its signature.

        The approvers that it names may replace a lost key, so no later signature stands for this.

        Raises:
            LedgerDamaged: it names no key, or there is a signature and no key.
        """
        if signer:
            check_signer(signer, where)
            self._check_pinned(signer["public_key"], where)
        elif self.pinned:
            raise LedgerDamaged(_NOT_FOUND)
        check_signature(row, signer, verify=bool(self.pinned))

    def check(self, row: Row, *, verify: bool = True) -> None:
        """Check the signature of a record by the key in force.

        Raises:
            LedgerDamaged: it is wrong, missing, or there although nobody signs.
        """
        check_signature(row, self.signer, verify=verify and bool(self.pinned))

    def check_next(
        self, row: Row, record: Fields, approvers: Approvers | None, since: str, where: str
    ) -> None:
        """Check a record that replaces the key.

        Args:
            since: the hash of the last change that could be approved.

        Raises:
            LedgerDamaged: it names no new key, or neither the key before it nor enough approvers
                signed it.
        """
        signer, handover, approvals = record["signer"], record["handover"], record["approvals"]
        check_signer(signer, where)
        public = signer["public_key"]
        if record["replaces"] != self.signer.get("public_key"):
            raise LedgerDamaged(f"{where} does not replace the current key")
        if public in self.used:
            raise LedgerDamaged(f"{where} names a key that has already signed records")
        if approvers is not None and public in approvers.keys:
            raise LedgerDamaged(f"{where} lets an approver's key sign records")
        self._check_pinned(public, where)
        if approvals:
            if handover or approvers is None:
                raise LedgerDamaged(
                    f"{where} has both approvals and a handover, or the ledger has no approvers"
                )
            approvers.check(record, since, approvals, row.seq, where)
        elif not is_signed(self.signer["public_key"], handover_message(record), handover):
            raise LedgerDamaged(f"{where} is not signed by the key that it replaces")
        check_signature(row, signer, verify=True)

    def take(self, signer: dict[str, str]) -> None:
        """Take in the next key, after its record was checked."""
        self.signer = signer
        if signer:
            self.used.append(signer["public_key"])

    def finish(self) -> None:
        """Check at the end that one of the keys was pinned, if any were.

        Raises:
            LedgerDamaged: none was.
        """
        if self.pinned and self.pinned.isdisjoint(self.used):
            raise LedgerDamaged(_NOT_FOUND)

    def _check_pinned(self, public: str, where: str) -> None:
        if len(self.pinned) > 1 and public not in self.pinned:
            raise LedgerDamaged(f"{where} names a key that is not among the accepted keys")


_NOT_FOUND = "the ledger is not signed with the given key"
_NOTHING = Open((), {})


@dataclass(slots=True)
class Checker:
    """The state that follows from the records so far; `check` takes the next one.

    Attributes:
        public_keys: keys of Ed25519: with any, signatures are verified, one of the ledger's keys
            must be among them, and if they are several, all of its keys.
        published: a head that must be among the records.
        ledger: identity of the ledger.
        clock: how finely its records state the time.
        library: what runs, as the records say.
        count: the number of records so far.
        last: hash of the last record.
        scopes: the balance of each scope.
        taken: the names that no new scope may have: of scopes, and of blocks together.
        torn: the number of replayed records that report bytes cut off.
        unfinished: the number of bytes after the last whole record, if a file was read.
        nonces: the nonces of all charges.
        requests: all requests that were charged, by their hash.
        wanted: hashes of published heads that are still to be found, by place.
        approvers: who approves new scopes and raised limits, if anybody.
        changed: hash of the last record of a scope, a limit or a key, or of the first record.
        unsigned: places of charges and outcomes whose wrong signature nobody has set aside.
        aside: places of those that were set aside.
        used: what the records that `after` has added share with no other one.
        keys: the key that signs, and those before it.
    """

    public_keys: Collection[bytes] = ()
    published: str | None = None
    ledger: str = ""
    clock: Clock = "day"
    library: dict[str, str] = field(default_factory=dict)
    count: int = 0
    last: str = START
    scopes: MutableMapping[str, Balance] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    torn: int = 0
    unfinished: int = 0
    nonces: set[int] = field(default_factory=set)
    requests: dict[str, Request] = field(default_factory=dict)
    _open: dict[str, Open] = field(default_factory=dict)  # by place, as records spell it
    _like: Open = _NOTHING
    wanted: dict[int, str] = field(default_factory=dict)
    approvers: Approvers | None = None
    changed: str = ""
    unsigned: set[int] = field(default_factory=set)
    aside: set[int] = field(default_factory=set)
    used: frozenset[object] = frozenset()
    keys: Keys = field(init=False)

    def __post_init__(self) -> None:
        self.want(self.published)
        self.keys = Keys(read_public_keys(self.public_keys))

    @property
    def signer(self) -> dict[str, str]:
        """Algorithm and name of the key in force; empty for a ledger without signatures."""
        return self.keys.signer

    def want(self, head: str | None) -> None:
        """Take in a head that was published, of a record to come.

        Raises:
            LedgerRolledBack: another head with its place is awaited already.
        """
        found = read_head(head)
        if found is not None and self.wanted.setdefault(*found) != found[1]:
            raise LedgerRolledBack(f"two different heads are known for record {found[0]}")

    @property
    def pending(self) -> set[str]:
        """Places of charges without an outcome: their calls still run, or died.  They stand."""
        return set(self._open)

    @property
    def head(self) -> str:
        """The head, for publication: place and hash of the last record."""
        return head_of(self.count - 1, self.last)

    def balance(self, scope: str) -> Balance:
        """Return the balance of a scope.

        Raises:
            ParameterError: there is no such scope.
        """
        balance = self.scopes.get(scope)
        if balance is not None:
            return balance
        for name in self.scopes:
            if name.startswith(f"{scope}/"):
                raise ParameterError(
                    f"scope {scope!r} has a budget for each block or month; name each block or "
                    f"month that the release reads, such as {name!r}, and join several with &"
                )
        also = did_you_mean(scope, self.scopes)
        raise ParameterError(f"this ledger has no scope {scope!r}{also}")

    def clash(self, name: str, budget: Budget) -> str | None:
        """Return a scope whose name forbids that of a new one: one has it, or seems a block."""
        new, parts = {name, *names_of(name, budget)}, name.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))} - self.scopes.keys()
        below = {each for each in self.taken if budget.blocks and each.startswith(f"{name}/")}
        return min(self.taken & new or self.taken & above or below, default=None)

    def awaits(self, charge: int) -> Open | None:
        """Return the charge at this place, if it has no outcome yet."""
        return self._open.get(str(charge))

    def request_of(self, charge: int) -> Request | None:
        """Return the request of the charge at this place, if it had one."""
        return next((each for each in self.requests.values() if each.charge == charge), None)

    def check(self, body: str, hash_: str, signature: str) -> Record:
        """Check the next record, apply it and return it.

        Raises:
            LedgerDamaged: it is not a record that a ledger would have written here.
            LedgerRolledBack: the published head names another record here.
        """
        reading = self.read(Row(self.count, body, hash_, signature))
        self.take(reading)
        budgets = {name: balance.budget for name, balance in reading.scopes.items()}
        return Record(reading.record, hash_, signature, self.library, budgets)

    def read(self, row: Row, *, verify: bool = True, is_ours: bool = False) -> Reading:
        """Judge the next record, and change nothing.

        Args:
            verify: whether to check its signature, if a later record's signature covers it too.
            is_ours: whether `spell` has just made its body and hash.

        Raises:
            LedgerDamaged, LedgerRolledBack: as `check` does.
        """
        where, is_signed = f"record {self.count}", True
        record = read_row(row, where, is_ours=is_ours)
        if record["seq"] != str(self.count) or record["previous"] != self.last:
            raise LedgerDamaged(f"{where} does not follow the previous record")
        if (record["kind"] == "created") != (self.count == 0):
            raise LedgerDamaged(f"{where} is of a kind that is not allowed at this position")
        if self.count == 0:
            self.keys.check_first(row, record["signer"], where)
            if "approvers" in record:
                Approvers.of(record["approvers"], record["signer"])
        elif record["ledger"] != self.ledger:
            raise LedgerDamaged(f"{where} belongs to another ledger")
        elif record["kind"] == "key":
            self.keys.check_next(row, record, self.approvers, self.changed, where)
        elif row.signature or self.keys.signer:
            try:
                self.keys.check(row, verify=verify)
            except LedgerDamaged:
                # A server has no keys, so whoever may charge can write these.
                is_signed = record["kind"] not in ("charged", *OUTCOMES)
                if is_signed:
                    raise
        if "utc" in record:
            self._check_time(record, where)
        if self.wanted.get(self.count, row.hash) != row.hash:
            raise LedgerRolledBack(f"{where} differs from the published head")
        reading = self._follow(row, record, where)
        reading.is_signed = is_signed
        return reading

    def take(self, reading: Reading) -> None:
        """Apply the record that `read` has just judged."""
        if self.count == 0:
            self.ledger = reading.record["ledger"]
            self.clock = reading.record.get("clock", "day")
            if "approvers" in reading.record:
                self.approvers = Approvers.of(reading.record["approvers"], reading.record["signer"])
        if "library" in reading.record:
            self.library = reading.record["library"]
        self.scopes.update(reading.scopes)
        if reading.record["kind"] == "scope":
            self.taken |= {reading.record["scope"], *reading.scopes}
        if reading.nonce is not None:
            self.nonces.add(reading.nonce)
        if reading.request is not None:
            id_, asked = reading.request
            self.requests[id_] = Request(self.count, asked)
        if reading.opens is not None:
            self._open[reading.record["seq"]] = reading.opens
            self._like = replace(reading.opens, request="")
        if reading.closes is not None:
            id_ = self._open.pop(reading.closes).request
            if id_:
                self.requests[id_] = replace(
                    self.requests[id_],
                    outcome=reading.record["kind"],
                    record=self.count,
                    commitment=reading.record.get("commitment", ""),
                )
        if not reading.is_signed:
            self.unsigned.add(self.count)
        kind = reading.record["kind"]
        if kind == "repaired":
            first, last = int(reading.record["first"]), int(reading.record["last"])
            self.aside |= self.unsigned & {*range(first, min(last, self.count) + 1)}
            self.unsigned -= self.aside
        if kind in ("created", "key"):
            self.keys.take(reading.record["signer"])
        if kind in ("created", "scope", "raised", "key"):
            self.changed = reading.row.hash
        self.torn += kind == "torn"
        self.wanted.pop(self.count, None)
        self.count, self.last = self.count + 1, reading.row.hash

    def after(self, reading: Reading) -> Checker:
        """Return what judges the record after this one, if the two share none of `Reading.keys`."""
        ahead = copy(self)
        ahead.used = self.used | (reading.keys or {None})
        ahead.scopes = ChainMap({**reading.scopes}, *getattr(self.scopes, "maps", (self.scopes,)))
        ahead.library = reading.record.get("library", self.library)
        ahead.count, ahead.last = self.count + 1, reading.row.hash
        return ahead

    def finish(self) -> None:
        """Check that nothing is missing at the end, as far as the published head can show.

        Raises:
            LedgerDamaged: there is no record, or it is not signed with a key that is to verify it.
            LedgerRolledBack: the record that the published head names is missing.
        """
        if not self.count:
            raise LedgerDamaged("the ledger is empty, or its first line is incomplete")
        if self.unsigned:
            first = f"the signature of record {min(self.unsigned)} is wrong"
            raise LedgerDamaged(f"{first}: see safeselect.ledger.set_aside")
        self.keys.finish()
        if any(place >= self.count for place in self.wanted):
            raise LedgerRolledBack(
                f"the ledger ends at record {self.count - 1}, before the published head: either "
                "its last records were removed, or this is not a head of this ledger"
            )

    def _check_time(self, record: Fields, where: str) -> None:
        """Refuse a time that is none, or finer or coarser than the ledger says."""
        clock = record.get("clock", self.clock)
        found = read_time(record["utc"])
        if found is None or found[1] != clock:
            raise LedgerDamaged(f"{where} does not state its time to the {clock}")

    def _follow(self, row: Row, record: Fields, where: str) -> Reading:
        kind = record["kind"]
        if kind == "charged":
            return self._charged(row, record, where)
        if kind in OUTCOMES:
            return self._outcome(row, record, where)
        if kind in ("scope", "raised"):
            change = self.approvers, record, self.changed, self.count
            is_approved = check_approved(*change, where)
            if kind == "raised":
                changed = raised(self.scopes, record, where, is_approved=is_approved)
            else:
                changed = opened(record, where)
                if self.clash(record["scope"], next(iter(changed.values())).budget) is not None:
                    raise LedgerDamaged(f"{where} opens a scope whose name is already taken")
            return Reading(row, record, changed)
        return Reading(row, record)

    def _charged(self, row: Row, record: Fields, where: str) -> Reading:
        nonce, request = int(record["nonce"], 16), record.get("request")
        if nonce in self.nonces:
            raise LedgerDamaged(f"{where} repeats a nonce")
        if request and request["id"] in self.requests:
            raise LedgerDamaged(f"{where} repeats a request")
        scopes: dict[str, Balance] = {}
        for charge in record["charges"]:
            if charge["scope"] in scopes:
                raise LedgerDamaged(f"{where} charges a scope twice")
            scopes[charge["scope"]] = charged(self.scopes.get(charge["scope"]), charge, where)
        # Charges that repeat the one before share one object while they await their outcomes.
        parameters, waits = record["parameters"], self._like
        if parameters != waits.parameters or tuple(scopes) != waits.scopes:
            if not all(type(value) is str for value in parameters.values()):
                raise LedgerDamaged(f"{where} has a parameter that is not a string")
            waits = Open(tuple(scopes), parameters)
        if request:
            waits = replace(waits, request=request["id"])
        asked = (request["id"], request["asked"]) if request else None
        return Reading(row, record, scopes, nonce, asked, waits)

    def _outcome(self, row: Row, record: Fields, where: str) -> Reading:
        charge = self._open.get(record["charge"])
        if charge is None:
            raise LedgerDamaged(f"{where} states the outcome of a charge that awaits no outcome")
        scopes: dict[str, Balance] = {}
        if record["kind"] == "settled":
            check_spent(record["spent"], charge.parameters, where)
        elif record["kind"] == "aborted" and record["reason"] == "input":
            scopes = {name: refused(self.scopes[name]) for name in charge.scopes}
        elif record["kind"] == "released" and any(
            self.scopes[name].is_closed for name in charge.scopes
        ):
            raise LedgerDamaged(f"{where} releases an answer from a closed scope")
        return Reading(row, record, scopes, closes=record["charge"])

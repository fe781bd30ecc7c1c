"""The ledger: a privacy budget that outlives the process, and a record of every release.

A charge is on the disk before any noise is drawn.  It stands whatever happens later:
nothing is ever refunded.  Totals and caps are exact rationals.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import final, get_args

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer, read_choice
from safeselect.ledger.approvals import Proposals, add_scope, enact, reopen, rotate, unapproved
from safeselect.ledger.balance import MAX_REFUSALS, Balance, Budget, check_prices
from safeselect.ledger.book import Book, OnEvent
from safeselect.ledger.record import Clock, library, read_head, request_hash, text
from safeselect.ledger.replay import Checker, Record, Request
from safeselect.ledger.scope import SALT_BYTES, Scope, finish_request, scope_of
from safeselect.ledger.signing import (
    Proposal,
    Signer,
    key_of,
    read_approvers,
    read_public_keys,
    read_signer,
)
from safeselect.ledger.store import Store
from safeselect.ledger.stores.file import FileStore
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.ledger.witness import Witness, read_witness
from safeselect.promises.guarantees import Content
from safeselect.release.results import Receipt


def read_place(place: str | os.PathLike[str] | Store) -> Store:
    """Return the store of a place: a path, ":memory:" or a store.

    Raises:
        ParameterError: it is none of these.
    """
    if isinstance(place, Store) and not isinstance(place, type):
        return place
    if not isinstance(place, (str, os.PathLike)) or not isinstance(os.fspath(place), str):
        raise ParameterError(f"a ledger requires a path or a Store, got {describe(place)}")
    return MemoryStore() if os.fspath(place) == ":memory:" else FileStore(place)


def read_hook(hook: object) -> OnEvent | None:
    """Check an argument `on_event=`.

    Raises:
        ParameterError: it is not a function.
    """
    if hook is not None and not callable(hook):
        raise ParameterError(f"on_event must be a function, got {describe(hook)}")
    return hook


@final
class Ledger:
    """A durable record of releases and their costs, which enforces privacy budgets.

    Create a ledger with `Ledger.create`, and open it later with `Ledger.open`, which never creates
    one: a missing file is not a new budget. Threads, processes and forked children can use the same
    ledger at the same time. A ledger in memory belongs to its process.
    `LedgerError` means that the ledger cannot be used.
    """

    __slots__ = ("_book",)

    def __init__(self, book: Book) -> None:
        """Only `create` and `open` call this."""
        self._book = book

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str] | Store,
        budgets: Mapping[str, Budget],
        *,
        signer: Signer | None = None,
        max_refusals: int = MAX_REFUSALS,
        approvers: Iterable[bytes] = (),
        approvals_needed: int | None = None,
        clock: Clock = "day",
        witness: Witness | None = None,
        on_event: OnEvent | None = None,
    ) -> Ledger:
        """Create a ledger with the given budgets.

        Args:
            place: a path on a local disk where there is no file yet, ":memory:", or your own store.
            budgets: for each scope, such as a data set, the cap of all its releases together.
            signer: signs every record; every later writer needs the same key.
            max_refusals: a scope is closed after this number of calls, from 1 to 1000, that were
                charged and then refused because of their private input.
            approvers: public keys of the people who approve every later scope and every raised
                limit, each as a PEM file or 32 bytes.
            approvals_needed: number of approvers who must sign (default: all).
            clock: precision of the times in records and releases: "day", "hour" or "minute".
            witness: stores the newest head elsewhere, so that a rollback of the ledger is detected.
                If it also stores the lines, they can be added to an older copy.
            on_event: function that is called with an `Event` after each charge, refusal and
                outcome. An exception that it raises becomes a warning.

        Raises:
            ParameterError: a parameter is wrong.
            LedgerError: the place already exists, or cannot be written.
        """
        if not isinstance(budgets, Mapping):
            raise ParameterError(
                f"budgets must map the names of scopes to Budget objects, got {describe(budgets)}"
            )
        scopes = [add_scope(name, budget, max_refusals) for name, budget in budgets.items()]
        hook, key = read_hook(on_event), read_signer(signer)
        witnessed = read_witness(witness)
        people = read_approvers(approvers, approvals_needed, key, len(budgets))
        read_choice(clock, "clock", get_args(Clock))  # nothing finer: time may be private
        book = Book(store := read_place(place), key, witnessed, hook)
        about: dict[str, Content] = {"clock": clock, "library": {**library()}}
        about |= {"signer": {**key_of(key)}, "place": {**store.about()}}
        about |= {} if people is None else {"approvers": people.as_record()}
        book.make(os.urandom(16).hex(), [lambda _: ("created", about), *scopes])
        return cls(book)

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str] | Store,
        *,
        signer: Signer | None = None,
        public_keys: Collection[bytes] = (),
        head: str | None = None,
        witness: Witness | None = None,
        on_event: OnEvent | None = None,
    ) -> Ledger:
        """Open an existing ledger, and check all of its records.

        A `with` block closes it at the end.

        Args:
            place: the path or the store of the ledger.
            signer: required to write to a signed ledger.
            public_keys: keys that verify signatures, each as a PEM file or 32 bytes (default: the
                signer's key). A single key must be one of the ledger's keys; several keys must
                include all of them.
            head: a head that was published earlier. Without it, the removal of the last records
                is not detected.
            witness: as for `create`; a new witness requires `head` once.
            on_event: as for `create`.

        Raises:
            ParameterError: a parameter is wrong, or the signer is not the ledger's.
            LedgerDamaged: a record was edited, moved, inserted or removed.
            LedgerRolledBack: the published head is not among the records.
            LedgerError: there is no ledger, or it cannot be read.
        """
        read_head(head)
        read_public_keys(public_keys)
        hook, key = read_hook(on_event), read_signer(signer)
        book = Book(read_place(place), key, read_witness(witness), hook, public_keys)
        book.read(head)
        return cls(book)

    def close(self) -> None:
        """Close the store in which the records of the ledger are kept.

        Close sessions first, because closing a session writes a record.
        """
        self._book.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self._book.name!r}>"

    def _repr_html_(self) -> str:
        from safeselect.release.page import Section, as_part

        return as_part(Section(repr(self), self.scopes(), {})).text

    @property
    def id(self) -> str:
        """The ID of the ledger, as 32 hexadecimal digits."""
        return self._book.id

    @property
    def head(self) -> str:
        """The head of the ledger, that is, the position and the hash of its last record.

        Publish the head where nobody can change it.
        """
        return self._book.state(lambda checker: checker.head)

    def add_scope(self, name: str, budget: Budget, *, max_refusals: int = MAX_REFUSALS) -> None:
        """Add a scope to a ledger that has no approvers.

        Raises:
            ParameterError: a parameter is wrong, the scope exists, or approvers must sign.
        """
        self._book.write(unapproved(add_scope(name, budget, max_refusals)))

    def reopen(self, name: str, *, reason: str, refusals: int = MAX_REFUSALS) -> None:
        """Reopen a scope that was closed because of too many refusals.

        This method requires a ledger without approvers. In other ledgers, use `propose`.

        Every refusal reveals information about the data, which no budget bounds. Find the cause
        first.

        Args:
            name: the scope.
            reason: reason, one line for the records.
            refusals: number of further refusals that close it again, from 1 to 1000.

        Raises:
            ParameterError: a parameter is wrong, the scope is open, or approvers must sign.
        """
        self._book.write(unapproved(reopen(name, reason, refusals)))

    @property
    def propose(self) -> Proposals:
        """An object whose methods create proposals for approvers to sign."""
        return Proposals(self._book)

    def enact(self, proposal: Proposal, approvals: Iterable[Mapping[str, str]]) -> None:
        """Record a change that the required number of approvers have signed.

        Args:
            proposal: the proposal, or `Proposal(text)`.
            approvals: results of `safeselect.ledger.approve` from the approvers.

        Raises:
            ParameterError: there are too few signatures, limits have changed, or the proposal is
                about a key; use `rotate`.
        """
        enact(self._book, proposal, approvals)

    def rotate(self, key: Signer, approvals: Iterable[Mapping[str, str]] = ()) -> None:
        """Replace the key that signs the records of the ledger.

        Open the ledger with the old key as `signer=` first.

        Args:
            key: the new Ed25519 key.
            approvals: if the old key is lost, the approvals of a proposal of `propose.key`.

        Raises:
            ParameterError: the argument is not such a key, the key was used before, or neither the
                old key nor enough approvers have signed.
        """
        rotate(self._book, key, approvals)

    def scope(self, name: str, *, unit: str, neighbours: str, purpose: str) -> Scope:
        """Return a `Scope`, which you pass to mechanisms as `ledger=`.

        Args:
            name: the scope to charge.
            unit, neighbours: those for which you computed the `sensitivity`, in the words with
                which the scope was opened.
            purpose: purpose of the releases, one line for the records.

        Raises:
            ParameterError: there is no such scope, or it has another unit or other neighbours,
                whose costs cannot be added to these.
        """
        return scope_of(self._book, text(name, "scope"), unit, neighbours, purpose)

    def balance(self, name: str) -> Balance:
        """Return the balance of a scope.

        A balance has the budget, the amount spent and the amount left.

        Raises:
            ParameterError: there is no such scope.
        """
        asked = text(name, "scope")
        return self._book.state(lambda checker: checker.balance(asked))

    def scopes(self) -> dict[str, Balance]:
        """Return a dict that maps the name of each scope to its balance."""
        return self._book.state(lambda checker: dict(checker.scopes))

    def request(self, request: str) -> Request | None:
        """Return the charge and the outcome of a request, or None if nothing was charged for the
        request.

        Args:
            request: the request ID, as it was passed to `asked`.

        Returns:
            Request | None: None if nothing was charged for it.
        """
        id_ = request_hash(self.id, text(request, "request"))
        return self._book.state(lambda checker: checker.requests.get(id_))

    def finish(self, charge: int, salt: bytes, output: str) -> Receipt:
        """Record the release of an answer that an outbox has received.

        Show the answer only after this method returns.

        You can repeat this call in any process, because the ledger writes the outcome only once. If
        the answer was released before, this method returns the same receipt.

        Args:
            charge, salt, output: the values that the outbox received.

        Raises:
            ParameterError: there is no request with this charge.
            BudgetError: a scope was closed in the meantime; nothing is released.
            ChargeStands: the call was aborted, another answer was released, or the ledger cannot be
                used.
        """
        if not isinstance(salt, bytes) or len(salt) != SALT_BYTES:
            raise ParameterError(f"salt must be the {SALT_BYTES} bytes that the outbox received")
        place = integer(charge, "charge", minimum=0, maximum=2**63 - 1)
        return finish_request(self._book, place, output, salt)

    def records(self, checker: Checker | None = None) -> Iterator[Record]:
        """Check the records of the ledger one by one, oldest first, and yield each of them.

        Records that are written after the first read are left out.

        Args:
            checker: receives each record; afterwards it has the balances of the scopes and the
                head.

        Raises:
            LedgerError: the ledger cannot be used, or a record is not valid.
        """
        check = (checker or Checker()).check
        for _, body, hash_, signature, _ in self._book.rows():
            yield check(body, hash_, signature)

    def check(self, *, head: str | None = None, public_keys: Collection[bytes] = ()) -> Checker:
        """Check every record of the ledger, and return an object with the balance of every scope.

        The object is a `Checker`. Its `scopes` attribute has the balances.

        Args:
            head: a head that was published earlier. Without it, the removal of the last records
                is not detected.
            public_keys: keys that verify signatures (default: those with which it was opened).

        Raises:
            ParameterError: head does not have the form of a head.
            LedgerError: a record was edited, moved, inserted or removed, or charged less than its
                guarantee costs.
        """
        checker = Checker(public_keys or self._book.public_keys, head)
        check_prices((each.content, each.budgets) for each in self.records(checker))
        checker.finish()
        return checker

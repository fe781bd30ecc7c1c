"""The ledger: a privacy budget that outlives the process, and a record of every release.

A charge comes before the first random bit and is on the disk by then.  Whatever happens afterwards,
it stands: nothing is ever refunded.  Totals and caps are exact rationals.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import final

from safeselect._exact import describe
from safeselect.accounting._ledger_book import Book, Scope
from safeselect.accounting._ledger_budget import Budget
from safeselect.accounting._ledger_sqlite import SQLiteStore
from safeselect.accounting._ledger_store import Store
from safeselect.accounting._record_check import Checker, Standing, filed, head_of
from safeselect.accounting._record_sign import Signer, Verifier, read_signer
from safeselect.accounting.record import Record, text
from safeselect.errors import LedgerError, ParameterError

__all__ = ["Ledger"]

_BATCH = 500  # rows read in one transaction: a long look must not keep writers waiting


@final
class Ledger:
    """A durable budget, made with `Ledger.create` and found again with `Ledger.open`.

    The two are apart so that a file that is missing is never a fresh budget.  Threads and processes
    may use one ledger at once, a forked child too; but one in memory belongs to its process.
    """

    __slots__ = ("_book",)

    def __init__(self, book: Book) -> None:
        """For `create` and `open`."""
        self._book = book

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str] | Store,
        budgets: Mapping[str, Budget],
        *,
        signer: Signer | None = None,
    ) -> Ledger:
        """Make a new ledger.

        Args:
            place: a path where there is no file yet (not on a network file system, whose locks may
                not hold), ":memory:", or a store of your own.
            budgets: for each scope, a data set say, what all its releases may cost together.
            signer: signs every record; whoever writes to the ledger later needs the same key.

        Raises:
            ParameterError: a parameter is wrong.
            LedgerError: there is something at that place, or it cannot be written.
        """
        if not isinstance(budgets, Mapping):
            raise ParameterError(f"budgets must map names of scopes to Budget: {describe(budgets)}")
        for name, budget in budgets.items():
            _check_budget(name, budget)
        id_ = os.urandom(16).hex()
        return cls(Book.make(_store(place), read_signer(signer), id_, budgets))

    @classmethod
    def open(cls, place: str | os.PathLike[str] | Store, *, signer: Signer | None = None) -> Ledger:
        """Open a ledger that exists.

        Args:
            place: where it is.
            signer: needed to write to a ledger that is signed; reading needs none.

        Raises:
            ParameterError: a parameter is wrong, or the signer is not the ledger's.
            LedgerError: there is no ledger, or it cannot be read.
        """
        return cls(Book.read(_store(place), read_signer(signer)))

    def __repr__(self) -> str:
        return f"<Ledger {self._book.name!r}>"

    @property
    def id(self) -> str:
        """32 hexadecimal digits that no other ledger has."""
        return self._book.id

    @property
    def head(self) -> str:
        """Place and hash of the last record: publish it where nobody can take it back."""
        last = self._book.last()
        return head_of(last.seq, last.hash)

    def add_scope(self, name: str, budget: Budget) -> None:
        """Open another scope.  Budgets are never changed, and scopes never closed.

        Raises:
            ParameterError: a parameter is wrong, or there is such a scope.
            LedgerError: the ledger cannot be used.
        """
        _check_budget(name, budget)
        self._book.open_scope(name, budget)

    def scope(self, name: str, *, unit: str, neighbours: str, purpose: str) -> Scope:
        """What mechanisms take as `ledger=`.

        Args:
            name: the scope to charge.
            unit, neighbours: whose privacy, and which data sets are compared, in the words with
                which the scope was opened: that for which your `sensitivity` was worked out.
            purpose: why; one line that goes into the records.

        Raises:
            ParameterError: there is no such scope, or it was opened for another unit or other
                neighbours, whose costs do not add up with these.
            LedgerError: the ledger cannot be used.
        """
        budget = self.standing(name).budget
        if (unit, neighbours) != (budget.unit, budget.neighbours):
            raise ParameterError(
                f"scope {name!r} adds up releases for unit {budget.unit!r} and neighbours "
                f"{budget.neighbours!r}, not {describe(unit)} and {describe(neighbours)}"
            )
        return Scope(self._book, name, unit, neighbours, text(purpose, "purpose"))

    def standing(self, name: str) -> Standing:
        """Where a scope stands: its budget, what was spent and what is left.

        Raises:
            ParameterError: there is no such scope.
            LedgerError: the ledger cannot be used.
        """
        return self._book.standing(text(name, "scope"))

    def records(self, checker: Checker | None = None) -> Iterator[Record]:
        """All records, oldest first, each checked; those that there are when the first is read.

        Args:
            checker: knows more at each step: where the scopes stand, and the head.

        Raises:
            LedgerError: the ledger cannot be used, or a record is not what a ledger writes.
        """
        check = (checker or Checker()).check
        end = self._book.last().seq + 1
        for first in range(0, end, _BATCH):
            with self._book.reading() as journal:
                rows = journal.rows(first, min(_BATCH, end - first))
            for row in rows:
                record = Record(check(row.body, row.hash, row.signature), row.hash, row.signature)
                if row != filed(record.content, row.body, row.hash, row.signature):
                    raise LedgerError(f"record {row.seq} is filed under another name than its own")
                yield record

    def check(self, *, head: str | None = None, verifier: Verifier | None = None) -> Checker:
        """Check every record, and say where each scope stands.

        Args:
            head: a head that was published earlier; without one nobody can tell whether the end of
                the records was cut off.
            verifier: checks the signatures; by default the signer, if there is one.

        Raises:
            ParameterError: head is not the text of a head.
            LedgerError: a record was edited, moved, inserted or removed.
        """
        checker = Checker(verifier or self._book.signer, head)
        for _ in self.records(checker):
            pass
        checker.finish()
        return checker


def _store(place: str | os.PathLike[str] | Store) -> Store:
    if isinstance(place, Store) and not isinstance(place, type):
        return place
    if not isinstance(place, (str, os.PathLike)) or not isinstance(os.fspath(place), str):
        raise ParameterError(f"a ledger is at a path or in a Store, not {describe(place)}")
    return SQLiteStore(place)


def _check_budget(name: object, budget: object) -> None:
    text(name, "the name of a scope")
    if not isinstance(budget, Budget):
        raise ParameterError(f"the budget of a scope must be a Budget, got {describe(budget)}")

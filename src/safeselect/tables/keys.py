"""What is counted: columns of keys, and public lists of candidates and of groups."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

from safeselect.accounting.cost import caution
from safeselect.errors import InputError, ParameterError
from safeselect.release.call import Scope, read_ledger, unit_of
from safeselect.scores.candidates import Unread
from safeselect.scores.columns import names_of
from safeselect.scores.counts import check_unit
from safeselect.tables.duckdb import Table, open_table
from safeselect.tables.files import TableAs, shown
from safeselect.tables.spark import SparkTable, is_spark, open_spark
from safeselect.tables.sql import DIFFERENT, HINT, INTEGERS, NUMBERS, USERS_OR_ROWS, counts_of_items

_Read = TypeVar("_Read")
_INTEGER = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_NUMBER = re.compile(r"-?(?:[1-9][0-9]*|0(?=[.]))(?:[.][0-9]*[1-9])?|0", re.ASCII)
_HINTED = 4  # items that are hinted for each place
_LISTED = {"item": "candidate", "grp": "group"}


def read_candidates(path: str | os.PathLike[str], *, what: str = "candidate") -> list[str]:
    r"""Read a public list of candidates or groups from a text file.

    The file is UTF-8 text with one unique label per line.

    Args:
        path: path of the file.
        what: "candidate" or "group", for messages.

    Returns:
        The lines, in their order, without their ends.

    Raises:
        InputError: no such file, not UTF-8, an empty line, a repeated line, a carriage return that
            ends no line, or no line at all.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from safeselect.tables import read_candidates
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "items.txt")
        ...     _ = file.write_bytes(b"tea\nmilk\n")
        ...     read_candidates(file)
        ['tea', 'milk']
    """
    lines: list[str] | None = None
    if not os.path.lexists(path):
        raise InputError(f"{shown(path)} does not exist; pass a file with one {what} per line")
    with suppress(OSError, ValueError), open(path, "rb") as file:
        lines = file.read().decode("utf-8-sig").split("\n")
    if lines is None:
        raise InputError(f"{shown(path)} cannot be read as a list of {what}s in UTF-8")
    if lines[-1] == "":
        lines.pop()
    labels = [line.removesuffix("\r") for line in lines]
    if "" in labels:
        raise InputError(f"line {labels.index('') + 1} of {shown(path)} is empty")
    for place, label in enumerate(labels, 1):
        if "\r" in label:  # old Macs end lines so: one label would hold them all
            raise InputError(
                f"line {place} of {shown(path)} contains a carriage return; end each line with \\n"
            )
    return read_labels(labels, what)


def read_labels(candidates: Iterable[str | int], what: str = "candidate") -> list[str]:
    """Read a public list of candidates, or of groups, as text, all different.

    Raises:
        InputError: a candidate repeats another or fits no table, or the list is empty.
        ParameterError: candidates are not a list, or a candidate has another type.
    """
    # The elements of a table are its columns' names, and a set has no order.
    is_list = isinstance(candidates, Iterable) and len(getattr(candidates, "shape", (0,))) == 1
    if not is_list or isinstance(candidates, (str, bytes, Mapping, Set)):
        raise ParameterError(
            f"{what}s must be a list of strings or integers, got {type(candidates).__name__}"
        )
    seen: dict[str, int] = {}
    for place, candidate in enumerate(names_of(candidates, f"{what}s"), 1):
        if isinstance(candidate, bool) or not isinstance(candidate, (str, Integral)):
            kind = type(candidate).__name__
            raise ParameterError(f"{what} {place} must be a string or an integer, got {kind}")
        if not isinstance(candidate, str) and int(candidate).bit_length() > 128:
            raise InputError(f"{what} {place} is too large for an integer column")
        # Not by a method of its class: `str` of a member of an enumeration is the member's name.
        label = str.__str__(candidate) if isinstance(candidate, str) else str(int(candidate))
        if not label.isascii() and label != label.encode("utf-8", "replace").decode("utf-8"):
            raise InputError(f"{what} {place} cannot be encoded as UTF-8")
        if label in seen:
            raise InputError(f"{what} {place} repeats {what} {seen[label]}")
        seen[label] = place
    if not seen:
        raise InputError(f"the list of {what}s is empty")
    return [*seen]


def require_plain(labels: list[str], kind: str, column: str, what: str) -> None:
    """Refuse a public list that a column of numbers cannot hold."""
    kind = kind.partition("(")[0]
    if kind not in INTEGERS | NUMBERS:
        return
    form, noun = (_INTEGER, "an integer") if kind in INTEGERS else (_NUMBER, "a number")
    for place, label in enumerate(labels, 1):
        if not form.fullmatch(label):
            raise InputError(
                f"{what} {place} is not {noun} in plain decimal form, but column {shown(column)} "
                f"contains {noun.split()[1]}s"
            )


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table with the columns that are counted."""

    table: Table | SparkTable
    names: Mapping[str, str]
    opened: ExitStack

    def as_read(self, labels: list[str], ours: str = "item") -> list[str]:
        """Return a public list as cells with its text are read; all different still.

        Raises:
            InputError: two labels become the same cell, or none, or fit no cell of the column.
        """
        what = _LISTED[ours]
        found: dict[str, int] = {}
        for place, label in enumerate(self.table.tidied(labels), 1):
            if label is None:
                raise InputError(
                    f"{what} {place} consists of blanks, which are trimmed, or is a word for a "
                    "missing value"
                )
            if label in found:
                raise InputError(
                    f"{what} {place} and {what} {found[label]} are the same after "
                    "normalization, such as trimming; list only one of them"
                )
            found[label] = place
        require_plain([*found], self.table.types[ours] or "", self.names[ours], what)
        return [*found]

    def public(self, ours: str) -> list[str]:
        """Return the set of items, or of groups, which the caller asserted to be public."""
        return [label for (label,) in self.fetch(DIFFERENT.format(column=ours), ours)]

    def fetch(self, sql: str, *columns: str, **listed: list[str] | None) -> list[tuple[Any, ...]]:
        """Read rows by one statement, once: these columns, by default items and users.

        Args:
            listed: public lists that the statement reads: `candidates` and `groups`.
        """
        self._bring(*(columns or ("item", "person")), **listed)
        return self.table.fetch(sql)

    def columns(self, sql: str, **listed: list[str] | None) -> tuple[Any, Any]:
        """Read items and users by one statement of counts, once: users and labels, of Arrow."""
        self._bring("item", "person", **listed)
        found = self.table.columns(sql)
        return found.column("users"), found.column("label")

    def _bring(self, *wanted: str, **listed: list[str] | None) -> None:
        """Bring columns and lists for one statement."""
        self.table.load(*wanted)
        for name, labels in listed.items():
            if labels is not None:
                self.table.store(f"safeselect_{name}", labels)

    def largest(self, places: int, cap: int | None) -> dict[str, int]:
        """Count the distinct users of each item, and return the largest counts in their order.

        The answer is that of one statement of `sql` on the rows that this statement reads.  Which
        statement it is follows from the rows, and so the time does.

        Args:
            places: how many.
            cap: for how many items a user is counted; None for all.
        """
        self._bring("item", "person")
        hint = HINT.format(items=_HINTED * places)
        if cap is None and self.table.is_quick and self.table.fetch(hint)[0][0]:
            found = self.table.fetch(USERS_OR_ROWS)
            hinted = [(label, users) for label, users, _ in found if label is not None]
            hinted = sorted(hinted, key=lambda pair: (-pair[1], pair[0]))[:places]
            others = max((rows for label, _, rows in found if label is None), default=0)
            if not others or (len(hinted) == places and others < hinted[-1][1]):
                return dict(hinted)
        return dict(self.table.fetch(counts_of_items(contributions=cap, places=places)))

    def unread(
        self,
        size: int,
        read: Callable[[], object],
        unit: str | None,
        labels: tuple[str, ...] | None = None,
    ) -> Any:
        """Counts that a mechanism reads once they are paid for; the table is closed before noise.

        Type checkers take them for any kind of counts: the mechanism knows the class, and asks it.
        """
        return Unread(size, closing_after(self.opened, read), labels, unit)


@contextmanager
def open_keyed(table: object, item: str, user: str, *group: str) -> Iterator[Keyed]:
    """Open a table and check its columns' names and declared types."""
    if isinstance(table, TableAs) and is_spark(table.table):
        raise ParameterError(
            "TableAs cannot normalize a Spark DataFrame; normalize its columns in Spark, for "
            "example with lower and trim, and pass the DataFrame without TableAs"
        )
    columns = {"item": item, "person": user} | dict(zip(["grp"], group, strict=False))
    with ExitStack() as opened:
        rows: AbstractContextManager[Table | SparkTable] = (
            open_spark(table, columns) if is_spark(table) else open_table(table, columns)
        )
        yield Keyed(opened.enter_context(rows), columns, opened)


def closing_after(opened: ExitStack, read: Callable[[], _Read]) -> Callable[[], _Read]:
    """The same, closing what is open after the read, before any noise."""

    def reading() -> _Read:
        with opened:
            return read()

    return reading


def check_scope(unit: str | None, ledger: object, *, monotonic: bool) -> Scope | None:
    """The scope that a call is charged to; its unit must be that which the caller states."""
    scope = read_ledger(ledger, monotonic=monotonic)
    check_unit(unit, unit_of(scope))
    return scope


def warn_if_same(**columns: object) -> None:
    """Warn if two are the same column: every count is then 1, or every group has one item."""
    (first, one), (second, other) = columns.items()
    if isinstance(one, str) and one == other:
        every = "count is 1" if first == "item" else f"group has one {second}"
        caution(f"{first} and {second} are the same column, so every {every}")

"""Counts of a table that say how they were made, so that a mechanism can refuse the wrong ones.

A mechanism for an unknown domain must know how many of the largest counts it was given.  It must
also know how many of them one user may move.  A plain mapping says neither; `Counts` says both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from operator import index, itemgetter
from types import MappingProxyType, NoneType
from typing import Any, Literal, NoReturn, final

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer
from safeselect.scores.reading import Reading, Sensitivity

Places = int | Literal["all"]
_BY_BYTES = (
    "6c60ddb9eb6c7a5c9e8ec73e53709c6250b827e3afb8b09457d034418130ec4b",
    "9e8c214deecadea192bb7b9fb1c52dc3aff68f456b976507be23fe6893e654ad",
    "11f50e821267cac74c1af3d6bae04c57f040f0f38e7225487129a252749a80fc",
)
"""SHA-256 of the right rows of a check, with and without texts that hold a null character, and
with texts that are no UTF-8, too.
"""


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Counts(Mapping[Any, int]):
    """The number of distinct users of each item, in the form that `count_distinct_users` returns.

    A mapping from labels to numbers of users, both private. Its repr and the messages about it are
    public: they show only the query, never the counts. It cannot be pickled or copied; to send it
    to another process, send `dict(counts)` with the arguments, and create it there again.

    Neighbours: adding or removing all rows of one user moves each count by at most 1, and all in
        the same direction; at most `max_contributions` of them.

    Args:
        counts: number of distinct users of each label. Labels of an unknown domain, and keys, are
            read as strings. Of equal strings, the largest count is kept: 1, 1.0 and "1" are equal.
        places: number of largest counts, or "all".
        max_contributions: largest number of items for which a user was counted; None for any
            number.
        unit: unit of privacy, in the words of the ledger's scope, such as "one rider"; None if not
            stated.

    Raises:
        ParameterError: an argument is wrong.
    """

    counts: Mapping[Any, int]
    places: Places
    max_contributions: int | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        counts: object = self.counts
        if not isinstance(counts, Mapping):
            kind = type(counts).__name__
            raise ParameterError(f"counts must be a mapping from labels to counts, got {kind}")
        object.__setattr__(self, "places", read_fetched(self.places))
        if self.max_contributions is not None:
            integer(self.max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)
        check_unit(self.unit, None)
        # A private copy, so that the mechanism reads what was counted.
        object.__setattr__(self, "counts", MappingProxyType(dict(counts)))

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, int]],
        *,
        check: Iterable[tuple[str, int]],
        places: Places,
        max_contributions: int | None = None,
        unit: str | None = None,
    ) -> Counts:
        """Create a `Counts` object from the rows that another engine returned for a statement of
        `safeselect sql`.

        Args:
            rows: pairs of a label and a number of users.
            check: the rows that the engine returned for `safeselect sql --check`, in their order.
            places, max_contributions: as in the statement.
            unit: as for `Counts`.

        Raises:
            ParameterError: an argument is wrong, or the check's rows are not those of an engine
                that compares text by its bytes.

        Example:
            >>> from safeselect import Counts
            >>> Counts.from_rows([("Rome", 2)], check=[("a", 1)], places=101)
            Traceback (most recent call last):
            ...
            safeselect.errors.ParameterError: check= must be the rows that ...
        """
        if sha256(ascii(_pairs(check)).encode()).hexdigest() not in _BY_BYTES:
            raise ParameterError(
                "check= must be the rows that an engine which compares text byte by byte returns, "
                "in order, for the statement of `safeselect sql --check`"
            )
        pairs = [*_pairs(rows)]
        of = dict(sorted(pairs, key=itemgetter(1)))
        return cls({name: of[name] for name, _ in pairs}, places, max_contributions, unit=unit)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Counts are private and cannot be copied or pickled; pickle dict(counts)")

    def __repr__(self) -> str:
        asked = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self)[1:])
        return f"<Counts {', '.join(asked)}>"

    def __getitem__(self, label: object) -> int:
        return self.counts[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def check_known(
        self, change: Sensitivity, reading: Reading, *, unit: str | None, replaced: bool
    ) -> None:
        """Raise an error if these counts cannot serve as the scores of publicly known candidates.

        Args:
            change: the declared change of the scores.
            reading: conversion of scores into steps.
            unit: unit of the ledger's scope; None without a scope.
            replaced: whether neighbours replace one user by another.

        Raises:
            ParameterError: these are only the largest counts, the change is smaller than that of
                one user, the grid does not contain all counts, or the unit differs.
        """
        check_unit(self.unit, unit)
        if self.places != "all":
            raise ParameterError(
                "these are only the largest counts of a table, and their items are private; use "
                "unknown_domain_top_k, or pass public candidates= to count_distinct_users"
            )
        if reading.on_grid and reading.step.numerator != 1:
            raise ParameterError("counts need not be multiples of grid; omit on_grid=True and grid")
        # Whatever the cap: who leaves takes 1 from some counts, who comes adds 1 to some others.
        both_ways = replaced and change.range_ is not None
        if change.size < 1 + both_ways:
            name = "sensitivity" if change.range_ is None else "range_"
            moves = (
                "replacing one user can move one of these counts up by 1 and another down by 1, "
                "so range_ must be at least 2; or use sensitivity=1"
                if both_ways
                else f"one user changes these counts by 1, so {name} must be at least 1"
            )
            raise ParameterError(moves)


def read_fetched(places: object) -> Places:
    """Read how many of the largest counts there are: a positive integer, or "all"."""
    if isinstance(places, str) and places == "all":
        return "all"
    if isinstance(places, str):
        raise ParameterError(f"places must be an integer or 'all', got {describe(places)}")
    return integer(places, "places", minimum=1, maximum=2**63 - 1)


def check_unit(protected: str | None, unit: str | None) -> None:
    """Refuse counts that protect another unit than the ledger's scope, where both are stated.

    A subclass of str is refused: it may print as another text than the one compared.

    Raises:
        ParameterError: the units differ, or that of the counts is no string.
    """
    if type(protected) not in (str, NoneType):
        raise ParameterError(f"unit must be a string such as 'rider', got {describe(protected)}")
    if None not in (protected, unit) and protected != unit:
        raise ParameterError(
            f"the unit of these counts is {describe(protected)}, but the unit of the scope is "
            f"{describe(unit)}; use a scope with the unit of the counts"
        )


def _pairs(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Read pairs of a label and a count.

    Raises:
        ParameterError: they are something else; nothing is quoted.
    """
    with suppress(TypeError, ValueError):
        return [(str.__str__(label), index(users)) for label, users in rows]
    raise ParameterError("rows and check must consist of pairs: a label and a number of users")

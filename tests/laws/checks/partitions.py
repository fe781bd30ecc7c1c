"""The table of partition selection, row by row in integers, and the draws that use it.

The inequalities that are checked are the definition of differential privacy for two numbers of
users n and n + 1.  e**epsilon comes from `series`, not from the arithmetic that made the table, and
the divergences of the noisy count are added up over its outcomes, pair by pair, for as many pairs
as the effort says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from checks.finding import Refuted
from checks.series import exp_minus

from safeselect.mechanisms.keys import KeepTable, draw_thresholds, for_each_key, keep_table
from safeselect.promises.guarantees import ApproximateDP

_MOST_PAIRS = 200
_LEADING = 64


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """A table that is checked, by its public parameters."""

    epsilon: Fraction
    delta: Fraction
    max_partitions: int
    with_counts: bool

    @property
    def name(self) -> str:
        """For the list of checks."""
        what = "keys with counts" if self.with_counts else "keys"
        return f"{what}, ({self.epsilon}, {self.delta}), {self.max_partitions} a user"

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that use such a table."""
        more = "_with_counts" if self.with_counts else ""
        return tuple(f"{word}{more}/1" for word in ("select_partitions", "partition_strategy"))

    @property
    def _each(self) -> ApproximateDP:
        return for_each_key(ApproximateDP(self.epsilon, self.delta), self.max_partitions)

    def examine(self, effort: int) -> str:
        """Check the table.

        Raises:
            Refuted: something does not hold.
        """
        each = self._each
        if 1 - (1 - each.delta) ** self.max_partitions > self.delta:
            raise Refuted("the keys of one user cost more delta than is claimed")
        if each.epsilon * self.max_partitions != self.epsilon:
            raise Refuted("the keys of one user cost another epsilon than is claimed")
        table = keep_table(each.epsilon, each.delta, with_counts=self.with_counts)
        pairs = check_table(
            table, each.epsilon, each.delta, with_counts=self.with_counts, effort=effort
        )
        return f"{table.certain + 1} rows" + (f", counts of {pairs} pairs" if pairs else "")

    def examine_draws(self, effort: int) -> str:
        """Check that thresholds are drawn from the table.

        Raises:
            Refuted: one is not.
        """
        each = self._each
        table = keep_table(each.epsilon, each.delta, with_counts=self.with_counts)
        _check_draws(table)
        return f"words beside {table.certain} rows give the thresholds of their sides"


def partition_tables() -> Iterator[PartitionTable]:
    """Yield the tables that are checked."""
    for epsilon, delta, most in (("1", "1/1000000", 1), ("1/5", "1/1000000000", 3)):
        for with_counts in (False, True):
            yield PartitionTable(Fraction(epsilon), Fraction(delta), most, with_counts)


def check_table(
    table: KeepTable, epsilon: Fraction, delta: Fraction, *, with_counts: bool, effort: int
) -> int:
    """Check every row against the next; return for how many pairs the counts were added up.

    Raises:
        Refuted: an inequality is broken.
    """
    one, rows = 1 << table.bits, table.rows
    # growth <= 1 / high <= e**epsilon
    if Fraction(table.growth, one) * exp_minus(epsilon)[1] > 1:
        raise Refuted("the growth of the table is above e**epsilon")
    if table.delta > delta * one:
        raise Refuted("the delta of the table is above delta")
    if rows[0] != 0 or rows[-1] != one:
        raise Refuted("the table does not go from never to always")
    for n in range(table.certain):
        p, q = rows[n], rows[n + 1]
        rises = p <= q and q * one <= table.growth * p + table.delta * one
        falls = (one - p) * one <= table.growth * (one - q) + table.delta * one
        if not (rises and falls):
            raise Refuted(f"row {n + 1} of the table is not private beside row {n}")
    if not with_counts:
        return 0
    pairs = range(0, table.certain + 2, max(1, effort * table.certain // _MOST_PAIRS))
    for users in pairs:
        _check_counts(table, users)
    return len(pairs)


def _check_counts(table: KeepTable, users: int) -> None:
    """Add up the excess of each outcome over e**epsilon times the neighbour's, both ways."""
    ours, theirs = _count_law(table, users), _count_law(table, users + 1)
    for left, right in ((ours, theirs), (theirs, ours)):
        excess = sum(
            max(0, (p << table.bits) - table.growth * right.get(value, 0))
            for value, p in left.items()
        )
        if excess > table.delta << table.bits:
            raise Refuted(f"the counts of {users} and {users + 1} users are not private")


def _count_law(table: KeepTable, users: int) -> dict[int | None, int]:
    """The chances of all noisy counts, in units of 2**-bits; None for a key that is not kept."""
    law: dict[int | None, int] = {}
    for threshold in range(1, table.certain + 1):
        value = users + table.centre - threshold if threshold <= users else None
        chance = table.rows[threshold] - table.rows[threshold - 1]
        law[value] = law.get(value, 0) + chance
    return law


class _Words:
    """Random bits that are given: the leading words, then zeros or ones."""

    def __init__(self, words: list[int], rest: int) -> None:
        self._bytes = np.array(words, dtype=np.uint64).tobytes()
        self._rest = rest

    def fill(self, buffer: memoryview) -> None:
        buffer[:] = self._bytes

    def take(self, count: int) -> int:
        return self._rest * ((1 << count) - 1)


def _check_draws(table: KeepTable) -> None:
    """Draw with the words beside every row: a threshold is the least n with U < p_n.

    Raises:
        Refuted: one is not.
    """
    low = table.bits - _LEADING
    words = {row >> low for row in table.rows[:-1]}
    words |= {word - 1 for word in words if word} | {word + 1 for word in words}
    tried = sorted(word for word in words if word < 1 << _LEADING)
    leads = {row >> low for row in table.rows[:-1]}
    for rest in (0, 1):
        bits: object = _Words(tried, rest)
        found = draw_thresholds(table, len(tried), bits).tolist()  # type: ignore[arg-type]
        for word, threshold in zip(tried, found, strict=True):
            tail = rest * ((1 << low) - 1) if word in leads else 0
            uniform = word << low | tail
            if not table.rows[threshold - 1] <= uniform < table.rows[threshold]:
                raise Refuted("a threshold is drawn that is not of its row")

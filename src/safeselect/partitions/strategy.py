"""Partition selection key by key, for engines that decide about each key where it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from safeselect.charged import charged
from safeselect.counts import Counts, check_partitions
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import Number
from safeselect.mechanisms.items import NOT_WHOLE, item, whole_counts
from safeselect.partitions.results import StatedStrategy
from safeselect.partitions.table import KeepTable
from safeselect.partitions.terms import Terms
from safeselect.partitions.thresholds import SEED_BYTES, draw_thresholds, keyed_threshold
from safeselect.promises.guarantees import ApproximateDP
from safeselect.promises.records import NOT_STATED, Receipt, Statement
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.scores.containers import hand_over
from safeselect.scores.reading import INTEGERS
from safeselect.scores.values import read_values
from safeselect.selection._arguments import Scope, Scores, read_ledger
from safeselect.selection._results import source_name

_WORD = 64  # bits: an integer of more is compared with the limit of all numbers


@final
class _Secret:
    """What a strategy draws with; it shows nothing, whatever copies or writes the fields around it.

    Attributes:
        seed: of `keep_keyed`.
        source: of fresh draws; None for the default one.
    """

    __slots__ = ("seed", "source")

    def __init__(self, seed: bytes, source: Source | None = None) -> None:
        self.seed, self.source = seed, source

    def __deepcopy__(self, memo: object) -> _Secret:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a seed is not copied alone: pickle the whole strategy")


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PartitionStrategy:
    """Decides about each key of one table whether it may be shown; made by `partition_strategy`.

    Ask about each key once, by one of its methods.  A second draw for a key is a second release,
    which nobody paid for.  Where an engine repeats work (Spark, Beam), use `keep_keyed`: it gives
    the same answer to the same question.

    A strategy can be pickled.  The pickle holds the secret seed: keep it where the data may be.
    After that its draws come from the default source.

    Attributes:
        terms: the public parameters.
        guarantee: what all decisions cost together.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes come from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, the place of the record and the salt of its commitment, which is to
            these public parameters: the decisions are made later, elsewhere.
    """

    terms: Terms
    guarantee: ApproximateDP
    mechanism: str
    source: str
    statement: Statement
    _secret: _Secret
    receipt: Receipt | None = None

    def __repr__(self) -> str:
        return f"<PartitionStrategy {self.mechanism}, {self.guarantee}>"

    def __reduce__(self) -> tuple[Any, ...]:
        said = (self.terms, self.guarantee, self.mechanism, self.source, self.statement)
        return _restored, (*said, self._secret.seed, self.receipt)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.partition-strategy/1"; it does not hold the seed.

        `safeselect.from_json` reads it as a `StatedStrategy`: whoever has no seed decides nothing.
        """
        parts = self.terms.parts
        said = (self.guarantee, parts, self.mechanism, self.source, self.statement, self.receipt)
        return StatedStrategy(*said).to_json()

    @property
    def unit(self) -> str | None:
        """Who is protected, by the ledger's scope; None without one."""
        return None if self.statement.unit == NOT_STATED else self.statement.unit

    @property
    def _table(self) -> KeepTable:
        return self.terms.table

    def probability_of_keep(self, users: int) -> Fraction:
        """Return the exact probability that a key with so many users is kept.

        It costs nothing; but the answer about a private number is as private as the number.

        Raises:
            ScoreError: it is not an integer.
        """
        return self._table.chance(self.terms.counted(_read(users)))

    def should_keep(self, users: int) -> bool:
        """Return whether to keep a key with so many users, by a fresh draw.

        Raises:
            ScoreError: it is not an integer; the message does not quote it.
            SourceError: the source failed.
        """
        counted = self.terms.counted(_read(users))
        return counted >= int(self._draw(1)[0])

    def noisy_count_if_kept(self, users: int) -> int | None:
        """Return the noisy number of users of a key that is kept, by a fresh draw; else None.

        Raises:
            ParameterError: the strategy was made without `with_counts=True`.
            ScoreError, SourceError: as for `should_keep`.
        """
        if not self.terms.with_counts:
            raise ParameterError("noisy counts need partition_strategy(..., with_counts=True)")
        number = _read(users)
        threshold = int(self._draw(1)[0])
        if self.terms.counted(number) < threshold:
            return None
        return self.terms.released_count(number, threshold)

    def keep_column(self, counts: Scores[Any]) -> NDArray[np.bool_]:
        """Return which keys of a column of counts to keep, by one fresh draw each.

        Args:
            counts: numbers of users, a list, an array or a column; or `Counts`, in their order.

        Returns:
            Array of booleans, shape (n,), in the order of the counts.

        Raises:
            ParameterError: the `Counts` do not fit the strategy.
            ScoreError: the counts cannot be read; the message quotes none.
            SourceError: the source failed.
        """
        check_partitions(counts, self.terms.max_partitions, self.unit)
        column = list(counts.values()) if type(counts) is Counts else counts
        users = whole_counts(hand_over(column))
        np.subtract(users, self.terms.pre_threshold - 1, out=users)
        # A threshold is at least 1, so a number below 1 is never kept.
        kept: NDArray[np.bool_] = np.greater_equal(users, self._draw(users.size))
        users.fill(0)
        return kept

    def keep_keyed(self, key: object, users: int) -> bool:
        """Return whether to keep this key; the same key gets the same draw wherever it is asked.

        Safe where an engine computes a key twice: U is HMAC-SHA-512 of the key under the secret
        seed, and does not depend on the number of users.  The privacy is computational: it holds
        against those who cannot tell HMAC-SHA-512 from random bits and do not have the seed.  For
        data of another table make another strategy: with the same seed a key's two answers
        together reveal its count.

        Args:
            key: a text, or a number, which is the text of its shortest plain decimal, so that 1,
                1.0 and '1' are one key: make keys texts before users are counted.  One that can be
                no item (None, NaN, a date) is not kept.
            users: its number of users; the same whenever the key is asked about.

        Raises:
            ScoreError: the number is not an integer.
        """
        number, label = _read(users), item(key)
        if label is None:
            return False
        return self.terms.counted(number) >= keyed_threshold(self._table, self._secret.seed, label)

    def noisy_count_keyed(self, key: object, users: int) -> int | None:
        """Return the noisy number of users of this key if `keep_keyed` keeps it; else None.

        Raises:
            ParameterError: the strategy was made without `with_counts=True`.
            ScoreError: the number is not an integer.
        """
        if not self.terms.with_counts:
            raise ParameterError("noisy counts need partition_strategy(..., with_counts=True)")
        number, label = _read(users), item(key)
        if label is None:
            return None
        threshold = keyed_threshold(self._table, self._secret.seed, label)
        if self.terms.counted(number) < threshold:
            return None
        return self.terms.released_count(number, threshold)

    def _draw(self, count: int) -> NDArray[np.int64]:
        with Bits(resolve(self._secret.source)) as bits:
            return draw_thresholds(self._table, count, bits)


def _restored(
    terms: Terms, paid: ApproximateDP, mechanism: str, source: str, said: Statement, *kept: Any
) -> PartitionStrategy:
    """A strategy that was pickled; a source belongs to its process."""
    seed, receipt = kept
    return PartitionStrategy(terms, paid, mechanism, source, said, _Secret(seed), receipt)


def partition_strategy(
    *,
    epsilon: Number,
    delta: Number,
    max_partitions: int,
    pre_threshold: int = 1,
    with_counts: bool = False,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> PartitionStrategy:
    """Make a strategy that decides about each key of one table; it is charged once, now.

    The law, the guarantee, the neighbours and the arguments are those of `select_partitions`.  The
    engine that counts must bound the users: each of them counts for `max_partitions` keys at most,
    and the same bounded rows must give keys and values.

    Bits: 256 for the seed of `keep_keyed`.

    Returns:
        PartitionStrategy: with `should_keep(n)`, `keep_column(counts)`, `keep_keyed(key, n)`.

    Raises:
        ParameterError: a parameter is wrong.
        BudgetError: the ledger's budget does not allow it.
        SourceError: the source failed.

    Example:
        >>> from safeselect import partition_strategy
        >>> strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
        >>> strategy.should_keep(1000), strategy.keep_keyed("Oslo", 0)
        (True, False)
    """
    terms = Terms.read(
        epsilon=epsilon,
        delta=delta,
        max_partitions=max_partitions,
        pre_threshold=pre_threshold,
        with_counts=with_counts,
    )
    scope = read_ledger(ledger, monotonic=True)
    chosen = resolve(source)
    charge = terms.charge("partition_strategy")
    with charged(scope, chosen, charge, lambda: None) as call:
        seed = bytearray(SEED_BYTES)
        call.bits.fill(seed)
        return call.released(
            PartitionStrategy(
                terms=terms,
                guarantee=terms.total,
                mechanism=charge.mechanism,
                source=source_name(chosen),
                _secret=_Secret(bytes(seed), chosen),
                statement=call.statement,
            )
        )


def _read(users: object) -> int:
    """Read one count as a column of it is read: numbers that are equal are the same number."""
    if type(users) is int and users.bit_length() <= _WORD:
        return users
    with suppress(Exception):  # whatever the number raises may quote it
        return read_values(hand_over([users]), INTEGERS, Fraction(1))[0]
    raise ScoreError(NOT_WHOLE)

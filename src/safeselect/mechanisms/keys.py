"""Partition selection: which keys of a table may be shown, and how many users each has.

The law of partition selection as a table of integers, which certifies itself.

A key with n users is kept with probability p_n / 2**bits.  Neighbours differ by one user of the
key, so (epsilon, delta)-differential privacy of the decision *is* these inequalities, whatever made
the table (E' <= e**epsilon and D <= delta, in units of 2**-bits):

    p_0 = 0,   p_n <= p_(n+1) <= E' p_n + D,   1 - p_n <= E' (1 - p_(n+1)) + D.

The table is the largest that fulfils them: each row is the least of its upper bounds, rounded down.

The decision and the noisy count come from one random threshold J, with P(J <= n) = p_n: the key is
kept if n >= J, and then n + (centre - J) may be released too.  With g_j = P(J = j) and neighbours n
and n + 1, the value v comes from j = n + centre - v or from j + 1.  So the two directions cost

    g_1 + sum_j (g_(j+1) - E' g_j)+     and     sum_j (g_j - E' g_(j+1))+,

the event "not kept" included: its excess upwards is negative, and downwards it is a sum of terms of
the second kind.  Both must be at most D.

Source: Desfontaines, Voss and Gipson (2022), Theorem 1, for the law;
`docs/mathematics.md`, section 19, for the rest.
"""

from __future__ import annotations

import hmac
from bisect import bisect_left, bisect_right
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from math import isqrt
from typing import Any, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

from safeselect.accounting.rate import per_draw_epsilon
from safeselect.accounting.sums import what_is_left
from safeselect.engine.arrays import random_lanes
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.exact.parameters import Number, integer
from safeselect.mechanisms.items import NOT_WHOLE, check_cap, hold_counts, item, whole_counts
from safeselect.mechanisms.key_columns import BATCH, KeyColumns, read_columns
from safeselect.mechanisms.unknown import COUNTED, read_total
from safeselect.mechanisms.weighted_keys import WeightedTerms
from safeselect.promises.guarantees import ApproximateDP, PureDP
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, in_one_sentence, read_ledger, unit_of
from safeselect.release.results import NOT_STATED, Answers, Noise, Release, TopK
from safeselect.scores.candidates import Labels, Scores, hand_over, read_values
from safeselect.scores.counts import Counts, check_unit
from safeselect.scores.reading import flag

_Whole = TypeVar("_Whole", int, NDArray[np.int64])
MOST_ROWS = 2**20
_PLACES = 136  # binary places beyond those of delta: a row is exact to 2**-130 of itself
_MOST_EPSILON = 2**14
_TAIL = Fraction(1, 40)  # on each side of an interval of 95 %


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeepTable:
    """The chances to be kept, by the number of users.

    Attributes:
        bits: chances are in units of 2**-bits.
        growth: E', at most e**epsilon, in units of 2**-bits.
        delta: D, at most delta, in units of 2**-bits.
        rows: p_0 = 0, p_1, ..., p_N = 2**bits; a key of N users or more is always kept.
        centre: the last row that the first bound limits; a threshold there adds no noise.
    """

    bits: int
    growth: int
    delta: int
    rows: tuple[int, ...]
    centre: int

    @property
    def certain(self) -> int:
        """N: so many users are always enough."""
        return len(self.rows) - 1

    @property
    def noise(self) -> Noise:
        """That of a count before any key is left out, centre - J; its mean is rounded down."""
        return _noise_of(self)

    def first_row(self, chance: Fraction) -> int:
        """The fewest users with which a key is kept with this probability or more."""
        return bisect_left(self.rows, -(-(chance.numerator << self.bits) // chance.denominator))

    def chance(self, users: int) -> Fraction:
        """The probability that a key with so many users is kept."""
        return Fraction(self.rows[min(max(users, 0), self.certain)], 1 << self.bits)

    def keeps_its_promise(self, *, with_counts: bool) -> bool:
        """Whether all inequalities of the module hold: for the decision, or for the count too."""
        one, rows = 1 << self.bits, self.rows
        if rows[0] != 0 or rows[-1] != one or not all(map(int.__le__, rows, rows[1:])):
            return False
        if not with_counts:
            slack = self.delta << self.bits
            return all(
                after << self.bits <= self.growth * row + slack
                and (one - row) << self.bits <= self.growth * (one - after) + slack
                for row, after in pairwise(rows)
            )
        chances = [after - row for row, after in pairwise(rows)]
        up, down = chances[0] << self.bits, 0
        for each, following in zip(chances, [*chances[1:], 0], strict=True):
            up += max(0, (following << self.bits) - self.growth * each)
            down += max(0, (each << self.bits) - self.growth * following)
        return max(up, down) <= self.delta << self.bits


@lru_cache(maxsize=16)  # there may be a million rows
def _noise_of(table: KeepTable) -> Noise:
    """The noise centre - J, its mean rounded down to 2**-32, its deviation up to a thousandth.

    E J is the sum of P(J > n) over all n, and E J**2 that of (2 n + 1) P(J > n).
    """
    one = 1 << table.bits
    missing = [one - row for row in table.rows]
    first, second = sum(missing), sum((2 * n + 1) * rest for n, rest in enumerate(missing))
    mean = table.centre - Fraction(first, one)
    variance = second * one - first**2  # in units of one**2
    deviation = Fraction(isqrt(variance * 10**6 // one**2) + 1, 1000)
    # P(J <= n) is row n.
    low, high = (table.centre - table.first_row(chance) for chance in (1 - _TAIL, _TAIL))
    law = "of the table that keeps keys"
    return Noise(law, deviation, low, high, Fraction(mean * 2**32 // 1, 2**32))


@lru_cache(maxsize=16)
def keep_table(epsilon: Fraction, delta: Fraction, *, with_counts: bool) -> KeepTable:
    """Return the largest table that is (epsilon, delta)-differentially private.

    With counts it has more places and a delta that is lowered by what rounding may add up to, so
    that both sums hold.

    Raises:
        ParameterError: epsilon is so small that a table of 2**20 rows is too short, or above 2**14.
    """
    if epsilon > _MOST_EPSILON:
        raise ParameterError(f"the epsilon for each key must be at most {_MOST_EPSILON}")
    if 2 * crossing(epsilon, delta) > MOST_ROWS - 4:
        raise ParameterError(
            "the epsilon for each key is so small that a key with half a million users would "
            "probably not be kept; use a larger epsilon or a smaller max_partitions"
        )
    bits = _PLACES + (-(-delta.denominator // delta.numerator)).bit_length()
    lowered = 0
    if with_counts:
        rows = len(_rows(bits, _growth(epsilon, bits), _floor(delta, bits))) + 1
        above = (_growth(epsilon, bits) >> bits) + 1  # E', rounded up
        bits += above.bit_length()
        lowered = rows * (above + 2)
    growth, most = _growth(epsilon, bits), _floor(delta, bits)
    chances = _rows(bits, growth, most - lowered)
    centre = _centre(chances, bits, growth, most - lowered)
    table = KeepTable(bits, growth, most, tuple(chances), centre)
    if not table.keeps_its_promise(with_counts=with_counts):
        raise ParameterError("no noise table is certified for this cost; change epsilon or delta")
    return table


def crossing(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return ln((E + 2 d - 1) / (d (E + 1))) / epsilon, where the closed form of the law changes.

    It is the centre of the table, up to 1, and half of its length.  Rounded up.
    """

    def enclose(precision: int) -> Interval:
        e, d = Interval.of(epsilon, precision), Interval.of(delta, precision)
        above, below = e.expm1() + d + d, d * (e.exp() + 1)
        return (above / below).log() / e

    return rounded_up(enclose)


def _floor(delta: Fraction, bits: int) -> int:
    return (delta.numerator << bits) // delta.denominator


def _growth(epsilon: Fraction, bits: int) -> int:
    """e**epsilon, rounded down: the lower end of an enclosure."""
    # e**epsilon has fewer than 3/2 epsilon + 1 bits before the point.
    return Interval.of(epsilon, bits + int(3 * epsilon // 2) + 64).exp().scaled(bits)[0]


def _rows(size: int, growth: int, delta: int) -> list[int]:
    """Take each row as large as the one before it allows.

    It ends: the rest 1 - p falls by D or more with each row.
    """
    one, row = 1 << size, 0
    rows = [row]
    while row < one:
        row = min(_risen(row, size, growth, delta), _fallen(row, size, growth, delta), one)
        rows.append(row)
    return rows


def _risen(row: int, bits: int, growth: int, delta: int) -> int:
    """E' p + D, rounded down."""
    return (growth * row >> bits) + delta


def _fallen(row: int, bits: int, growth: int, delta: int) -> int:
    """1 - (1 - p - D) / E', rounded down."""
    one = 1 << bits
    left = one - row - delta
    return one if left <= 0 else one + (-left << bits) // growth


def _centre(rows: list[int], bits: int, growth: int, delta: int) -> int:
    """The last row that the first bound limits."""
    limits = (bits, growth, delta)
    limited = (n for n in range(1, len(rows)) if rows[n] == _risen(rows[n - 1], *limits))
    return max(limited)


SEED_BYTES = 32
_LEADING = 64
_BLOCK = 512  # bits of one SHA-512
_DOMAIN = b"safeselect/partition/1\x00"  # so that no other use of the seed has the same input


def draw_thresholds(table: KeepTable, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw independent thresholds: int64, from 1 to `table.certain`.

    Bits: 64 each.
    """
    leads = _leading(table)
    words = random_lanes(count, bits)
    found = np.searchsorted(leads, words, side="right")  # at least 1: the first row is 0
    for place in np.flatnonzero(np.equal(np.take(leads, found - 1), words)).tolist():
        low = table.bits - _LEADING
        # The least n with uniform < p_n; the last row is above every uniform number.
        found[place] = bisect_right(table.rows, int(words[place]) << low | bits.take(low))
    return found.astype(np.int64)


def keyed_threshold(table: KeepTable, seed: bytes, item: str) -> int:
    """Return the threshold of this key under a secret seed: always the same one.

    U is the leading bits of HMAC-SHA-512 over the key's text, in blocks that are counted.
    It does not depend on the number of users.
    """
    message = b"s" + item.encode("utf-8", "surrogatepass")
    blocks = -(-table.bits // _BLOCK)
    drawn = b"".join(
        hmac.digest(seed, _DOMAIN + block.to_bytes(4, "big") + message, "sha512")
        for block in range(blocks)
    )
    return bisect_right(table.rows, int.from_bytes(drawn, "big") >> (blocks * _BLOCK - table.bits))


@lru_cache(maxsize=16)
def _leading(table: KeepTable) -> NDArray[np.uint64]:
    """The leading 64 bits of all rows but the last, ascending."""
    leads = np.array([row >> (table.bits - _LEADING) for row in table.rows[:-1]], dtype=np.uint64)
    leads.flags.writeable = False
    return leads


_MOST_PARTITIONS = 2**20
_SMALLEST_GAIN = 8  # below so many keys half of delta is never worth more than it costs
_BITS = 128


@dataclass(frozen=True, slots=True)
class Terms:
    """The public parameters of a partition selection.

    Attributes:
        total: what the release costs.
        each: what the decision about one key costs.
        max_partitions: in how many keys one user counts at most.
        pre_threshold: a key with fewer users is never kept.
        with_counts: whether noisy counts are released too.
        squared: None; a user adds 1 to each of its keys, and no weight.
    """

    total: ApproximateDP
    each: ApproximateDP
    max_partitions: int
    pre_threshold: int
    with_counts: bool
    squared = None

    @classmethod
    def read(
        cls,
        epsilon: object,
        delta: object,
        max_partitions: object,
        pre_threshold: object,
        with_counts: object,
    ) -> Terms:
        """Read and check the parameters, and that there is a table for them.

        Raises:
            ParameterError: one of them is missing or wrong.
        """
        most = integer(max_partitions, "max_partitions", minimum=1, maximum=_MOST_PARTITIONS)
        least = integer(pre_threshold, "pre_threshold", minimum=1, maximum=2**42)
        counts = flag(with_counts, "with_counts")
        total = read_total(epsilon, delta)
        terms = cls(total, for_each_key(total, most), most, least, counts)
        _ = terms.table
        return terms

    @classmethod
    def of(cls, release: Release) -> Terms:
        """Those of a release of keys, or of a strategy for them.

        Raises:
            ParameterError: its parameters or its guarantee are those of no such release.
        """
        total, number = release.guarantee, release.provenance.number
        counted = dict(release.provenance.parameters).get("with_counts")
        if not isinstance(total, ApproximateDP) or counted not in ("yes", "no"):
            raise ParameterError("the guarantee or with_counts of the release is not valid")
        most, least = number("max_partitions") or 0, number("pre_threshold") or 0
        return cls.read(total.epsilon, total.delta, int(most), int(least), counted == "yes")

    @property
    def table(self) -> KeepTable:
        """The chances to be kept."""
        return keep_table(self.each.epsilon, self.each.delta, with_counts=self.with_counts)

    def draw(self, size: int, bits: Bits) -> NDArray[np.int64]:
        """Draw the thresholds of so many keys."""
        return draw_thresholds(self.table, size, bits)

    def decided(self, users: _Whole, threshold: _Whole) -> tuple[Any, _Whole]:
        """Which keys of so many users are kept at these thresholds; and noisy counts, if kept."""
        return users - (self.pre_threshold - 1) >= threshold, users + (
            self.table.centre - threshold
        )

    def charge(self, name: str) -> Charge:
        """What a ledger is told about a selection of this name."""
        parameters = {
            "max_partitions": str(self.max_partitions),
            "pre_threshold": str(self.pre_threshold),
            "with_counts": "yes" if self.with_counts else "no",
            **COUNTED,
            **(self.table.noise.as_parameters() if self.with_counts else {}),
        }
        mechanism = f"{name}_with_counts/1" if self.with_counts else f"{name}/1"
        return Charge(mechanism, self.total, ((self.each, self.max_partitions),), parameters)


KeyTerms = Terms | WeightedTerms


@lru_cache(maxsize=64)
def for_each_key(total: ApproximateDP, most: int) -> ApproximateDP:
    """Return what each of `most` decisions may cost: the better of two splits.

    - epsilon / most, with the largest d such that 1 - (1 - d)**most is at most delta.
    - Half of delta for the optimal composition of `most` pure guarantees (Kairouz, Oh and Viswanath
      2015), whose epsilon is larger; the rest for the decisions.

    The better one has the smaller centre of its table.
    """
    if most == 1:
        return total
    splits = [ApproximateDP(total.epsilon / most, _share(total.delta, most))]
    if most >= _SMALLEST_GAIN:
        half = total.delta / 2
        larger = per_draw_epsilon(PureDP, most, epsilon=total.epsilon, delta=half)
        splits.append(ApproximateDP(larger, _share(what_is_left(total.delta, [(half, 1)]), most)))
    return min(splits, key=lambda each: crossing(each.epsilon, each.delta))


def _share(delta: Fraction, most: int) -> Fraction:
    """The largest d of 128 significant bits with (1 - d)**most >= 1 - delta."""

    def root(precision: int) -> Interval:
        return -(Interval.of(1 - delta, precision).log() / most).expm1()

    return rounded_down(root, _BITS)


def select_partitions(
    counts: Scores[Any],
    *,
    epsilon: Number,
    delta: Number,
    max_partitions: int,
    pre_threshold: int = 1,
    with_counts: bool = False,
    labels: Labels[Any] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[str]:
    """Choose which keys of a table to release. With the default `pre_threshold`, each key is kept
    with the largest probability that its share of the cost allows.

    A key with n users is kept with probability p_n, independently of the others. At the same cost
    for each key, no private rule keeps a key of any size more often. With `with_counts`, the noisy
    number of users of each kept key is released at the same cost.

    Pass the whole table. Each user must count for at most `max_partitions` keys, once for each key.
    `count_distinct_users(..., max_contributions=...)` enforces this by a hash. `Counts` state their
    limit, and are refused if unsuitable. For other counts, you assert the limit.

    Keys are strings. A number stands for its shortest plain decimal: 1, 1.0, True and '1' are one
    key. Of several counts of one key, the largest is kept. Keys of other types (None, NaN, a date,
    a tuple, bytes) and keys without users are dropped. A key never raises an error: keys are
    private. Read keys as text (`dtype=str`), because a reader may change values such as `007`,
    `1.50` or `1e3` unnoticed.

    Guarantee: ApproximateDP(epsilon, delta).  The decision about one key costs epsilon' and delta',
        and so do the decisions with their counts; `max_partitions` of them compose to the total.
    Neighbours: tables that differ by all rows of one user, so that at most `max_partitions` counts
        change, by 1 each. Replace-one neighbours are not covered.
    Source: Desfontaines, Voss and Gipson (2022), Theorem 1; `docs/mathematics.md`, section 19.
    Exactness: the probabilities are a table of integers, rounded down and certified when it is
        created. The relative distance of each to the optimum is less than 2**-130.
    Bits: 64 for each count that is passed.
    Reveals: the number of counts, through the size of the request; the time depends on the table.

    Args:
        counts: `Counts`, a mapping from keys to numbers of users, a pandas column with its index,
            or numbers with `labels`; integers of any type. An empty table is not an error. Arrow
            columns with labels of type string are not converted: ten million keys take a second.
        epsilon, delta: total cost of this call; positive rationals.
        max_partitions: largest number of keys for which one user counts; choose it without looking
            at the data.
        pre_threshold: keys with fewer users are never kept. Other keys are treated as if they had
            pre_threshold - 1 users fewer. Use it for additional rules, such as "at least ten
            people".
        with_counts: also release noisy counts. Their law comes from the same table, up to 2**-115.
        labels: the keys, if counts is not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there before the first bit is
            drawn, and the result has a receipt.

    Returns:
        TopK: the kept keys, in the order of their labels, not of their counts; the list can be
            empty. `noise` describes the noise of the counts.

    Raises:
        ParameterError: a parameter is wrong, or does not match the `Counts`.
        ScoreError: the counts cannot be read.
        SourceError: the source failed.

    Example:
        >>> from safeselect import select_partitions
        >>> users = {"Oslo": 4000, "Rome": 5000, "a rare place": 1}
        >>> kept = select_partitions(users, epsilon=1, delta="1e-9", max_partitions=1)
        >>> kept.labels
        ('Oslo', 'Rome')
    """
    terms = Terms.read(epsilon, delta, max_partitions, pre_threshold, with_counts)
    return release_keys(terms, counts, labels, source, read_ledger(ledger, monotonic=True))


def release_keys(
    terms: KeyTerms, counts: object, labels: object, source: Source | None, scope: Scope | None
) -> TopK[str]:
    """The steps of `select_partitions`, once its parameters are read."""
    check_partitions(counts, terms.max_partitions, unit_of(scope))
    chosen = resolve(source)
    held = hold_counts(counts, labels, 0)
    charge = terms.charge("select_partitions")
    read = partial(read_columns, held)
    with Call(charge, read, source=chosen, scope=scope, unit=held.unit) as call:
        labels, counts = _decided(terms, call.values, call.bits)
        found = counts if terms.with_counts else None
        return call.commit(TopK(labels=labels, counts=found, ordered=False, **call.header))


def _decided(
    terms: KeyTerms, keys: KeyColumns, bits: Bits
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The keys that are kept, by their labels, and their noisy counts.

    As many thresholds are drawn as counts were passed, whether or not they are keys.
    """
    found: list[tuple[str, int]] = []
    for start in range(0, keys.passed, BATCH):
        drawn = terms.draw(min(BATCH, keys.passed - start), bits)
        users = keys.users[start : start + BATCH]
        drawn = drawn[: users.size]
        kept, noisy = terms.decided(users, drawn)
        places = np.flatnonzero(kept)
        found += zip(keys.labels_of(start, places), noisy[places].tolist(), strict=True)
    keys.users.fill(0)
    labels, counts = zip(*sorted(found), strict=True) if found else ((), ())
    return labels, counts


_WORD = 64  # bits: an integer of more is compared with the limit of all numbers


@final
class PartitionStrategy:
    """An object that decides which keys of one table to release.

    `partition_strategy` returns such an object, which is called a strategy.

    Ask about each key once, with one of the methods. A second draw for a key is a second release,
    for which nothing was charged. If an engine may repeat work (Spark, Beam), use `keep_keyed`,
    which returns the same answer for the same key and number.

    A strategy can be pickled. The pickle contains the secret seed, so protect it like the data. A
    strategy that was unpickled draws from the default source.

    Attributes:
        terms: the public parameters.
        release: the public release to which a ledger commits: the cost of all decisions together,
            the parameters, and with `ledger=` the receipt. It contains no decisions, because they
            are made later.
    """

    __slots__ = ("_seed", "_source", "release", "terms")
    terms: Terms
    release: Answers
    _seed: bytes
    _source: Source | None

    def __init__(
        self, terms: Terms, release: Answers, seed: bytes, bytes_from: Source | None = None
    ) -> None:
        stored = {"terms": terms, "release": release, "_seed": seed, "_source": bytes_from}
        for name, value in stored.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError("a strategy cannot be changed after its charge; create a new one")

    def __repr__(self) -> str:
        return f"<PartitionStrategy {self.release.mechanism}, {self.release.guarantee}>"

    def __reduce__(self) -> tuple[object, ...]:
        # A source belongs to its process.
        return PartitionStrategy, (self.terms, self.release, self._seed)

    def probability_of_keep(self, users: int) -> Fraction:
        """Return the exact probability that a key with the given number of users is kept.

        This method costs nothing. The probability for a private number is as private as the number.

        Raises:
            ScoreError: it is not an integer.
        """
        return self.terms.table.chance(_read(users) - self.terms.pre_threshold + 1)

    def should_keep(self, users: int) -> bool:
        """Return whether to keep a key with the given number of users.

        Each call uses a fresh draw.

        Raises:
            ScoreError: it is not an integer; the message does not quote it.
            SourceError: the source failed.
        """
        return self._decided(users) is not None

    def noisy_count_if_kept(self, users: int) -> int | None:
        """Return the noisy number of users of a key, or None if the key is not kept.

        Each call uses a fresh draw.

        Raises:
            ParameterError: the strategy was made without `with_counts=True`.
            ScoreError, SourceError: as for `should_keep`.
        """
        self._check_counts()
        return self._decided(users)

    def keep_column(self, counts: Scores[Any]) -> NDArray[np.bool_]:
        """Return which keys to keep, given a column with the number of users of each key.

        Each key has a fresh draw.

        Args:
            counts: numbers of users as a list, an array or a column; or `Counts`, in their order.

        Returns:
            Array of booleans, shape (n,), in the order of the counts.

        Raises:
            ParameterError: the `Counts` do not fit the strategy.
            ScoreError: the counts cannot be read; the message does not quote them.
            SourceError: the source failed.
        """
        unit = self.release.provenance.unit
        check_partitions(counts, self.terms.max_partitions, None if unit == NOT_STATED else unit)
        column = list(counts.values()) if type(counts) is Counts else counts
        users = whole_counts(hand_over(column))
        kept, _ = self.terms.decided(users, self._draw(users.size))
        users.fill(0)
        return cast("NDArray[np.bool_]", kept)

    def keep_keyed(self, key: object, users: int) -> bool:
        """Return whether to keep the given key.

        The same key always uses the same draw.

        An engine may compute a key twice: the draw is HMAC-SHA-512 of the key under the secret
        seed, and does not depend on the number of users. The privacy is computational. It holds
        against anyone who cannot distinguish HMAC-SHA-512 from random bits and does not have the
        seed. Create another strategy for another table: with the same seed, the two answers for a
        key together reveal its count.

        Args:
            key: a string, or a number, which stands for its shortest plain decimal: 1, 1.0 and '1'
                are one key. Therefore convert keys to strings before users are counted. Keys of
                other types (None, NaN, a date) are not kept.
            users: number of users of the key; pass the same number each time.

        Raises:
            ScoreError: the number is not an integer.
        """
        return self._decided_by_key(key, users) is not None

    def noisy_count_keyed(self, key: object, users: int) -> int | None:
        """Return the noisy number of users of the given key, or None if the key is not kept.

        The key is kept if `keep_keyed` keeps it.

        Raises:
            ParameterError: the strategy was made without `with_counts=True`.
            ScoreError: the number is not an integer.
        """
        self._check_counts()
        return self._decided_by_key(key, users)

    def _check_counts(self) -> None:
        if not self.terms.with_counts:
            raise ParameterError("noisy counts require partition_strategy(..., with_counts=True)")

    def _decided(self, users: object) -> int | None:
        """The noisy count of a key that is kept, by a fresh draw; None of one that is not."""
        return self._released(_read(users), int(self._draw(1)[0]))

    def _decided_by_key(self, key: object, users: object) -> int | None:
        """The same, by the draw of the key."""
        number, label = _read(users), item(key)
        if label is None:
            return None
        return self._released(number, keyed_threshold(self.terms.table, self._seed, label))

    def _released(self, users: int, threshold: int) -> int | None:
        kept, noisy = self.terms.decided(users, threshold)
        return noisy if kept else None

    def _draw(self, count: int) -> NDArray[np.int64]:
        with Bits(resolve(self._source)) as bits:
            return draw_thresholds(self.terms.table, count, bits)


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
    """Return a `PartitionStrategy`, which decides for each key of a table whether to release the
    key.

    This call charges the whole cost of the strategy.

    The law, the guarantee, the neighbours and the arguments are those of `select_partitions`. The
    counting engine must limit the keys of each user to `max_partitions`, and keys and values must
    come from the same limited rows.

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
    terms = Terms.read(epsilon, delta, max_partitions, pre_threshold, with_counts)
    scope = read_ledger(ledger, monotonic=True)
    chosen = resolve(source)
    charge = terms.charge("partition_strategy")
    with Call(charge, lambda: None, source=chosen, scope=scope) as call:
        seed = bytearray(SEED_BYTES)
        call.bits.fill(seed)
        stated = call.commit(Answers(**call.header))
    return PartitionStrategy(terms, stated, bytes(seed), chosen)


def check_partitions(counts: object, max_partitions: int, unit: str | None) -> None:
    """Refuse counts that a partition selection cannot use; other counts than `Counts` pass.

    Raises:
        ParameterError: not the whole table, a cap that is missing or larger than `max_partitions`,
            or another unit.
    """
    if not isinstance(counts, Counts):
        return
    check_unit(counts.unit, unit)
    check_cap(counts, max_partitions, "max_partitions")
    if counts.places != "all":
        raise ParameterError(
            f"the choice of the {counts.places} largest counts depends on all users; use "
            "count_distinct_users(...) without places=, which counts the whole table"
        )


def _read(users: object) -> int:
    """Read one count as a column of it is read: numbers that are equal are the same number."""
    if type(users) is int and users.bit_length() <= _WORD:
        return users
    return in_one_sentence(lambda: read_values(hand_over([users]))[0], NOT_WHOLE)

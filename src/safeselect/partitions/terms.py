"""What a partition selection costs for each key, from what it may cost in all; all of it public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from safeselect.accounting import per_draw_epsilon
from safeselect.accounting.theorems.simple import what_is_left
from safeselect.charged import Charge
from safeselect.exact.interval import Interval, rounded_down
from safeselect.exact.parameters import integer
from safeselect.mechanisms.unknown import read_total
from safeselect.partitions.table import KeepTable, crossing, keep_table
from safeselect.promises.guarantees import ApproximateDP, PureDP
from safeselect.scores.reading import flag

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
    """

    total: ApproximateDP
    each: ApproximateDP
    max_partitions: int
    pre_threshold: int
    with_counts: bool

    @classmethod
    def read(
        cls,
        *,
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

    @property
    def table(self) -> KeepTable:
        """The chances to be kept."""
        return keep_table(self.each.epsilon, self.each.delta, with_counts=self.with_counts)

    @property
    def parts(self) -> tuple[ApproximateDP, ...]:
        """The decisions about the keys of one user."""
        return (self.each,) * self.max_partitions

    def counted(self, users: int) -> int:
        """The row of the table for so many users."""
        return max(0, users - self.pre_threshold + 1)

    def released_count(self, users: int, threshold: int) -> int:
        """The noisy count of a key that is kept."""
        return users + self.table.centre - threshold

    def charge(self, name: str) -> Charge:
        """What a ledger is told about a selection of this name."""
        parameters = {
            "max_partitions": str(self.max_partitions),
            "pre_threshold": str(self.pre_threshold),
            "with_counts": "yes" if self.with_counts else "no",
            # A user counts once for a key, so this is no choice of the caller's.
            "sensitivity": "1",
            "monotonic": "yes",
            "effective_range": "1",
        }
        mechanism = f"{name}_with_counts/1" if self.with_counts else f"{name}/1"
        return Charge(mechanism, self.total, ((self.each, self.max_partitions),), parameters)


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
        kept = Interval.of(1 - delta, precision).log() / Interval.of(most, precision)
        return -kept.expm1()

    return rounded_down(root, _BITS)

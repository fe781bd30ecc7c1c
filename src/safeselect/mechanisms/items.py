"""The door for counts whose items are private: the largest counts, in a fixed order.

The proofs in `docs/mathematics.md`, section 15, rely on these rules:

- The order is (count descending, label ascending by code point).  It says which of two equal counts
  comes first without looking at any other count.
- A label is a text, one for what is equal.  Of several labels of one item the larger count is kept.
  A label that can be no item is dropped, whatever its count.
- An item with a count below 1 counts as absent.  Too few items, or none, is a fact about the data
  and so is not an error: empty places are *dummies*, with no label and count 0.
- Counts above 2**42 are cut to 2**42.  Cutting is monotone and moves no count further than before.
  It comes before the ordering, so what follows sees an ordinary histogram.

An item is a text, read from a label that is private:

- No label raises an error, now or later.  A subclass of a string or a number is read by the methods
  of the class that it extends, so that none of its own methods runs.
- A text is itself.  A whole number of any type is its decimal digits: 1, 1.0, True and Decimal(1)
  are '1', as the text '1' is.  Any other number is its shortest plain decimal: of one that a float
  of 64 bits holds, the fewest digits that tell it from all other floats, so that 0.1 is '0.1'; of
  others, all their digits.
- Every other label (None, NaN, a date, a tuple, bytes, 1/3) can be no item, nor can an integer
  beyond 2**65536, or another number beyond 10**4096 or below 2**-13108 in size.  This
  depends on the label only.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError
from safeselect.exact.parameters import plain, ratio_of
from safeselect.release.call import in_one_sentence
from safeselect.scores.candidates import Column, Unread, hand_over, listed, pairs, read_values
from safeselect.scores.columns import cells_of, index_of
from safeselect.scores.counts import Counts, check_unit, read_fetched
from safeselect.scores.reals import place_of

_MOST = 2**42
_MOST_BITS = 2**16
_MOST_PLACES = 20_000  # before the decimal point, or behind it: 2**65536 has fewer
NOT_WHOLE = (
    "counts must be integers of any type without missing values; replace missing counts first"
)


@dataclass(slots=True, repr=False, eq=False)
class HeldCounts:
    """Counts that the caller passed; they and their labels are read after the charge.

    Attributes:
        size: the number of places; public.
        unit: who is protected, where the counts state it.
        items: the items in these places, once the counts were read; None for a dummy.
    """

    _counts: Column | Unread
    _labels: Any
    size: int
    unit: str | None = None
    items: tuple[str | None, ...] = ()

    def read(self) -> npt.NDArray[np.int64]:
        """Return the largest counts, in the fixed order, padded with zeros to the public size.

        Reveals: the time depends on the number of items and on how their counts compare.

        Raises:
            ParameterError: there are more or fewer labels than counts.
            ScoreError: a count is not an integer.
        """
        counts, labels = self.columns()
        values = whole_counts(counts)
        largest = merged(values, labels)
        values.fill(0)
        found = sorted((-count, name) for name, count in _at_least(largest, self.size))[: self.size]
        padding = self.size - len(found)
        self.items = (*(name for _, name in found), *(None,) * padding)
        return np.array([-count for count, _ in found] + [0] * padding, dtype=np.int64)

    def columns(self) -> tuple[Column, Any]:
        """Return the counts and their labels, as they were handed over or are read now."""
        if type(self._counts) is not Unread:
            return self._counts, self._labels
        found = self._counts.read()
        return _both(*found) if isinstance(found, tuple) else _both(found, None)


def merged(values: npt.NDArray[np.int64], labels: Any) -> dict[str, int]:
    """Return all items with the largest of their counts; below 1 an item counts as absent.

    Raises:
        ParameterError: there are more or fewer labels than counts.
    """
    largest: dict[str, int] = {}
    for name, value in zip(read_items(labels, values.size), values.tolist(), strict=True):
        # One item has two labels: the larger count is as sensitive as each of them.
        if name is not None and value > largest.get(name, 0):
            largest[name] = value
    return largest


def hold_counts(counts: object, labels: object, size: int) -> HeldCounts:
    """Take counts of which the `size` largest will be read.

    Args:
        counts: a mapping from labels to counts; a pandas column with the labels as its index; a
            list, an array or another column of counts; or the counts of an open table, not yet
            read.
        labels: one label for each count; not with a mapping.

    Raises:
        ParameterError: labels are missing, or are not a list.
        ScoreError: the counts have a class that cannot be read.
    """
    if type(counts) is Unread:
        return HeldCounts(counts, None, size, counts.unit)
    unit = counts.unit if type(counts) is Counts else None
    return HeldCounts(*_both(counts, labels), size, unit)


def _both(counts: object, labels: object) -> tuple[Column, Iterable[object]]:
    """Return the counts, of which only the number is looked at, and their labels."""
    labels, counts = pairs(counts, labels) or (labels, counts)
    column = hand_over(counts)
    labels = index_of(counts) if labels is None else labels
    if labels is None:
        raise ParameterError(
            "pass labels= with the counts, or pass a mapping from labels to counts; without "
            "labels, a result could name items only by their positions, which depend on the data"
        )
    return column, listed(labels, "count")


def _at_least(largest: dict[str, int], size: int) -> list[tuple[str, int]]:
    """Return the items that reach the size-th largest count: no other can be among the first."""
    pairs = list(largest.items())
    if len(pairs) <= size:
        return pairs
    counts = np.fromiter(largest.values(), dtype=np.int64, count=len(pairs))
    least = np.partition(counts, counts.size - size)[counts.size - size]
    kept = np.flatnonzero(counts >= least).tolist()
    counts.fill(0)
    return [pairs[place] for place in kept]


def whole_counts(column: Column) -> npt.NDArray[np.int64]:
    """Return a copy of the counts, cut to 0 .. 2**42.

    Raises:
        ScoreError: a count is not an integer.
    """
    # NumPy makes floats of an empty list; an empty table must not differ from another.
    with np.errstate(all="ignore"):  # a warning would tell of a count
        values = column.numbers() if column.size else []
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        counts: npt.NDArray[np.int64] = np.minimum(wide, _MOST, out=wide).view(np.int64)
        return np.maximum(counts, 0, out=counts)
    whole = in_one_sentence(partial(read_values, Column(values, len(values))), NOT_WHOLE)
    return np.array([min(max(value, 0), _MOST) for value in whole], dtype=np.int64)


def item(label: object) -> str | None:
    """Return the text that a label is; None for a label that can be no item."""
    if issubclass(type(label), str):
        return str.__str__(label)
    # NaN and infinity are no ratio; a class of its own may raise anything.
    with suppress(Exception):
        return _spelled(*_ratio(label))
    return None


def _ratio(label: Any) -> tuple[int, int]:
    """Return a number as a fraction in lowest terms; what is none raises as it likes."""
    kind = type(label)
    if issubclass(kind, (complex, np.complexfloating)) and not label.imag:
        return _ratio(label.real)
    # The widest floats of NumPy are no numbers for scores.
    number = label if issubclass(kind, np.longdouble) else plain(label)
    # Written out, a short Decimal may fill the memory.
    if type(number) is Decimal and number and abs(number.adjusted()) > _MOST_PLACES:
        raise ValueError("the number is too large or too small")
    return ratio_of(number)


def _spelled(numerator: int, denominator: int) -> str | None:
    """The one spelling of a number in lowest terms; None for one that can be no item."""
    size = numerator.bit_length(), denominator.bit_length()
    if max(size) > _MOST_BITS or size[0] - size[1] < -_MOST_BITS // 5:
        return None
    places = 0
    if denominator > 1:
        # Of a number that a float holds the decimal that this float is written as.
        above, below = place_of(Fraction(numerator, denominator))[1].as_integer_ratio()
        places = below.bit_length()  # enough for each decimal that ends
        numerator, rest = divmod(above * 10**places, below)
        if rest or not numerator:
            return None
    # GMP writes the digits: Python may limit how many digits of an int str() writes.
    written = str(gmpy2.mpz(numerator).digits())
    return format(Decimal(f"{written}e-{places}"), "f").rstrip("0") if places else written


def read_items(labels: Iterable[object], count: int) -> list[str | None]:
    """Return the items that `count` labels are, None for labels that can be no items.

    Raises:
        ParameterError: there are more or fewer labels; never because of a label.
    """
    found = [label if type(label) is str else item(label) for label in cells_of(labels)]
    if len(found) != count:
        # The number of items is private here, so the message does not quote it.
        raise ParameterError("labels must contain one label for each count, in the same order")
    return found


def check_unknown(
    counts: object, places: object, *, k_bar: int, contributions: int | None, unit: str | None
) -> None:
    """Refuse counts that a mechanism for an unknown domain cannot use.

    Args:
        places: what the caller states, for counts that are not `Counts`.
        k_bar: how many items compete at most.
        contributions: how many items one user may change; None for any number.
        unit: that of the ledger's scope; None without one.

    Raises:
        ParameterError: fewer than k_bar + 1 places, a cap that is missing or larger than
            `contributions`, or another unit.
    """
    if isinstance(counts, Counts):
        if places is not None:
            raise ParameterError("these counts already state their places; omit places=")
        check_unit(counts.unit, unit)
        if contributions is not None:
            check_cap(counts, contributions, "max_contributions")
        fetched = counts.places
    elif places is None:
        raise ParameterError(
            "pass places='all' if these are all counts of the table; if they are only the largest "
            f"counts, pass their number as places (at least {k_bar + 1})"
        )
    else:
        fetched = read_fetched(places)
    if fetched != "all" and fetched <= k_bar:
        raise ParameterError(
            f"k_bar={k_bar} requires the {k_bar + 1} largest counts, but only {fetched} were "
            f"requested; count again with places={k_bar + 1}"
        )


def check_cap(counts: Counts, most: int, name: str) -> None:
    """Refuse counts in which a user may count for more items than an argument of this name says.

    Raises:
        ParameterError: their cap is missing or larger than `most`.
    """
    cap = counts.max_contributions
    if cap is None or cap > most:
        got = "they were not capped" if cap is None else f"they were capped at {cap}"
        raise ParameterError(
            f"{name}={most} requires counts with a cap of at most {most} items per user, "
            f"but {got}; use count_distinct_users(..., max_contributions={most})"
        )

"""The argument `weights=`: public weights of the candidates, before any score is read.

The exponential mechanism, whose promise is `BoundedRange`, multiplies its probabilities by the
weights.  Permute-and-flip takes a weight as so many equal copies of a candidate.  With weight 0 a
candidate takes no part in a draw.

Equal weights are one column, whatever they were written as: unsigned integers where all are whole,
floats where all are numbers that a float prints, and exact numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from operator import eq
from typing import Any, Self

import numpy as np

from safeselect.engine.arrays import Indices
from safeselect.engine.draws import Cells, Weights
from safeselect.errors import ParameterError
from safeselect.exact.parameters import INTEGERS, exact_text, rational
from safeselect.mechanisms.table import Calibration, Law
from safeselect.promises.guarantees import BoundedRange
from safeselect.scores.candidates import labels_of

_WHOLE, _DOUBLE = INTEGERS - {bool, np.bool_}, frozenset((float, np.float64))
_POWERS = np.array([10**place for place in range(23)], dtype=np.float64)
_DTYPES = (_WHOLE, np.int64), (_WHOLE | _DOUBLE, np.float64), ({np.float32}, np.float32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OrderedWeights:
    """Weights in the order of the candidates, and what the engine needs of them.

    Args:
        cells: 0 or more, and not all 0.
        places: the candidates with weights above 0; None for all.
        measure: their weights; None where all are equal.
        digest: sha256 of all weights, for records; see `_digest`.
    """

    cells: Cells
    places: Indices | None
    measure: Weights | None
    digest: str

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """Take weights that were read."""
        # Freed at once: glibc then keeps up to twice as much between calls, as in `engine.rows`.
        np.empty(4 * len(cells), dtype=np.uint64)
        above = np.array(cells, dtype=bool)
        places = None if above.all() else np.flatnonzero(above)
        taken = cells if places is None else cells[places]
        return cls(cells, places, Weights.of(taken), _digest(cells))

    def __len__(self) -> int:
        """How many candidates have a weight above 0."""
        return len(self.cells) if self.places is None else len(self.places)

    def used_by(self, law: Law) -> tuple[Indices | None, Weights | None]:
        """As the mechanism of a row uses them: which candidates take part, and what is added.

        Each candidate takes part as often as it has copies; None for all of them, once.
        """
        if law.promise is not BoundedRange:  # copies
            return np.repeat(np.arange(len(self.cells)), np.array(self.cells, int)), None
        return self.places, self.measure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GivenWeights:
    """Weights as a caller gave them, read once for one call or for many.

    Args:
        cells: 0 or more, and not all 0.
        labelled: the place of each label; None for the order of the scores.
        ordered: the same in the order of the scores; None for a mapping.
    """

    cells: Cells
    labelled: Mapping[object, int] | None
    ordered: OrderedWeights | None

    @classmethod
    def read(cls, weights: Any) -> Self:
        """Read a list in the order of the scores, or a mapping from labels to weights.

        A column with labels of its own, as `labels_of` finds them, is a mapping.

        Raises:
            ParameterError: it is neither, a weight is no rational of at least 0, none is above 0,
                or one is more than 2**4096 times another.
        """
        names = list(weights) if isinstance(weights, Mapping) else labels_of(weights)
        cells = _read(weights.values() if isinstance(weights, Mapping) else weights)
        if names is None:
            return cls(cells, None, OrderedWeights.of(cells))
        return cls(cells, {name: place for place, name in enumerate(names)}, None)

    def named(self, plan: Calibration) -> Calibration:
        """The same plan under a name that tells of weights.

        Raises:
            ParameterError: its mechanism takes no weights, or none such.
        """
        cells, copied = self.cells, plan.law.drawn == "again" and plan.k == 1
        if copied:  # each copy takes as much memory as a candidate
            copied = cells.dtype.kind == "u" and max(np.max(cells), np.sum(cells)) <= 1 << 24
        if plan.law.chosen or not (copied or plan.law.promise is BoundedRange):
            raise ParameterError(
                "weights= requires the exponential mechanism, or permute-and-flip with k=1 and "
                "integer weights that sum to at most 2**24"
            )
        return replace(plan, mechanism=plan.mechanism.replace("/", "_weighted/"))

    def of(self, labels: tuple[object, ...] | None, size: int) -> OrderedWeights:
        """The same in the order of the candidates of one call.

        Raises:
            ParameterError: there is not one for each of them.
        """
        if size == len(self.cells):
            if self.ordered is not None:
                return self.ordered
            with suppress(KeyError, TypeError):  # a label that cannot be hashed is not among theirs
                by = self.labelled or {}
                return OrderedWeights.of(self.cells[[by[n] for n in labels or range(size)]])
        raise _wrong(f"{size} ")


def _read(weights: Any) -> Cells:
    """The column of these weights; see `GivenWeights.read`."""
    given = weights
    if type(weights) is not np.ndarray:
        given = []
        with suppress(TypeError):
            given = [] if isinstance(weights, (str, bytes, Set)) else list(weights)
    column: Cells | None = _column(given)
    if column is None:
        # Text is not quoted: it may be the labels, handed over by mistake.
        unquoted = [ParameterError] if any(isinstance(each, str) for each in given) else []
        values: tuple[Fraction, ...] = ()
        with suppress(*unquoted):
            values = tuple(rational(each, "weights", zero=True) for each in given)
        if not any(values) or max(values) > 2**4096 * min(filter(None, values)):
            raise _wrong("")
        column = _narrowed(values)
    if not any(column):
        raise _wrong("")
    return column


def _column(given: Any) -> Any:
    """Integers and floats as a column; None for what is read one by one."""
    found, kinds = given, frozenset[type]()
    if isinstance(given, list):
        kinds = frozenset(map(type, given))
        try:
            found = np.array(given, next(dtype for known, dtype in _DTYPES if kinds <= known))
        except (StopIteration, OverflowError):
            return None
    is_column = found.ndim == 1 and found.size and found.dtype.kind in "iuf" and found.itemsize <= 8
    if not is_column or not 0 <= np.min(found) <= np.max(found) < np.inf:
        return None
    is_whole = found.dtype.kind != "f"
    if not is_whole:
        found = np.add(found, 0, dtype=found.dtype.newbyteorder("="))  # -0 is 0
        found = found if found.itemsize == 8 else _printed(found)
        is_whole = np.rint(found[0]) == found[0] and np.array_equal(np.rint(found), found)
        # Beyond these, a float may not be the whole number that it prints, or that it was made of.
        most = 1 << 53 if is_whole or kinds & _WHOLE else np.inf
        if not np.max(found) < most or not _is_normal(found):
            return None
    return found.astype(np.uint64) if is_whole else found


def _printed(floats: Any) -> Cells:
    """The numbers that floats of 16 or 32 bits print; of 0 or more.

    A unit is the largest power of ten that is at most the distance to the next float.  A float
    prints the nearest multiple of ten units if that reads as the same float, and otherwise of one
    (Steele and White 1990).  Powers of ten up to 10**22 are floats, so a quotient is rounded once;
    smaller floats, and those above 2**mantissa, are printed one by one where this is not certain.
    """
    kind = np.finfo(floats.dtype)
    # By a float's exponent: how many of its distances are 1, and how many units.
    steps = np.ldexp(_POWERS[0], kind.nmant - np.maximum(np.arange(-1023, 1025), kind.minexp))
    powers = np.take(_POWERS, np.searchsorted(_POWERS, steps), mode="clip")
    units = np.take(powers, floats.astype(np.float64).view(np.int64) >> 52)
    cells = floats * units
    tens = np.rint(np.divide(cells, 10)) * 10
    is_other = np.divide(tens, units).astype(floats.dtype) != floats
    found: Cells = np.divide(tens + (np.rint(cells) - tens) * is_other, units)
    other = np.flatnonzero((found.astype(floats.dtype) != floats) | (floats > 1 << kind.nmant))
    found[other] = floats[other].astype(str).astype(np.float64)
    return found


def _is_normal(floats: Any) -> bool:
    """Whether floats are 0 or normal: the number that one prints is within a 2**-53rd part."""
    # In the order of their bits 0 comes after all others, if 1 is taken off.
    return bool(np.min(floats.view(np.uint64) - np.uint64(1)) >= (1 << 52) - 1)


def _digest(cells: Cells) -> str:
    """sha256 of a column: the name of the smallest type that holds it, and its little-endian bytes.

    Of exact numbers, their texts with commas between them.
    """
    if cells.dtype.kind != "O":
        whole = cells.dtype.kind == "u"
        name = np.min_scalar_type(np.max(cells)).newbyteorder("<").str if whole else "<f8"
        found = sha256(name.encode())
        found.update(np.ascontiguousarray(cells, dtype=name).data)
    else:
        found = sha256(",".join(map(exact_text, cells)).encode())
    return "sha256:" + found.hexdigest()


def _narrowed(values: tuple[Fraction, ...]) -> Cells:
    """Exact numbers as the column that equal ones of another type are."""
    if all(value.denominator == 1 for value in values) and max(values) < 1 << 64:
        return np.array([value.numerator for value in values], dtype=np.uint64)
    with suppress(OverflowError):
        floats = np.array(values, dtype=np.float64)
        printed = (rational(each, "weights", zero=True) for each in floats.tolist())
        if _is_normal(floats) and all(map(eq, printed, values)):
            return floats
    return np.array(values, dtype=object)


def _wrong(size: str) -> ParameterError:
    return ParameterError(
        f"weights must be {size}numbers in the order of the scores, or a mapping from each label "
        "to its weight; 0 removes a candidate; the others (at least one) must be within a factor "
        "of 2**4096"
    )

"""The argument `weights=`: public weights of the candidates, before any score is read.

The exponential mechanism, whose promise is `BoundedRange`, multiplies its probabilities by the
weights.  Permute-and-flip takes a weight as so many equal copies of a candidate.  With weight 0 a
candidate takes no part in a draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, Self

import numpy as np

from safeselect.engine.arrays import Indices
from safeselect.engine.draws import Weights
from safeselect.errors import ParameterError
from safeselect.exact.parameters import exact_text, rational
from safeselect.mechanisms.table import Calibration, Law
from safeselect.promises.guarantees import BoundedRange
from safeselect.scores.candidates import labels_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GivenWeights:
    """Weights as a caller gave them, read once for one call or for many.

    Args:
        values: 0 or more, and not all 0.
        labelled: the same by the label of the candidate; None for the order of the scores.
    """

    values: tuple[Fraction, ...]
    labelled: Mapping[object, Fraction] | None

    @classmethod
    def read(cls, weights: Any) -> Self:
        """Read a list in the order of the scores, or a mapping label -> weight.

        A column with labels of its own, as `labels_of` finds them, is a mapping.

        Raises:
            ParameterError: it is neither, a weight is no rational of at least 0, none is above 0,
                or one is more than 2**4096 times another.
        """
        names = list(weights) if isinstance(weights, Mapping) else labels_of(weights)
        cells = weights.values() if isinstance(weights, Mapping) else weights
        given: list[Any] = []
        with suppress(TypeError):
            given = [] if isinstance(cells, (str, bytes, Set)) else list(cells)
        # Text is not quoted: it may be the labels, handed over by mistake.
        unquoted = [ParameterError] if any(isinstance(each, str) for each in given) else []
        values: tuple[Fraction, ...] = ()
        with suppress(*unquoted):
            values = tuple(rational(each, "weights", zero=True) for each in given)
        if not any(values) or max(values) > 2**4096 * min(filter(None, values)):
            raise _wrong("")
        return cls(values, None if names is None else dict(zip(names, values, strict=True)))

    def named(self, plan: Calibration) -> Calibration:
        """The same plan under a name that tells of weights.

        Raises:
            ParameterError: its mechanism takes no weights, or none such.
        """
        whole = all(value.denominator == 1 for value in self.values)
        # Each copy takes as much memory as a candidate.
        copied = (
            (plan.law.drawn == "again") and plan.k == 1 and whole and sum(self.values) <= 1 << 24
        )
        if not copied and plan.law.promise is not BoundedRange:
            raise ParameterError(
                "weights= goes with the exponential mechanism (exponential_mechanism, or "
                "mechanism='exponential'), or, as whole numbers that add up to 2**24 at most, with "
                "one permute-and-flip"
            )
        return replace(plan, mechanism=plan.mechanism.replace("/", "_weighted/"))

    def of(self, labels: tuple[object, ...] | None, size: int) -> Self:
        """The same in the order of the candidates of one call.

        Raises:
            ParameterError: there is not one for each of them.
        """
        values: tuple[Fraction, ...] = ()
        with suppress(KeyError, TypeError):  # a label that cannot be hashed is not among theirs
            by = self.labelled
            values = self.values if by is None else tuple(by[n] for n in labels or range(size))
        if not size == len(values) == len(self.values):
            raise _wrong(f"{size} ")
        return replace(self, values=values)

    def used_by(self, law: Law) -> tuple[Indices, Weights | None]:
        """As the mechanism of a row uses them: which candidates take part, and what is added.

        Each candidate takes part as often as it has copies.
        """
        if law.promise is not BoundedRange:  # copies
            return np.repeat(np.arange(len(self.values)), np.array(self.values, int)), None
        places = np.flatnonzero([value > 0 for value in self.values])
        return places, Weights.of([value for value in self.values if value])

    def digest(self) -> str:
        """sha256 of the exact texts of all weights, with commas between them, for a ledger."""
        return "sha256:" + sha256(",".join(map(exact_text, self.values)).encode()).hexdigest()


def _wrong(size: str) -> ParameterError:
    return ParameterError(
        f"weights must be {size}numbers in the order of the scores, or a mapping with all labels "
        "and no other; 0 removes a candidate, but not all; the rest within a factor of 2**4096"
    )

"""The argument `weights=`: public weights of the candidates, before any score is read.

The exponential mechanism multiplies its probabilities by the weights.  Permute-and-flip takes a
weight as so many equal copies of a candidate.  With weight 0 a candidate takes no part in a draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, Self

import numpy as np

from safeselect.errors import ParameterError
from safeselect.exact.parameters import rational
from safeselect.noise.arrays import Indices
from safeselect.noise.weights import Weights
from safeselect.promises.records import exact_text
from safeselect.selection._table import Row

__all__ = ["GivenWeights"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GivenWeights:
    """Weights as a caller gave them.

    Args:
        values: one for each candidate, 0 or more.
        places: int64: the candidates that take part, each as often as it has copies.
        measure: what the engine adds; None where that is the same for all.
    """

    values: tuple[Fraction, ...]
    places: Indices
    measure: Weights | None = None

    @classmethod
    def read(cls, weights: Any, labels: tuple[object, ...] | None, size: int) -> Self:
        """Read a list in the order of the scores, or a mapping label -> weight.

        Raises:
            ParameterError: not one weight for each candidate, a weight that is no rational of at
                least 0, or none above 0.
        """
        names, given = labels or range(size), []
        with suppress(KeyError, TypeError):
            given = [weights[n] for n in names] if isinstance(weights, Mapping) else list(weights)
        values = tuple(rational(each, "weights", zero=True) for each in given)
        is_list = not isinstance(weights, (str, bytes, Set)) and size == len(given) == len(weights)
        if not is_list or not any(values):
            raise ParameterError(
                f"weights must be {size} numbers in the order of the scores, or a mapping with all "
                "labels and no other, and not all zero; write 0 for a candidate that takes no part"
            )
        return cls(values, np.flatnonzero(np.array([value > 0 for value in values])))

    def of(self, row: Row, k: int) -> Self:
        """The same weights, as the mechanism of a row uses them.

        Raises:
            ParameterError: it takes no weights, or none such.
        """
        kept = [value for value in self.values if value]
        if row.noise == "gumbel" and not row.wide:
            return replace(self, measure=Weights.of(kept))
        copies = [int(value) for value in kept]
        # Each copy takes as much memory as a candidate.
        if not row.anew or k != 1 or copies != kept or sum(copies) > 1 << 24:
            raise ParameterError(
                "weights= goes with the exponential mechanism, or, as whole numbers that add up to "
                "2**24 at most, with one permute-and-flip; write mechanism='exponential'"
            )
        return replace(self, places=np.repeat(self.places, copies))

    def digest(self) -> str:
        """sha256 of the exact texts of all weights, with commas between them, for a ledger."""
        return "sha256:" + sha256(",".join(map(exact_text, self.values)).encode()).hexdigest()

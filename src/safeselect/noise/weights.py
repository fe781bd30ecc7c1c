"""Public weights of candidates: Y_i = rate * score_i + ln w_i + Q(V_i) nats.

With Gumbel noise candidate i then wins with probability proportional to w_i rho**-score_i.  Only
ratios of weights matter.  The logarithm of each different ratio to the least weight is enclosed
once; a bound adds it rounded up, and `certified_order` adds both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Self

import numpy as np

from safeselect.exact.interval import Interval
from safeselect.noise.arrays import Indices, Numbers, picked
from safeselect.noise.tables import UNIT_BITS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weights:
    """Weights of n candidates, none zero and not all equal.

    Args:
        ratios: each different weight over the least one.
        which: int64, shape (n,): the place of each candidate's ratio.
        spread: nats, a whole number: no ratio has a larger logarithm.
    """

    ratios: tuple[Fraction, ...]
    which: Indices
    spread: int

    @classmethod
    def of(cls, weights: Sequence[Fraction]) -> Self | None:
        """Take positive weights; None where all are equal, so that they change nothing.

        Requires: none is more than 2**4096 times another; bounds of `tables` have room for that.
        """
        places: dict[Fraction, int] = {}
        which = [places.setdefault(weight, len(places)) for weight in weights]
        if len(places) == 1:
            return None
        least = min(places)
        ratios = tuple(weight / least for weight in places)
        return cls(ratios, np.array(which, np.int64), 1 + (_log(max(ratios), 64)[1] >> 64))

    def logs(self, candidates: list[int], precision: int) -> list[tuple[int, int]]:
        """The enclosures of the candidates' ln w, in units of 2**-precision nats.

        Reveals: nothing; the steps are the same for all candidates.
        """
        logs = [_log(ratio, precision) for ratio in self.ratios]
        return [logs[place] for place in picked(self.which, candidates)]

    def rounded_up(self, dtype: type = np.int64, unit: Fraction | None = None) -> Numbers:
        """Each candidate's ln w in units of so many nats (those of `tables`), rounded up."""
        scale = (unit or Fraction(1, 1 << UNIT_BITS)) * 2**64
        logs = [ceil(_log(ratio, 64)[1] / scale) for ratio in self.ratios]
        return np.take(np.array(logs, dtype), self.which)


@lru_cache(maxsize=1 << 14)
def _log(ratio: Fraction, precision: int) -> tuple[int, int]:
    """Integers (low, high) with low <= ln(ratio) * 2**precision <= high <= low + 2."""
    return Interval.of(ratio, precision + 32).log().scaled(precision)

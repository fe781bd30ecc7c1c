"""The number of runs: one uniform number against the exact law, one partial sum a run.

K is never computed as a number that could be shown: the object says only whether one more run
follows.  Whoever measures the time of a call, or counts its runs, learns K all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from safeselect.exact.interval import Interval
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.memory import sealed

_MORE = 64
_GUARD = 64  # digits of the sums beyond those of U; k runs round a sum less than 8 k times


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """P(K = k) is proportional to (1 - gamma)**k prod_{l < k} (l + eta) / (l + 1), k = 1, 2, ...

    For eta = 0 it is the logarithmic law, the limit; for eta = 1 the geometric one.
    """

    eta: Fraction
    gamma: Fraction

    def start(self, precision: int) -> tuple[Interval, Interval]:
        """P(K <= 0) and P(K = 1) = eta (1 - gamma) / (gamma**-eta - 1)."""
        log, rest = Interval.of(self.gamma, precision).log(), 1 - self.gamma
        if self.eta:
            above = Interval.of(self.eta * rest, precision)
            first = above / (-(Interval.of(self.eta, precision) * log)).expm1()
        else:
            first = Interval.of(rest, precision) / -log
        return Interval.of(0, precision), first

    def ratio(self, k: int) -> Fraction:
        """P(K = k + 1) / P(K = k)."""
        return (1 - self.gamma) * (k + self.eta) / (k + 1)


@dataclass(frozen=True, slots=True)
class Poisson:
    """P(K = k) = exp(-mean) mean**k / k!, k = 0, 1, ..."""

    mean: Fraction

    def start(self, precision: int) -> tuple[Interval, Interval]:
        """P(K <= 0) and P(K = 1)."""
        none = (-Interval.of(self.mean, precision)).exp()
        return none, none * Interval.of(self.mean, precision)

    def ratio(self, k: int) -> Fraction:
        """P(K = k + 1) / P(K = k)."""
        return self.mean / (k + 1)


@final
@sealed
class Stopping:
    """K runs, K of a law.

    Method: inversion, K > k iff U >= P(K <= k), for a uniform real U whose digits are drawn until
        enclosures of the sum decide.
    Exactness: only enclosures decide, so the law is exact.
    Bits: `digits`, and 64 more with probability 2**(1 - digits) for each run.

    Args:
        law: of K.
        bits: where random bits come from.
        digits: how many digits of U are drawn at first; fewer than 128 in tests only.
    """

    __slots__ = ("_bits", "_law", "_next", "_runs", "_size", "_sum", "_u")

    def __init__(self, law: NegativeBinomial | Poisson, bits: Bits, digits: int = 128) -> None:
        self._law, self._bits = law, bits
        self._u, self._size = bits.take(digits), digits
        self._runs = 0
        self._sum, self._next = law.start(self._size + _GUARD)

    def goes_on(self) -> bool:
        """Whether one more run follows; the answer is given once for each run."""
        for _ in rounds(_MORE):
            low, high = self._sum.scaled(self._size)
            if self._u >= high:
                self._advance()
                return True
            if self._u + 1 <= low:
                return False
            self._refine()
        raise exhausted()

    def _advance(self) -> None:
        self._runs += 1
        self._sum = self._sum + self._next
        ratio = self._law.ratio(self._runs)
        self._next = self._next * Interval.of(ratio, self._next.precision)

    def _refine(self) -> None:
        """Draw further digits of U, and add up the sum again with as many more."""
        self._u = self._u << _MORE | self._bits.take(_MORE)
        self._size += _MORE
        done, self._runs = self._runs, 0
        self._sum, self._next = self._law.start(self._size + _GUARD)
        for _ in range(done):
            self._advance()

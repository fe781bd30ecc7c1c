"""The number of runs: one uniform number against the exact law, one partial sum a run.

K is never computed as a number that could be shown: the object says only whether one more run
follows.  Whoever measures the time of a call, or counts its runs, learns K all the same.
"""

from __future__ import annotations

from fractions import Fraction
from typing import final

from safeselect.exact.interval import Interval
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.memory import sealed

__all__ = ["Stopping"]

_MORE = 64
_GUARD = 64  # digits of the sums beyond those of U; k runs round a sum less than 8 k times


@final
@sealed
class Stopping:
    """K runs, where P(K = k) is proportional to (1 - gamma)**k prod_{l < k} (l + eta) / (l + 1).

    The law is the truncated negative binomial one on k = 1, 2, ...; for eta = 0 the logarithmic
    one, the limit; for eta = 1 the geometric one.

    Method: inversion, K > k iff U >= P(K <= k), for a uniform real U whose digits are drawn until
        enclosures of the sum decide.
    Exactness: only enclosures decide, so the law is exact.
    Bits: `digits`, and 64 more with probability 2**(1 - digits) for each run.

    Args:
        eta, gamma: as `Repeated` read them.
        bits: where random bits come from.
        digits: how many digits of U are drawn at first; fewer than 128 in tests only.
    """

    __slots__ = ("_bits", "_eta", "_gamma", "_next", "_runs", "_size", "_sum", "_u")

    def __init__(self, eta: Fraction, gamma: Fraction, bits: Bits, digits: int = 128) -> None:
        self._eta, self._gamma, self._bits = eta, gamma, bits
        self._u, self._size = bits.take(digits), digits
        self._runs = 0
        self._sum, self._next = self._start()

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

    def _start(self) -> tuple[Interval, Interval]:
        """P(K <= 0) and P(K = 1) = eta (1 - gamma) / (gamma**-eta - 1)."""
        precision = self._size + _GUARD
        log, rest = Interval.of(self._gamma, precision).log(), 1 - self._gamma
        if self._eta:
            above = Interval.of(self._eta * rest, precision)
            first = above / (-(Interval.of(self._eta, precision) * log)).expm1()
        else:
            first = Interval.of(rest, precision) / -log
        return Interval.of(0, precision), first

    def _advance(self) -> None:
        self._runs += 1
        self._sum = self._sum + self._next
        ratio = (1 - self._gamma) * (self._runs + self._eta) / (self._runs + 1)
        self._next = self._next * Interval.of(ratio, self._next.precision)

    def _refine(self) -> None:
        """Draw further digits of U, and add up the sum again with as many more."""
        self._u = self._u << _MORE | self._bits.take(_MORE)
        self._size += _MORE
        done, self._runs = self._runs, 0
        self._sum, self._next = self._start()
        for _ in range(done):
            self._advance()

"""Independent arithmetic for the tests of the array engine.

The definitions by mpmath, and bounds by integers and Taylor series only.
"""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
from hypothesis import strategies as st

ONE = 1 << 512

RATES = st.one_of(
    st.integers(-40, 20).map(lambda e: Fraction(2) ** e),
    st.fractions(Fraction(1, 2**40), Fraction(2**20), max_denominator=2**41),
    st.integers(1, 2**20).map(Fraction),
).filter(lambda r: Fraction(1, 2**40) <= r <= 2**20)
"""Rates of every size and kind that a release may have."""


def quantile(name: str, v: mpmath.mpf) -> mpmath.mpf:
    """Q(V) of a law, from the definitions."""
    if name == "laplace":
        return -mpmath.log(2 * v) if v < 0.5 else mpmath.log(2 * (1 - v))
    return -mpmath.log(v) if name == "exponential" else -mpmath.log(-mpmath.log1p(-v))


def survival(name: str, x: mpmath.mpf) -> mpmath.mpf:
    """S(x) of a law, from the definitions."""
    if name == "laplace":
        return mpmath.exp(-x) / 2 if x >= 0 else 1 - mpmath.exp(x) / 2
    return mpmath.exp(-x) if name == "exponential" else -mpmath.expm1(-mpmath.exp(-x))


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose e**x for |x| < 200 by the series of e**(x / 2**12), squared 12 times."""
    if x == 0:
        return Fraction(1), Fraction(1)
    if x < 0:
        low, high = exp_bounds(-x)
        return 1 / high, 1 / low
    small = x / 2**12
    down = small.numerator * ONE // small.denominator
    term_low = term_high = total_low = total_high = ONE
    for i in range(1, 90):
        term_low = term_low * down // (ONE * i)
        term_high = -(-term_high * (down + 1) // (ONE * i))
        total_low += term_low
        total_high += term_high
    total_high += 2 * term_high + 2  # the rest is less than twice the last term
    low, high = total_low, total_high
    for _ in range(12):
        low, high = low * low // ONE, -(-high * high // ONE)
    return Fraction(low, ONE), Fraction(high, ONE)


def survival_bounds(law: str, x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose S(x)."""
    low, high = exp_bounds(-x)
    if law == "exponential":
        return (low, high) if x > 0 else (Fraction(1), Fraction(1))
    if law == "laplace":
        return (low / 2, high / 2) if x >= 0 else (1 - 1 / (2 * low), 1 - 1 / (2 * high))
    inner_low, inner_high = exp_bounds(-low)[1], exp_bounds(-high)[0]
    return 1 - inner_low, 1 - inner_high


class Tape:
    """A source of scripted integers: `fill` and `take` read the same endless stream of bits."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.requests: list[int] = []

    def fill(self, buffer: memoryview) -> None:
        self.requests.append(len(buffer))
        buffer[:] = self._random.randbytes(len(buffer))

    def take(self, count: int) -> int:
        self.requests.append(-count)
        return self._random.getrandbits(count)


class Same(Tape):
    """All that is filled is the same; only what is taken differs."""

    def fill(self, buffer: memoryview) -> None:
        self.requests.append(len(buffer))
        buffer[:] = bytes([77]) * len(buffer)

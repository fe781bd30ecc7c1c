"""Independent arithmetic for the tests of the array engine.

The definitions by mpmath, and bounds by integers and Taylor series only.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import strategies as st
from sampler_laws import exp_minus
from tapes import Stream

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
    """Enclose e**x for |x| < 200."""
    low, high = exp_minus(abs(x))
    return (low, high) if x <= 0 else (1 / high, 1 / low)


def survival_bounds(law: str, x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose S(x)."""
    low, high = exp_bounds(-x)
    if law == "exponential":
        return (low, high) if x > 0 else (Fraction(1), Fraction(1))
    if law == "laplace":
        return (low / 2, high / 2) if x >= 0 else (1 - 1 / (2 * low), 1 - 1 / (2 * high))
    inner_low, inner_high = exp_bounds(-low)[1], exp_bounds(-high)[0]
    return 1 - inner_low, 1 - inner_high


class Tape(Stream):
    """Bits that follow from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)


class Same(Tape):
    """All that is filled is the same; only what is taken differs."""

    def fill(self, buffer: memoryview) -> None:
        self.requests.append(len(buffer))
        buffer[:] = bytes([77]) * len(buffer)

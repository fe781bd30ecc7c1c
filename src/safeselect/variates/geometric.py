"""Geometric noise for arrays, and discrete Laplace noise made from it.

Law: P(G = g) = (1 - rho) * rho**g for g >= 0.  Written in base 256, the digits of G are
independent: the digit of weight m = 256**j is d with probability proportional to rho**(d * m), and
the first has no upper limit.  Each digit has one table; see `digits`.

Scalar twins: `spec.samplers.geometric` and `spec.samplers.discrete_laplace`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from safeselect.exact.interval import Interval
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.variates.digits import FINE, DigitTable, build, draw_digits

_BASE_BITS = 8
_BASE = 1 << _BASE_BITS
_CHUNK = 1 << 17
_GUARD = 320  # digits of the powers: 256 roundings, and 40 digits lost in 1 - rho**256
_ONE = 1 << _GUARD
_ENOUGH = 1 << (_GUARD - 48)  # thresholds go down to 2**-48


def geometric(n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
    """Draw n independent geometric numbers, int64, in grid steps: P(G >= g) = rho**g exactly.

    Exactness: see `digits`.
    Bits: 16 for each of 1 to 6 digits, and 128 for one word in 100 or fewer.
    Reveals: the work follows from n and the rate, except with probability 2**-40.
    """
    result = np.empty(n, dtype=np.int64)
    first, *others = digit_tables(noise_rate)
    for start in range(0, n, _CHUNK):
        part = result[start : start + _CHUNK]
        digits = np.empty(part.size + 1, dtype=np.uint16)
        draw_digits(digits, first, bits)
        np.copyto(part, digits[:-1])
        for table in others:
            draw_digits(digits, table, bits)
            np.left_shift(part, _BASE_BITS, out=part)
            np.add(part, digits[:-1], out=part)
    return result


def discrete_laplace(n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
    """Draw n independent discrete Laplace numbers, int64: P(X = x) proportional to rho**|x|.

    Method: X = G with probability 1 / (1 + rho), else -1 - G, G geometric: no rejection.
    Exactness, bits, reveals: those of `geometric` with one digit more.
    """
    result = geometric(n, noise_rate, bits)
    table = _sign_table(noise_rate)
    for start in range(0, n, _CHUNK):
        part = result[start : start + _CHUNK]
        signs = np.empty(part.size + 1, dtype=np.uint16)
        draw_digits(signs, table, bits)
        # -1 - G is the complement of all bits of G: XOR with -1, which is 1 negated.
        np.negative(signs, out=signs)
        np.bitwise_xor(part, signs[:-1].view(np.int16), out=part)
    return result


@lru_cache(maxsize=16)
def digit_tables(noise_rate: NoiseRate) -> tuple[DigitTable, ...]:
    """Return the tables of the digits, the first digit first: at most 6, of about 130 kB each."""
    weights = [1]
    while noise_rate.nats(64).fractions()[0] * weights[0] * 32 < 1:
        weights.insert(0, weights[0] * _BASE)
    first = build(
        _unbounded(noise_rate, weights[0]), partial(_tail, noise_rate, weights[0]), unbounded=True
    )
    rest = [
        build(_bounded(noise_rate, m), partial(_bounded_tail, noise_rate, m), unbounded=False)
        for m in weights[1:]
    ]
    return (first, *rest)


@lru_cache(maxsize=16)
def _sign_table(noise_rate: NoiseRate) -> DigitTable:
    """P(digit = 1) = rho / (1 + rho)."""
    low, high = _power(noise_rate, 1)
    bounds = (low << FINE) // (_ONE + low), -(-(high << FINE) // (_ONE + high))
    return build([bounds], partial(_sign_chance, noise_rate), unbounded=False)


def _power(noise_rate: NoiseRate, m: int) -> tuple[int, int]:
    """Enclose 2**320 * rho**m; exactly where rho**m is a multiple of 2**-320 and rho rational."""
    exponent = noise_rate.rate * m
    if noise_rate.base is None or exponent.denominator > 1:
        low, high = noise_rate.power(m, 0, _GUARD + 32).scaled(_GUARD)
        return max(low, 0), min(high, _ONE)
    return _rational_power(noise_rate.base, exponent.numerator)


def _rational_power(base: Fraction, exponent: int) -> tuple[int, int]:
    """Enclose 2**320 * base**exponent by squaring in fixed point, rounded outwards."""
    low = high = _ONE
    for bit in bin(exponent)[2:]:
        low, high = low * low >> _GUARD, -(-high * high >> _GUARD)
        if bit == "1":
            low = low * base.numerator // base.denominator
            high = -(-high * base.numerator // base.denominator)
    return low, high


def _powers(noise_rate: NoiseRate, m: int, last: int) -> list[tuple[int, int]]:
    """Enclose 2**320 * rho**(d * m) for d = 1 .. last, or until it is below 2**-48."""
    low, high = _power(noise_rate, m)
    result = [(low, high)]
    while len(result) < last and result[-1][1] > _ENOUGH:
        below, above = result[-1]
        result.append((below * low >> _GUARD, -(-above * high >> _GUARD)))
    return result


def _unbounded(noise_rate: NoiseRate, m: int) -> list[tuple[int, int]]:
    powers = _powers(noise_rate, m, 1 << 15)
    drop = _GUARD - FINE
    return [(low >> drop, -(-high >> drop)) for low, high in powers]


def _bounded(noise_rate: NoiseRate, m: int) -> list[tuple[int, int]]:
    """T_d = (rho**(d m) - rho**(256 m)) / (1 - rho**(256 m)) for d = 1 .. 255."""
    *powers, (least, most) = _powers(noise_rate, m, _BASE)
    return [
        (((low - most) << FINE) // (_ONE - least), -((least - high << FINE) // (_ONE - most)))
        for low, high in powers
    ]


def _tail(noise_rate: NoiseRate, m: int, d: int, precision: int) -> Interval:
    return noise_rate.power(d * m, 0, precision)


def _bounded_tail(noise_rate: NoiseRate, m: int, d: int, precision: int) -> Interval:
    # 1 - rho**(256 m) may be as small as 2**-40.
    one = Interval.of(1, precision + 64)
    end = noise_rate.power(_BASE * m, 0, precision + 64)
    return (noise_rate.power(d * m, 0, precision + 64) - end) / (one - end)


def _sign_chance(noise_rate: NoiseRate, d: int, precision: int) -> Interval:
    rho = noise_rate.power(1, 0, precision)
    return rho / (Interval.of(1, precision) + rho)

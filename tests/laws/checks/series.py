"""The exponential and the laws of the noises in Python integers alone: a second opinion on MPFR.

Numbers are enclosed by rationals (low, high).  The exponential is its Taylor series in fixed point,
rounded outwards.  This module shares no code with `safeselect.exact`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

Bounds = tuple[Fraction, Fraction]

_PLACES = 256  # binary places of the fixed point
_ONE = 1 << _PLACES


@lru_cache(maxsize=1 << 12)
def exp_minus(x: Fraction) -> Bounds:
    """Enclose e**-x, with an error of about 2**-200; x may have either sign.

    Method: halve x until it is below 1, sum the series, and square as often as x was halved.
    """
    if x < 0:
        inverse = exp_minus(-x)
        return 1 / inverse[1], 1 / inverse[0]
    if not x:
        return Fraction(1), Fraction(1)
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)
    if halvings > 64:
        return Fraction(0), Fraction(1, _ONE)
    scaled = x * _ONE / (1 << halvings)
    down = scaled.numerator // scaled.denominator
    low, high = _series(down + 1)[0], _series(down)[1]
    for _ in range(halvings):
        low, high = low * low >> _PLACES, -(-high * high >> _PLACES)
    return Fraction(low, _ONE), Fraction(high, _ONE)


def _series(r: int) -> tuple[int, int]:
    """Enclose e**-(r / 2**_PLACES) for 0 <= r <= 2**_PLACES, in units: an alternating series."""
    low = high = term_low = term_high = _ONE
    k = 0
    while term_high > 1:
        k += 1
        term_low = (term_low * r >> _PLACES) // k
        product = -(-term_high * r >> _PLACES)  # rounded up
        term_high = -(-product // k)
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    return max(low - term_high, 0), high + term_high


def survival(noise: str, x: Fraction) -> Bounds:
    """Enclose P(E > x) for the noise E of this name, x in nats.

    Raises:
        KeyError: no such noise.
    """
    return {"exponential": _exponential, "laplace": _laplace, "gumbel": _gumbel}[noise](x)


def _exponential(x: Fraction) -> Bounds:
    return exp_minus(x) if x > 0 else (Fraction(1), Fraction(1))


def _laplace(x: Fraction) -> Bounds:
    low, high = exp_minus(abs(x))
    return (low / 2, high / 2) if x >= 0 else (1 - high / 2, 1 - low / 2)


def _gumbel(x: Fraction) -> Bounds:
    low, high = exp_minus(x)
    return 1 - exp_minus(_short(low))[1], 1 - exp_minus(_short(high) + Fraction(1, _ONE))[0]


def _short(x: Fraction) -> Fraction:
    """Round x down to the fixed point, so that numerators stay small."""
    return Fraction(x.numerator * _ONE // x.denominator, _ONE)

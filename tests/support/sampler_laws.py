"""Exact laws of the samplers, worked out without the package's interval arithmetic.

Numbers are enclosures (low, high) of rationals.  exp comes from integer Taylor series and powers of
a rational base from integer square roots, both in fixed point with outward rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from exact_pmf import Choices, Law, Tape

from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.testing import DeterministicSource

Bounds = tuple[Fraction, Fraction]

PLACES = 320  # binary places of the fixed point
ONE = 1 << PLACES


# --------------------------------------------------------------------------- enclosures
def _series(r: int) -> tuple[int, int]:
    """e**-r for r / 2**PLACES in [0, 1]: alternating Taylor series with outward rounding."""
    low = high = term_low = term_high = ONE
    k = 0
    while term_high > 1:
        k += 1
        term_low = (term_low * r >> PLACES) // k
        product = -(-term_high * r >> PLACES)  # rounded up
        term_high = -(-product // k)
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    return low - term_high, high + term_high


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction) -> Bounds:
    """Enclose e**-x for x >= 0."""
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)
    if halvings > 64:
        return Fraction(0), Fraction(1, ONE)
    scaled = x * ONE / (1 << halvings)
    down = scaled.numerator // scaled.denominator
    low, high = _series(down + 1)[0], _series(down)[1]
    for _ in range(halvings):
        low, high = max(low, 0) ** 2 >> PLACES, -(-(high**2) >> PLACES)
    return max(Fraction(0), Fraction(low, ONE)), min(Fraction(1), Fraction(high, ONE))


def exp_minus_of(x: Bounds) -> Bounds:
    return exp_minus(x[1])[0], exp_minus(x[0])[1]


def _base_power(base: Fraction, numerator: int, roots: int) -> Bounds:
    """base ** (numerator / 2**roots) for numerator >= 0."""
    low = base.numerator * ONE // base.denominator
    high = low + 1
    for _ in range(roots):
        low, high = isqrt(low << PLACES), isqrt(high << PLACES) + 1
    result_low = result_high = ONE
    for digit in bin(numerator)[2:]:
        result_low = result_low**2 >> PLACES
        result_high = -(-(result_high**2) >> PLACES)
        if digit == "1":
            result_low = result_low * low >> PLACES
            result_high = -(-result_high * high >> PLACES)
    return Fraction(result_low, ONE), Fraction(result_high, ONE)


@lru_cache(maxsize=4096)
def power(noise_rate: NoiseRate, numerator: int, level: int = 0) -> Bounds:
    """Enclose rho ** (numerator / 2**level); with a base, the rate must be dyadic."""
    if numerator < 0:
        low, high = power(noise_rate, -numerator, level)
        return 1 / high, 1 / low
    if noise_rate.base is None:
        return exp_minus(noise_rate.rate * Fraction(numerator, 1 << level))
    roots = noise_rate.rate.denominator.bit_length() - 1
    assert noise_rate.rate.denominator == 1 << roots
    return _base_power(noise_rate.base, noise_rate.rate.numerator * numerator, roots + level)


def shortened(x: Bounds, places: int = 72) -> Bounds:
    """The same enclosure on a coarser grid, so that products of many stay small."""
    unit = 1 << places
    low, high = x[0] * unit, x[1] * unit
    return Fraction(low.numerator // low.denominator, unit), Fraction(
        -(-high.numerator // high.denominator), unit
    )


class ChoiceCoin:
    """A coin of known chance for `choice_tree`."""

    def __init__(self, chance: Bounds) -> None:
        self.chance = shortened(chance)

    def toss(self, choices: Choices) -> bool:
        return choices.enclosed(*self.chance)


# ------------------------------------------------------------------------------- masses
def geometric_mass(noise_rate: NoiseRate, g: int, level: int = 0) -> Bounds:
    """P(floor(E * 2**level) = g) = rho**(g / 2**level) - rho**((g + 1) / 2**level)."""
    here, after = power(noise_rate, g, level), power(noise_rate, g + 1, level)
    return max(Fraction(0), here[0] - after[1]), here[1] - after[0]


def digit_mass(noise_rate: NoiseRate, numerator: int, level: int) -> Bounds:
    """x / (1 + x), x = rho ** (numerator / 2**level)."""
    low, high = power(noise_rate, numerator, level)
    return low / (1 + low), high / (1 + high)


def laplace_mass(noise_rate: NoiseRate, x: int) -> Bounds:
    """(1 - rho) / (1 + rho) * rho**|x|."""
    (low, high), (tail_low, tail_high) = power(noise_rate, 1), power(noise_rate, abs(x))
    return (1 - high) / (1 + high) * tail_low, (1 - low) / (1 + low) * tail_high


def laplace_floor_mass(noise_rate: NoiseRate, x: int, level: int = 0) -> Bounds:
    """P(floor(X * 2**level) = x) for continuous two-sided X."""
    low, high = geometric_mass(noise_rate, x if x >= 0 else -x - 1, level)
    return low / 2, high / 2


def gumbel_below(noise_rate: NoiseRate, numerator: int, level: int) -> Bounds:
    """P(X < numerator / 2**level) = exp(-rho**t)."""
    return exp_minus_of(power(noise_rate, numerator, level))


def gumbel_mass(noise_rate: NoiseRate, x: int, level: int = 0) -> Bounds:
    low, high = gumbel_below(noise_rate, x, level), gumbel_below(noise_rate, x + 1, level)
    return max(Fraction(0), high[0] - low[1]), high[1] - low[0]


def gaussian_mass(sigma_squared: Fraction, x: int, tail: int = 200) -> Bounds:
    """exp(-x**2/2s) over the sum of all; what is left out is below the last term kept."""
    terms = [exp_minus(Fraction(y * y) / (2 * sigma_squared)) for y in range(tail)]
    low = terms[0][0] + 2 * sum(t[0] for t in terms[1:])
    high = terms[0][1] + 2 * sum(t[1] for t in terms[1:]) + 4 * terms[-1][1]
    assert terms[-1][1] < Fraction(1, 2**100)
    here = terms[abs(x)]
    return here[0] / high, here[1] / low


# ------------------------------------------------------------------------------ checking
def agrees(law: Law, mass: Callable[[Hashable], Bounds], outcomes: Iterable[Hashable]) -> bool:
    """Whether a proved law and an exact one can be the same: all bounds overlap.

    Looks at the outcomes named and at every one that was seen.
    """
    total = sum(law.lower.values(), law.unfinished)
    if total != 1:
        return False
    for outcome in {*outcomes, *law.lower}:
        low, high = law.bounds(outcome)
        least, most = mass(outcome)
        if low > most or high < least:
            return False
    return True


def coin_mass(chance: Bounds) -> Callable[[Hashable], Bounds]:
    """The law of a coin of this chance."""
    return lambda outcome: chance if outcome else (1 - chance[1], 1 - chance[0])


# --------------------------------------------------------------------------------- tapes


def scripted(*words: int, size: int = 64) -> Bits:
    """Bits that give these words, of `size` bits each, and then an error."""
    count, value = len(words) * size, 0
    for word in words:
        assert 0 <= word < 1 << size
        value = value << size | word
    padding = -count % 8
    return Bits(Tape((value << padding).to_bytes((count + padding) // 8, "big")), piece=1)


def endless(seed: str) -> Bits:
    """Bits from a seed, the same at every run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = DeterministicSource(seed, i_understand_this_is_not_private=True)
    return Bits(source, piece=4096)

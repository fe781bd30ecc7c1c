"""Geometric noise by two independent methods; a test checks that their laws are the same.

The method of Canonne, Kamath and Steinke needs integers only, for rho = exp(-rational).  The digit
method works for every rate: in binary, the digits of a geometric variable are independent coins.
"""

from __future__ import annotations

from functools import lru_cache, partial

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.reference.bernoulli import Coin, bernoulli_exp
from safeselect.reference.uniform import uniform_below


def geometric(bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> int:
    """Return an integer g >= 0 with probability exactly (1 - rho) * rho**g.

    Method: `geometric_exp` for rho = exp(-rate), `geometric_digits` for a rational base.
    Exactness: that of the method used.
    Bits: those of the method used.
    Reveals: running time depends on the value drawn.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, NoiseRate, geometric
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     geometric(bits, NoiseRate(Fraction(1000)))  # not 0 with probability e**-1000
        0
    """
    if noise_rate.base is None:
        return geometric_exp(bits, noise_rate.rate.numerator, noise_rate.rate.denominator)
    return geometric_digits(bits, noise_rate, step=step)


def geometric_exp(bits: Bits, numerator: int, denominator: int) -> int:
    """Return an integer g >= 0 with probability exactly (1 - r) * r**g, r = exp(-x).

    Requires: x = numerator / denominator; 0 < numerator, 0 < denominator, Python ints of any size.
    Method: Canonne, Kamath and Steinke (2020), Algorithm 2 without its sign: a geometric variable
        of rate 1/denominator, written as remainder + denominator * quotient, divided by numerator.
    Exactness: rational coins and integer division.
    Bits: 4.6 expected at rates 1, 2, 3 ...; 7.3 at 1/2, 49 at 1/1000; about 10 + 4.2 * log2(t) at a
        rate s/t in lowest terms.
    Reveals: running time depends on the value drawn.

    Raises:
        ParameterError: another type, or a rate that is not positive.

    Example:
        >>> from safeselect.samplers import Bits, geometric_exp
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     geometric_exp(bits, 1000, 1)  # not 0 with probability e**-1000
        0
    """
    if type(numerator) is not int or type(denominator) is not int:
        raise ParameterError("numerator and denominator must be Python ints")
    if numerator < 1 or denominator < 1:
        raise ParameterError("numerator and denominator must be at least 1")
    remainder = _remainder(bits, denominator)
    for quotient in rounds():
        if not bernoulli_exp(bits, 1, 1):
            return (remainder + denominator * quotient) // numerator
    raise exhausted()


def _remainder(bits: Bits, t: int) -> int:
    for _ in rounds():
        remainder = remainder_attempt(bits, t)
        if remainder is not None:
            return remainder
    raise exhausted()


def remainder_attempt(bits: Bits, t: int) -> int | None:
    """Return u in 0 .. t - 1 with probability exp(-u/t) / t each; else None.

    Requires: t >= 1.
    Bits: those of `uniform_below(bits, t)` and `bernoulli_exp(bits, u, t)`.
    """
    value = uniform_below(bits, t)
    return value if bernoulli_exp(bits, value, t) else None


def geometric_digits(bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> int:
    """Return an integer g >= 0 with probability exactly (1 - rho) * rho**g, for any rate.

    Method: with x = rho**(2**j), binary digit j is 1 with probability x / (1 + x), independently
        of the others; above digit J - 1 comes an unbounded geometric variable of rho**(2**J).
    Exactness: every digit is a lazy comparison, see `bernoulli_enclosed`.
    Bits: step * (J + 1.6) expected at most, J = ceil(log2(1 / rate in nats)), 0 for rates from 1.
    Reveals: running time depends on the quotient of the value by 2**J.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, NoiseRate, geometric_digits
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     geometric_digits(bits, NoiseRate(Fraction(1), base=Fraction(1, 2))) >= 0
        True
    """
    coins = _digit_coins(noise_rate, step)
    value = 0
    for j, coin in enumerate(coins[:-1]):
        value |= coin.toss(bits) << j
    for top in rounds():
        if not coins[-1].toss(bits):
            return top << len(coins) - 1 | value
    raise exhausted()


def digit_chance(noise_rate: NoiseRate, numerator: int, level: int, precision: int) -> Interval:
    """Enclose x / (1 + x) for x = rho**w: the chance that the digit of weight w is 1.

    Requires: w = numerator / 2**level > 0.
    Exactness: computed as 1 / (1 + 1/x), where nothing cancels; narrower than 2**(3 - precision).
    """
    one = Interval.of(1, precision)
    return one / (one + noise_rate.power(-numerator, level, precision))


@lru_cache(maxsize=64)
def _digit_coins(noise_rate: NoiseRate, step: int) -> tuple[Coin, ...]:
    """Return the coins of digits 0 .. J - 1, then the coin that raises the quotient by one."""
    nats = noise_rate.nats(64).fractions()[0]
    top = 0
    # Any J gives the exact law.  This one, at most 40, makes the quotient small.
    while nats * (1 << top) < 1:
        top += 1
    digits = [Coin.of(partial(digit_chance, noise_rate, 1 << j, 0), step) for j in range(top)]
    return (*digits, Coin.of(partial(noise_rate.power, 1 << top, 0), step))

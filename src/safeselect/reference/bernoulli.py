"""Coins with a rational chance, with chance exp(-x), or with a real chance known by enclosures.

There are two methods, and a test that they agree.  Canonne, Kamath and Steinke turn exp(-x) into
rational coins, so integers suffice.  Every other real chance p is compared lazily with a uniform
real U, of which only the first bits have been drawn.  While the enclosures of p and U overlap, both
are refined.  Only separate enclosures decide, so the decision is always right for the U that is
being drawn, and the coin has chance p exactly, not nearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.reference.uniform import uniform_below

_GUARD = 16  # precision beyond the bits drawn, so that rounding rarely leaves a word undecided


def bernoulli(bits: Bits, numerator: int, denominator: int) -> bool:
    """Return True with probability exactly numerator / denominator.

    Requires: 0 <= numerator <= denominator, denominator >= 1, Python ints of any size.
    Method: a uniform integer below the denominator is less than the numerator.
    Exactness: an integer comparison.
    Bits: those of `uniform_below(bits, denominator)`.
    Reveals: nothing but the number of attempts, which is independent of the outcome.

    Raises:
        ParameterError: another type, or a chance outside [0, 1].

    Example:
        >>> from safeselect.samplers import Bits, bernoulli
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     bernoulli(bits, 0, 7), bernoulli(bits, 7, 7)
        (False, True)
    """
    _check(numerator, denominator)
    if numerator > denominator:
        raise ParameterError("a probability must not exceed 1")
    return uniform_below(bits, denominator) < numerator


def bernoulli_exp(bits: Bits, numerator: int, denominator: int) -> bool:
    """Return True with probability exactly exp(-x), x = numerator / denominator.

    Requires: 0 <= numerator, 1 <= denominator, Python ints of any size.
    Method: Canonne, Kamath and Steinke (2020), Algorithm 1.  x = 0 is accepted unconditionally.
        Above 1, floor(x) coins of chance 1/e must all succeed, then one for the fraction.
    Exactness: rational coins only.
    Bits: 2.9 expected at x = 1, 2.5 at 1/2, 10.2 at 1/1000, where most are those of one uniform
        integer; 4.6 at any large whole x, because the first failure ends it.
    Reveals: running time depends on x and on the outcome.

    Raises:
        ParameterError: another type, or a negative x.

    Example:
        >>> from safeselect.samplers import Bits, bernoulli_exp
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     bernoulli_exp(bits, 0, 1)  # exp(-0) is 1
        True
    """
    _check(numerator, denominator)
    whole, rest = divmod(numerator, denominator)
    for _ in range(min(whole, len(rounds()))):
        if not _bernoulli_exp_unit(bits, 1, 1):
            return False
    if whole > len(rounds()):
        raise exhausted()
    return _bernoulli_exp_unit(bits, rest, denominator)


def bernoulli_power(bits: Bits, noise_rate: NoiseRate, exponent: int, *, step: int = 64) -> bool:
    """Return True with probability exactly rho**exponent, rho being the factor of the rate.

    Requires: 0 <= exponent <= 2**64.
    Method: one lazy comparison, whatever the exponent; exponent 0 is accepted unconditionally.
    Exactness: see `bernoulli_enclosed`.
    Bits: step * (1 + 2**-step) expected at most; none for exponent 0.
    Reveals: whether more than `step` bits were needed, with probability 2**-step.

    Raises:
        ParameterError: an exponent of another type or outside its range.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, NoiseRate, bernoulli_power
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     bernoulli_power(bits, NoiseRate(Fraction(1, 2)), 0)  # rho**0 is 1
        True
    """
    if type(exponent) is not int or not 0 <= exponent <= 1 << 64:
        raise ParameterError("exponent must be an int between 0 and 2**64")
    if exponent == 0:
        return True
    return bernoulli_enclosed(bits, partial(noise_rate.power, exponent, 0), step=step)


def bernoulli_enclosed(bits: Bits, enclose: Callable[[int], Interval], *, step: int = 64) -> bool:
    """Return True with probability exactly p, the real number that `enclose` encloses.

    Requires: enclose(precision) contains p in [0, 1], and its width goes to 0 as precision grows.
    Method: U < p for a uniform real U, of which `step` bits are revealed at a time.
    Exactness: decided only where the enclosures of U and p are apart.  A dyadic p, and with it 0
        and 1, is decided at the latest when its last bit is reached.
    Bits: `step` with probability at least 1 - 2**-step, then `step` more with the same chance to
        end, and so on (a little less where the enclosure is wider than 2**-(bits + 16)).
    Reveals: whether more than `step` bits were needed.

    Example:
        >>> from safeselect.exact.interval import Interval
        >>> from safeselect.samplers import Bits, bernoulli_enclosed
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     bernoulli_enclosed(bits, lambda precision: Interval.of(1, precision))
        True
    """
    return Coin.of(enclose, step).toss(bits)


@dataclass(frozen=True, slots=True)
class Coin:
    """A coin of real chance p, with the bounds for its first `step` bits precomputed.

    A first word below `low` is certainly below p; a first word of at least `high` is certainly not.
    The one or two words between are undecided and take further bits.  A coin holds public numbers
    only, so it may be kept and tossed often.
    """

    enclose: Callable[[int], Interval]
    step: int
    low: int
    high: int

    @classmethod
    def of(cls, enclose: Callable[[int], Interval], step: int = 64) -> Coin:
        """Precompute the bounds for the first `step` bits."""
        return cls(enclose, step, *_thresholds(enclose, step))

    def toss(self, bits: Bits) -> bool:
        """Return True with probability exactly p; see `bernoulli_enclosed`."""
        word = drawn = 0
        low, high = self.low, self.high
        for _ in rounds(self.step):
            word = word << self.step | bits.take(self.step)
            drawn += self.step
            if drawn > self.step:
                low, high = _thresholds(self.enclose, drawn)
            # U lies in [word, word + 1) / 2**drawn and p in [low, high] / 2**drawn.
            if word < low:
                return True
            if word >= high:
                return False
        raise exhausted()


def _thresholds(enclose: Callable[[int], Interval], drawn: int) -> tuple[int, int]:
    interval = enclose(drawn + _GUARD)
    # An unbounded enclosure decides nothing: every word stays open.
    return interval.scaled(drawn) if interval.bounded else (0, 1 << drawn)


def _bernoulli_exp_unit(bits: Bits, numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-numerator / denominator), for a quotient in [0, 1]."""
    if numerator == 0:
        return True
    for k in rounds():
        if not bernoulli(bits, numerator, denominator * (k + 1)):
            return k % 2 == 0
    raise exhausted()


def _check(numerator: int, denominator: int) -> None:
    if type(numerator) is not int or type(denominator) is not int:
        raise ParameterError("numerator and denominator must be Python ints")
    if numerator < 0 or denominator < 1:
        raise ParameterError("numerator must be at least 0 and denominator at least 1")

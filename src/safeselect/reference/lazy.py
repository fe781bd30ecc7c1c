"""Continuous noise on a lattice, whose digits are drawn on request.

Each object stands for one real random variable X, in grid steps.  The object knows
floor(X * 2**level); `refine` draws further digits.  Nothing is ever rounded: all digits belong to
the same X.  So two such variables are compared exactly by refining both until their floors differ
enough, which happens with probability 1.

The digits are private noise.  No repr shows them, and the objects cannot be pickled or copied: two
copies, each refined, would be two different variables with the same leading digits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Protocol, final

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.memory import sealed
from safeselect.reference.bernoulli import Coin
from safeselect.reference.geometric import digit_chance, geometric

_KEPT_LEVELS = 32  # fraction digits whose coins are kept; later coins are made when needed
_GUARD = 32  # precision beyond that of U, so that the logarithms lose less than U leaves open


class LazyNoise(Protocol):
    """A real random variable X, known by floor = floor(X * 2**level)."""

    @property
    def level(self) -> int: ...
    @property
    def floor(self) -> int: ...
    def refine(self, bits: Bits, levels: int) -> None: ...


@final
@sealed
class LazyExponential:
    """X > 0 with P(X > t) = rho**t exactly, known to floor(X * 2**level).

    Method: the integer part is `geometric`; the fraction digit of weight 2**-j is 1 with
        probability x / (1 + x), x = rho**(2**-j), independently of everything else.
    Exactness: that of `geometric`, and of one `bernoulli_enclosed` a digit.
    Bits: those of `geometric`, then step * (1 + 2**-step) expected at most for each digit.
    Reveals: running time depends on the integer part drawn.
    """

    __slots__ = ("_noise_rate", "_step", "floor", "level")

    def __init__(self, bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> None:
        self._noise_rate, self._step = noise_rate, step
        self.level = 0
        self.floor = geometric(bits, noise_rate, step=step)

    def refine(self, bits: Bits, levels: int) -> None:
        """Draw `levels` more binary digits."""
        _check(levels)
        kept = _fraction_coins(self._noise_rate, self._step)
        for level in range(self.level + 1, self.level + levels + 1):
            coin = (
                kept[level - 1]
                if level <= _KEPT_LEVELS
                else _fraction_coin(self._noise_rate, level, self._step)
            )
            self.floor = self.floor << 1 | coin.toss(bits)
            self.level = level


@final
@sealed
class LazyLaplace:
    """X with P(X > t) = P(X < -t) = rho**t / 2 exactly for t >= 0, known to floor(X * 2**level).

    Method: a fair sign, then a `LazyExponential` E.  E * 2**level is not an integer, with
        probability 1, so the floor of -E * 2**level is -floor(E * 2**level) - 1.
    Exactness: that of `LazyExponential`.
    Bits: 1 + those of `LazyExponential`.
    Reveals: running time depends on the integer part drawn.
    """

    __slots__ = ("_magnitude", "_negative")

    def __init__(self, bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> None:
        self._negative = bits.coin()
        self._magnitude = LazyExponential(bits, noise_rate, step=step)

    @property
    def level(self) -> int:
        """How many binary digits after the point are known."""
        return self._magnitude.level

    @property
    def floor(self) -> int:
        """floor(X * 2**level)."""
        return -self._magnitude.floor - 1 if self._negative else self._magnitude.floor

    def refine(self, bits: Bits, levels: int) -> None:
        """Draw `levels` more binary digits."""
        self._magnitude.refine(bits, levels)


@final
@sealed
class LazyGumbel:
    """X with P(X < t) = exp(-rho**t) exactly for every real t, known to floor(X * 2**level).

    Method: inversion.  X = -ln(-ln U) / nats for a uniform real U, with nats = -ln(rho).  `step`
        bits of U are drawn at a time, until both ends of its cell give the same floor.
    Exactness: the ends are evaluated with outward rounding; only equal floors decide.
    Bits: `step`, and `step` more with probability about 2**(level - drawn) * (2 to 4) / nats;
        while U is all zeros or all ones, nothing is decided.
    Reveals: how many bits were needed.
    """

    __slots__ = ("_drawn", "_noise_rate", "_step", "_word", "floor", "level")

    def __init__(self, bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> None:
        self._noise_rate, self._step = noise_rate, step
        self._word = bits.take(step)
        self._drawn = step
        self.level = 0
        self.floor = self._settle(bits, 0)

    def refine(self, bits: Bits, levels: int) -> None:
        """Compute `levels` more binary digits, drawing more bits of U where needed."""
        _check(levels)
        self.floor = self._settle(bits, self.level + levels)
        self.level += levels

    def _settle(self, bits: Bits, level: int) -> int:
        for _ in rounds(self._step):
            cell = _gumbel_cell(self._noise_rate, self._word, self._drawn)
            if cell.bounded:
                low, high = cell.scaled(level)
                # X < high strictly: it is below the cell's right end, which is at most high.
                if high == low + 1:
                    return low
            self._word = self._word << self._step | bits.take(self._step)
            self._drawn += self._step
        raise exhausted()


def _gumbel_cell(noise_rate: NoiseRate, word: int, drawn: int) -> Interval:
    """Enclose -ln(-ln U) / nats for every U in [word, word + 1) / 2**drawn."""
    precision = drawn + _GUARD
    # Both ends have at most `drawn` bits, so they are exact.
    lower = Interval.of(Fraction(word, 1 << drawn), precision).lower
    upper = Interval.of(Fraction(word + 1, 1 << drawn), precision).upper
    uniform = Interval(lower, upper, precision)
    return -(-uniform.log()).log() / _nats(noise_rate, precision)


@lru_cache(maxsize=64)
def _nats(noise_rate: NoiseRate, precision: int) -> Interval:
    return noise_rate.nats(precision)


def _fraction_coin(noise_rate: NoiseRate, level: int, step: int) -> Coin:
    return Coin.of(partial(digit_chance, noise_rate, 1, level), step)


@lru_cache(maxsize=64)
def _fraction_coins(noise_rate: NoiseRate, step: int) -> tuple[Coin, ...]:
    return tuple(_fraction_coin(noise_rate, level, step) for level in range(1, _KEPT_LEVELS + 1))


def _check(levels: int) -> None:
    if type(levels) is not int or levels < 0:
        raise ParameterError("levels must be an int of at least 0")

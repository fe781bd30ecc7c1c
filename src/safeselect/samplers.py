"""Exact noise for one value, in Python integers: the specification of every law in this library.

In the order of reading: uniform, coins, geometric, Laplace, Gaussian, permutation, and continuous
noise whose digits are drawn on request.  Each docstring gives the law as a formula.  These are
building blocks: a value drawn here is private only as part of a mechanism whose guarantee is
proved.

Two methods make a coin, and a test says that they agree.  Canonne, Kamath and Steinke turn exp(-x)
into rational coins, so integers suffice.  Every other real chance p is compared lazily with a
uniform real U, of which only the first bits have been drawn.  While the enclosures of p and U
overlap, both are refined.  Only separate enclosures decide, so the decision is always right for the
U that is being drawn, and the coin has chance p exactly, not nearly.  Likewise for geometric noise:
the method of Canonne, Kamath and Steinke needs integers only, for rho = exp(-rational); the digit
method works for every rate, because the binary digits of a geometric variable are independent.

Continuous noise is an object that stands for one real random variable X, in grid steps, and knows
floor(X * 2**level); `refine` draws further digits.  Nothing is ever rounded: all digits belong to
the same X.  So two such variables are compared exactly by refining both until their floors differ
enough, which happens with probability 1.  The digits are private noise.  No repr shows them, and
the objects cannot be pickled or copied: two copies, each refined, would be two different variables
with the same leading digits.

Every loop is bounded, see `randomness.bits.rounds`.  With independent fair bits a sampler raises
`SourceError` with probability below 2**-100; given that it does not, its law is the documented one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Protocol, final

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.guard import sealed

__all__ = [
    "Bits",
    "Coin",
    "LazyExponential",
    "LazyGumbel",
    "LazyLaplace",
    "LazyNoise",
    "NoiseRate",
    "bernoulli",
    "bernoulli_enclosed",
    "bernoulli_exp",
    "bernoulli_power",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_laplace_exp",
    "geometric",
    "geometric_digits",
    "geometric_exp",
    "laplace_floor",
    "permutation",
    "uniform_below",
]

_COIN_GUARD = 16  # precision beyond the bits drawn, so that rounding rarely leaves a word undecided
_LOG_GUARD = 32  # precision beyond that of U, so that the logarithms lose less than U leaves open


def uniform_below(bits: Bits, n: int) -> int:
    """Return an integer in 0 .. n - 1, each with probability exactly 1/n.

    Requires: n >= 1, a Python int of any size.
    Method: draw as many bits as n - 1 has; start again while they make a number >= n.
    Exactness: an integer comparison; no remainder is taken, so there is no modulo bias.
    Bits: b * 2**b / n expected with b = (n - 1).bit_length(), less than 2 * b; none for n = 1.
    Reveals: the number of attempts, which is independent of the value returned.

    Raises:
        ParameterError: n is not a Python int or is less than 1.
        SourceError: the loop reached its bound; see `randomness.bits.rounds`.

    Example:
        >>> from safeselect.samplers import Bits, uniform_below
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     uniform_below(bits, 6) in range(6)
        True
    """
    if type(n) is not int or n < 1:
        raise ParameterError("n must be an int of at least 1")
    return _accepted(partial(uniform_attempt, bits, n))


def _accepted(attempt: Callable[[], int | None]) -> int:
    """What the first attempt that is not refused gives."""
    for _ in rounds():
        value = attempt()
        if value is not None:
            return value
    raise exhausted()


def uniform_attempt(bits: Bits, n: int) -> int | None:
    """Return v in 0 .. n - 1 with probability 2**-b each, b = (n - 1).bit_length(); else None.

    Requires: n >= 1.
    Bits: exactly b.
    """
    if n == 1:
        return 0
    value = bits.take((n - 1).bit_length())
    return value if value < n else None


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
        raise ParameterError("a probability must be at most 1")
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
        raise ParameterError("exponent must be an int from 0 to 2**64")
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
        _check_whole(step, "step", 1)
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
    interval = enclose(drawn + _COIN_GUARD)
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


def _check(numerator: int, denominator: int, least: int = 0) -> None:
    if type(numerator) is not int or type(denominator) is not int:
        raise ParameterError("numerator and denominator must be Python ints")
    if numerator < least or denominator < 1:
        raise ParameterError(f"numerator must be at least {least} and denominator at least 1")


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
    if type(noise_rate) is not NoiseRate:
        raise ParameterError("noise_rate must be a NoiseRate, such as NoiseRate(Fraction(1, 2))")
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
    _check(numerator, denominator, least=1)
    remainder = _accepted(partial(remainder_attempt, bits, denominator))
    for quotient in rounds():
        if not bernoulli_exp(bits, 1, 1):
            return (remainder + denominator * quotient) // numerator
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
    return 1 / (1 + noise_rate.power(-numerator, level, precision))


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


def discrete_laplace(bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> int:
    """Return an integer x with probability exactly (1 - rho) / (1 + rho) * rho**|x|.

    Method: Canonne, Kamath and Steinke (2020), Algorithm 2: a geometric magnitude and a fair
        sign; (negative, 0) starts again, so that 0 is not counted twice.
    Exactness: that of `geometric`.
    Bits: (1 + those of `geometric`) * 2 / (1 + rho) expected: 8.2 at rate 1, 50 at 1/1000.
    Reveals: running time depends on the value drawn.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, NoiseRate, discrete_laplace
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     discrete_laplace(bits, NoiseRate(Fraction(1000)))  # else with chance 2 e**-1000
        0
    """
    magnitude = partial(geometric, bits, noise_rate, step=step)
    return _accepted(partial(laplace_attempt, bits, magnitude))


def discrete_laplace_exp(bits: Bits, numerator: int, denominator: int) -> int:
    """Return x with probability proportional to exp(-|x| * numerator / denominator), exactly.

    Requires: 0 < numerator, 0 < denominator, Python ints of any size: no limit on the rate.
    Method: as `discrete_laplace`, with `geometric_exp`.
    Exactness: integers only.
    Bits: (1 + those of `geometric_exp`) * 2 / (1 + r) expected, r = exp(-numerator/denominator).
    Reveals: running time depends on the value drawn.

    Raises:
        ParameterError: another type, or a rate that is not positive.

    Example:
        >>> from safeselect.samplers import Bits, discrete_laplace_exp
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     discrete_laplace_exp(bits, 1000, 1)  # else with chance 2 e**-1000
        0
    """
    magnitude = partial(geometric_exp, bits, numerator, denominator)
    return _accepted(partial(laplace_attempt, bits, magnitude))


def laplace_attempt(bits: Bits, magnitude: Callable[[], int]) -> int | None:
    """Return +g or -g, with probability P(g)/2 each where g > 0 or the sign is +; else None.

    Bits: those of `magnitude`, then one.
    """
    value = magnitude()
    negative = bits.coin()
    if negative and value == 0:
        return None
    return -value if negative else value


def laplace_floor(bits: Bits, noise_rate: NoiseRate, *, step: int = 64) -> LazyLaplace:
    """Return continuous Laplace noise known to its floor; `floor` is x with probability
    (1 - rho)/2 * rho**x for x >= 0 and (1 - rho)/2 * rho**(-x - 1) for x < 0, exactly.

    Method: a fair sign; + gives G, - gives -G - 1, with G geometric.
    Exactness: that of `geometric`; the result refines further, see `LazyLaplace`.
    Bits: 1 + those of `geometric`.
    Reveals: running time depends on the value drawn.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, NoiseRate, laplace_floor
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     laplace_floor(bits, NoiseRate(Fraction(1000))).floor in (-1, 0)
        True
    """
    return LazyLaplace(bits, noise_rate, step=step)


def discrete_gaussian(bits: Bits, sigma_squared: Fraction) -> int:
    """Return an integer x with probability proportional to exp(-x**2 / (2 * sigma_squared)).

    Requires: sigma_squared > 0, a Fraction of any size.  (It is the parameter, not quite the
        variance, of the discrete law.)
    Method: Canonne, Kamath and Steinke (2020), Algorithm 3: discrete Laplace noise of scale
        t = floor(sigma) + 1, kept with probability exp(-(|y| - sigma**2/t)**2 / (2 sigma**2)).
    Exactness: rational coins only; t is an integer square root.
    Bits: 27 expected at sigma = 1, 72 at sigma = 10, 135 at sigma = 1000.
    Reveals: running time depends on the value drawn.

    Raises:
        ParameterError: another type, or sigma_squared is not positive.

    Example:
        >>> from fractions import Fraction
        >>> from safeselect.samplers import Bits, discrete_gaussian
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     discrete_gaussian(bits, Fraction(1, 2000))  # not 0 with probability 2 e**-1000
        0
    """
    if type(sigma_squared) is not Fraction or sigma_squared <= 0:
        raise ParameterError("sigma_squared must be a positive Fraction")
    return _accepted(partial(gaussian_attempt, bits, sigma_squared))


def gaussian_attempt(bits: Bits, sigma_squared: Fraction) -> int | None:
    """Return x with probability proportional to exp(-x**2 / (2 * sigma_squared)); else None.

    Requires: sigma_squared > 0.
    Bits: those of `discrete_laplace_exp(bits, 1, t)` and of one `bernoulli_exp`.
    """
    n, d = sigma_squared.numerator, sigma_squared.denominator
    t = isqrt(n // d) + 1
    value = discrete_laplace_exp(bits, 1, t)
    # (|y| - n/(d t))**2 / (2 n/d), over one denominator.
    distance = abs(value) * d * t - n
    return value if bernoulli_exp(bits, distance * distance, 2 * n * d * t * t) else None


def permutation(bits: Bits, n: int) -> list[int]:
    """Return the integers 0 .. n - 1 in an order that has probability exactly 1/n!.

    Requires: n >= 0, a Python int.
    Method: Fisher and Yates, from the last place down.
    Exactness: that of `uniform_below`.
    Bits: the sum of those of `uniform_below` for 2 .. n: 34.4 expected for n = 10, 833 for n = 100.
    Reveals: the number of rejected attempts, which is independent of the order.

    Raises:
        ParameterError: n is not a Python int or is negative.

    Example:
        >>> from safeselect.samplers import Bits, permutation
        >>> from safeselect.sources import default_source
        >>> with Bits(default_source()) as bits:
        ...     sorted(permutation(bits, 4))
        [0, 1, 2, 3]
    """
    _check_whole(n, "n", 0)
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        chosen = uniform_below(bits, last + 1)
        order[last], order[chosen] = order[chosen], order[last]
    return order


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
        _check_whole(levels, "levels", 0)
        for level in range(self.level + 1, self.level + levels + 1):
            coin = _fraction_coin(self._noise_rate, level, self._step)
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
        _check_whole(step, "step", 1)
        self._noise_rate, self._step = noise_rate, step
        self._word = bits.take(step)
        self._drawn = step
        self.level = 0
        self.floor = self._settle(bits, 0)

    def refine(self, bits: Bits, levels: int) -> None:
        """Compute `levels` more binary digits, drawing more bits of U where needed."""
        _check_whole(levels, "levels", 0)
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
    precision = drawn + _LOG_GUARD
    # Both ends have at most `drawn` bits, so they are exact.
    lower = Interval.of(Fraction(word, 1 << drawn), precision).lower
    upper = Interval.of(Fraction(word + 1, 1 << drawn), precision).upper
    uniform = Interval(lower, upper, precision)
    return -(-uniform.log()).log() / noise_rate.nats(precision)


@lru_cache(maxsize=2048)
def _fraction_coin(noise_rate: NoiseRate, level: int, step: int) -> Coin:
    """The coin of the digit of weight 2**-level, kept: it holds public numbers only."""
    return Coin.of(partial(digit_chance, noise_rate, 1, level), step)


def _check_whole(value: int, name: str, least: int) -> None:
    if type(value) is not int or value < least:
        raise ParameterError(f"{name} must be an int of at least {least}")

"""Two-sided noise: the discrete Laplace law, and the floor of the continuous one.

They are different laws.  The discrete Laplace law has one peak, at 0.  The floor of a continuous
Laplace variable has the same probability at 0 and -1, and can be refined to any resolution.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.reference.geometric import geometric, geometric_exp
from safeselect.reference.lazy import LazyLaplace


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
    return _signed(bits, partial(geometric, bits, noise_rate, step=step))


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
    return _signed(bits, partial(geometric_exp, bits, numerator, denominator))


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


def _signed(bits: Bits, magnitude: Callable[[], int]) -> int:
    for _ in rounds():
        value = laplace_attempt(bits, magnitude)
        if value is not None:
            return value
    raise exhausted()

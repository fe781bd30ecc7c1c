"""The discrete Gaussian: integers with the density of a normal variable of rational variance."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from safeselect.errors import ParameterError
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.reference.bernoulli import bernoulli_exp
from safeselect.reference.discrete_laplace import discrete_laplace_exp


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
    for _ in rounds():
        value = gaussian_attempt(bits, sigma_squared)
        if value is not None:
            return value
    raise exhausted()


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

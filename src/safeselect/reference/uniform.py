"""Uniform integers: the only place where rejection turns fair bits into a uniform choice of n."""

from __future__ import annotations

from safeselect.errors import ParameterError
from safeselect.randomness.bits import Bits, exhausted, rounds


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
    for _ in rounds():
        value = uniform_attempt(bits, n)
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

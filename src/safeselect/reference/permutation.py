"""A uniform random order."""

from __future__ import annotations

from safeselect.errors import ParameterError
from safeselect.randomness.bits import Bits
from safeselect.reference.uniform import uniform_below


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
    if type(n) is not int or n < 0:
        raise ParameterError("n must be an int of at least 0")
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        chosen = uniform_below(bits, last + 1)
        order[last], order[chosen] = order[chosen], order[last]
    return order

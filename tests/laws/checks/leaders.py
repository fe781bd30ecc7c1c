"""Laws among many candidates, enclosed: one of them leads, or all are equal.

With these laws a release from hundreds of thousands of candidates can be checked, which cannot be
enumerated.  The quantiles here are those of textbooks, in floats, and share no code with the
package.  The unit interval is cut into cells; on each the integrand is monotone, so it lies between
its values at the ends.  The rounding of floats is far below the width of a cell.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 12
_ROUNDING = Fraction(1, 10**9)

Values = NDArray[np.float64]


def leader_among(
    noise: str, rate: float, others: int, lead: float, k: int = 1, *, anew: bool = False
) -> tuple[Fraction, Fraction]:
    """Enclose the probability that one candidate, ahead of all others by `lead`, is chosen.

    Args:
        noise, rate: the law, and its nats for each unit of score.
        others: how many other candidates there are, all of one score.
        k: how many are chosen.
        anew: the noise is drawn anew for each of the k.
    """
    if anew and k > 1:
        low, high = Fraction(1), Fraction(1)
        for gone in range(k):
            least, most = leader_among(noise, rate, others - gone, lead)
            low, high = low * (1 - most), high * (1 - least)
        return 1 - high, 1 - low
    ahead = survival(noise, quantiles(noise, _ends()) + rate * lead)
    return enclosed(_at_most(k - 1, others, ahead))


def gap_of_equals(noise: str, rate: float, n: int, gap: float) -> tuple[Fraction, Fraction]:
    """Enclose the probability that the best of n equal candidates leads by `gap` or more.

    Method: the largest noise is Q(w**(1/n)) for a uniform w, and the others lie below it.
    """
    best = np.exp(np.log(_ends()) / n)
    place = quantiles(noise, best)
    with np.errstate(divide="ignore"):  # of a noise that is never so small
        behind = np.log1p(-survival(noise, place - rate * gap))
    return enclosed(np.exp((n - 1) * (behind - np.log(best))))


def enclosed(values: Values) -> tuple[Fraction, Fraction]:
    """The mean of a monotone function of a uniform number, from its values at the cells' ends."""
    low = float(np.mean(np.minimum(values[1:], values[:-1])))
    high = float(np.mean(np.maximum(values[1:], values[:-1])))
    return max(Fraction(low) - _ROUNDING, Fraction(0)), min(Fraction(high) + _ROUNDING, Fraction(1))


def _ends() -> Values:
    """The ends of the cells; 0 and 1 replaced by numbers next to them."""
    ends = np.arange(_CELLS + 1) / _CELLS
    ends[0], ends[-1] = 1e-12, 1 - 1e-12
    return ends


def quantiles(noise: str, share: Values) -> Values:
    """x with P(E <= x) = share."""
    rest = np.maximum(-np.expm1(np.log(share)), 1e-18)
    if noise == "exponential":
        return -np.log(rest)
    if noise == "gumbel":
        return -np.log(np.maximum(-np.log(share), 1e-18))
    return np.where(share < 0.5, np.log(2 * share), -np.log(2 * rest))


def survival(noise: str, x: Values) -> Values:
    """P(E > x)."""
    if noise == "exponential":
        return np.exp(-np.maximum(x, 0))
    if noise == "gumbel":
        return -np.expm1(-np.exp(-x))
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, 1 - tail, tail)


def _at_most(count: int, trials: int, chance: Values) -> Values:
    """P(Bin(trials, chance) <= count), for a small count."""
    with np.errstate(divide="ignore"):
        none = np.log1p(-chance)
    total = np.zeros_like(chance)
    for j in range(min(count, trials) + 1):
        total += comb(trials, j) * chance**j * np.exp((trials - j) * none)
    return total

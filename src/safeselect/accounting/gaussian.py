"""The guarantee of Gaussian noise, mu-GDP, which no selection makes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from safeselect.accounting.search import halved
from safeselect.exact.interval import Interval, above_zero
from safeselect.exact.normal import normal
from safeselect.exact.parameters import Number, rational
from safeselect.promises.guarantees import ApproximateDP, Sealed, ZeroConcentratedDP

_LEAST = Fraction(1, 2**4000)  # no delta is stated smaller
_FAR = 5600  # z**2 with e**(-z**2 / 2) below 2**-4000
FARTHEST = 2**26  # epsilon: its exponential is within the range of MPFR numbers


@dataclass(frozen=True, slots=True)
class GaussianDP(Sealed):
    """The guarantee mu-GDP: neighbouring data sets are no easier to distinguish than N(0, 1) and
    N(mu, 1).

    A number of sensitivity s with Gaussian noise of standard deviation sigma has mu = s / sigma.
    The squares add up, so the object stores mu**2, which is rational if s and sigma**2 are.

        GaussianDP(Fraction(1, 25))  # noise of standard deviation 5 at sensitivity 1

    The class covers continuous noise and functions of it, such as its rounding to integers. It does
    not cover discrete Gaussian noise, whose losses differ.

    Args:
        mu_squared: rational, at least 0.

    Source: Dong, Roth and Su (2022).
    """

    mu_squared: Fraction
    pure: ClassVar[None] = None
    """No pure guarantee follows."""

    def __post_init__(self) -> None:
        value = rational(self.mu_squared, "mu_squared", zero=True)
        object.__setattr__(self, "mu_squared", value)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The implied zCDP guarantee, with rho = mu**2 / 2.

        Source: Bun and Steinke (2016), Proposition 1.6.
        """
        return ZeroConcentratedDP(self.mu_squared / 2)

    def delta(self, epsilon: Number) -> Fraction:
        """Return the smallest delta for the given epsilon, rounded up to 64 significant bits.

        It is N(mu/2 - epsilon/mu) - e**epsilon N(-mu/2 - epsilon/mu), where N is the normal
        distribution function. For an epsilon above 2**26, return a larger value: the probability
        that the loss exceeds epsilon.

        Source: Balle and Wang (2018), Theorem 8.
        """
        at = rational(epsilon, "epsilon", zero=True)
        if not self.mu_squared:
            return Fraction(0)
        # It is below e**(-z**2 / 2), z = epsilon / mu - mu / 2: too small to be stated.
        beyond = at - self.mu_squared / 2
        if beyond > 0 and beyond * beyond >= _FAR * self.mu_squared:
            return _LEAST
        if at > FARTHEST:
            # The first term alone: the second only lowers delta.
            return min(Fraction(1), above_zero(lambda precision: self._tail(at, precision)))
        return min(Fraction(1), above_zero(lambda precision: self.tails(at, precision)[0]))

    def approximate(self, delta: Number) -> ApproximateDP:
        """Return the ApproximateDP guarantee that follows from this one, with the given delta and
        the smallest possible epsilon.

        The relative error of epsilon is at most 2**-40.
        """
        at = rational(delta, "delta", below=1)
        if self.delta(0) <= at:
            return ApproximateDP(Fraction(0), at)
        high = self.zcdp.approximate(at).epsilon

        def enough(epsilon: Fraction) -> bool:
            return bool(self.tails(epsilon, 192)[0].upper <= Interval.of(at, 192).lower)

        return ApproximateDP(halved(enough, Fraction(0), high), at)

    def _tail(self, epsilon: Fraction, precision: int) -> Interval:
        mu, half = _scale(self.mu_squared, precision)
        return normal(half - epsilon / mu)

    def tails(self, epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        """Return two intervals: one that contains the smallest delta for the given epsilon, and one
        that contains the probability, under the neighbouring data set, of a loss above epsilon.
        """
        mu, half = _scale(self.mu_squared, precision)
        at = Interval.of(epsilon, precision)
        moved = at / mu
        ours, theirs = normal(half - moved), normal(-half - moved)
        return ours - at.exp() * theirs, theirs


@lru_cache(maxsize=16)
def _scale(squared: Fraction, precision: int) -> tuple[Interval, Interval]:
    mu = Interval.of(squared, precision).sqrt()
    return mu, mu / 2

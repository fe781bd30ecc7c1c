"""Parts of a list whose law is known: discrete Laplace and Gaussian noise, randomized response.

A `PureDP` or `ZeroConcentratedDP` says less about them than their own privacy losses do.  Each law
here is its worst pair: a likelihood ratio that is monotone makes the largest shift the worst.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

from safeselect.accounting.search import halved, short_up
from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.exact.parameters import integer, rational
from safeselect.promises.guarantees import ApproximateDP, PureDP, Sealed, ZeroConcentratedDP


@dataclass(frozen=True, slots=True)
class Atoms:
    """The privacy losses of a pair (P, Q), from the largest; that of (Q, P) is the same law.

    Attributes:
        losses: lower and upper ends of each.
        masses: under P, times 2**bits, rounded down and up.  Under Q loss l has the mass that P
            gives to -l.
        beyond: the mass of all losses that are not listed, rounded up.
        bits: of the scale.
    """

    losses: tuple[tuple[Fraction, Fraction], ...]
    masses: tuple[tuple[int, int], ...]
    beyond: int
    bits: int

    def above(self, points: list[Fraction]) -> list[int]:
        """The hockey-stick divergence at e**s for each point s, times 2**bits, rounded up."""
        ours = [0, *accumulate(high for _, high in self.masses)]
        theirs = [0, *accumulate(low for low, _ in reversed(self.masses))]
        floors = [-low for low, _ in self.losses]
        found = []
        for s in points:
            # Far out less than e**s will do: the masses that it multiplies are rounded to nothing.
            grown = (
                Interval.of(min(s, Fraction(4 * self.bits)), self.bits).exp().scaled(self.bits)[0]
            )
            # Losses surely above s.  Of each that may be, what it adds where it is.
            count = bisect_left(floors, -s)
            total = ours[count] - (theirs[count] * grown >> self.bits) + self.beyond
            while count < len(self.losses) and self.losses[count][1] > s:
                kept, flipped = self.masses[count][1], self.masses[-1 - count][0]
                total += max(0, kept - (flipped * grown >> self.bits))
                count += 1
            found.append(min(max(0, total), 1 << self.bits))
        return found

    def places(self, step: Fraction) -> tuple[int, list[int]]:
        """The least place, and masses at multiples of a step from there on, both rounded down."""
        at = [low // step for low, _ in self.losses]
        weights = [0] * (at[0] - at[-1] + 1)
        for place, (low, _) in zip(at, self.masses, strict=True):
            weights[place - at[-1]] += low
        return at[-1], weights


_MOST_SHIFT = 2**12
_MOST_VARIANCE = 2**20
_MOST_ANSWERS = 2**62
_BITS = 192  # of masses, where a law is read alone


@lru_cache(maxsize=8)
def _known(law: KnownLaw) -> Atoms:
    return law.atoms(_BITS)


def _delta(law: KnownLaw, epsilon: object) -> Fraction:
    """Return the smallest delta for the given epsilon, rounded up."""
    at = rational(epsilon, "epsilon", zero=True)
    atoms = _known(law)
    if at >= atoms.losses[0][1] and not atoms.beyond:
        return Fraction(0)
    return min(Fraction(1), short_up(Fraction(atoms.above([at])[0], 1 << _BITS)))


def _approximate(law: KnownLaw, delta: object) -> ApproximateDP:
    """Return the ApproximateDP guarantee that follows from this law, with the given delta and the
    smallest possible epsilon.

    Except for extremely small deltas, the relative error of epsilon is at most 2**-40.
    """
    at = rational(delta, "delta", below=1)
    atoms = _known(law)
    goal = (at.numerator << _BITS) // at.denominator
    low, high = Fraction(0), atoms.losses[0][1]
    if atoms.above([high])[0] > goal:
        # Below what the masses resolve.
        return law.zcdp.approximate(at)
    if atoms.above([low])[0] <= goal:
        return ApproximateDP(low, at)
    high = halved(lambda epsilon: atoms.above([epsilon])[0] <= goal, low, high)
    # Chances below what the masses resolve were rounded away; what is implied knows them.
    implied = (law.pure or law.zcdp).approximate(at).epsilon
    return ApproximateDP(min(high, implied), at)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Sealed):
    """The distribution of the privacy loss of an integer that is released with discrete Laplace
    noise.

    The integer changes by at most `shift` between neighbours. The probability of noise x is
    proportional to e**(-epsilon * |x|).

        DiscreteLaplace("1/2", shift=3)

    Args:
        epsilon: rational, positive; for a shift of 1 the guarantee is exactly PureDP(epsilon).
        shift: integer, from 1 to 4096.

    Source: Ghosh, Roughgarden and Sundararajan (2009).
    """

    epsilon: Fraction
    shift: int = 1

    delta = _delta
    approximate = _approximate

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        integer(self.shift, "shift", minimum=1, maximum=_MOST_SHIFT)

    @property
    def unit(self) -> Fraction:
        """A unit of which every privacy loss is an integer multiple."""
        return self.epsilon

    @property
    def size(self) -> Fraction:
        """The largest privacy loss."""
        return self.epsilon * self.shift

    @property
    def pure(self) -> PureDP:
        """The guarantee PureDP(shift * epsilon)."""
        return PureDP(self.size)

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The zCDP guarantee that `pure` implies."""
        return self.pure.zcdp

    def atoms(self, bits: int) -> Atoms:
        """Return bounds on the privacy losses and on their probabilities, to the given number of
        bits.

        Values up to 0 have the largest loss. Values from `shift` on have the smallest loss.
        """
        ratio = (-Interval.of(self.epsilon, bits + 64)).exp()
        outside = 1 / (1 + ratio)
        chances = [outside]
        power = ratio
        for _ in range(1, self.shift):
            chances.append(outside * (1 - ratio) * power)
            power = power * ratio
        chances.append(outside * power)
        losses = ((self.shift - 2 * x) * self.epsilon for x in range(self.shift + 1))
        masses = tuple(chance.scaled(bits) for chance in chances)
        return Atoms(tuple((loss, loss) for loss in losses), masses, 0, bits)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Sealed):
    """The distribution of the privacy loss of an integer that is released with discrete Gaussian
    noise.

    The integer changes by at most `shift` between neighbours. The probability of noise x is
    proportional to e**(-x**2 / (2 * sigma2)).

        DiscreteGaussian(9) # a count with a standard deviation slightly below 3

    It is not mu-GDP for any mu near shift / sigma.

    Args:
        sigma2: positive rational, less than 2**20; for larger values use `ZeroConcentratedDP`.
        shift: integer, from 1 to 4096.

    Source: Canonne, Kamath and Steinke (2020).
    """

    sigma2: Fraction
    shift: int = 1

    delta = _delta
    approximate = _approximate

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma2", rational(self.sigma2, "sigma2", below=_MOST_VARIANCE))
        integer(self.shift, "shift", minimum=1, maximum=_MOST_SHIFT)

    @property
    def unit(self) -> Fraction:
        """A unit of which every privacy loss is an integer multiple."""
        return self.shift / (2 * self.sigma2)

    @property
    def size(self) -> Fraction:
        """A multiple of `unit` that is close to the standard deviation of the privacy loss."""
        return self.unit * max(1, isqrt(int(4 * self.sigma2)))

    @property
    def pure(self) -> None:
        """None, because there is no pure guarantee."""
        return None

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The guarantee (shift**2 / (2 * sigma2))-zCDP.

        Source: Canonne, Kamath and Steinke (2020), Theorem 4.
        """
        return ZeroConcentratedDP(Fraction(self.shift**2) / (2 * self.sigma2))

    def atoms(self, bits: int) -> Atoms:
        """Return bounds on the privacy losses and on their probabilities, to the given number of
        bits.

        Two tails with a probability below 2**-bits are left out.
        """
        precision = bits + 64
        # e**(-r**2 / (2 sigma2)) <= 2**-bits, as ln 2 < 7/10.
        r = isqrt(int(2 * self.sigma2 * bits * 7 / 10)) + 2
        halves = [
            (-Interval.of(x * x / (2 * self.sigma2), precision)).exp()
            for x in range(self.shift + r + 2)
        ]
        # Weights beyond x fall faster than by the ratio of the first two.
        ratio = (-Interval.of((2 * r + 3) / (2 * self.sigma2), precision)).exp()
        tail = halves[r + 1] / (1 - ratio)
        total = halves[0]
        for weight in halves[1 : r + 1]:
            total = total + weight + weight
        most = total + tail + tail
        whole = Interval(total.lower, most.upper, precision)
        places = range(-r, self.shift + r + 1)
        masses = tuple((halves[abs(x)] / whole).scaled(bits) for x in places)
        losses = (self.unit * (self.shift - 2 * x) for x in places)
        missing = ((tail + tail) / whole).scaled(bits)[1]
        return Atoms(tuple((loss, loss) for loss in losses), masses, missing, bits)


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Sealed):
    """The distribution of the privacy loss of randomized response with n possible answers.

    With probability p, the answer is uniformly random. Otherwise it is the true answer.

        RandomizedResponse("1/4", n=5)

    Args:
        p: rational between 0 and 1.
        n: number of answers, at least 2.

    Source: Warner (1965); Kairouz, Oh and Viswanath (2016).
    """

    p: Fraction
    n: int

    delta = _delta
    approximate = _approximate

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", rational(self.p, "p", below=1))
        integer(self.n, "n", minimum=2, maximum=_MOST_ANSWERS)

    @property
    def unit(self) -> Fraction:
        """The largest privacy loss, rounded down to 32 significant bits."""
        return rounded_down(self._loss, 32)

    @property
    def size(self) -> Fraction:
        """The largest privacy loss, rounded down to 32 significant bits; it equals `unit`."""
        return self.unit

    @property
    def pure(self) -> PureDP:
        """The guarantee PureDP(ln(1 + n * (1 - p) / p)), with epsilon rounded up."""
        return PureDP(rounded_up(self._loss))

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The zCDP guarantee that `pure` implies."""
        return self.pure.zcdp

    def atoms(self, bits: int) -> Atoms:
        """Return bounds on the privacy losses and on their probabilities, to the given number of
        bits.

        They are the losses of the true answer, of the other data set's answer and of all other
        answers.
        """
        precision, other = bits + 64, self.p / self.n
        low, high = self._loss(precision).fractions()
        chances = 1 - self.p + other, (self.n - 2) * other, other
        masses = tuple(Interval.of(chance, precision).scaled(bits) for chance in chances)
        return Atoms(((low, high), (Fraction(0), Fraction(0)), (-high, -low)), masses, 0, bits)

    def _loss(self, precision: int) -> Interval:
        return Interval.of(1 + self.n * (1 - self.p) / self.p, precision).log()


KnownLaw = DiscreteLaplace | DiscreteGaussian | RandomizedResponse

"""The product accountant: Rényi moments multiply, order by order.

Each guarantee bounds M(a) = E[(likelihood ratio)**(a - 1)] for every order a > 1.  The bounds of
adaptively chosen mechanisms multiply, and for every order

    delta(epsilon) <= product M_i(a) * exp(-(a - 1) epsilon) * (a - 1)**(a - 1) / a**a

(Canonne, Kamath and Steinke 2020, Proposition 12).  The order may be chosen to make this small
because the guarantees are fixed in advance.  Where the guarantees are chosen after releases were
seen, the order must be fixed first, as a `Budget` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.search import argmin
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, log_order_constant, rounded_down, rounded_up
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Guarantee,
    LaplaceDominated,
    PureDP,
    Sealed,
    ZeroConcentratedDP,
)


def dong_durfee_rogers_epsilon(epsilon: Fraction, k: int, delta: Fraction) -> Fraction:
    """An epsilon for k adaptive mechanisms of bounded range: k rho + epsilon sqrt(k ln(1/delta)/2),
    rho their zCDP parameter, which is also their largest Kullback-Leibler divergence.

    Source: Dong, Durfee and Rogers (2020); by Hoeffding's lemma and Chernoff's bound.
    """
    rho = BoundedRange(epsilon).zcdp.rho

    def enclosed(precision: int) -> Interval:
        inside = Fraction(k, 2) * -Interval.of(delta, precision).log()
        return k * rho + epsilon * inside.sqrt()

    return rounded_up(enclosed)


def bun_steinke_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The epsilon of rho-zCDP at a delta: rho + 2 sqrt(rho ln(1/delta)).

    Source: Bun and Steinke (2016), Proposition 1.3.
    """

    def bound(precision: int) -> Interval:
        root = (rho * -Interval.of(delta, precision).log()).sqrt()
        return rho + root + root

    return rounded_up(bound)


def bun_steinke_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho with `bun_steinke_epsilon` equal to epsilon, rounded down.

    It is (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))**2.
    """

    def root(precision: int) -> Interval:
        slack = -Interval.of(delta, precision).log()
        difference = (slack + epsilon).sqrt() - slack.sqrt()
        return difference * difference

    return rounded_down(root)


Base = PureDP | LaplaceDominated | BoundedRange | ZeroConcentratedDP
"""What one of many runs may guarantee."""


class Repetition(Sealed, ABC):
    """What the best of a random number of runs guarantees; `repetition` has the two kinds."""

    __slots__ = ()

    base: Base

    @property
    @abstractmethod
    def pure(self) -> PureDP | None:
        """The pure guarantee, where a run has one."""

    @property
    @abstractmethod
    def zcdp(self) -> ZeroConcentratedDP:
        """A zCDP guarantee."""

    @property
    def single(self) -> PureDP | ZeroConcentratedDP:
        """The strongest guarantee of one number that follows."""
        return self.pure or self.zcdp

    @abstractmethod
    def log_moment(self, one: Interval, excess: Interval) -> Interval:
        """Enclose a bound on ln M(a) of the best run, a = 1 + excess, from ln M(a) of one run."""


Composable = Guarantee | GaussianDP | Repetition

Parts = Sequence[tuple[Composable, int]]
"""Guarantees, each with how often it occurs."""

_START = Fraction(8)  # a - 1 where a search for an order begins
_SEARCHED_EXACTLY = 64  # kinds of parts up to which the search looks at each of them


_Factors = list[Interval | None]
"""P, A and B under P A**a / B**(a - 1); None is 1."""


def _times(one: _Factors, other: _Factors) -> _Factors:
    pairs = zip(one, other, strict=True)
    return [mine * its if mine and its else mine or its for mine, its in pairs]


class Moments:
    """Enclosures of ln M(a) at one order, a = 1 + excess; what the parts share is found once."""

    __slots__ = ("_excess", "_none", "_order", "_precision", "_share", "_twice", "constant")

    def __init__(self, excess: Fraction, precision: int) -> None:
        self._precision = precision
        self._none = Interval.of(0, precision)
        self._excess = Interval.of(excess, precision)
        self._order = Interval.of(1 + excess, precision)
        self._twice = Interval.of(1 + 2 * excess, precision)
        self._share = self._excess / self._twice
        self.constant = log_order_constant(excess, precision)

    def log_product(self, parts: Parts) -> Interval:
        """Enclose the sum of ln M(a) over all parts.

        Raises:
            ParameterError: a part is ApproximateDP, which bounds no moment.
        """
        total = self._none
        # Logarithms cost most, so parts that occur once share theirs.
        once: _Factors = [None, None, None]
        for guarantee, count in parts:
            if isinstance(guarantee, Repetition):
                total = total + count * self._repeated(guarantee)
                continue
            added, factors = self._moment(guarantee)
            if count == 1:
                total, once = total + added, _times(once, factors)
            else:
                total = total + count * (added + self._weighed(factors))
        return total + self._weighed(once)

    def _repeated(self, guarantee: Repetition) -> Interval:
        """From ln M(a) of one run, or that of the pure guarantee.

        Source: Papernot and Steinke (2022), Theorems 2 and 6; `docs/mathematics.md`, section 18.
        """
        if not size(guarantee):
            return self._none
        one = self.log_product([(guarantee.base, 1)])
        found = guarantee.log_moment(one, self._excess)
        if guarantee.pure is None:
            return found
        pure = self.log_product([(guarantee.pure, 1)])
        ends = min(found.lower, pure.lower), min(found.upper, pure.upper)
        return Interval(*ends, self._precision)

    def _weighed(self, factors: _Factors) -> Interval:
        """ln(P) + a ln(A) - (a - 1) ln(B)."""
        plain, upper, lower = factors
        total = self._none if plain is None else plain.log()
        if upper is not None and lower is not None:
            total = total + self._order * upper.log() - self._excess * lower.log()
        return total

    def _moment(self, guarantee: Guarantee | GaussianDP) -> tuple[Interval, _Factors]:
        """The parts of ln M(a): a number, and factors under a logarithm (see `_weighed`)."""
        if isinstance(guarantee, ApproximateDP):
            raise ParameterError("an ApproximateDP guarantee does not bound Rényi moments")
        if isinstance(guarantee, (ZeroConcentratedDP, GaussianDP)):
            # mu-GDP has the moments of (mu**2 / 2)-zCDP.
            return self._order * self._excess * guarantee.zcdp.rho, [None, None, None]
        if not guarantee.epsilon:
            return self._none, [None, None, None]
        epsilon, log_rest = _shared(guarantee.epsilon, self._precision)
        leading = self._excess * epsilon
        if isinstance(guarantee, BoundedRange):
            # The worst mechanism of bounded range, at its worst offset: (a-1)**(a-1) / a**a
            # * A**a / (B**(a-1) (1 - e**-epsilon)), where A = 1 - e**(-a epsilon) and
            # B = e**-epsilon - e**(-a epsilon).  Source: `docs/mathematics.md`, section 3.
            upper = -(-(self._order * epsilon)).expm1()
            lower = -(-leading).expm1()
            return leading + self.constant - log_rest, [None, upper, lower]
        # e**-(2a - 1) epsilon: what the reflected outcome adds
        reflected = (-(self._twice * epsilon)).exp()
        if isinstance(guarantee, LaplaceDominated):
            return leading, [1 - self._share + self._share * reflected, None, None]
        if isinstance(guarantee, PureDP):
            return leading, [(1 + reflected) / (1 + (-epsilon).exp()), None, None]
        assert_never(guarantee)

    def epsilon(self, parts: Parts, delta: Fraction) -> Interval:
        """Enclose the epsilon that this order certifies."""
        log_delta = Interval.of(delta, self._precision).log()
        return (self.log_product(parts) + self.constant - log_delta) / self._excess


@lru_cache(maxsize=256)
def _shared(epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
    """Enclose epsilon and ln(1 - e**-epsilon), which all orders share."""
    enclosed = Interval.of(epsilon, precision)
    return enclosed, (-(-enclosed).expm1()).log()


def log_moment(guarantee: Composable, excess: Fraction, precision: int) -> Interval:
    """Enclose ln M(a) at the order a = 1 + excess, excess > 0."""
    return Moments(excess, precision).log_product([(guarantee, 1)])


def epsilon_at_order(parts: Parts, delta: Fraction, excess: Fraction, precision: int) -> Interval:
    """Enclose the epsilon that the product accountant certifies at one order, a = 1 + excess."""
    return Moments(excess, precision).epsilon(parts, delta)


def epsilon_by_orders(parts: Parts, delta: Fraction) -> tuple[Fraction, Fraction]:
    """An epsilon that the product accountant certifies, and a - 1 for the order it does so at.

    Rounded up to 64 significant bits.  The search for the order looks at a summary of long lists;
    the bound is certified for the list itself.
    """
    parts, best = best_order(parts, lambda some, x, bits: epsilon_at_order(some, delta, x, bits))
    bound = rounded_up(lambda precision: epsilon_at_order(parts, delta, best, precision))
    return max(Fraction(0), bound), best


def best_order(
    parts: Parts, bound: Callable[[Parts, Fraction, int], Interval]
) -> tuple[Parts, Fraction]:
    """The list with Gaussian noise as zCDP, and a - 1 for an order at which its bound is small."""
    # mu-GDP has the moments of (mu**2 / 2)-zCDP.
    parts = [(g.zcdp if isinstance(g, GaussianDP) else g, count) for g, count in parts]
    summary, bits = _summary(parts), _searched_bits(parts)
    return parts, argmin(lambda excess: bound(summary, excess, bits), _START)


def _searched_bits(parts: Parts) -> int:
    """Moments of small guarantees are of the order of their square, from terms of that of 1."""
    largest = max(size(guarantee) for guarantee, _ in parts)
    return 96 + 2 * max(0, largest.denominator.bit_length() - largest.numerator.bit_length())


def _summary(parts: Parts) -> Parts:
    """A similar list with fewer kinds: parts of one type that nearly agree are made equal.

    It only serves to choose an order, and this choice needs no proof.
    """
    if len(parts) <= _SEARCHED_EXACTLY:
        return parts
    made: list[tuple[Composable, int]] = []
    heaps: dict[tuple[type, int, int], list[tuple[Fraction, int]]] = {}
    for guarantee, count in parts:
        if isinstance(guarantee, Repetition):
            made.append((guarantee, count))
            continue
        value = size(guarantee)
        exponent = value.numerator.bit_length() - value.denominator.bit_length() - 3
        unit = Fraction(2) ** exponent
        heaps.setdefault((type(guarantee), exponent, value // unit), []).append((value, count))
    for (kind, exponent, _), heap in heaps.items():
        unit = Fraction(2) ** (exponent - 40)
        counted = [(value // unit, count) for value, count in heap]
        number = sum(count for _, count in heap)
        mean = Fraction(sum(units * count for units, count in counted), number)
        square = Fraction(sum(units * units * count for units, count in counted), number)
        # One Newton step from the mean to the root of the mean square: moments go with squares.
        made.append((kind((mean + square / mean) / 2 // 1 * unit), number))
    return made


def size(guarantee: Composable) -> Fraction:
    """The parameter of a guarantee that has one: rho, mu squared, or epsilon; of one run."""
    if isinstance(guarantee, Repetition):
        return size(guarantee.base)
    if isinstance(guarantee, GaussianDP):
        return guarantee.mu_squared
    return guarantee.rho if isinstance(guarantee, ZeroConcentratedDP) else guarantee.epsilon

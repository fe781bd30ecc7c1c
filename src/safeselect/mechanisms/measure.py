"""How much of each: integers with exact noise, charged like every release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, isqrt
from typing import Literal, cast

from safeselect.accounting.cost import read_epsilon
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.engine.gaussian import (
    MOST_TABLED,
    DiscreteGaussian,
    RoundedGaussian,
    draw_symmetric,
)
from safeselect.engine.geometric import discrete_laplace
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, NoiseRate, rounded_up
from safeselect.exact.parameters import Number, exact_text, rational
from safeselect.promises.guarantees import PureDP, ZeroConcentratedDP
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import (
    Call,
    Charge,
    Scope,
    in_one_sentence,
    is_replaced,
    read_ledger,
    unit_of,
)
from safeselect.release.results import Noise, Numbers
from safeselect.samplers import discrete_gaussian
from safeselect.scores.candidates import Label, Labels, Scores, read_candidates, read_values
from safeselect.scores.counts import Counts, check_unit
from safeselect.scores.reading import exactly_one

_NORMAL_95 = Fraction(1_959_964, 10**6)  # P(|Z| > 1.959964) is below 0.05, Z normal
_L2 = "sensitivity_l2_squared"
_MISSED = Fraction(1, 20)
_THOUSAND = 1000  # the standard deviation is rounded up to a thousandth
_LEAST, _MOST = Fraction(1, 2**80), Fraction(2**100)  # of sigma squared: noise fits 64 bits
_NOT_WHOLE = (
    "values must be integers of any type without missing values; round them to a public step "
    "first, such as cents"
)


@dataclass(frozen=True, slots=True)
class Law:
    """The noise of one measurement, all of it public.

    Args:
        name: of the law.
        guarantee: what it costs.
        norm, sensitivity: which sensitivity it covers, and how much of it.
        parameter: the rate of discrete Laplace noise, sigma squared of the others.
    """

    name: Literal["discrete Laplace", "discrete Gaussian", "rounded Gaussian"]
    guarantee: AnyGuarantee
    norm: str
    sensitivity: Fraction
    parameter: Fraction

    @classmethod
    def of(cls, guarantee: PureDP | ZeroConcentratedDP | GaussianDP, size: Fraction) -> Law:
        """The noise that this guarantee takes, for a sensitivity of this size.

        Raises:
            ParameterError: there is no such noise.
        """
        if isinstance(guarantee, PureDP):
            rate = NoiseRate(guarantee.epsilon / size).rate
            return cls("discrete Laplace", guarantee, "sensitivity_l1", size, rate)
        if isinstance(guarantee, GaussianDP):
            found = cls("rounded Gaussian", guarantee, _L2, size, size / guarantee.mu_squared)
        else:
            found = cls("discrete Gaussian", guarantee, _L2, size, size / (2 * guarantee.rho))
        if not _LEAST <= found.parameter <= _MOST:
            raise ParameterError(
                "sigma**2 of the noise must be between 2**-80 and 2**100; rescale the values and "
                "their sensitivity, or change the cost"
            )
        return found

    def charge(self, size: int) -> Charge:
        """What a ledger is told about a measurement of so many values."""
        written = "noise_rate" if self.name == "discrete Laplace" else "sigma_squared"
        parameters = {
            "values": str(size),
            self.norm: exact_text(self.sensitivity),
            written: exact_text(self.parameter),
            **noise_of(self.name, self.parameter).as_parameters(),
        }
        name = self.name.lower().replace(" ", "_")
        return Charge(f"measure_{name}/1", self.guarantee, ((self.guarantee, 1),), parameters)

    def draw(self, count: int, bits: Bits) -> list[int]:
        found: list[int]
        if self.name == "discrete Laplace":
            found = discrete_laplace(count, NoiseRate(self.parameter), bits).tolist()
        elif self.name == "rounded Gaussian":
            found = draw_symmetric(count, RoundedGaussian(self.parameter), bits).tolist()
        elif self.parameter > MOST_TABLED:
            found = [discrete_gaussian(bits, self.parameter) for _ in range(count)]
        else:
            found = draw_symmetric(count, DiscreteGaussian(self.parameter), bits).tolist()
        return found


@lru_cache(maxsize=64)
def count_noise(rate: Fraction) -> Noise:
    """How noisy a number is with discrete Laplace noise: P(X = x) proportional to exp(-rate |x|).

    The interval is the least around 0 that has a probability of 0.95.

    Raises:
        ParameterError: there is no such noise.
    """
    rate = NoiseRate(rate).rate

    def deviation(bits: int) -> Interval:
        # The variance is 2 a / (1 - a)**2 for a = exp(-rate).
        power = (-Interval.of(rate, bits)).exp()
        return (2 * power).sqrt() / -Interval.of(-rate, bits).expm1()

    def reach(bits: int) -> Interval:
        # P(|X| > w) = 2 a**(w + 1) / (1 + a), so w + 1 >= ln(2 / ((1 + a) missed)) / rate.
        sides = 1 + (-Interval.of(rate, bits)).exp()
        return (2 / _MISSED / sides).log() / rate

    near = ceil(rounded_up(reach)) - 1
    wide = Fraction(ceil(rounded_up(deviation) * _THOUSAND), _THOUSAND)
    return Noise("discrete Laplace", wide, -near, near)


@lru_cache(maxsize=64)
def noise_of(law: str, parameter: Fraction) -> Noise:
    """How noisy a value is: by the rate of discrete Laplace noise, or by sigma squared.

    The deviation is that of discrete Laplace noise; sigma, of discrete Gaussian noise (Canonne,
    Kamath and Steinke 2020, Corollary 9); and of rounded noise the root of sigma**2 + 1/12, because
    the series of its variance (Poisson summation) alternates, and what comes after these two terms
    begins with a negative one.  The interval of 95 % is the least for Laplace and for rounded
    noise.  Discrete Gaussian noise of m or more is no likelier than a normal number of m - 1 or
    more (the same).
    """
    if law == "discrete Laplace":
        return count_noise(parameter)
    if law == "discrete Gaussian":
        variance, reach = parameter, _root(_NORMAL_95**2 * parameter, 1)
    else:
        # |round(x)| is at most w where |x| is below w + 1/2.
        variance = parameter + Fraction(1, 12)
        reach = _root(_NORMAL_95**2 * parameter, 2) // 2
    return Noise(law, Fraction(_root(variance, 1000), 1000), -reach, reach)


def _root(squared: Fraction, times: int) -> int:
    """The root of a number times so much, rounded up."""
    above = squared * times**2
    return isqrt(-(-above.numerator // above.denominator) - 1) + 1


def measure(
    values: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    sensitivity_l1: Number | None = None,
    sensitivity_l2_squared: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[int, Label]:
    """Release integers after adding noise that is sampled exactly.

    Pass exactly one cost. It determines the noise and requires the sensitivity in the matching
    norm:

    - epsilon, with sensitivity_l1: discrete Laplace noise, P(X = x) proportional to
      exp(-|x| epsilon / sensitivity_l1).
    - rho, with sensitivity_l2_squared: discrete Gaussian noise, P(X = x) proportional to
      exp(-x**2 / (2 sigma**2)), sigma**2 = sensitivity_l2_squared / (2 rho).
    - mu, with sensitivity_l2_squared: a normal variable rounded to the nearest integer, with
      sigma**2 = sensitivity_l2_squared / mu**2 before rounding.

    The number of values and their labels are public.

    Guarantee: PureDP(epsilon); ZeroConcentratedDP(rho), and no more: discrete Gaussian noise is not
        Gaussian-DP; or GaussianDP(mu**2): integers plus rounded noise are the rounding of integers
        plus normal noise, a function of the continuous release.
    Neighbours: as the sensitivity defines them.
    Source: Ghosh, Roughgarden and Sundararajan (2009) for discrete Laplace noise; Canonne, Kamath
        and Steinke (2020), Theorem 14 for discrete Gaussian noise; Dong, Roth and Su (2022).
    Exactness: all computation uses integers and enclosures, without rounding.
    Bits: for discrete Laplace noise as for `variates.discrete_laplace`; for Gaussian noise 72 for
        each value. If sigma**2 exceeds 2**20, discrete Gaussian noise takes a few hundred bits for
        each value, by rejection.
    Reveals: nothing of the values; the time of rare refinements, and above sigma**2 = 2**20 all of
        the time, follows from the noise.

    Args:
        values: integers of any type: a list, an array, a column, or a mapping from labels to
            values.
        epsilon, rho, mu: total cost of this call; exactly one, a positive rational.
        sensitivity_l1: largest sum of the absolute changes in all values, if one unit of privacy is
            added or removed. It is c if a user counts in at most c cells, once in each.
        sensitivity_l2_squared: largest sum of the squared changes; in the same case it is also c.
        labels: names of the values, if values is not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: the cost is charged there before the first bit is drawn, and
            the result has a receipt.

    Returns:
        Numbers: the noisy values as Python integers, in the given order; `noise` describes their
            noise.

    Raises:
        ParameterError: a parameter is wrong, or the sensitivity is smaller than the possible change
            of `Counts`.
        ScoreError: the values cannot be read.
        SourceError: the source failed.

    Example:
        >>> from safeselect import measure
        >>> found = measure({"Oslo": 120, "Rome": 95}, epsilon=100, sensitivity_l1=1)
        >>> found.values, found.guarantee.epsilon == 100
        ((120, 95), True)
    """
    law = _read_law(epsilon, rho, mu, sensitivity_l1, sensitivity_l2_squared)
    scope = read_ledger(ledger, monotonic=False)
    chosen = resolve(source)
    cells = read_candidates(values, labels=labels)
    _check_counts(values, cells.size, law, scope)
    charge, unit = law.charge(cells.size), values.unit if isinstance(values, Counts) else None
    read = partial(in_one_sentence, partial(read_values, cells.rows[0]), _NOT_WHOLE)
    with Call(charge, read, source=chosen, scope=scope, unit=unit) as call:
        drawn = law.draw(cells.size, call.bits)
        noisy = tuple(value + more for value, more in zip(call.values, drawn, strict=True))
        names = cast("tuple[Label, ...] | None", cells.labels)
        return call.commit(Numbers(values=noisy, labels=names, **call.header))


def _read_law(epsilon: object, rho: object, mu: object, l1: object, l2: object) -> Law:
    given = {"epsilon": epsilon, "rho": rho, "mu": mu}
    exactly_one(given, "for example epsilon=1, sensitivity_l1=1")
    if epsilon is not None:
        if l1 is None or l2 is not None:
            raise ParameterError(
                "epsilon requires sensitivity_l1, the largest sum of the absolute changes in all "
                "values, and no other sensitivity; for example, sensitivity_l1=1"
            )
        return Law.of(PureDP(read_epsilon(epsilon)), rational(l1, "sensitivity_l1"))
    if l2 is None or l1 is not None:
        raise ParameterError(
            f"rho and mu require {_L2}, the largest sum of the squared changes in all values, "
            f"and no other sensitivity; for example, {_L2}=1"
        )
    size = rational(l2, _L2)
    if rho is not None:
        return Law.of(ZeroConcentratedDP(rational(rho, "rho")), size)
    return Law.of(GaussianDP(rational(mu, "mu") ** 2), size)


def _check_counts(values: object, size: int, law: Law, scope: Scope | None) -> None:
    """Refuse `Counts` that one user may move by more than the sensitivity; the rest passes."""
    if not isinstance(values, Counts):
        return
    check_unit(values.unit, unit_of(scope))
    if values.places != "all":
        raise ParameterError(
            "these are only the largest counts of a table, and their items are private; count "
            "without places=, and use select_partitions(..., with_counts=True)"
        )
    # A user who replaces another takes away the other's contributions and adds as many.
    replaced = is_replaced(scope)
    cap = values.max_contributions
    moved = size if cap is None else min(size, cap * (1 + replaced))
    if law.sensitivity < moved:
        who = "replacing one user" if replaced else "one user"
        raise ParameterError(
            f"{who} can change {moved} of these counts by 1 each, so {law.norm} must be at least "
            f"{moved}; to lower this number, pass a smaller max_contributions= when you count"
        )

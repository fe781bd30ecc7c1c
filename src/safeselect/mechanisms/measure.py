"""How much of each: integers with exact noise, charged like every release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any, Generic, cast

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
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import Number, rational
from safeselect.exact.rate import NoiseRate
from safeselect.mechanisms.unknown import CountNoise
from safeselect.presentation import to_json_line, written_labels
from safeselect.promises.guarantees import PureDP, ZeroConcentratedDP
from safeselect.promises.records import exact_text
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, is_replaced, read_ledger, unit_of
from safeselect.release.results import Receipt, Statement
from safeselect.scores.candidates import (
    Candidates,
    Label,
    Labels,
    Scores,
    label_text,
    read_candidates,
    read_values,
)
from safeselect.scores.counts import Counts, check_unit
from safeselect.scores.reading import INTEGERS, exactly_one
from safeselect.selection._results import presented, views
from safeselect.spec.samplers import discrete_gaussian

_NORMAL_95 = Fraction(1_959_964, 10**6)  # P(|Z| > 1.959964) is below 0.05, Z normal


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(Generic[Label]):
    """Numbers with noise.

    Attributes:
        values: the noisy numbers, Python integers, in the order of those passed.
        labels: their names, or None where they have none.
        rate: 1 / scale of discrete Laplace noise, per unit of the values; otherwise None.
        sigma_squared: the parameter sigma**2 of Gaussian noise, in units squared; otherwise None.
            `standard_deviation` and `within_95` say how noisy each value is, whatever its noise.
        guarantee: what the release costs.
        parts: `guarantee` alone.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    values: tuple[int, ...]
    labels: tuple[Label, ...] | None
    rate: Fraction | None
    sigma_squared: Fraction | None
    guarantee: AnyGuarantee
    parts: tuple[AnyGuarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__ = presented("short_text", "One line.")
    to_dict, to_pandas, to_polars, plot = views("value")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        return iter(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    @property
    def standard_deviation(self) -> Fraction:
        """An upper bound on the standard deviation of each value's noise, to a thousandth.

        For discrete Laplace noise it is the deviation itself, rounded up.  For discrete Gaussian
        noise it is sigma (Canonne, Kamath and Steinke 2020, Corollary 9), and for a rounded one the
        root of sigma**2 + 1/12: the series of its variance (Poisson summation) alternates, and what
        comes after these two terms begins with a negative one.
        """
        if self.rate is not None:
            return CountNoise.of(self.rate, 1).standard_deviation
        more = Fraction(1, 12) if self._law == "rounded Gaussian" else 0
        return Fraction(_root(self._sigma_squared + more, 1000), 1000)

    @property
    def within_95(self) -> int:
        """A number w: each value's noise lies within -w .. w with a probability of 0.95 or more.

        The least one for Laplace and for rounded noise.  Discrete Gaussian noise of m or more is
        no likelier than a normal number of m - 1 or more (Canonne, Kamath and Steinke 2020).
        """
        if self.rate is not None:
            return CountNoise.of(self.rate, 1).within_95
        if self._law == "discrete Gaussian":
            return _root(_NORMAL_95**2 * self._sigma_squared, 1)
        # |round(x)| is at most w where |x| is below w + 1/2.
        return _root(_NORMAL_95**2 * self._sigma_squared, 2) // 2

    @property
    def _law(self) -> str:
        if self.rate is not None:
            return "discrete Laplace"
        return "rounded Gaussian" if isinstance(self.guarantee, GaussianDP) else "discrete Gaussian"

    @property
    def _sigma_squared(self) -> Fraction:
        if self.sigma_squared is None or self.sigma_squared <= 0:
            raise ParameterError("sigma squared of Gaussian noise is greater than zero")
        return self.sigma_squared

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.measurement/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        named = {"labels": None} if self.labels is None else written_labels(self.labels)
        return to_json_line(
            "safeselect.measurement/1",
            self,
            **named,
            noise={
                "law": self._law,
                "standard_deviation": exact_text(self.standard_deviation),
                "within_95": label_text(self.within_95),
            },
            values=[label_text(value) for value in self.values],
            parts=None,
        )


def _root(squared: Fraction, times: int) -> int:
    """The root of a number times so much, rounded up."""
    above = squared * times**2
    return isqrt(-(-above.numerator // above.denominator) - 1) + 1


_LEAST, _MOST = Fraction(1, 2**80), Fraction(2**100)  # of sigma squared: noise fits 64 bits
_NOT_WHOLE = (
    "values must be integers, of whatever type, and none may be missing: round them to a public "
    "step, such as cents, before they are measured"
)


@dataclass(frozen=True, slots=True)
class _Noise:
    """The noise of one measurement, all of it public.

    Args:
        name: of the law.
        guarantee: what it costs.
        sensitivity: the name and the value of the sensitivity that it covers.
        rate, sigma_squared: the parameter of the law; one of them.
    """

    name: str
    guarantee: AnyGuarantee
    sensitivity: tuple[str, Fraction]
    rate: Fraction | None = None
    sigma_squared: Fraction | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            NoiseRate(self.rate)
        if self.sigma_squared is not None and not _LEAST <= self.sigma_squared <= _MOST:
            raise ParameterError(
                "sigma squared of the noise must be between 2**-80 and 2**100; choose another "
                "unit for the values, or another cost"
            )

    def draw(self, count: int, bits: Bits) -> list[int]:
        if self.rate is not None:
            laplace: list[int] = discrete_laplace(count, NoiseRate(self.rate), bits).tolist()
            return laplace
        squared = self.sigma_squared or Fraction(0)
        if isinstance(self.guarantee, GaussianDP):
            rounded: list[int] = draw_symmetric(count, RoundedGaussian(squared), bits).tolist()
            return rounded
        if squared > MOST_TABLED:
            return [discrete_gaussian(bits, squared) for _ in range(count)]
        discrete: list[int] = draw_symmetric(count, DiscreteGaussian(squared), bits).tolist()
        return discrete


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
) -> Measurement[Label]:
    """Release integers with exact noise.

    Exactly one cost chooses the noise, and each needs the sensitivity of its norm:

    - epsilon, with sensitivity_l1: discrete Laplace noise, P(X = x) proportional to
      exp(-|x| epsilon / sensitivity_l1).
    - rho, with sensitivity_l2_squared: discrete Gaussian noise, P(X = x) proportional to
      exp(-x**2 / (2 sigma**2)), sigma**2 = sensitivity_l2_squared / (2 rho).
    - mu, with sensitivity_l2_squared: a normal variable rounded to the nearest integer, of
      sigma**2 = sensitivity_l2_squared / mu**2 before rounding.

    How many values there are, and their labels, are public.

    Guarantee: PureDP(epsilon); ZeroConcentratedDP(rho), and no more: discrete Gaussian noise is not
        Gaussian-DP; or GaussianDP(mu**2): integers plus rounded noise are the rounding of integers
        plus normal noise, a function of the continuous release.
    Neighbours: as the sensitivity defines them.
    Source: Ghosh, Roughgarden and Sundararajan (2009) for discrete Laplace noise; Canonne, Kamath
        and Steinke (2020), Theorem 14 for discrete Gaussian noise; Dong, Roth and Su (2022).
    Exactness: integers and enclosures; nothing is rounded.
    Bits: discrete Laplace as `engine.geometric`; Gaussian 72 a value.  With sigma**2 above
        2**20 discrete Gaussian noise takes some hundred bits a value, by rejection.
    Reveals: nothing of the values; the time of rare refinements, and above sigma**2 = 2**20 all of
        the time, follows from the noise.

    Args:
        values: integers of any type: a list, an array, a column, or a mapping label -> value.
        epsilon, rho, mu: total cost of this call; exactly one, a positive rational.
        sensitivity_l1: the largest sum of the absolute changes of all values, when one unit of
            privacy is added or removed: c where a user counts in c cells at most, once in each.
        sensitivity_l2_squared: the largest sum of their squares; c as well.
        labels: the names of the values, if they are not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: the cost is charged there before the first bit is drawn, and
            the result has a receipt.

    Returns:
        Measurement: the noisy values as Python integers, in their order.

    Raises:
        ParameterError: a parameter is wrong, or the sensitivity is below what `Counts` can change.
        ScoreError: the values cannot be read.
        SourceError: the source failed.

    Example:
        >>> from safeselect import measure
        >>> found = measure({"Oslo": 120, "Rome": 95}, epsilon=100, sensitivity_l1=1)
        >>> found.values, found.guarantee.epsilon == 100
        ((120, 95), True)
    """
    noise = _read_noise(epsilon, rho, mu, sensitivity_l1, sensitivity_l2_squared)
    scope = read_ledger(ledger, monotonic=False)
    chosen = resolve(source)
    cells = read_candidates(values, labels=labels)
    _check_counts(values, cells.size, noise, scope)
    name, sensitivity = noise.sensitivity
    charge = Charge(
        f"measure_{noise.name}/1",
        noise.guarantee,
        ((noise.guarantee, 1),),
        {"values": str(cells.size), name: exact_text(sensitivity)},
    )
    unit = values.unit if isinstance(values, Counts) else None
    with Call(charge, lambda: _whole(cells), source=chosen, scope=scope, unit=unit) as call:
        drawn = noise.draw(cells.size, call.bits)
        return call.commit(
            Measurement(
                values=tuple(value + more for value, more in zip(call.values, drawn, strict=True)),
                labels=cast("tuple[Label, ...] | None", cells.labels),
                rate=noise.rate,
                sigma_squared=noise.sigma_squared,
                guarantee=noise.guarantee,
                parts=(noise.guarantee,),
                mechanism=charge.mechanism,
                source=call.source_name,
                statement=call.statement,
            )
        )


def _read_noise(epsilon: object, rho: object, mu: object, l1: object, l2: object) -> _Noise:
    given = {"epsilon": epsilon, "rho": rho, "mu": mu}
    if sum(value is not None for value in given.values()) != 1:
        exactly_one(given, "write for example epsilon=1, sensitivity_l1=1")
    if epsilon is not None:
        if l1 is None or l2 is not None:
            raise ParameterError(
                "epsilon goes with sensitivity_l1, the largest sum of the absolute changes of all "
                "values; write for example sensitivity_l1=1"
            )
        own, sensitivity = read_epsilon(epsilon), rational(l1, "sensitivity_l1")
        return _Noise(
            "discrete_laplace", PureDP(own), ("sensitivity_l1", sensitivity), rate=own / sensitivity
        )
    if l2 is None or l1 is not None:
        raise ParameterError(
            "rho and mu go with sensitivity_l2_squared, the largest sum of the squares of the "
            "changes of all values; write for example sensitivity_l2_squared=1"
        )
    sensitivity = rational(l2, "sensitivity_l2_squared")
    parameter = ("sensitivity_l2_squared", sensitivity)
    if rho is not None:
        concentrated = ZeroConcentratedDP(rational(rho, "rho"))
        squared = sensitivity / (2 * concentrated.rho)
        return _Noise("discrete_gaussian", concentrated, parameter, sigma_squared=squared)
    gaussian = GaussianDP(rational(mu, "mu") ** 2)
    squared = sensitivity / gaussian.mu_squared
    return _Noise("rounded_gaussian", gaussian, parameter, sigma_squared=squared)


def _check_counts(values: object, size: int, noise: _Noise, scope: Scope | None) -> None:
    """Refuse `Counts` that one user may move by more than the sensitivity; the rest passes."""
    if not isinstance(values, Counts):
        return
    check_unit(values.unit, unit_of(scope))
    if values.places != "all":
        raise ParameterError(
            "these are the largest counts of a table, whose items are private: use "
            "select_partitions(..., with_counts=True)"
        )
    name, sensitivity = noise.sensitivity
    # A user who replaces another takes away the other's contributions and adds as many.
    replaced = is_replaced(scope)
    cap = values.max_contributions
    moved = size if cap is None else min(size, cap * (1 + replaced))
    if sensitivity < moved:
        who = "one user in another's place" if replaced else "one user"
        raise ParameterError(
            f"{who} may move {moved} of these counts by 1 each, so {name} must be at least "
            f"{moved}; or count with max_contributions="
        )


def _whole(cells: Candidates) -> list[int]:
    try:
        return read_values(cells.rows[0], INTEGERS, Fraction(1))
    except ScoreError:
        raise ScoreError(_NOT_WHOLE) from None

"""How much of each: integers with exact noise, charged like every release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from safeselect.accounting.cost import read_epsilon
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.charged import charged
from safeselect.counts import Counts, check_unit
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import Number, rational
from safeselect.exact.rate import NoiseRate
from safeselect.measurements.results import Measurement
from safeselect.promises.guarantees import PureDP, ZeroConcentratedDP
from safeselect.promises.records import exact_text
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.reference import discrete_gaussian
from safeselect.release.call import Charge, Scope, is_replaced, read_ledger, unit_of
from safeselect.scores.candidates import Candidates, Label, read_candidates
from safeselect.scores.reading import INTEGERS, exactly_one
from safeselect.scores.values import read_values
from safeselect.selection._arguments import Labels, Scores
from safeselect.selection._results import source_name
from safeselect.variates import discrete_laplace
from safeselect.variates.gaussian import MOST_TABLED, DiscreteGaussian, RoundedGaussian
from safeselect.variates.inversion import draw_symmetric

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
    Bits: discrete Laplace as `variates.discrete_laplace`; Gaussian 72 a value.  With sigma**2 above
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
    with charged(scope, chosen, charge, lambda: _whole(cells), unit=unit) as call:
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
                source=source_name(chosen),
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

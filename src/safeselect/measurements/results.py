"""The result of a measurement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any, Generic

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.errors import ParameterError
from safeselect.mechanisms.unknown import CountNoise
from safeselect.presentation import to_json_line, written_labels
from safeselect.promises.records import Receipt, Statement, exact_text
from safeselect.scores.candidates import Label, label_text
from safeselect.selection._results import presented, views

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

"""The result of a call in an unknown domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from math import ceil
from typing import Any

from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.rate import NoiseRate
from safeselect.presentation import rate, to_json_line, written_labels
from safeselect.promises.guarantees import ApproximateDP, Guarantee
from safeselect.promises.records import Content, exact_text, guarantee_record
from safeselect.release.results import Receipt, Statement
from safeselect.selection._results import presented, views

_MISSED = Fraction(1, 20)
_PLACES = 1000  # the standard deviation is rounded up to a thousandth


@dataclass(frozen=True, slots=True)
class CountNoise:
    """What kind of numbers the released counts are.

    Each is a number of users, of whom every one counts for at most `capped_at` items, plus discrete
    Laplace noise: P(X = x) is proportional to exp(-|x| / scale).

    Attributes:
        capped_at: for how many items a user counts at most.
        scale: of the noise.
        standard_deviation: of the noise, rounded up to a thousandth.
        within_95: the least w for which the noise lies within -w .. w with a probability of 0.95 or
            more: the count of an item that was chosen without the noise lies so near.
    """

    capped_at: int
    scale: Fraction
    standard_deviation: Fraction
    within_95: int

    @classmethod
    def of(cls, epsilon: Fraction, contributions: int) -> CountNoise:
        """The noise of counts of which a user moves `contributions`, for a total of epsilon.

        Raises:
            ParameterError: there is no such noise.
        """
        rate = NoiseRate(epsilon / max(contributions, 1)).rate

        def deviation(bits: int) -> Interval:
            # The variance is 2 a / (1 - a)**2 for a = exp(-rate).
            two, power = Interval.of(2, bits), (-Interval.of(rate, bits)).exp()
            return (two * power).sqrt() / -Interval.of(-rate, bits).expm1()

        def reach(bits: int) -> Interval:
            # P(|X| > w) = 2 a**(w + 1) / (1 + a), so w + 1 >= ln(2 / ((1 + a) missed)) / rate.
            sides = Interval.of(1, bits) + (-Interval.of(rate, bits)).exp()
            ratio = Interval.of(2 / _MISSED, bits) / sides
            return ratio.log() / Interval.of(rate, bits)

        return cls(
            contributions,
            1 / rate,
            Fraction(ceil(rounded_up(deviation) * _PLACES), _PLACES),
            ceil(rounded_up(reach)) - 1,
        )

    def as_record(self) -> Content:
        """As content for JSON."""
        cap = "one item" if self.capped_at == 1 else f"{self.capped_at} items"
        return {
            "of": f"users, each counted for at most {cap}",
            "noise": "discrete Laplace",
            "scale": exact_text(self.scale),
            "standard_deviation": exact_text(self.standard_deviation),
            "within_95": str(self.within_95),
            "bias": (
                "below the number of users where a user has more items than are counted; above it "
                "on the average of those shown, because noise helps a count to be shown"
            ),
        }


@dataclass(frozen=True, slots=True, repr=False)
class DiscoveredTopK:
    """At most k items that were found in the data, best first.

    Attributes:
        labels: their texts; fewer than k, often none, where the bottom ended the list.
        counts: their noisy counts (with Laplace noise), or None; `count_noise` says how noisy.
        k_bar: how many items competed; public.
        offset: how far above the (k_bar + 1)-th count the bottom lay before noise; public.
        guarantee: what the whole release costs; in a session, what the whole session costs.
        parts: the guarantees whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, the place of the release's record and the salt of its commitment.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...] | None
    k_bar: int
    offset: Fraction
    guarantee: ApproximateDP
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__ = presented("short_text", "One line.")
    to_dict, to_pandas, to_polars, plot = views()

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale."""
        return rate(self, self.parts[0]) if self.counts is None else 1 / self._noise.scale

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range

    @property
    def count_noise(self) -> CountNoise | None:
        """What the counts are, and how noisy; None without counts."""
        return None if self.counts is None else self._noise

    @property
    def _noise(self) -> CountNoise:
        parameters = dict(self.statement.parameters)
        return CountNoise.of(self.guarantee.epsilon, int(parameters["max_contributions"]))

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.discovered-top-k/2"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        noise = self.count_noise
        content: dict[str, object] = {
            **written_labels(self.labels),
            "count_noise": None if noise is None else noise.as_record(),
            "k_bar": str(self.k_bar),
            "offset": exact_text(self.offset),
            "parts": [
                {"count": str(len(list(equal))), "each": guarantee_record(part)}
                for part, equal in groupby(self.parts)
            ],
        }
        if self.counts is not None:
            content["counts"] = [str(count) for count in self.counts]
        return to_json_line("safeselect.discovered-top-k/2", self, **content)

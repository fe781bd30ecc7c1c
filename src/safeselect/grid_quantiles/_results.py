"""The result: the points, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from safeselect.presentation import kinds_of, to_json_line
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, Statement, exact_text, guarantee_record
from safeselect.selection._results import presented, views

_KINDS = ((int, "integer"), (Fraction, "fraction"), (Decimal, "decimal"), (date, "date"))
"""What a point is, and how JSON says it."""


@dataclass(frozen=True, slots=True, repr=False)
class Quantiles:
    """Quantiles of values, as points of a public grid.

    Attributes:
        values: a point for each quantile, in the order in which these were asked for: integers,
            dates, decimals or fractions, as the ends of the grid are.
        quantiles: what was asked for.
        guarantee: what the whole release costs.
        parts: the guarantees of the draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    values: tuple[Any, ...]
    quantiles: tuple[Fraction, ...]
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__ = presented("short_text", "One line.")
    to_dict, to_pandas, to_polars, plot = views("quantile")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    @property
    def value(self) -> Any:
        """The first of the values; the only one of `quantile`."""
        return self.values[0]

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.quantiles/1"; numbers and dates are strings.

        `value_kinds` says what each value was: "integer", "fraction", "decimal" or "date".
        """
        parts = {"count": str(len(self.parts)), "each": guarantee_record(self.parts[0])}
        texts = [
            exact_text(Fraction(v)) if isinstance(v, (int, Fraction)) else str(v)
            for v in self.values
        ]
        kinds = kinds_of(
            [next(name for kind, name in _KINDS if isinstance(v, kind)) for v in self.values]
        )
        return to_json_line(
            "safeselect.quantiles/1", self, values=texts, value_kinds=kinds, parts=parts
        )

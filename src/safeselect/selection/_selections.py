"""The result of a batch: one row of winners for each row of scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt
from safeselect.promises.statement import Statement
from safeselect.scores.candidates import Label, label_text
from safeselect.selection._results import equal_parts, kind_of, kinds_of, texts, to_json_line
from safeselect.selection._views import rate, short_text, views

__all__ = ["Selections"]


@dataclass(frozen=True, slots=True, eq=False)
class Selections(Generic[Label]):
    """Many independent selections, one for each row of scores.

    Attributes:
        winners: int64, read-only: shape (m,), the winner of each row as a place in `names`, or
            among the candidates where there are no names; or (m, k), the k best.
        names: the labels of the winners, in order of first occurrence; None where none were given.
        indices: the positions of the winners among the candidates: int64, read-only, of the same
            shape; or None, as `Selection.index`.
        guarantee: what the whole batch costs.
        parts: the guarantees of the single draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights per grid step; otherwise None.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    winners: npt.NDArray[np.int64]
    names: tuple[Label, ...] | None
    indices: npt.NDArray[np.int64] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    base: Fraction | None = None
    receipt: Receipt | None = None

    to_dict, to_pandas, to_polars, plot = views()

    def __repr__(self) -> str:
        return short_text(self, self.labels, len(self))

    def __len__(self) -> int:
        return len(self.winners)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self, self.parts[0])

    @property
    def labels(self) -> list[Any]:
        """The labels of the winners (positions where no labels were given): m, or m lists of k."""
        return _named(self.winners, self.names)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selections/3"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        names = self.names
        kinds = [] if names is None else [*map(kind_of, names)]
        return to_json_line(
            "safeselect.selections/3",
            self,
            labels=texts(_named(self.winners, names and [*map(label_text, names)])),
            label_kinds="position" if names is None else kinds_of(_flat(self.winners, kinds)),
            indices=None if self.indices is None else texts(self.indices.tolist()),
            parts=equal_parts(self.parts),
            winners=None,
            names=None,
        )


def _named(places: npt.NDArray[np.int64], names: Iterable[object] | None) -> list[Any]:
    found: Any = places if names is None else np.fromiter(names, dtype=object)[places]
    named: list[Any] = found.tolist()
    return named


def _flat(places: npt.NDArray[np.int64], names: list[str]) -> list[str]:
    return [names[place] for place in places.ravel().tolist()]

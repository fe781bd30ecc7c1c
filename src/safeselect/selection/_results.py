"""The results of calls: frozen, without any score, noise value or count of random bits.

A result holds what was released.  `safeselect.presentation` shows it and writes it as JSON; no
release depends on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from safeselect.promises.guarantees import Guarantee
from safeselect.randomness.source import Source
from safeselect.release.results import Receipt, Statement
from safeselect.scores.candidates import Label, label_text

_PRESENTERS: list[Callable[..., Any]] = []
present_with = _PRESENTERS.append  # (name, result, ...) -> what the method of that name returns


def presented(name: str, purpose: str, *more: str) -> Callable[..., Any]:
    """A method that `safeselect.presentation` carries out on a result that was released."""

    def method(self: Any) -> Any:
        return _PRESENTERS[0](name, self, *more)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = purpose
    return method


def views(row: str = "candidate") -> tuple[Callable[..., Any], ...]:
    """`to_dict`, `to_pandas`, `to_polars` and `plot` of a result with a row for each of these."""
    return (
        presented("to_dict", "Columns as a dict of lists: what `to_pandas` shows."),
        presented("to_pandas", f"A pandas DataFrame with a row for each {row}."),
        presented("to_polars", f"A polars DataFrame with a row for each {row}."),
        presented("plot", "A matplotlib figure of the result; needs safeselect[plots]."),
    )


def texts(schema: str) -> tuple[Callable[[Any], str], Callable[[Any], str]]:
    """`__repr__` and `to_json` of a result that is written in this schema."""
    purpose = f"""One line of JSON, schema "{schema}"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
    return presented("short_text", "One line."), presented("to_json", purpose, schema)


rate: Callable[[Any], Fraction | None] = presented(
    "noise_rate", "The rate of the noise per score unit, 1 / scale; None where `base` is given."
)


@dataclass(frozen=True, slots=True)
class Selection(Generic[Label]):
    """One candidate, chosen privately.

    Attributes:
        label: the candidate's label (its position where no labels were given).
        index: its position among the candidates, in the order in which they were passed.  Pass them
            in an order that does not follow from the data.  None where the candidates came as a
            mapping or as a labelled column: their order often follows from the data.
        guarantee: what the release costs; the strongest kind that is proved.
        mechanism: name of the mechanism and version of its law, such as "permute_and_flip/1".
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights, as passed with `base=` or chosen per
            grid step for `epsilon=`; otherwise None.
        gap: from the functions `..._with_gap`, by how much the noisy score of the winner exceeds
            the next, in score units, rounded down to a multiple of `gap_grid`; otherwise None.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    label: Label
    index: int | None
    guarantee: Guarantee
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    base: Fraction | None = None
    gap: Fraction | None = None
    receipt: Receipt | None = None

    __repr__, to_json = texts("safeselect.selection/3")
    to_dict, to_pandas, to_polars, plot = views()

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units."""
        return self.statement.effective_range


@dataclass(frozen=True, slots=True)
class TopK(Generic[Label]):
    """k candidates in the order of their noisy scores, best first.

    Attributes:
        labels: their labels (positions where no labels were given).
        indices: their positions among the candidates, or None, as `Selection.index`.
        guarantee: what the whole release costs.
        parts: the guarantees of the single draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights per grid step; otherwise None.
        gaps: from `top_k_with_gaps`, k gaps between neighbours in the order of the noisy scores,
            the last one to the first candidate not chosen, in score units, each rounded down to a
            multiple of `gap_grid`; otherwise None.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: tuple[Label, ...]
    indices: tuple[int, ...] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    base: Fraction | None = None
    gaps: tuple[Fraction, ...] | None = None
    receipt: Receipt | None = None

    __repr__, to_json = texts("safeselect.top-k/3")
    to_dict, to_pandas, to_polars, plot = views()

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units."""
        return self.statement.effective_range


@dataclass(frozen=True, slots=True)
class TopSet(Generic[Label]):
    """k candidates without an order; the order is not private and is never computed for release.

    Attributes:
        labels: their labels (positions where no labels were given): a frozenset, or, where a
            candidate has a label that cannot be hashed, a tuple in the order of their text.
        indices: their positions among the candidates, or None, as `Selection.index`.
        guarantee: what the whole release costs.
        parts: the guarantees whose composition is `guarantee`: here `guarantee` alone.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: frozenset[Label] | tuple[Label, ...]
    indices: frozenset[int] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__, to_json = texts("safeselect.top-set/3")
    to_dict, to_pandas, to_polars, plot = views()

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(sorted(self.labels, key=label_text))

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units."""
        return self.statement.effective_range


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

    __repr__, to_json = texts("safeselect.selections/3")
    to_dict, to_pandas, to_polars, plot = views()

    def __len__(self) -> int:
        return len(self.winners)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self)

    @property
    def labels(self) -> list[Any]:
        """The labels of the winners (positions where no labels were given): m, or m lists of k."""
        if self.names is None:
            return list(self.winners.tolist())
        return list(np.fromiter(self.names, dtype=object)[self.winners].tolist())

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units."""
        return self.statement.effective_range


def source_name(source: Source) -> str:
    """The source's name in results; it states clearly where the bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"

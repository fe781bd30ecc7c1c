"""The results of calls: frozen, without any score, noise value or count of random bits."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, exact_text, guarantee_record
from safeselect.randomness.source import Source
from safeselect.scores.candidates import Label, label_text

__all__ = ["Selection", "Selections", "TopK", "TopSet", "source_name", "to_json_line"]


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
        effective_range: the range of the change of the scores that the noise was calibrated to, in
            score units: what was declared, and what reading the scores adds.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    label: Label
    index: int | None
    guarantee: Guarantee
    mechanism: str
    source: str
    base: Fraction | None = None
    gap: Fraction | None = None
    effective_range: Fraction | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selection/2"; numbers are strings.

        Keys: schema, label, guarantee, mechanism, source; index, base and gap where there is one.
        """
        return to_json_line("safeselect.selection/2", self, label=label_text(self.label))


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
        effective_range: the range of the change of the scores that the noise was calibrated to, in
            score units: what was declared, and what reading the scores adds.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: tuple[Label, ...]
    indices: tuple[int, ...] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    base: Fraction | None = None
    gaps: tuple[Fraction, ...] | None = None
    effective_range: Fraction | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-k/2"; numbers are strings.

        Keys: schema, labels, guarantee, parts, mechanism, source; indices, base and gaps where
        there are any.
        """
        labels = [label_text(label) for label in self.labels]
        return to_json_line("safeselect.top-k/2", self, labels=labels, parts=_equal(self.parts))


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
        effective_range: the range of the change of the scores that the noise was calibrated to, in
            score units: what was declared, and what reading the scores adds.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: frozenset[Label] | tuple[Label, ...]
    indices: frozenset[int] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    effective_range: Fraction | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-set/2"; numbers are strings.

        Labels and indices are sorted each by themselves: sets have no common order.
        """
        return to_json_line(
            "safeselect.top-set/2",
            self,
            labels=sorted(map(label_text, self.labels)),
            indices=None if self.indices is None else _texts(sorted(self.indices)),
            parts=_equal(self.parts),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Selections(Generic[Label]):
    """Many independent selections, one for each row of scores.

    Attributes:
        winners: int64, read-only: shape (m,), the winner of each row as a place in `names`; or
            (m, k), the k best.
        names: labels, or None where none were given.  They are those of the n candidates.  Where
            positions are not released, they are those of the winners, in order of first occurrence.
        indexed: whether positions are released; see `Selection.index`.
        guarantee: what the whole batch costs.
        parts: the guarantees of the single draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights per grid step; otherwise None.
        effective_range: the range of the change of the scores that the noise was calibrated to, in
            score units: what was declared, and what reading the scores adds.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    winners: npt.NDArray[np.int64]
    names: tuple[Label, ...] | None
    indexed: bool
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    base: Fraction | None = None
    effective_range: Fraction | None = None
    receipt: Receipt | None = None

    @property
    def indices(self) -> npt.NDArray[np.int64] | None:
        """The positions of the winners among the candidates: int64, read-only, (m,) or (m, k)."""
        return self.winners if self.indexed else None

    @property
    def labels(self) -> list[Any]:
        """The labels of the winners (positions where no labels were given): m, or m lists of k."""
        return _named(self.winners, self.names)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selections/2"; numbers are strings.

        Keys: schema, labels, guarantee, parts, mechanism, source; indices and base where there are
        any.
        """
        return to_json_line(
            "safeselect.selections/2",
            self,
            labels=_texts(_named(self.winners, self.names and [*map(label_text, self.names)])),
            indices=_texts(self.winners.tolist()) if self.indexed else None,
            parts=_equal(self.parts),
            winners=None,
            names=None,
            indexed=None,
        )


def _named(places: npt.NDArray[np.int64], names: Iterable[object] | None) -> list[Any]:
    found: Any = places if names is None else np.fromiter(names, dtype=object)[places]
    named: list[Any] = found.tolist()
    return named


def _texts(value: Any) -> Any:
    """A value as content for JSON: exact numbers as text, alone or in lists; None stays."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_texts(each) for each in value]
    return exact_text(value) if isinstance(value, Fraction) else str(value)


def _equal(parts: tuple[Guarantee, ...]) -> dict[str, object]:
    """The draws of one call, which share one calibration."""
    return {"count": str(len(parts)), "each": guarantee_record(parts[0])}


def source_name(source: Source) -> str:
    """The source's name in results; it states clearly where the bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"


def to_json_line(schema: str, result: Any, **content: object) -> str:
    """A result, a dataclass, as one line of JSON: some fields as given, the others as `_texts`."""
    content |= {"schema": schema, "guarantee": guarantee_record(result.guarantee)}
    content["receipt"] = None if result.receipt is None else result.receipt.as_record()
    for field in fields(result):
        if field.name not in content:
            content[field.name] = _texts(getattr(result, field.name))
    present = {name: value for name, value in content.items() if value is not None}
    return json.dumps(present, sort_keys=True, ensure_ascii=True)

"""The results of calls: frozen, without any score, noise value or count of random bits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Generic

from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, exact_text, guarantee_record
from safeselect.promises.statement import Statement
from safeselect.randomness.source import Source
from safeselect.scores.candidates import Label, label_text
from safeselect.selection._views import rate, short_text, views

__all__ = [
    *("Selection", "TopK", "TopSet", "equal_parts", "kind_of", "kinds_of"),
    *("source_name", "texts", "to_json_line", "written_labels"),
]


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

    to_dict, to_pandas, to_polars, plot = views()

    def __repr__(self) -> str:
        return short_text(self, (self.label,), 1)

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self, self.guarantee)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selection/3"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        kind = kind_of(self.label)
        label = label_text(self.label)
        return to_json_line("safeselect.selection/3", self, label=label, label_kind=kind)


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

    to_dict, to_pandas, to_polars, plot = views()

    def __repr__(self) -> str:
        return short_text(self, self.labels, len(self))

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self, self.parts[0], len(self) if len(self.parts) == 1 else 1)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-k/3"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        named = written_labels(self.labels)
        return to_json_line("safeselect.top-k/3", self, **named, parts=equal_parts(self.parts))


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

    to_dict, to_pandas, to_polars, plot = views()

    def __repr__(self) -> str:
        return short_text(self, sorted(self.labels, key=label_text), len(self))

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(sorted(self.labels, key=label_text))

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-set/3"; numbers are strings.

        Labels and indices are sorted each by themselves: sets have no common order.
        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        return to_json_line(
            "safeselect.top-set/3",
            self,
            **written_labels(
                sorted(self.labels, key=lambda each: (label_text(each), kind_of(each)))
            ),
            indices=None if self.indices is None else texts(sorted(self.indices)),
            parts=equal_parts(self.parts),
        )


_LONGEST_INTEGER = 2**16  # bits of a label that is read as an integer again


def kind_of(label: object) -> str:
    """What a written label was: "text", "integer", or "other", of which only the text is kept."""
    if type(label) is int and label.bit_length() <= _LONGEST_INTEGER:
        return "integer"
    return "text" if isinstance(label, str) else "other"


def kinds_of(each: list[str]) -> str | list[str]:
    """The kinds of some labels: one word if all are of one kind."""
    return each[0] if len(set(each)) == 1 else each or "text"


def written_labels(labels: Iterable[object]) -> dict[str, object]:
    """Labels as content for JSON: their texts, and what each of them was."""
    names = list(labels)
    return {"labels": [*map(label_text, names)], "label_kinds": kinds_of([*map(kind_of, names)])}


def texts(value: Any) -> Any:
    """A value as content for JSON: exact numbers as text, alone or in lists; None stays."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [texts(each) for each in value]
    return exact_text(value) if isinstance(value, Fraction) else str(value)


def equal_parts(parts: tuple[Guarantee, ...]) -> dict[str, object]:
    """The draws of one call, which share one calibration."""
    return {"count": str(len(parts)), "each": guarantee_record(parts[0])}


def source_name(source: Source) -> str:
    """The source's name in results; it states clearly where the bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"


def to_json_line(schema: str, result: Any, **content: object) -> str:
    """A result, a dataclass, as one line of JSON: some fields as given, the others as `texts`."""
    content |= {"schema": schema, "guarantee": guarantee_record(result.guarantee)}
    content |= {"statement": None, **result.statement.as_record()}
    content["receipt"] = None if result.receipt is None else result.receipt.as_record()
    for each in fields(result):
        if each.name not in content:
            content[each.name] = texts(getattr(result, each.name))
    present = {name: value for name, value in content.items() if value is not None}
    return json.dumps(present, sort_keys=True, ensure_ascii=True)

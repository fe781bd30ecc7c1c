"""What a call returns: frozen, without a score, a noise value or a count of random bits in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import numpy.typing as npt

from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, exact, told
from safeselect.scores.candidates import plain
from safeselect.selection._charging import Release

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # Where no labels are known to a type checker, labels have any type.
    Label = TypeVar("Label", default=Any)
else:
    from typing import TypeVar

    Label = TypeVar("Label")

__all__ = ["Label", "Selection", "Selections", "TopK", "TopSet", "positions", "spelled"]


@dataclass(frozen=True, slots=True)
class Selection(Generic[Label]):
    """One candidate, chosen privately.

    Attributes:
        label: the candidate's label (its position where no labels were given).
        index: its position among the candidates, in the order in which they were passed: pass them
            in an order that does not follow from the data.  None where the candidates came as a
            mapping or as a labelled column, whose order often does.
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
        content = {"label": plain(self.label)}
        if self.index is not None:
            content["index"] = str(self.index)
        if self.gap is not None:
            content["gap"] = str(self.gap)
        return _to_json("safeselect.selection/2", content, self)


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
        content = {"labels": [plain(label) for label in self.labels], **positions(self.indices)}
        if self.gaps is not None:
            content["gaps"] = [str(gap) for gap in self.gaps]
        return _to_json("safeselect.top-k/2", content, self)


@dataclass(frozen=True, slots=True)
class TopSet(Generic[Label]):
    """k candidates without an order; the order is not private and is never computed for release.

    Attributes:
        labels: their labels (positions where no labels were given): a frozenset, or, where a
            candidate has a label that cannot be hashed, a tuple in the order of their text.
        indices: their positions among the candidates, or None, as `Selection.index`.
        guarantee: what the whole release costs.
        parts: the guarantees whose composition `guarantee` is: itself.
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
        places = None if self.indices is None else sorted(self.indices)
        content = {"labels": sorted(map(plain, self.labels)), **positions(places)}
        return _to_json("safeselect.top-set/2", content, self)


@dataclass(frozen=True, slots=True, eq=False)
class Selections(Generic[Label]):
    """Many independent selections, one for each row of scores.

    Attributes:
        winners: int64, read-only: shape (m,), the winner of each row as a place in `names`; or
            (m, k), the k best.
        names: labels, or None where none were given.  Those of the n candidates; or, where
            positions among them are not released, those that won, as they first occur.
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
        return _named(self.winners.tolist(), self.names)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selections/2"; numbers are strings.

        Keys: schema, labels, guarantee, parts, mechanism, source; indices and base where there are
        any.
        """
        content = {"labels": _named(self.winners.tolist(), self.names, plain)}
        if self.indexed:
            content["indices"] = np.vectorize(str, otypes=[object])(self.winners).tolist()
        return _to_json("safeselect.selections/2", content, self)


def _named(
    places: list[Any],
    names: tuple[object, ...] | None,
    form: Callable[[object], object] = lambda name: name,
) -> list[Any]:
    return [
        _named(place, names, form)
        if isinstance(place, list)
        else form(place if names is None else names[place])
        for place in places
    ]


def positions(indices: Iterable[int] | None) -> dict[str, list[str]]:
    """As content for JSON: nothing where positions are not released."""
    return {} if indices is None else {"indices": [str(index) for index in indices]}


def _to_json(
    schema: str,
    content: Mapping[str, object],
    result: Selection[Any] | Selections[Any] | TopK[Any] | TopSet[Any],
) -> str:
    more = dict(content)
    if not isinstance(result, Selection):
        # All parts are equal: the draws of one call share one calibration.
        more["parts"] = {"count": str(len(result.parts)), "each": told(result.parts[0])}
    if not isinstance(result, TopSet) and result.base is not None:
        more["base"] = str(result.base)
    return spelled(schema, more, result)


def spelled(schema: str, content: Mapping[str, object], result: Release) -> str:
    """A result as one line of JSON: its content, and what all results have in common."""
    common: dict[str, object] = {
        "schema": schema,
        "guarantee": told(result.guarantee),
        "mechanism": result.mechanism,
        "source": result.source,
    }
    if result.effective_range is not None:
        common["effective_range"] = exact(result.effective_range)
    if result.receipt is not None:
        common["receipt"] = result.receipt.told()
    return json.dumps({**common, **content}, sort_keys=True, ensure_ascii=True)

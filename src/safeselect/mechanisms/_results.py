"""What a call returns: frozen, without a score, a noise value or a count of random bits in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from safeselect.accounting.record import Receipt, exact, told
from safeselect.guarantees import Guarantee

__all__ = ["Opened", "Release", "Selection", "Selections", "TopK", "TopSet", "plain", "spelled"]


class Release(Protocol):
    """What all results have in common: a frozen dataclass that says what it cost."""

    @property
    def guarantee(self) -> Guarantee:
        """What the release costs."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    @property
    def source(self) -> str:
        """Where the random bytes came from."""

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, where its record is."""

    def to_json(self) -> str:
        """One line of JSON."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that was opened: what a ledger commits to, since its answers come later.

    Attributes:
        spent: for a session that is settled at its end, what it used.
    """

    guarantee: Guarantee
    mechanism: str
    source: str
    spent: Mapping[str, int] | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.session/1"."""
        used = {} if self.spent is None else {"spent": {k: str(n) for k, n in self.spent.items()}}
        return spelled("safeselect.session/1", used, self)


@dataclass(frozen=True, slots=True)
class Selection:
    """One candidate, chosen privately.

    Attributes:
        label: the candidate's label (its position where no labels were given).
        index: its position among the candidates, in the order in which they were passed: pass them
            in an order that does not follow from the data.
        guarantee: what the release costs; the strongest kind that is proved.
        mechanism: name of the mechanism and version of its law, such as "permute_and_flip/1".
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights, as passed with `base=` or chosen per
            grid step for `epsilon=`; otherwise None.
        gap: from the functions `..._with_gap`, by how much the noisy score of the winner exceeds
            the next, in score units, rounded down to a multiple of `gap_grid`; otherwise None.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    label: Hashable
    index: int
    guarantee: Guarantee
    mechanism: str
    source: str
    base: Fraction | None = None
    gap: Fraction | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selection/1"; numbers are strings.

        Keys: schema, label, index, guarantee, mechanism, source; base and gap where there is one.
        """
        content = {"label": plain(self.label), "index": str(self.index)}
        if self.gap is not None:
            content["gap"] = str(self.gap)
        return _to_json("safeselect.selection/1", content, self)


@dataclass(frozen=True, slots=True)
class TopK:
    """k candidates in the order of their noisy scores, best first.

    Attributes:
        labels: their labels (positions where no labels were given).
        indices: their positions among the candidates.
        guarantee: what the whole release costs.
        parts: the guarantees of the single draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights per grid step; otherwise None.
        gaps: from `top_k_with_gaps`, k gaps between neighbours in the order of the noisy scores,
            the last one to the first candidate not chosen, in score units, each rounded down to a
            multiple of `gap_grid`; otherwise None.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: tuple[Hashable, ...]
    indices: tuple[int, ...]
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    base: Fraction | None = None
    gaps: tuple[Fraction, ...] | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-k/1"; numbers are strings.

        Keys: schema, labels, indices, guarantee, parts, mechanism, source; base and gaps where
        there are any.
        """
        content = {
            "labels": [plain(label) for label in self.labels],
            "indices": [str(index) for index in self.indices],
        }
        if self.gaps is not None:
            content["gaps"] = [str(gap) for gap in self.gaps]
        return _to_json("safeselect.top-k/1", content, self)


@dataclass(frozen=True, slots=True)
class TopSet:
    """k candidates without an order; the order is not private and is never computed for release.

    Attributes:
        labels: their labels (positions where no labels were given).
        indices: their positions among the candidates.
        guarantee: what the whole release costs.
        parts: the guarantees whose composition `guarantee` is: itself.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: frozenset[Hashable]
    indices: frozenset[int]
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.top-set/1"; numbers are strings.

        Labels and indices are sorted each by themselves: sets have no common order.
        """
        content = {
            "labels": sorted(plain(label) for label in self.labels),
            "indices": [str(index) for index in sorted(self.indices)],
        }
        return _to_json("safeselect.top-set/1", content, self)


@dataclass(frozen=True, slots=True, eq=False)
class Selections:
    """Many independent selections, one for each row of scores.

    Attributes:
        indices: int64, read-only: shape (m,), the winner of each row, or (m, k), the k best.
        names: the labels of the n candidates, or None.
        guarantee: what the whole batch costs.
        parts: the guarantees of the single draws whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        base: for base 2, the exact factor of the weights per grid step; otherwise None.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    indices: npt.NDArray[np.int64]
    names: tuple[Hashable, ...] | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    base: Fraction | None = None
    receipt: Receipt | None = None

    @property
    def labels(self) -> list[Any]:
        """The labels of the winners, a list like `indices`."""
        return _named(self.indices.tolist(), self.names)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selections/1"; numbers are strings."""
        content = {
            "indices": np.vectorize(str, otypes=[object])(self.indices).tolist(),
            "labels": _named(self.indices.tolist(), self.names, plain),
        }
        return _to_json("safeselect.selections/1", content, self)


def _named(
    places: list[Any],
    names: tuple[Hashable, ...] | None,
    form: Callable[[Hashable], Hashable] = lambda name: name,
) -> list[Any]:
    return [
        _named(place, names, form)
        if isinstance(place, list)
        else form(place if names is None else names[place])
        for place in places
    ]


def _to_json(
    schema: str, content: Mapping[str, object], result: Selection | Selections | TopK | TopSet
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
    if result.receipt is not None:
        common["receipt"] = result.receipt.told()
    return json.dumps({**common, **content}, sort_keys=True, ensure_ascii=True)


def plain(label: Hashable) -> str:
    """A label as text; never an error that depends on which one was chosen."""
    if type(label) is int:
        return exact(Fraction(label))  # Python may limit how many digits of an int str() writes
    return label if isinstance(label, str) else str(label)

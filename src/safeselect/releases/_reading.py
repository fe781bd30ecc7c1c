"""From JSON to the result that wrote it: what `to_json` writes of the result is the same again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.promises.guarantees import ApproximateDP, Guarantee
from safeselect.promises.records import Receipt
from safeselect.promises.statement import Statement
from safeselect.releases._fields import (
    Fields,
    count,
    exact,
    guarantee,
    matched,
    parse_json,
    refuse,
    text,
)
from safeselect.selection import Selection, Selections, TopAbove, TopK, TopSet
from safeselect.sessions._opening import Opened
from safeselect.unknown_domain import DiscoveredTopK

__all__ = ["OtherLabel", "Release", "from_json"]

Release = (
    Selection[Any]
    | TopK[Any]
    | TopSet[Any]
    | Selections[Any]
    | TopAbove[Any]
    | DiscoveredTopK
    | Opened
)

_KINDS = ("text", "integer", "other")
_MOST_PARTS = 2**21  # more draws than any call has but that of many rows, whose winners are listed


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """A label that was neither a text nor an integer, such as a tuple: its text is what is left.

    Attributes:
        text: what `str` of the label was.
    """

    text: str

    def __str__(self) -> str:
        return self.text


def from_json(written: str) -> Release:
    """Read a release that `to_json` of a result wrote.

    The result is of the same class, with equal fields; its `to_json` writes the same line.  Labels
    that were neither texts nor integers come back as `OtherLabel`.  The text may come from anybody:
    nothing but these classes is made of it.  That it is a release of a ledger is another question,
    which `safeselect audit` answers.

    Args:
        written: one JSON object, of a schema that `docs/releases.md` lists.

    Returns:
        Selection, TopK, TopSet, Selections, TopAbove or DiscoveredTopK; for what a ledger holds of
        a session, the statement of its opening or its end.

    Raises:
        InputError: it is no such text.

    Example:
        >>> best = top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, epsilon=1, sensitivity=1)
        >>> from_json(best.to_json()) == best
        True
    """
    content = parse_json(written)
    fields = Fields(content, "the release")
    schema = fields.take("schema", text)
    reader = _READERS.get(schema)
    if reader is None:
        refuse(f"schema must be one of {', '.join(_READERS)}; got {describe(schema)}")
    result = reader(fields)
    fields.end()
    # Whatever a reader lets pass, such as a set in another order, is not what the library writes.
    try:
        again = json.loads(result.to_json())
    except ParameterError:
        refuse("its parameters allow no such numbers")
    if again != content:
        refuse("its fields do not fit each other")
    return result


def _selection(fields: Fields) -> Selection[Any]:
    kind = fields.take("label_kind", text)
    (label,) = _labelled([fields.take("label", text)], kind)
    return Selection(
        label=label,
        index=fields.maybe("index", count),
        base=fields.maybe("base", exact),
        gap=fields.maybe("gap", exact),
        **_common(fields),
    )


def _top_k(fields: Fields) -> TopK[Any]:
    labels = _labels(fields)
    return TopK(
        labels=labels,
        indices=_as_many(labels, fields.maybe("indices", _counts)),
        parts=_equal_parts(fields, len(labels)),
        base=fields.maybe("base", exact),
        gaps=_as_many(labels, fields.maybe("gaps", _exacts)),
        **_common(fields),
    )


def _top_set(fields: Fields) -> TopSet[Any]:
    labels = _labels(fields)
    places = _as_many(labels, fields.maybe("indices", _counts))
    different = frozenset(labels)
    return TopSet(
        labels=different if len(different) == len(labels) else labels,
        indices=None if places is None else frozenset(places),
        parts=_equal_parts(fields, len(labels)),
        **_common(fields),
    )


def _selections(fields: Fields) -> Selections[Any]:
    rows = fields.take("labels", _list)
    width = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    flat = [each for row in rows for each in _list(row, "labels")] if width else rows
    shape = (len(rows), width) if width else (len(rows),)
    written = [text(each, "labels") for each in flat]
    if not written or (width and any(len(row) != width for row in rows)):
        refuse("'labels' must be a list of winners, or of lists of equal length")
    indices = fields.maybe("indices", lambda value, name: _places(value, name, shape))
    kinds = fields.take("label_kinds", lambda value, _: value)
    names: tuple[Any, ...] | None = None
    if kinds == "position":
        winners = _places(rows, "labels", shape)
    else:
        first: dict[Any, int] = {}
        places = [first.setdefault(each, len(first)) for each in _labelled(written, kinds)]
        winners, names = _array(places, shape), tuple(first)
    return Selections(
        winners=winners,
        names=names,
        indices=indices,
        parts=_equal_parts(fields, len(written)),
        base=fields.maybe("base", exact),
        **_common(fields),
    )


def _top_above(fields: Fields) -> TopAbove[Any]:
    labels = _labels(fields)
    return TopAbove(
        labels=labels,
        indices=_as_many(labels, fields.maybe("indices", _counts)),
        gaps=_as_many(labels, fields.take("gaps", _exacts)) or (),
        spent=fields.take("spent", exact),
        **_common(fields),
    )


def _discovered(fields: Fields) -> DiscoveredTopK:
    labels = _labels(fields)
    counts = _as_many(labels, fields.maybe("counts", _exacts))
    if any(each.denominator != 1 for each in counts or ()):
        refuse("'counts' must be integers")
    fields.maybe("count_noise", lambda value, _: value)  # follows from the rest; compared at last
    common = _common(fields)
    if counts is not None and not isinstance(common["guarantee"], ApproximateDP):
        refuse("'guarantee' has not the type that counts have")
    if counts is not None:
        told = dict(common["statement"].parameters)
        count(told.get("max_contributions", ""), "max_contributions")
    return DiscoveredTopK(
        labels=labels,
        counts=None if counts is None else tuple(map(int, counts)),
        k_bar=fields.take("k_bar", count),
        offset=fields.take("offset", exact),
        parts=tuple(
            part
            for each in fields.take("parts", _list)
            for part in _equal(Fields(each, "a part"), _MOST_PARTS)
        ),
        **common,
    )


def _session(fields: Fields) -> Opened:
    def used(value: object, name: str) -> dict[str, int]:
        spent = Fields(value, name)
        return {each: spent.take(each, count) for each in spent.names()}

    return Opened(spent=fields.maybe("spent", used), **_common(fields))


_READERS: dict[str, Callable[[Fields], Release]] = {
    "safeselect.selection/3": _selection,
    "safeselect.top-k/3": _top_k,
    "safeselect.top-set/3": _top_set,
    "safeselect.selections/3": _selections,
    "safeselect.top-above/3": _top_above,
    "safeselect.discovered-top-k/2": _discovered,
    "safeselect.session/2": _session,
}

_MECHANISM = matched("[a-z][a-z0-9_]*/[1-9][0-9]*")
_UTC = matched("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_TREE = matched("[0-9a-f]{64}|unreadable")


def _common(fields: Fields) -> dict[str, Any]:
    """Read what every release has."""
    return {
        "guarantee": fields.take("guarantee", guarantee),
        "mechanism": fields.take("mechanism", _MECHANISM),
        "source": fields.take("source", text),
        "statement": _statement(fields),
        "receipt": fields.maybe("receipt", _receipt),
    }


def _statement(fields: Fields) -> Statement:
    library, parameters = fields.object("library"), fields.object("parameters")
    library.take("name", matched("safeselect"))
    told = {name: parameters.take(name, text) for name in parameters.names()}
    if "effective_range" in told:
        exact(told["effective_range"], "effective_range")
    said = Statement(
        unit=fields.take("unit", text),
        neighbours=fields.take("neighbours", text),
        parameters=tuple(sorted(told.items())),
        version=library.take("version", text),
        source_tree_sha256=library.take("source_tree_sha256", _TREE),
        utc=fields.maybe("utc", _UTC),
    )
    library.end()
    return said


def _receipt(value: object, name: str) -> Receipt:
    fields = Fields(value, name)
    receipt = Receipt(
        fields.take("ledger", matched("[0-9a-f]{32}")),
        fields.take("record", count),
        bytes.fromhex(fields.take("salt", matched("[0-9a-f]{64}"))),
    )
    fields.end()
    return receipt


def _labels(fields: Fields) -> tuple[Any, ...]:
    written = [text(each, "labels") for each in fields.take("labels", _list)]
    return tuple(_labelled(written, fields.take("label_kinds", lambda value, _: value)))


def _labelled(written: list[str], kinds: object) -> list[Any]:
    """Return labels as they were: `kinds` is one word for all, or one for each."""
    each = kinds if isinstance(kinds, list) else [kinds] * len(written)
    if len(each) != len(written) or not set(map(str, each)) <= {*_KINDS}:
        refuse("'label_kinds' does not say of each label what it was")
    return [_label(label, kind) for label, kind in zip(written, each, strict=True)]


def _label(written: str, kind: object) -> str | int | OtherLabel:
    if kind == "integer":
        number = exact(written, "labels")
        if number.denominator != 1:
            refuse("a label is said to be an integer, and is none")
        return int(number)
    return written if kind == "text" else OtherLabel(written)


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        refuse(f"{name!r} must be a list")
    return value


def _counts(value: object, name: str) -> tuple[int, ...]:
    return tuple(count(each, name) for each in _list(value, name))


def _exacts(value: object, name: str) -> tuple[Fraction, ...]:
    return tuple(exact(each, name) for each in _list(value, name))


def _places(value: object, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    rows = _list(value, name)
    if len(rows) != shape[0] or any(len(_list(row, name)) != n for row in rows for n in shape[1:]):
        refuse(f"{name!r} must have a place for each label")
    flat = [each for row in rows for each in row] if shape[1:] else rows
    return _array(_counts(flat, name), shape)


def _array(places: Sequence[int], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    if any(place >= 2**63 for place in places):
        refuse("a position is beyond all that can be counted")
    array = np.array(places, dtype=np.int64).reshape(shape)
    array.flags.writeable = False
    return array


def _as_many(labels: tuple[Any, ...], found: tuple[Any, ...] | None) -> Any:
    if found is not None and len(found) != len(labels):
        refuse("a list has not as many entries as there are labels")
    return found


def _equal_parts(fields: Fields, chosen: int) -> tuple[Guarantee, ...]:
    return _equal(fields.object("parts"), max(chosen, 1))


def _equal(part: Fields, most: int) -> tuple[Guarantee, ...]:
    """Read draws that share one guarantee: how many there are, and what each of them costs."""
    number, each = part.take("count", count), part.take("each", guarantee)
    part.end()
    if not 1 <= number <= most:
        refuse("'count' is not a number of draws that the release can have")
    return (each,) * number

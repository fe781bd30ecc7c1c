"""The parts that releases of all kinds share: labels, positions, draws, statement and receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.promises.guarantees import ApproximateDP, Guarantee
from safeselect.release.results import Receipt, Statement
from safeselect.releases._fields import Fields, count, exact, guarantee, matched, refuse, text

_KINDS = ("text", "integer", "other")
MOST_DRAWS = 2**21  # more draws than any call has but that of many rows, whose winners are listed


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """A label that was neither a text nor an integer, such as a tuple: its text is what is left.

    Attributes:
        text: what `str` of the label was.
    """

    text: str

    def __str__(self) -> str:
        return self.text


_MECHANISM = matched("[a-z][a-z0-9_]*/[1-9][0-9]*")
_UTC = matched("[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2}){0,2}Z)?")
_TREE = matched("[0-9a-f]{64}|unreadable")


def read_common(
    fields: Fields, promise: Callable[[Any, str], AnyGuarantee] = guarantee
) -> dict[str, Any]:
    """Read what every release has; its guarantee is one that `promise` reads."""
    return {
        "guarantee": fields.take("guarantee", promise),
        "mechanism": fields.take("mechanism", _MECHANISM),
        "source": fields.take("source", text),
        "statement": _statement(fields),
        "receipt": fields.maybe("receipt", _receipt),
    }


def _statement(fields: Fields) -> Statement:
    library, parameters = fields.object("library"), fields.object("parameters")
    library.take("name", matched("safeselect"))
    stated = {name: parameters.take(name, text) for name in parameters.names()}
    if "effective_range" in stated:
        exact(stated["effective_range"], "effective_range")
    said = Statement(
        unit=fields.take("unit", text),
        neighbours=fields.take("neighbours", text),
        parameters=tuple(sorted(stated.items())),
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


def read_labels(fields: Fields) -> tuple[Any, ...]:
    """Read a list of labels, each as it was."""
    written = [text(each, "labels") for each in fields.take("labels", listed)]
    return tuple(labelled(written, fields.take("label_kinds", lambda value, _: value)))


def labelled(written: list[str], kinds: object) -> list[Any]:
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


def listed(value: object, name: str) -> list[Any]:
    """Read a list."""
    if not isinstance(value, list):
        refuse(f"{name!r} must be a list")
    return value


def read_counts(value: object, name: str) -> tuple[int, ...]:
    """Read a list of positions or of other numbers of things."""
    return tuple(count(each, name) for each in listed(value, name))


def read_exacts(value: object, name: str) -> tuple[Fraction, ...]:
    """Read a list of exact numbers."""
    return tuple(exact(each, name) for each in listed(value, name))


def read_places(value: object, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Read a list of m positions, or m lists of k."""
    rows = listed(value, name)
    if len(rows) != shape[0] or any(len(listed(row, name)) != n for row in rows for n in shape[1:]):
        refuse(f"{name!r} must have a place for each label")
    flat = [each for row in rows for each in row] if shape[1:] else rows
    return array(read_counts(flat, name), shape)


def array(places: Sequence[int], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return positions as a read-only array of this shape."""
    if any(place >= 2**63 for place in places):
        refuse("a position is beyond all that can be counted")
    made = np.array(places, dtype=np.int64).reshape(shape)
    made.flags.writeable = False
    return made


def as_many(labels: tuple[Any, ...], found: tuple[Any, ...] | None) -> Any:
    """Return what was found, if it has an entry for each label."""
    if found is not None and len(found) != len(labels):
        refuse("a list has not as many entries as there are labels")
    return found


def equal_draws(fields: Fields, chosen: int) -> tuple[Guarantee, ...]:
    """Read the draws of a call that chose so many: one for all of them, or one for each."""
    return draws(fields.object("parts"), max(chosen, 1))


def listed_draws(value: object, name: str) -> tuple[Guarantee, ...]:
    """Read draws of several guarantees, one after the other."""
    parts: list[Guarantee] = []
    for each in listed(value, name):
        parts += draws(Fields(each, "a part"), MOST_DRAWS - len(parts))
    return tuple(parts)


def read_integers(value: object, name: str) -> tuple[int, ...]:
    """Read a list of integers, of any size."""
    numbers = read_exacts(value, name)
    if any(each.denominator != 1 for each in numbers):
        refuse(f"{name!r} must be integers")
    return tuple(map(int, numbers))


def approximate(value: object, name: str) -> ApproximateDP:
    """Read a guarantee that has a delta."""
    found = guarantee(value, name)
    if not isinstance(found, ApproximateDP):
        refuse(f"{name!r} has not the type that such a release has")
    return found


def draws(part: Fields, most: int) -> tuple[Guarantee, ...]:
    """Read draws that share one guarantee: how many there are, and what each of them costs."""
    number, each = part.take("count", count), part.take("each", guarantee)
    part.end()
    if not 1 <= number <= most:
        refuse("'count' is not a number of draws that the release can have")
    return (each,) * number

"""What candidates are called: public names, one for each score."""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import suppress
from fractions import Fraction
from typing import Any

from safeselect.errors import ParameterError
from safeselect.promises.written import exact
from safeselect.scores.containers import index_of
from safeselect.scores.numbers import count_nulls

__all__ = ["as_names", "labels_of", "plain", "read_labels"]


def labels_of(scores: Any) -> Any:
    """The labels that a column brings along: a pandas index, unless it is RangeIndex(0, n, 1).

    That one is what pandas makes where nobody named the rows.  Its type and its parameters decide,
    not what its values are.
    """
    index = index_of(scores)
    if type(index).__name__ != "RangeIndex":
        return index
    is_default = (index.start, index.stop, index.step) == (0, len(scores), 1)
    return None if is_default else index


def read_labels(labels: object, count: int) -> tuple[object, ...]:
    """Read one label for each of `count` scores: anything that can be written down and compared.

    Raises:
        ParameterError: no list, another number of labels, labels that are not all different, or one
            that cannot be written or compared.
    """
    # A set has no order of its own: which label belongs to which score would be left to chance.
    if isinstance(labels, (str, bytes, Set)) or not isinstance(labels, Iterable):
        raise ParameterError(
            f"labels must be a list of labels, got {type(labels).__name__}; write them in the "
            "order of the scores, such as labels=['red', 'blue']"
        )
    dimensions = len(getattr(labels, "shape", (0,)))
    if dimensions != 1:
        raise ParameterError(f"labels must have one dimension, got {dimensions}")
    names = tuple(as_names(labels))
    if len(names) != count:
        raise ParameterError(
            f"labels must be as many as the scores, got {len(names)} for {count}; "
            "write one label for each score, in the same order"
        )
    different = None
    with suppress(Exception):  # of a label's own: it may quote one, so ours is raised below
        for name in names:
            if type(name) not in (str, int):
                plain(name)  # now, when nothing depends on which one is chosen
        different = _count_different(names)
    if different is None:
        raise ParameterError(
            "labels must be values that can be compared and written down, such as strings, "
            "integers, tuples or dicts"
        )
    if different != count:
        raise ParameterError(
            "labels must be different from one another, "
            f"got {different} different ones among {count}; write a name of its own for each"
        )
    return names


def as_names(labels: Iterable[Any], parameter: str = "labels") -> list[Any]:
    """Public labels as plain Python objects, also from arrays and from columns of any encoding.

    Raises:
        ParameterError: a column with nulls.
    """
    read = None
    if len(getattr(labels, "shape", (0,))) == 1:
        ways = (getattr(labels, name, None) for name in ("to_pylist", "to_list", "tolist"))
        read = next((way for way in ways if callable(way)), None)
    if read is None:
        return list(labels)
    with suppress(NotImplementedError):  # of labels that are tuples nothing is ever null
        if count_nulls(labels):
            raise ParameterError(f"{parameter} must not contain nulls: every one needs a name")
    return list(read())


def plain(label: object) -> str:
    """A label as text."""
    if type(label) is int:
        # By way of Decimal: Python may limit how many digits of an int str() writes.
        return exact(Fraction(label))
    return label if isinstance(label, str) else str(label)


def _count_different(names: tuple[object, ...]) -> int:
    """How many of these labels are different: by a hash where there is one, else one by one."""
    with suppress(Exception):  # a label without a hash
        return len(set(names))
    keys: set[object] = set()
    known: list[object] = []
    rest: list[object] = []
    for name in names:
        try:
            keys.add(_key(name))
            known.append(name)
        except Exception:  # noqa: BLE001 - it has no hash, for whatever reason
            rest.append(name)
    return len(keys) + sum(
        not any(name is other or name == other for other in (*known, *rest[:place]))
        for place, name in enumerate(rest)
    )


def _key(label: Any) -> object:
    """A hashable stand-in for a label, equal where the labels are equal."""
    with suppress(TypeError):
        hash(label)
        return label
    if isinstance(label, (set, bytearray)):  # equal to their kin that have a hash
        return frozenset(label) if isinstance(label, set) else bytes(label)
    if type(label) is dict:
        return dict, frozenset((key, _key(value)) for key, value in label.items())
    if type(label) in (list, tuple):
        return type(label), tuple(_key(value) for value in label)
    raise TypeError("it has no hash")

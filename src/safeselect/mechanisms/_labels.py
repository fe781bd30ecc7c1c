"""What candidates are called: public names, one for each score."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from contextlib import suppress

from safeselect.errors import ParameterError
from safeselect.mechanisms._columns import as_names

__all__ = ["read_labels"]


def read_labels(labels: object, count: int, *, public: bool = True) -> tuple[Hashable, ...]:
    """Read one label for each of `count` scores; messages give numbers only where they are public.

    Raises:
        ParameterError: no list, another number of labels, or labels that are not all different.
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
    names: tuple[Hashable, ...] = tuple(as_names(labels))
    if len(names) != count:
        raise ParameterError(
            f"labels must be as many as the scores{f', got {len(names)} for {count}' * public}; "
            "write one label for each score, in the same order"
        )
    different = None
    with suppress(Exception):  # of the labels' own: it may quote one, so ours is raised below
        different = len(set(names))
    if different is None:
        raise ParameterError("labels must be hashable, such as strings or integers")
    if different != count:
        raise ParameterError(
            "labels must be different from one another"
            f"{f', got {different} different ones among {count}' * public}; "
            "write a name of its own for each"
        )
    return names

"""The types of columns that are counted, and the reading of their candidates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from safeselect.accounting.cost import caution
from safeselect.adapters.tables._files import shown
from safeselect.errors import InputError, ParameterError
from safeselect.scores.containers import table_reader

INTEGERS = frozenset(
    sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
TEXT = "VARCHAR"
FLOATS = frozenset(("FLOAT", "DOUBLE"))
_NOTHING = '"NULL"'  # a column without a single value, of no declared type

_PLAIN_INTEGER = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)


def read_labels(candidates: Iterable[str | int], what: str = "candidate") -> list[str]:
    """Read a public list of candidates, or of groups, as text, all different.

    Raises:
        InputError: a candidate repeats another or fits no table, or the list is empty.
        ParameterError: candidates are not a list, or a candidate has another type.
    """
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise ParameterError(
            f"{what}s must be a list of strings or integers, got {type(candidates).__name__}"
        )
    labels: list[str] = []
    seen: dict[str, int] = {}
    for place, candidate in enumerate(table_reader().names(candidates, f"{what}s"), 1):
        if isinstance(candidate, bool) or not isinstance(candidate, (str, int)):
            kind = type(candidate).__name__
            raise ParameterError(f"{what} {place} must be a string or an integer, got {kind}")
        if isinstance(candidate, int) and candidate.bit_length() > 128:
            raise InputError(f"{what} {place} is larger than any integer column can hold")
        label = str(candidate)
        if not label.isascii() and label != label.encode("utf-8", "replace").decode("utf-8"):
            raise InputError(f"{what} {place} is not text that UTF-8 can hold")
        if label in seen:
            raise InputError(f"{what} {place} repeats {what} {seen[label]}")
        seen[label] = place
        labels.append(label)
    if not labels:
        raise InputError(f"the list of {what}s is empty")
    return labels


def warn_if_same(item: object, user: object) -> None:
    """Warn if item and user are the same column, so that every count is 1."""
    if isinstance(item, str) and item == user:
        caution("item and user are the same column, so that every count is 1")


def require_key(kind: str, column: str) -> None:
    """Refuse a column whose type is neither integer nor string."""
    # Without the text in brackets: for some types that is a list of values.
    kind = kind.partition("(")[0]
    if kind not in (TEXT, _NOTHING) and kind not in INTEGERS:
        raise InputError(
            f"column {shown(column)} must hold integers or strings, but holds {kind}; which values "
            "are equal must not depend on how they are represented; write for example "
            f'df[{shown(column)}].astype("string")'
        )


def require_plain_integers(labels: list[str], column: str, what: str) -> None:
    """Refuse a public list that a column of integers cannot hold."""
    for place, label in enumerate(labels, 1):
        if not _PLAIN_INTEGER.fullmatch(label):
            raise InputError(
                f"{what} {place} is not an integer in plain decimal form, but column "
                f"{shown(column)} holds integers"
            )

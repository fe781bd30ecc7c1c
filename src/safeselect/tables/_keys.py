"""The types of columns that are counted, their cells as text, and the reading of candidates.

An item, and a group, is a text, by the rule of `unknown_domain._items`: cells that are equal have
one spelling, whatever the column's type.  Text is itself, and integers need no change; `spelled`
says the rest in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from safeselect.accounting.cost import caution
from safeselect.errors import InputError, ParameterError
from safeselect.scores.columns import names_of
from safeselect.tables._files import shown

INTEGERS = frozenset(
    sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
TEXT = "VARCHAR"
# By our names: what is chosen, and who is protected.
LABELS = frozenset(("item", "grp"))
KEYS = LABELS | {"person"}
FLOATS = frozenset(("FLOAT", "DOUBLE"))
_NOTHING = '"NULL"'  # a column without a single value, of no declared type

_NUMBERS = FLOATS | {"BOOLEAN", "DECIMAL"}
_INTEGER = re.compile(r"-?[1-9][0-9]*|0", re.ASCII)
_NUMBER = re.compile(r"-?(?:[1-9][0-9]*|0(?=[.]))(?:[.][0-9]*[1-9])?|0", re.ASCII)

# The size of a number as a plain decimal: from its digits and exponent if it is written with one,
# as in 1.25E-7, and without zeros at its end.
_TEXT = "upper(CAST(abs({cell}) AS STRING))"
_SHIFT = f"TRY_CAST(split_part({_TEXT}, 'E', 2) AS INT)"
_DIGITS = f"replace(regexp_replace(split_part({_TEXT}, 'E', 1), '[.]?0*$', ''), '.', '')"
_SIZE = (
    f"CASE WHEN {_SHIFT} < 0 THEN CONCAT('0.', repeat('0', -{_SHIFT} - 1), {_DIGITS}) "
    f"WHEN {_SHIFT} >= 0 THEN CONCAT(left({_DIGITS}, {_SHIFT} + 1), '.', "
    f"substr({_DIGITS}, {_SHIFT} + 2)) "
    f"WHEN instr({_TEXT}, '.') > 0 THEN regexp_replace({_TEXT}, '[.]?0*$', '') ELSE {_TEXT} END"
)
# Each condition is false or NULL for NULL, of which DuckDB's CONCAT would make an empty text.
_EXACT = (
    f"CASE WHEN {{cell}} > 0 THEN {_SIZE} WHEN {{cell}} < 0 THEN CONCAT('-', {_SIZE}) "
    "WHEN {cell} = 0 THEN '0' END"
)
_FLOAT = (
    "CASE WHEN NOT abs({cell}) < power(2, {places}) THEN NULL "  # NaN is above every number
    f"WHEN {{cell}} = floor({{cell}}) THEN CAST(CAST({{cell}} AS {{whole}}) AS STRING) "
    f"ELSE {_EXACT} END"
)
_PLACES = {"HUGEINT": 127, "BIGINT": 63}


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
    for place, candidate in enumerate(names_of(candidates, f"{what}s"), 1):
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


def spelled(cell: str, kind: str, whole: Literal["HUGEINT", "BIGINT"]) -> str:
    """Return the SQL of an item or a group as a text or an integer; NULL where it can be none.

    Args:
        cell: the column.
        kind: its declared type.
        whole: the engine's widest type of integers; a float beyond it can be no item.
    """
    kind = kind.partition("(")[0]
    if kind == "BOOLEAN":
        return f"CAST(CAST({cell} AS INT) AS STRING)"
    if kind == "DECIMAL":
        return _EXACT.format(cell=cell)
    if kind in FLOATS:
        wide = f"CAST({cell} AS DOUBLE)"
        return _FLOAT.format(cell=wide, whole=whole, places=_PLACES[whole])
    return cell


def require_key(kind: str, column: str, *, item: bool = False) -> None:
    """Refuse a column whose type is neither integer nor string; of items, also numbers pass."""
    # Without the text in brackets: for some types that is a list of values.
    kind = kind.partition("(")[0]
    if kind not in (TEXT, _NOTHING) and kind not in INTEGERS and not (item and kind in _NUMBERS):
        raise InputError(
            f"column {shown(column)} must hold integers or strings, but holds {kind}; which values "
            "are equal must not depend on how they are represented; write for example "
            f'df[{shown(column)}].astype("string")'
        )


def require_plain(labels: list[str], kind: str, column: str, what: str) -> None:
    """Refuse a public list that a column of numbers cannot hold."""
    kind = kind.partition("(")[0]
    if kind not in INTEGERS | _NUMBERS:
        return
    form, noun = (_INTEGER, "an integer") if kind in INTEGERS else (_NUMBER, "a number")
    for place, label in enumerate(labels, 1):
        if not form.fullmatch(label):
            raise InputError(
                f"{what} {place} is not {noun} in plain decimal form, but column {shown(column)} "
                f"holds {noun.split()[1]}s"
            )

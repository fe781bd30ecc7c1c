"""Counts that another engine made: what its statement returned, and how it compares texts.

The check is a count of texts that an engine takes for one another unless it compares bytes.  Its
right answer is computed here in another way than by SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import md5
from operator import index
from typing import SupportsIndex

from safeselect.errors import ParameterError

CAP = 7  # items a user in the check
_HARD = (
    *("no user", "no item", "a", "A", "a ", " a", "a\t", "a\0", "a\0b", "\xe1", "a\u0301", "\xc1"),
    *("\xe4", "ae", "\xdf", "ss", "\u1e9e", "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
    *(
        "\u03bf\u03b4\u03bf\u03c3",
        "\u0130",
        "i\u0307",
        "I",
        "\u0131",
        "1",
        "1.0",
        "01",
        "-1",
        "null",
    ),
    *("\ufb01", "fi", "\u200b", "\ufeffa", "\U0001f600", "\U0001d41a", "\xff", "z"),
)


def hard_texts(*, null: bool) -> list[str]:
    """The texts of the check; the first is NULL as a user, and the second as an item.

    Args:
        null: with those that hold the character of code 0, which some engines cannot store.
    """
    return [text for text in _HARD if null or "\0" not in text]


def check_rows(rows: Iterable[Iterable[object]]) -> None:
    """Compare the rows of a check with those of an engine that compares bytes.

    Raises:
        ParameterError: they differ, or are no pairs.
    """
    found = read_rows(rows)
    if not any(found == _expected(hard_texts(null=null)) for null in (True, False)):
        raise ParameterError(
            "check= must be the rows of `safeselect sql --check` from the session that counted, in "
            "their order; these are not what an engine returns that compares text by its bytes, "
            "and its counts could show how one user writes an item"
        )


def read_rows(rows: Iterable[Iterable[object]]) -> list[tuple[str, int]]:
    """Read pairs of a label and a count.

    Raises:
        ParameterError: they are something else; nothing is quoted.
    """
    found: list[tuple[str, int]] = []
    with suppress(TypeError, ValueError):
        for label, users in rows:
            if not isinstance(label, str) or not isinstance(users, SupportsIndex):
                break
            found.append((label, index(users)))
        else:
            return found
    raise ParameterError("rows must be pairs (label, users), as the statement returns them")


def _expected(texts: list[str]) -> list[tuple[str, int]]:
    """Each text is an item of all users up to itself; a user counts for CAP items."""
    counts: dict[str, int] = {}
    for place, user in enumerate(texts[1:], 1):
        items = [text for text in texts[place:] if text != texts[1]]
        order = {
            i: (md5(f"{user} {i}".encode(), usedforsecurity=False).hexdigest()[:12], i.encode())
            for i in items
        }
        for item in sorted(items, key=order.__getitem__)[:CAP]:
            counts[item] = counts.get(item, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].encode()))

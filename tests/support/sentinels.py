"""Private values that are recognised wherever they turn up, and a net that is cast for them.

Tests pass these as scores, counts, labels and cells.  A number is looked for in every form in which
a program might write it; its last digits are left out, so that numbers near it are found as well.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

NUMBER = 3_718_236_945_187
"""A score; below 2**42, where counts are cut."""

LABEL = "Xanthippe-of-the-sentinels"
"""A cell, or a label where labels are private."""

_SPREAD = 40  # how far `near` goes: the leading digits stay the same


def near(count: int) -> list[int]:
    """So many different numbers next to NUMBER, in no order."""
    return [NUMBER + (7 * place) % _SPREAD for place in range(count)]


def _leading(number: int, base: str) -> str:
    """The first digits of all numbers of `near`."""
    pairs = zip(f"{number:{base}}", f"{number + _SPREAD:{base}}", strict=True)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _texts() -> set[str]:
    # As it is, with the sign bit flipped (as it is stored) and with all bits turned round.
    stored = (NUMBER, NUMBER + 2**63, 2**63 - 1 - NUMBER - _SPREAD, 2**64 - 1 - NUMBER - _SPREAD)
    found = {_leading(number, base) for number in stored for base in "dxX"}
    for digits in [form for form in found if form.isdigit()]:
        found.add(f"{digits[0]}.{digits[1:8]}")  # scientific
    found |= {f"{NUMBER:,}"[:-4], f"{NUMBER:_}"[:-4]}
    return found | {LABEL[:9], LABEL[:9].lower(), LABEL[:9].upper()}


TEXTS = frozenset(_texts())
_BYTES = frozenset(text.encode(code) for text in TEXTS for code in ("ascii", "utf-16-le")) | {
    NUMBER.to_bytes(8, "little")[1:6],
    NUMBER.to_bytes(8, "big")[2:7],
}


def found_in(where: str | bytes | bytearray) -> list[str]:
    """The private values that a text or bytes show."""
    if isinstance(where, str):
        return sorted(text for text in TEXTS if text in where)
    return sorted(repr(form) for form in _BYTES if form in where)


def everything_of(value: object) -> str | bytes:
    """All that a result or an exception shows to whoever prints, logs or pickles it.

    Of an exception also its arguments, attributes and notes, and the same of every exception that
    hangs behind it, printed or not.  Not the local variables of its frames.
    """
    if not isinstance(value, BaseException):
        return b"\n".join(_plainly(value))
    texts = ["".join(traceback.format_exception(value))]
    seen: set[int] = set()
    waiting: list[BaseException | None] = [value]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        waiting += [error.__cause__, error.__context__]
        texts += [str(error), repr(error), repr(error.args), repr(vars(error))]
    return "\n".join(texts).encode("utf-8", "backslashreplace") + b"\n".join(_pickled(value))


def _plainly(value: Any) -> Iterator[bytes]:
    for text in (repr(value), str(value), f"{value}"):
        yield text.encode("utf-8", "backslashreplace")
    if hasattr(value, "to_json"):
        yield value.to_json().encode()
    yield from _pickled(value)


def _pickled(value: object) -> Iterator[bytes]:
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        try:
            yield pickle.dumps(value, protocol)
        except Exception as error:
            yield repr(error).encode()

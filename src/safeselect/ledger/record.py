"""Release records: what the ledger writes down, in a form that has one spelling.

A record is one object of canonical JSON, schema "safeselect.record/2": sorted keys, no spaces,
ASCII, every value a string, a list or an object; numbers are exact and written as strings.  Each
carries the hash of the one before it, so that whoever knows the last hash, the head, can tell any
edit, reordering, insertion or deletion.

A record never holds a score, a random byte other than the call's public nonce, a duration, a time
finer than a second or a time at which a release ended.  Of the output it holds a commitment, whose
salt goes to the caller with the result: outputs are few, and an unsalted hash could be guessed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from time import time_ns
from typing import Any

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe, rational
from safeselect.promises.records import Content, exact

__all__ = [
    "LONGEST",
    "OLD_SCHEMA",
    "RECORD_DOMAIN",
    "SCHEMA",
    "START",
    "Record",
    "canonical",
    "commitment",
    "parse",
    "read_numbers",
    "record_hash",
    "text",
    "utc_now",
]

SCHEMA = "safeselect.record/2"
OLD_SCHEMA = "safeselect.record/1"
START = "0" * 64
"""What stands for the hash before the first record."""

# Different first bytes for each use of the hash, so that no text of one is a text of the other.
RECORD_DOMAIN = b"safeselect/record/1\x00"
_OUTPUT = b"safeselect/out/1\x00"

_MOST_CHARACTERS = 200
_SHORT = 64
LONGEST = 2**18
"""Bytes of the longest line of a ledger, with its newline."""

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was found.

    Attributes:
        content: what it says.
        hash: its hash.
        signature: hexadecimal, or empty.
    """

    content: dict[str, Any]
    hash: str
    signature: str


def canonical(content: Content) -> str:
    """The one spelling of this content."""
    return _ENCODER.encode(content)


def parse(body: str, what: str) -> dict[str, Any]:
    """Read canonical JSON; everything that is not its one spelling is refused.

    Raises:
        LedgerDamaged: it is not canonical, or not an object of strings, lists and objects.
    """
    try:
        if len(body) > LONGEST:
            raise ValueError
        content = _DECODER.decode(body)
        if not isinstance(content, dict) or not _is_plain(content, body):
            raise ValueError
        if canonical(content) != body:
            raise ValueError
    except (ValueError, RecursionError):
        raise LedgerDamaged(f"{what} is not canonical JSON: it was changed or cut") from None
    return content


def _is_plain(content: object, body: str) -> bool:
    """Whether there are only strings, lists and objects; numbers are refused already."""
    if not any(word in body for word in ("true", "false", "null")):
        return True
    rest = [content]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list):
            rest += value
        elif not isinstance(value, str):
            return False
    return True


def _refuse(_: str) -> None:
    raise ValueError


_DECODER = json.JSONDecoder(parse_int=_refuse, parse_float=_refuse, parse_constant=_refuse)


def record_hash(body: str) -> str:
    """The hash of a record; the body holds the hash of the record before it."""
    return hashlib.sha256(RECORD_DOMAIN + body.encode("utf-8", "surrogatepass")).hexdigest()


def commitment(salt: bytes, output: str) -> str:
    """What the ledger keeps of an output: a hash that tells nothing without the salt."""
    return hashlib.sha256(_OUTPUT + salt + output.encode("utf-8", "surrogatepass")).hexdigest()


def read_numbers(content: object, what: str) -> dict[str, Fraction]:
    """The numbers that `numbers` wrote.

    Raises:
        LedgerDamaged: not an object of numbers, each in its one spelling.
    """
    if not isinstance(content, dict):
        raise LedgerDamaged(f"{what} is not an object of numbers")
    return {name: _read_number(written, what) for name, written in content.items()}


def _read_number(written: object, what: str) -> Fraction:
    # Charges repeat: a cache of short spellings takes most of the time out of a replay.
    if isinstance(written, str) and len(written) <= _SHORT and (value := _short(written)):
        return value
    try:
        value = rational(written, "number", zero=True)
    except ParameterError:
        raise LedgerDamaged(f"{what} holds something that is no number") from None
    if exact(value) != written:
        raise LedgerDamaged(f"{what} holds a number in another spelling than its own")
    return value


@lru_cache(maxsize=1024)
def _short(written: str) -> Fraction | None:
    """A number of few characters; None for what is none, not in its spelling, or 0."""
    try:
        value = rational(written, "number", zero=True)
    except ParameterError:
        return None
    return value if exact(value) == written else None


def text(value: object, name: str) -> str:
    """Read a line of text that goes into records: 1 to 200 printable characters.

    Raises:
        ParameterError: something else.
    """
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {describe(value)}")
    if not 1 <= len(value) <= _MOST_CHARACTERS or not value.isprintable() or value != value.strip():
        raise ParameterError(
            f"{name} must be one line of 1 to {_MOST_CHARACTERS} printable characters, without "
            "spaces at its ends"
        )
    return value


def utc_now() -> str:
    """The time to the second, no finer: for people, nothing rests on it.

    Raises:
        LedgerError: the clock shows a year that has not four digits.
    """
    try:
        now = datetime.fromtimestamp(max(0, time_ns() // 10**9), UTC)
    except (ValueError, OverflowError, OSError):
        raise LedgerError("the clock shows a year that has not four digits: set it") from None
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")

"""Release records: the ledger's entries, in a form that has one spelling.

A record is one object of canonical JSON, schema "safeselect.record/2": sorted keys, no spaces,
ASCII, every value a string, a list or an object.  Numbers are exact and written as strings.  Each
record has the hash of the record before it.  So a reader who knows the last hash, the head, can
detect any edit, reordering, insertion or deletion.

A record never has a score, a random byte other than the call's public nonce, a duration, a time
finer than the ledger's clock, or the time at which a release ended: what happens between two
charges in a row may be private.  Their order is their place in the log.  A record has a commitment
to the output.  The commitment's salt goes to the caller with the result: without a salt the hash
could be guessed, because the possible outputs are few.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from time import time_ns
from typing import Any, Literal

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe, rational
from safeselect.promises.records import Content, exact_text

SCHEMA = "safeselect.record/2"
Clock = Literal["day", "hour", "minute"]
"""How finely a ledger states times."""
START = "0" * 64
"""The previous hash in the first record."""

# Each use of the hash has different first bytes, so that no input of one is an input of another.
RECORD_DOMAIN = b"safeselect/record/1\x00"
_OUTPUT = b"safeselect/out/1\x00"

_MOST_CHARACTERS = 200
_SHORT = 64
LONGEST = 2**18
"""Bytes of the longest line of a ledger, with its newline."""

# No record holds itself, so nobody looks for circles.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read.

    Attributes:
        content: its fields.
        hash: its hash.
        signature: hexadecimal, or empty.
    """

    content: dict[str, Any]
    hash: str
    signature: str


def canonical(content: Content) -> str:
    """Return the canonical JSON of this content."""
    return _ENCODER.encode(content)


def parse(body: str, what: str) -> dict[str, Any]:
    """Read canonical JSON; refuse every other spelling.

    Raises:
        LedgerDamaged: it is not canonical, or not an object of strings, lists and objects.
    """
    try:
        if len(body) > LONGEST:
            raise ValueError
        content, end = _DECODER.raw_decode(body)
        if type(content) is not dict or end != len(body) or _ENCODER.encode(content) != body:
            raise ValueError
        if ("true" in body or "false" in body or "null" in body) and not _is_plain(content):
            raise ValueError
    except (ValueError, RecursionError):
        raise LedgerDamaged(f"{what} is not canonical JSON: it was changed or cut") from None
    return content


def _is_plain(content: object) -> bool:
    """Whether there are only strings, lists and objects; numbers were refused before."""
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
    """Return the hash of a record; the body contains the hash of the record before it."""
    return hashlib.sha256(RECORD_DOMAIN + body.encode("utf-8", "surrogatepass")).hexdigest()


def commitment(salt: bytes, output: str) -> str:
    """Return the commitment to an output: a hash that reveals nothing without the salt."""
    return hashlib.sha256(_OUTPUT + salt + output.encode("utf-8", "surrogatepass")).hexdigest()


def read_numbers(content: object, what: str) -> dict[str, Fraction]:
    """Read the numbers that `numbers` wrote.

    Raises:
        LedgerDamaged: it is not an object of numbers in their canonical spelling.
    """
    if not isinstance(content, dict):
        raise LedgerDamaged(f"{what} is not an object of numbers")
    return {name: _read_number(written, what) for name, written in content.items()}


def _read_number(written: object, what: str) -> Fraction:
    # Charges repeat: a cache of short spellings saves most of the time of a replay.
    if isinstance(written, str) and len(written) <= _SHORT and (value := _short(written)):
        return value
    try:
        value = rational(written, "number", zero=True)
    except ParameterError:
        raise LedgerDamaged(f"{what} holds something that is no number") from None
    if exact_text(value) != written:
        raise LedgerDamaged(f"{what} holds a number in another spelling than its own")
    return value


@lru_cache(maxsize=1024)
def _short(written: str) -> Fraction | None:
    """Read a short number; None if it is not a number or not canonical."""
    try:
        value = rational(written, "number", zero=True)
    except ParameterError:
        return None
    return value if exact_text(value) == written else None


def text(value: object, name: str) -> str:
    """Read a line of text that goes into records: 1 to 200 printable characters.

    Raises:
        ParameterError: the value is something else.
    """
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {describe(value)}")
    if not 1 <= len(value) <= _MOST_CHARACTERS or not value.isprintable() or value != value.strip():
        raise ParameterError(
            f"{name} must be one line of 1 to {_MOST_CHARACTERS} printable characters, without "
            "spaces at its ends"
        )
    return value


def utc_now(clock: Clock) -> str:
    """Return the time as a ledger with this clock states it, for people; nothing depends on it.

    Raises:
        LedgerError: the clock's year does not have four digits.
    """
    try:
        now = datetime.fromtimestamp(max(0, time_ns() // 10**9), UTC)
    except (ValueError, OverflowError, OSError):
        raise LedgerError("the clock shows a year that has not four digits: set it") from None
    return _stated(now, clock)


@lru_cache(maxsize=256)
def read_time(written: str) -> tuple[datetime, Clock] | None:
    """Return the time that a record states, and how finely; None if it states none."""
    try:
        moment = datetime.fromisoformat(written.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        return None
    for clock in _DIGITS:
        if _stated(moment, clock) == written:
            return moment, clock
    return None


def _stated(moment: datetime, clock: Clock) -> str:
    return moment.isoformat()[: _DIGITS[clock]] + ("" if clock == "day" else "Z")


_DIGITS: dict[Clock, int] = {"day": 10, "hour": 13, "minute": 16}

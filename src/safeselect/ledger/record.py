"""Release records: the ledger's entries, in a form that has one spelling.

A record is one object of canonical JSON, schema "safeselect.record/1": sorted keys, no spaces,
ASCII, every value a string, a list or an object.  Numbers are exact and written as strings.  Each
record has the hash of the record before it.  So a reader who knows the last hash, the head, can
detect any edit, reordering, insertion or deletion.

A record never has a score, a random byte other than the call's public nonce, a duration, a time
finer than the ledger's clock, or the time at which a release ended: what happens between two
charges in a row may be private.  Their order is their place in the log.  A record has a commitment
to the output.  The commitment's salt goes to the caller with the result: without a salt the hash
could be guessed, because the possible outputs are few.

A ledger's file and an exported log are the same text, a line for each record:

    {"hash":"<64 hexadecimal digits>","record":{...},"signature":"<hexadecimal or empty>"}
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from time import time_ns
from typing import Any, Literal

import gmpy2
import numpy as np

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe, exact_text, rational
from safeselect.ledger.store import Row
from safeselect.promises.guarantees import Content
from safeselect.release.results import code

SCHEMA = "safeselect.record/1"
Clock = Literal["day", "hour", "minute"]
"""How finely a ledger states times."""
START = "0" * 64
"""The previous hash in the first record."""

# Each use of the hash has different first bytes, so that no input of one is an input of another.
RECORD_DOMAIN = b"safeselect/record/1\x00"
_OUTPUT = b"safeselect/out/1\x00"
_REQUEST_ID = b"safeselect/request/1\x00"
_ASKED = b"safeselect/asked/1\x00"

_MOST_CHARACTERS = 200
_SHORT = 64
LONGEST = 2**18
"""Bytes of the longest line of a ledger, with its newline."""

# No record holds itself, so nobody looks for circles.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def canonical(content: Content) -> str:
    """Return the canonical JSON of this content."""
    return _ENCODER.encode(content)


Fields = dict[str, Any]
"""A record, or an object in one."""


def parse(body: str, what: str, *, is_ours: bool = False) -> Fields:
    """Read canonical JSON; refuse every other spelling.

    Args:
        is_ours: whether `canonical` made it.

    Raises:
        LedgerDamaged: it is not canonical, or not an object of strings, lists and objects.
    """
    try:
        if len(body) > LONGEST:
            raise ValueError
        content, end = _DECODER.raw_decode(body)
        if type(content) is not dict or end != len(body):
            raise ValueError
        if not is_ours and _ENCODER.encode(content) != body:
            raise ValueError
        has_words = "true" in body or "false" in body or "null" in body
        if has_words and not all(type(each) is str for each in _leaves(content)):
            raise ValueError
    except (ValueError, RecursionError):
        raise LedgerDamaged(f"{what} is not canonical JSON: it was changed or truncated") from None
    return content


def _leaves(content: object) -> Iterator[object]:
    """Whatever is no list and no object, with the names of fields."""
    rest = [content]
    while rest:
        value = rest.pop()
        if type(value) is dict:
            rest += value
            rest += value.values()
        elif type(value) is list:
            rest += value
        else:
            yield value


def _refuse(_: str) -> None:
    raise ValueError


_DECODER = json.JSONDecoder(parse_int=_refuse, parse_float=_refuse, parse_constant=_refuse)


def record_hash(body: str) -> str:
    """Return the hash of a record; the body contains the hash of the record before it."""
    return hashlib.sha256(RECORD_DOMAIN + body.encode("utf-8", "surrogatepass")).hexdigest()


def commitment(salt: bytes, output: str) -> str:
    """Return the commitment to an output: a hash that reveals nothing without the salt."""
    return hashlib.sha256(_OUTPUT + salt + output.encode("utf-8", "surrogatepass")).hexdigest()


# Both take in the IDs of ledger and request, so that nobody who reads the records can guess what
# was asked, as long as the request ID is random.
def request_hash(ledger: str, request: str) -> str:
    """Return the hash that stands for a request ID in the records of a ledger."""
    return hashlib.sha256(_REQUEST_ID + f"{ledger} {request}".encode()).hexdigest()


def question_hash(ledger: str, request: str, question: Mapping[str, Content]) -> str:
    """Return the hash of a question, by which a retry is told from another question."""
    asked = canonical({"ledger": ledger, "request": request, "question": dict(question)})
    return hashlib.sha256(_ASKED + asked.encode()).hexdigest()


def read_numbers(content: object, what: str) -> dict[str, Fraction]:
    """Read the numbers that `numbers` wrote.

    Raises:
        LedgerDamaged: it is not an object of numbers in their canonical spelling.
    """
    if not isinstance(content, dict):
        raise LedgerDamaged(f"{what} is not an object that maps names to numbers")
    return {name: _read_number(written, what) for name, written in content.items()}


def _read_number(written: object, what: str) -> Fraction:
    # Charges repeat: a cache of short spellings saves most of the time of a replay.
    is_short = isinstance(written, str) and len(written) <= _SHORT
    try:
        return _short(written) if is_short else _exact(written)
    except ParameterError as error:
        raise LedgerDamaged(f"{what} is not valid: {error}") from None


def _exact(written: object) -> Fraction:
    try:
        value = rational(written, "number", zero=True)
    except ParameterError:
        raise ParameterError("a value is not a number of at least 0") from None
    if exact_text(value) != written:
        raise ParameterError("a number is not in canonical form")
    return value


_short = lru_cache(maxsize=1024)(_exact)


def text(value: object, name: str) -> str:
    """Read a line of text that goes into records: 1 to 200 printable characters.

    A subclass of str is refused: it may print or compare as another text than the one recorded.

    Raises:
        ParameterError: the value is something else.
    """
    if type(value) is not str:
        raise ParameterError(f"{name} must be a string of type str, got {describe(value)}")
    if not 1 <= len(value) <= _MOST_CHARACTERS or not value.isprintable() or value != value.strip():
        raise ParameterError(
            f"{name} must be one line of 1 to {_MOST_CHARACTERS} printable characters, without "
            "leading or trailing spaces"
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
        raise LedgerError("the system clock's year must have four digits; set the clock") from None
    return _stated(now, clock)


@lru_cache(maxsize=256)
def read_time(written: str) -> tuple[datetime, Clock] | None:
    """Return the time that a record states, and how finely; None if it states none."""
    try:
        moment = datetime.fromisoformat(written.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        return None
    return next(((moment, clock) for clock in _DIGITS if _stated(moment, clock) == written), None)


def _stated(moment: datetime, clock: Clock) -> str:
    return moment.isoformat()[: _DIGITS[clock]] + ("" if clock == "day" else "Z")


_DIGITS: dict[Clock, int] = {"day": 10, "hour": 13, "minute": 16}


def library() -> dict[str, str]:
    """Return what records say about the code, and about the engines of tables that are loaded."""
    loaded = {name: sys.modules[name] for name in ("duckdb", "pyspark") if name in sys.modules}
    versions = {name: getattr(engine, "__version__", "") for name, engine in loaded.items()}
    return _library() | versions


@cache
def _library() -> dict[str, str]:
    """What is the same for the whole process, computed at its first ledger."""
    return {
        "name": "safeselect",
        **code()._asdict(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "gmpy2": gmpy2.version(),
        "gmp": gmpy2.mp_version(),
        "mpfr": gmpy2.mpfr_version(),
        "openssl": _openssl(),
        "fips_mode": _fips_mode(),
        "platform": f"{sys.platform} {platform.machine()}",
    }


def _openssl() -> str:
    try:
        # Not imported at the top: the import takes milliseconds.
        return str(import_module("ssl").OPENSSL_VERSION)
    except ImportError:
        return "none"


def _fips_mode() -> str:
    """Return OpenSSL's FIPS state, for the record; no conformance is claimed."""
    try:
        return str(import_module("_hashlib").get_fips_mode())
    except (ImportError, AttributeError, ValueError):
        return "unknown"


_Types = dict[str, type]
OUTCOMES = ("released", "aborted", "settled")
_REASONS = ("source", "interrupt", "error", "input")

_COMMON: _Types = {"schema": str, "kind": str, "ledger": str, "seq": str, "previous": str}
_OUTCOME: _Types = {"charge": str, "commitment": str}
_KINDS: dict[str, _Types] = {
    "created": {"utc": str, "library": dict, "signer": dict, "place": dict, "clock": str},
    "scope": {"utc": str, "scope": str, "terms": dict, "caps": dict, "max_refusals": str},
    "charged": {
        "utc": str,
        "purpose": str,
        "mechanism": str,
        "guarantee": dict,
        "parts": list,
        "parameters": dict,
        "source": dict,
        "nonce": str,
        "charges": list,
        "request": dict,
    },
    "released": _OUTCOME,
    "settled": {**_OUTCOME, "spent": dict},
    "aborted": {"charge": str, "reason": str},
    # The owner raised a limit of a scope.
    "raised": {
        "utc": str,
        "scope": str,
        "limit": str,
        "before": str,
        "after": str,
        "caps": dict,
        "reason": str,
        "approvals": list,
    },
    # Another key signs from this record on.
    "key": {"utc": str, "signer": dict, "replaces": str, "handover": str, "approvals": list},
    # The owner set aside the wrong signatures of charges and outcomes; what they charged stands.
    "repaired": {"utc": str, "first": str, "last": str, "reason": str},
    # An advisory restates the guarantees of these charges; totals stay what was charged.
    "corrected": {"utc": str, "advisory": str, "sha256": str, "charges": list, "reason": str},
    # The bytes of an unfinished write were cut off.
    "torn": {"length": str, "sha256": str},
}
# What a record of a kind may have besides: who approves, and their approvals; a charge, what ran,
# where it is not what the records before it say.
_MORE: dict[str, _Types] = {
    "created": {"approvers": dict},
    "scope": {"approvals": list},
    "charged": {"library": dict},
}


_FORMS = {
    kind: [{**_COMMON, **fields, **more} for more in ({}, _MORE.get(kind, {}))]
    for kind, fields in _KINDS.items()
}
_CHARGE: list[_Types] = [{"scope": str, "charge": dict, "after": dict}]
_PART: list[_Types] = [{"count": str, "each": dict}]
_SOURCE: list[_Types] = [{"name": str, "production": str, "health": str}]
_REQUEST: list[_Types] = [{}, {"id": str, "asked": str}]
_ONE_LINE = "scope", "purpose", "mechanism", "reason", "advisory"
_LINES = {kind: [name for name in _ONE_LINE if name in of] for kind, of in _KINDS.items()}
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
BARE_HEAD = re.compile(r"[0-9a-f]{64}", re.ASCII)
"""A hash: a head without its place."""
_COUNT = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def head_of(seq: int, hash_: str) -> str:
    """Return the head of a ledger, for publication: place and hash of its last record."""
    return f"{seq}:{hash_}"


def read_head(head: object) -> tuple[int, str] | None:
    """Return place and hash of a head, or None for None.

    Raises:
        ParameterError: it is not the text of a head.
    """
    if head is None:
        return None
    match = _HEAD.fullmatch(head) if isinstance(head, str) else None
    if match is None:
        bare = isinstance(head, str) and BARE_HEAD.fullmatch(head)
        said = ": the record number before the colon is missing" if bare else ""
        raise ParameterError(
            f"head must be a string such as '12:9f86d0…', as printed by the ledger{said}"
        )
    return int(match.group(1)), match.group(2)


def spell(
    kind: str, content: Mapping[str, Content], ledger: str, seq: int, previous: str, clock: Clock
) -> tuple[str, str]:
    """Return the body and the hash of the next record.

    Args:
        content: its fields, but for the time and those of every record.
    """
    record = {**content, "schema": SCHEMA, "kind": kind, "ledger": ledger}
    record |= {"seq": str(seq), "previous": previous}
    if isinstance(kind, str) and "utc" in _KINDS.get(kind, ()):  # a proposal may hold any kind
        record["utc"] = utc_now(clock)
    body = canonical(record)
    return body, record_hash(body)


def read_row(row: Row, where: str, *, is_ours: bool = False) -> Fields:
    """Read a record as it is stored: of the stated hash, and as `read_record` reads it.

    Args:
        is_ours: whether `spell` has just made body and hash.

    Raises:
        LedgerDamaged: it is something else, or its line is too long.
    """
    if len(row.body) + len(row.hash) + len(row.signature) + _FRAME > LONGEST:
        raise LedgerDamaged(f"{where} is longer than {LONGEST} bytes")
    record = read_record(row.body, where, is_ours=is_ours)
    if not is_ours and record_hash(row.body) != row.hash:
        raise LedgerDamaged(f"{where} does not match its hash")
    return record


def read_record(body: str, where: str, *, is_ours: bool = False) -> Fields:
    """Read a record: canonical, with the fields and types of its kind, all text printable.

    Raises:
        LedgerDamaged: it is something else.
    """
    record = parse(body, where, is_ours=is_ours)
    kind = record.get("kind")
    forms = _FORMS.get(kind) if isinstance(kind, str) else None
    if forms is None or record.get("schema") != SCHEMA:
        raise LedgerDamaged(f"{where} does not have schema {SCHEMA}, or its kind is unknown")
    _check_form(record, forms, where)
    _check_texts(record, body, where)
    if not all(type(each) is str for each in record.get("library", {}).values()):
        raise LedgerDamaged(f"{where} states a library by a value that is not a string")
    if kind == "charged":
        _check_charged(record, where)
    elif kind == "aborted" and record["reason"] not in _REASONS:
        raise LedgerDamaged(f"{where} has a reason that is not one of {', '.join(_REASONS)}")
    elif kind == "corrected" and not all(
        type(each) is str and _COUNT.fullmatch(each) for each in record["charges"]
    ):
        raise LedgerDamaged(f"{where} is a correction without valid record numbers")
    elif kind == "repaired" and not all(_COUNT.fullmatch(record[end]) for end in ("first", "last")):
        raise LedgerDamaged(f"{where} is a repair without valid record numbers")
    return record


def _check_form(found: Fields, forms: list[_Types], where: str) -> None:
    if type(found) is not dict or {name: type(value) for name, value in found.items()} not in forms:
        raise LedgerDamaged(f"{where} has missing or unexpected fields, or one of the wrong type")


def _check_charged(record: Fields, where: str) -> None:
    _check_form(record["source"], _SOURCE, where)
    if record["source"]["production"] not in ("yes", "asserted", "no"):
        raise LedgerDamaged(f"{where} does not state whether its source is for production")
    _check_form(record["request"], _REQUEST, where)
    if not all(map(BARE_HEAD.fullmatch, record["request"].values())):
        raise LedgerDamaged(f"{where} identifies a request by a value that is not a hash")
    if not record["charges"]:
        raise LedgerDamaged(f"{where} charges no scope")
    for name, form in (("charges", _CHARGE), ("parts", _PART)):
        for each in record[name]:
            _check_form(each, form, where)
    if not all(_COUNT.fullmatch(part["count"]) for part in record["parts"]):
        raise LedgerDamaged(f"{where} states a number of draws that is not an integer")
    if not _NONCE.fullmatch(record["nonce"]):
        raise LedgerDamaged(f"{where} does not have a nonce of 16 bytes")


def _check_texts(record: Fields, body: str, where: str) -> None:
    """Refuse control characters and lone surrogates: records are shown to people."""
    try:
        for name in _LINES[record["kind"]]:
            text(record[name], name)
    except ParameterError:
        raise LedgerDamaged(f"{where} has empty, padded, overlong or unprintable text") from None
    is_plain = "\\" not in body and "\x7f" not in body  # ASCII, and nothing in it is escaped
    if not is_plain and not all(str(each).isprintable() for each in _leaves(record)):
        raise LedgerDamaged(f"{where} contains unprintable text")


_SIGNATURE = ',"signature":"'


def log_line(body: str, hash_: str, signature: str) -> bytes:
    """Return the line of a record, with its newline."""
    return f'{{"hash":"{hash_}","record":{body},"signature":"{signature}"}}\n'.encode("ascii")


def read_line(line: str, seq: int, at: int = 0) -> Row:
    """Return the row of a line without its newline; the record's content is not checked.

    Args:
        line: its bytes as Latin-1: no canonical JSON has a character beyond ASCII.

    Raises:
        LedgerDamaged: it is not such a line.
    """
    end = line.rfind(_SIGNATURE)
    start = end + len(_SIGNATURE)
    framed = line.startswith('{"hash":"') and line.startswith('","record":', 73)
    if end < 0 or not framed or not line.endswith('"}', start):
        what = "its line" if seq else "this is not a ledger, or its first line"
        raise LedgerDamaged(f"record {seq} is not valid: {what} was changed or truncated")
    return Row(seq, line[84:end], line[9:73], line[start:-2], at)


_FRAME = len(log_line("", "", ""))

"""The form of a record: its fields and their types, by kind."""

from __future__ import annotations

import re
from typing import Any

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.ledger.records.record import SCHEMA, parse, text

Fields = dict[str, Any]
"""A record, or an object in one."""

_Types = dict[str, type]
_Form = tuple[tuple[str, ...], tuple[type, ...]]
OUTCOMES = ("released", "aborted", "settled")
_REASONS = ("source", "interrupt", "error", "input")

_COMMON: _Types = {"schema": str, "kind": str, "ledger": str, "seq": str, "previous": str}
_OUTCOME: _Types = {"charge": str, "commitment": str}
_KINDS: dict[str, _Types] = {
    "created": {"utc": str, "library": dict, "signer": dict, "place": dict, "clock": str},
    "scope": {"utc": str, "scope": str, "terms": dict, "caps": dict, "max_refusals": str},
    "charged": {
        "utc": str,
        "library": dict,
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
        "reason": str,
        "approvals": list,
    },
    # Another key signs from this record on.
    "key": {"utc": str, "signer": dict, "replaces": str, "handover": str, "approvals": list},
    # The owner set aside the wrong signatures of charges and outcomes; what they charged stands.
    "repaired": {"utc": str, "first": str, "last": str, "reason": str},
    # The bytes of an unfinished write were cut off.
    "torn": {"length": str, "sha256": str},
}
# What a record of a kind may have besides: who approves, and their approvals.
_MORE: dict[str, _Types] = {"created": {"approvers": dict}, "scope": {"approvals": list}}


def _form(fields: _Types) -> _Form:
    """Return names and types in the order of canonical JSON, which sorts them."""
    names = tuple(sorted(fields))
    return names, tuple(fields[name] for name in names)


_FORMS = {
    kind: tuple(
        _form({**_COMMON, **fields, **more}) for more in ({}, _MORE.get(kind)) if more is not None
    )
    for kind, fields in _KINDS.items()
}
_CHARGE = (_form({"scope": str, "terms": dict, "before": dict, "charge": dict, "after": dict}),)
_SOURCE = (_form({"name": str, "production": str, "health": str}),)
_REQUEST = (_form({"id": str, "asked": str}),)
_LINES = {
    kind: [name for name in ("scope", "purpose", "mechanism", "reason") if name in fields]
    for kind, fields in _KINDS.items()
}
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
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
        raise ParameterError("head must be a text such as '12:9f86d0…', as the ledger gave it")
    return int(match.group(1)), match.group(2)


def read_record(body: str, where: str) -> Fields:
    """Read a record: canonical, with the fields and types of its kind, all text printable.

    Raises:
        LedgerDamaged: it is something else.
    """
    record = parse(body, where)
    kind = record.get("kind")
    forms = _FORMS.get(kind) if isinstance(kind, str) else None
    if forms is None or record.get("schema") != SCHEMA:
        raise LedgerDamaged(f"{where} is not of schema {SCHEMA}, or of a kind that is unknown")
    _check_form(record, forms, where)
    _check_texts(record, body, where)
    if kind == "charged":
        _check_charged(record, where)
    elif kind == "aborted" and record["reason"] not in _REASONS:
        raise LedgerDamaged(f"{where} gives a reason that is none of {', '.join(_REASONS)}")
    elif kind == "repaired" and not all(_COUNT.fullmatch(record[end]) for end in ("first", "last")):
        raise LedgerDamaged(f"{where} repairs records that have no place")
    return record


def states_time(kind: object) -> bool:
    """Whether records of this kind state a time."""
    return isinstance(kind, str) and "utc" in _KINDS.get(kind, ())


def names_of(kind: str) -> list[list[str]]:
    """Return the names that the fields of a record of this kind may have."""
    return [list(names) for names, _ in _FORMS[kind]]


def _check_form(found: Fields, forms: tuple[_Form, ...], where: str) -> None:
    if type(found) is not dict or (tuple(found), tuple(map(type, found.values()))) not in forms:
        raise LedgerDamaged(f"{where} has not the fields of its kind")


def _check_charged(record: Fields, where: str) -> None:
    _check_form(record["source"], _SOURCE, where)
    if record["source"]["production"] not in ("yes", "asserted", "no"):
        raise LedgerDamaged(f"{where} does not say whether its source is for production")
    if record["request"]:
        _check_form(record["request"], _REQUEST, where)
        if not all(map(_HASH.fullmatch, record["request"].values())):
            raise LedgerDamaged(f"{where} names a request by something that is no hash")
    if not record["charges"]:
        raise LedgerDamaged(f"{where} charges no scope")
    for charge in record["charges"]:
        _check_form(charge, _CHARGE, where)
    if not _NONCE.fullmatch(record["nonce"]):
        raise LedgerDamaged(f"{where} has no nonce of 16 bytes")


def _check_texts(record: Fields, body: str, where: str) -> None:
    """Refuse control characters and lone surrogates: records are shown to people."""
    try:
        for name in _LINES[record["kind"]]:
            text(record[name], name)
    except ParameterError:
        raise LedgerDamaged(f"{where} holds text that cannot be printed") from None
    if "\\" not in body and "\x7f" not in body:
        return  # ASCII, and nothing in it is escaped
    rest: list[Any] = [record]
    while rest:
        value = rest.pop()
        if type(value) is dict:
            rest += value
            rest += value.values()
        elif type(value) is list:
            rest += value
        elif not value.isprintable():
            raise LedgerDamaged(f"{where} holds text that cannot be printed")

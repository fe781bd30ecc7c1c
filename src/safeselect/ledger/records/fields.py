"""The form of a record: its fields and their types, by schema and kind.

Schema 1 is from before one record could charge several scopes.  Its records stay valid, unchanged;
nothing writes them any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.ledger.records.record import OLD_SCHEMA, SCHEMA, parse, text

Fields = dict[str, Any]
"""A record, or an object in one."""

_Types = dict[str, type]
_Form = tuple[tuple[str, ...], tuple[type, ...]]
OUTCOMES = ("released", "aborted", "settled")
_REASONS = ("source", "interrupt", "error", "input")

_COMMON: _Types = {"schema": str, "kind": str, "ledger": str, "seq": str, "previous": str}
_CREATED: _Types = {"utc": str, "library": dict, "signer": dict}
_SCOPE: _Types = {"utc": str, "scope": str, "terms": dict}
_CHARGED: _Types = {
    "utc": str,
    "library": dict,
    "purpose": str,
    "mechanism": str,
    "guarantee": dict,
    "parts": list,
    "parameters": dict,
    "source": dict,
    "nonce": str,
}
_OUTCOME: _Types = {"charge": str, "commitment": str}
_OUTCOMES: dict[str, _Types] = {
    "released": _OUTCOME,
    "settled": {**_OUTCOME, "spent": dict},
    "aborted": {"charge": str, "reason": str},
}
_OLD: dict[str, _Types] = {
    "created": _CREATED,
    "scope": _SCOPE,
    "charged": {**_CHARGED, "scope": str, "terms": dict, "budget": dict},
    **_OUTCOMES,
}
_NEW: dict[str, _Types] = {
    "created": {**_CREATED, "place": dict, "clock": str},
    "scope": {**_SCOPE, "caps": dict, "max_refusals": str},
    "charged": {**_CHARGED, "charges": list, "request": dict},
    **_OUTCOMES,
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
    (schema, kind): tuple(
        _form({**_COMMON, **fields, **more})
        for more in ({}, _MORE.get(kind) if schema == SCHEMA else None)
        if more is not None
    )
    for schema, kinds in ((OLD_SCHEMA, _OLD), (SCHEMA, _NEW))
    for kind, fields in kinds.items()
}
_CHARGE = (_form({"scope": str, "terms": dict, "before": dict, "charge": dict, "after": dict}),)
_SOURCE = (_form({"name": str, "production": str, "health": str}),)
_REQUEST = (_form({"id": str, "asked": str}),)
_LINES = {
    kind: [name for name in ("scope", "purpose", "mechanism", "reason") if name in fields]
    for kind, fields in _NEW.items()
}
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


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
    schema, kind = record.get("schema"), record.get("kind")
    forms = None
    if isinstance(schema, str) and isinstance(kind, str):
        forms = _FORMS.get((schema, kind))
    if forms is None:
        raise LedgerDamaged(f"{where} is not of schema {SCHEMA}, or of a kind that is unknown")
    _check_form(record, forms, where)
    if schema == SCHEMA:
        _check_texts(record, body, where)
    if kind == "charged":
        _check_charged(record, where)
    elif kind == "aborted" and schema == SCHEMA and record["reason"] not in _REASONS:
        raise LedgerDamaged(f"{where} gives a reason that is none of {', '.join(_REASONS)}")
    return record


def states_time(kind: object) -> bool:
    """Whether records of this kind state a time."""
    return isinstance(kind, str) and "utc" in _NEW.get(kind, ())


def names_of(kind: str) -> list[list[str]]:
    """Return the names that the fields of a record of this kind may have, in the schema in use."""
    return [list(names) for names, _ in _FORMS[SCHEMA, kind]]


def charges_of(record: Mapping[str, Any]) -> list[Fields]:
    """Return a charge's scope, terms, before, charge and after for each scope, in any schema."""
    if record["schema"] == SCHEMA:
        charges: list[Fields] = record["charges"]
        return charges
    charge = {"scope": record["scope"], "terms": record["terms"], **record["budget"]}
    return [dict(sorted(charge.items()))]


def _check_form(found: Fields, forms: tuple[_Form, ...], where: str) -> None:
    if type(found) is not dict or (tuple(found), tuple(map(type, found.values()))) not in forms:
        raise LedgerDamaged(f"{where} has not the fields of its kind")


def _check_charged(record: Fields, where: str) -> None:
    if record["schema"] == SCHEMA:
        _check_form(record["source"], _SOURCE, where)
        if record["source"]["production"] not in ("yes", "asserted", "no"):
            raise LedgerDamaged(f"{where} does not say whether its source is for production")
        if record["request"]:
            _check_form(record["request"], _REQUEST, where)
            if not all(map(_HASH.fullmatch, record["request"].values())):
                raise LedgerDamaged(f"{where} names a request by something that is no hash")
    charges = charges_of(record)
    if not charges:
        raise LedgerDamaged(f"{where} charges no scope")
    for charge in charges:
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

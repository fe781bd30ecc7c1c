"""Releases as JSON and back, from the types of their fields alone.

One object of texts, lists and objects; every number is exact text.  Nothing read is believed: what
was read is made into the class, whose own rules are checked, and must be written as the same
content again.  So no reader need know which fields fit each other.

    str, bytes, int, Fraction   text, hexadecimal, exact text
    a label                     its text and its kind: {"text": "tea", "kind": "text"}
    some labels or values       {"texts": [...], "kinds": "text"}, or a kind for each
    pairs of a name and more    an object
    draws                       [{"count": "2", "each": a guarantee}, ...], equal ones together
    an array                    lists of texts
    a guarantee                 {"type": its class, and its numbers}
    any other dataclass         an object of its fields; None is left out where it is the default
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from safeselect.errors import InputError, from_outside
from safeselect.exact.parameters import exact_text, read_exact
from safeselect.promises.guarantees import Guarantee, guarantee_record
from safeselect.scores.candidates import label_text

Object = dict[str, Any]
"""An object of JSON."""

Schema = Object
"""A JSON Schema, or a part of one."""

MOST_DRAWS = 2**21
"""More draws than any call has but that of many rows, whose winners are listed."""

_MOST_DIGITS = 100_000
_LONGEST_INTEGER = 2**16  # bits of a label that is read as an integer again
_FAR = 2**12  # exponent and length of a label that is read as a decimal again
_WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """A label or value of another class, such as a tuple: its text is what is left of it."""

    text: str

    def __str__(self) -> str:
        return self.text


def write(release: Any) -> str:
    """One line of JSON."""
    kind: Any = type(release)
    content = {"schema": kind.schema, **_form(kind).write(release)}
    return json.dumps(content, sort_keys=True, ensure_ascii=True)


def read(written: object, shapes: Iterable[Any]) -> Any:
    """Read what `write` wrote of one of these classes.

    Raises:
        InputError: the text is not such an object.
    """
    if not isinstance(written, str):
        _refuse(f"it must be a string, got {type(written).__name__}")
    content = None
    with suppress(*_WRONG):
        content = _DECODER.decode(written)
    if not isinstance(content, dict):
        _refuse("it must be one JSON object of strings, lists and objects, with unique keys")
    kinds = {shape.schema: shape for shape in shapes}
    kind = kinds.get(str(content.pop("schema", "")))
    if kind is None:
        _refuse(f"schema must be one of {', '.join(kinds)}")
    form = _form(kind)
    with suppress(*_WRONG):
        # Winners are listed: no text states more draws than its own length.
        _check_draws(content["parts"], max(MOST_DRAWS, len(written)))
        found = form.read(content)
        if form.write(found) == content:
            return found
    _refuse("a field is missing, malformed or inconsistent with others")


def once(pairs: list[tuple[str, Any]]) -> Object:
    """Make an object of JSON, as `object_pairs_hook`: of a key twice, readers see either value.

    Raises:
        InputError: it has a key twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InputError("state each key of a JSON object once")
    return found


def read_count(written: object, name: str) -> int:
    """Read a number of things from a parameter.

    Raises:
        InputError: it is none.
    """
    with suppress(*_WRONG):
        if (number := _integer(written)) >= 0:
            return number
    _refuse(f"{name!r} must be a number, written as a string")


def read_part(content: Any) -> tuple[Any, int]:
    """Read a guarantee of some draws, and how many there are.

    Raises:
        InputError: it is none.
    """
    with suppress(*_WRONG):
        if {*content} == {"count", "each"}:
            return _read_guarantee(content["each"]), read_count(content["count"], "count")
    _refuse("a part is malformed")


def json_schema(shape: Any) -> Schema:
    """The JSON Schema (draft 2020-12) of what `write` writes of this class."""
    draft, said = "https://json-schema.org/draft/2020-12/schema", _form(shape).schema
    named = {**said["properties"], "schema": {"const": shape.schema}}
    more = {"properties": named, "required": ["schema", *said["required"]]}
    guarantee = {"anyOf": [*map(_described, _guarantees().values())]}
    own = {"$schema": draft, "title": shape.schema, "$defs": {"guarantee": guarantee}}
    return {**own, **said, **more}


@dataclass(frozen=True, slots=True)
class _Form:
    """How the values of a type are written, read again and described.

    A reader may let pass what is wrong: what it made is written again and compared.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    schema: Schema


@cache
def _form(hint: Any) -> _Form:
    """The form of a type; that of some or None is the form of some."""
    hint = _plain(hint)
    first = _plain(next(iter(get_args(hint)), None))
    if isinstance(hint, TypeVar):
        return _LABEL
    if _are_guarantees(hint):
        return _GUARANTEE
    if get_origin(hint) is np.ndarray:
        return _ARRAY
    if get_origin(hint) is not tuple:
        return _object(hint) if is_dataclass(hint) else _SIMPLE[hint]
    if isinstance(first, TypeVar):
        return _LABELS
    if _are_guarantees(first):
        return _draws(_GUARANTEE)
    if get_origin(first) is tuple and Ellipsis not in get_args(first):
        return _pairs(_form(get_args(first)[1]))
    return _list(_form(first))


def _plain(hint: Any) -> Any:
    """A type without None."""
    if get_origin(hint) in (Union, UnionType):
        some = [each for each in get_args(hint) if each is not NoneType]
        return some[0] if len(some) == 1 else Union[tuple(some)]  # noqa: UP007
    return hint


def _are_guarantees(hint: Any) -> bool:
    return get_origin(hint) is Union and all(is_dataclass(each) for each in get_args(hint))


def _object(kind: Any) -> _Form:
    """A dataclass."""
    hints = get_type_hints(kind, localns={"AnyGuarantee": Guarantee})
    forms = {each.name: _form(hints[each.name]) for each in fields(kind)}
    needed = {each.name for each in fields(kind) if each.default is MISSING}

    def write(value: Any) -> Object:
        given = ((name, form, getattr(value, name)) for name, form in forms.items())
        # A label may be None: only what may be left out is left out.
        return {n: form.write(it) for n, form, it in given if it is not None or n in needed}

    def read(content: Object) -> Any:
        return kind(**{name: forms[name].read(each) for name, each in content.items()})

    schema = _closed(**{name: form.schema for name, form in forms.items()})
    return _Form(write, read, {**schema, "required": sorted(needed)})


def _guarantees() -> dict[str, Any]:
    """All classes of guarantees; those that no selection has are loaded where one is read."""
    from safeselect import accounting

    others = accounting.GaussianDP, accounting.PoissonRepeated, accounting.Repeated
    return {kind.__name__: kind for kind in (*get_args(Guarantee), *others)}


def _read_guarantee(content: Object) -> Any:
    """One of some guarantees; one of repeated runs is about another."""
    named = {name: each for name, each in content.items() if name != "type"}
    numbers = {
        n: _read_guarantee(e) if isinstance(e, dict) else _exact(e) for n, e in named.items()
    }
    kind = _SELECTED.get(content["type"]) or _guarantees()[content["type"]]
    return kind(**numbers)


def _described(kind: Any) -> Schema:
    number = {"anyOf": [_NUMBER, {"type": "object", "required": ["type"]}]}
    named = {each.name: number if each.name == "base" else _NUMBER for each in fields(kind)}
    return _closed(type={"const": kind.__name__}, **named)


def _draws(form: _Form) -> _Form:
    """The guarantees of many draws: equal ones together."""

    def write(value: Any) -> list[Object]:
        runs = [(each, len([*run])) for each, run in groupby(value)]
        return [{"count": str(count), "each": form.write(each)} for each, count in runs]

    def read(content: Any) -> tuple[Any, ...]:
        return tuple(
            each for run in content for each in (form.read(run["each"]),) * _integer(run["count"])
        )

    return _Form(write, read, _each(_closed(count=_NUMBER, each=form.schema)))


def _check_draws(content: Any, most: int) -> None:
    counts = [_integer(run["count"]) for run in content]
    if min(counts) < 1 or sum(counts) > most:
        raise ValueError


def _list(form: _Form) -> _Form:
    """A tuple of any length."""
    return _Form(
        lambda value: [form.write(each) for each in value],
        lambda content: tuple(form.read(each) for each in content),
        _each(form.schema),
    )


def _pairs(form: _Form) -> _Form:
    """Pairs of a name and a value, sorted."""
    return _Form(
        lambda value: {name: form.write(each) for name, each in value},
        lambda content: tuple(sorted((name, form.read(each)) for name, each in content.items())),
        {"type": "object", "additionalProperties": form.schema},
    )


def _written(label: Any) -> tuple[str, str]:
    """The text of a label or value, and what it was: "other", if the text is what is left."""
    kind = type(label)
    if kind is int and label.bit_length() <= _LONGEST_INTEGER:
        return label_text(label), "integer"
    is_near = kind is Decimal and max(abs(label.adjusted()), len(str(label))) <= _FAR
    if is_near or kind is Fraction or kind is date:
        return label_text(label), kind.__name__.lower()
    try:
        return str.__str__(label_text(label)), "text" if isinstance(label, str) else "other"
    except BaseException as error:  # a caller's class may raise anything
        if from_outside(error):
            raise
    return f"an object of type {kind.__name__}", "other"


def _write_label(label: Any) -> Object:
    text, kind = _written(label)
    return {"text": text, "kind": kind}


def _write_labels(labels: Any) -> Object:
    written = [*map(_written, labels)]
    kinds = [kind for _, kind in written]
    same = kinds[0] if len({*kinds}) == 1 else kinds
    return {"texts": [text for text, _ in written], "kinds": same}


def _read_labels(content: Any) -> tuple[Any, ...]:
    texts, kinds = content["texts"], content["kinds"]
    each = kinds if isinstance(kinds, list) else [kinds] * len(texts)
    return tuple(_KINDS[kind](text) for text, kind in zip(texts, each, strict=True))


def _read_array(content: Any) -> Any:
    rows = [[*map(_integer, row)] if isinstance(row, list) else _integer(row) for row in content]
    return np.array(rows, dtype=np.int64)


def _integer(content: Any) -> int:
    number = _exact(content)
    if number.denominator != 1:
        raise ValueError
    return int(number)


def _exact(content: Any) -> Fraction:
    if len(content) > _MOST_DIGITS:
        raise ValueError
    return read_exact(content)


def _refuse(why: str) -> NoReturn:
    raise InputError(f"this is not a release that safeselect wrote: {why}")


def _each(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _closed(**properties: Schema) -> Schema:
    """The schema of an object with these fields and no other."""
    said = {"properties": properties, "required": [*properties], "additionalProperties": False}
    return {"type": "object", **said}


_KINDS: dict[str, Callable[[str], Any]] = {
    "text": str.__str__,  # of nothing else
    "integer": _integer,
    "fraction": _exact,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "other": OtherLabel,
}
_STRING = {"type": "string"}
_NUMBER = {"type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$"}
_KIND = {"enum": [*_KINDS]}
_LABEL = _Form(
    _write_label,
    lambda content: _KINDS[content["kind"]](content["text"]),
    _closed(text=_STRING, kind=_KIND),
)
_LABELS = _Form(
    _write_labels,
    _read_labels,
    _closed(texts=_each(_STRING), kinds={"anyOf": [_KIND, _each(_KIND)]}),
)
_ARRAY = _Form(
    lambda rows: rows.astype(str).tolist(), _read_array, _each({"anyOf": [_NUMBER, _each(_NUMBER)]})
)
_SELECTED = {kind.__name__: kind for kind in get_args(Guarantee)}
_GUARANTEE = _Form(guarantee_record, _read_guarantee, {"$ref": "#/$defs/guarantee"})
_SIMPLE: dict[Any, _Form] = {
    str: _Form(str, str.__str__, _STRING),
    int: _Form(label_text, _integer, _NUMBER),
    Fraction: _Form(exact_text, _exact, _NUMBER),
    bytes: _Form(bytes.hex, bytes.fromhex, _STRING),
    bool: _Form(
        lambda value: "yes" if value else "no",
        lambda content: {"yes": True, "no": False}[content],
        {"enum": ["yes", "no"]},
    ),
}


def _no_number(_: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(
    object_pairs_hook=once, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number
)

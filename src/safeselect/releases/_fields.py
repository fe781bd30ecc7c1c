"""Reads JSON of which nothing is believed: each field is asked for by its name and its form.

No message quotes what was found: it may be a label, and labels are for the readers of the release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields as kind_fields
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import AnyGuarantee, PoissonRepeated, Repeated
from safeselect.errors import InputError, ParameterError
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Guarantee,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.promises.records import read_exact

Readable = Guarantee | GaussianDP
"""What one draw may cost."""

_GUARANTEES: dict[str, type[Readable]] = {
    kind.__name__: kind
    for kind in (
        *(BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP, ApproximateDP),
        GaussianDP,
    )
}
_REPEATED = {kind.__name__: kind for kind in (Repeated, PoissonRepeated)}
_MOST_DIGITS = 100_000
_COUNT = re.compile("0|[1-9][0-9]{0,18}", re.ASCII)
_Read = TypeVar("_Read")


def refuse(what: str) -> NoReturn:
    """Refuse what was read.

    Raises:
        InputError: always.
    """
    raise InputError(f"this is no release that safeselect wrote: {what}")


def parse_json(written: object) -> dict[str, Any]:
    """Read one object of JSON that holds texts, lists and objects only, each key once.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(written, str):
        refuse(f"it must be text, got {type(written).__name__}")
    try:
        content = _DECODER.decode(written)
    except InputError:
        raise
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        refuse("it is not one object of JSON")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        refuse("a key occurs twice in one object")
    if any(value is None or isinstance(value, bool) for value in found.values()):
        refuse("it holds null, true or false")
    return found


def _no_number(_: str) -> NoReturn:
    refuse("it holds a number outside of quotes; all numbers are written as text")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number
)


class Fields:
    """The fields of one object, each of which is read once, and none of which may be left."""

    __slots__ = ("_content", "_where")

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            refuse(f"{where} is not an object")
        self._content = dict(content)
        self._where = where

    def take(self, name: str, read: Callable[[Any, str], _Read]) -> _Read:
        """Read a field that must be there."""
        if name not in self._content:
            refuse(f"{self._where} has no {name!r}")
        return read(self._content.pop(name), name)

    def maybe(self, name: str, read: Callable[[Any, str], _Read]) -> _Read | None:
        """Read a field that may be left out."""
        return self.take(name, read) if name in self._content else None

    def object(self, name: str) -> Fields:
        """Read a field that is an object."""
        return self.take(name, Fields)

    def names(self) -> list[str]:
        """The names of the fields that were not read yet."""
        return list(self._content)

    def end(self) -> None:
        """Refuse fields that nobody asked for."""
        if self._content:
            refuse(f"{self._where} has a field that does not belong there")


def text(value: object, name: str) -> str:
    """Read a text."""
    if not isinstance(value, str):
        refuse(f"{name!r} must be text")
    return value


def matched(pattern: str) -> Callable[[object, str], str]:
    """Return a reader of texts of this form."""
    form = re.compile(pattern, re.ASCII)

    def read(value: object, name: str) -> str:
        if form.fullmatch(text(value, name)) is None:
            refuse(f"{name!r} has not the form that it has in a release")
        return str(value)

    return read


def count(value: object, name: str) -> int:
    """Read an integer from 0 to 10**19 - 1."""
    if _COUNT.fullmatch(text(value, name)) is None:
        refuse(f"{name!r} must be a number of things, written as text")
    return int(str(value))


def exact(value: object, name: str) -> Fraction:
    """Read an exact number in its one spelling."""
    written = text(value, name)
    try:
        if len(written) > _MOST_DIGITS:
            raise ValueError
        return read_exact(written)
    except ValueError:
        refuse(f"{name!r} must be an exact number in lowest terms, written as text")


def guarantee(value: object, name: str) -> Guarantee:
    """Read a guarantee, of one of the five kinds that a selection has."""
    found = any_guarantee(value, name)
    if isinstance(found, GaussianDP):
        refuse(f"{name!r} has a type that no selection has")
    return found


def any_guarantee(value: object, name: str) -> Readable:
    """Read a guarantee of a selection or of a measurement."""
    fields = Fields(value, name)
    kind = _GUARANTEES.get(fields.take("type", text))
    if kind is None:
        refuse(f"{name!r} has a type that is no guarantee")
    found: Readable = _of_numbers(kind, fields, name, {})
    return found


def every_guarantee(value: object, name: str) -> AnyGuarantee:
    """Read a guarantee of any release; that of repeated runs is about one of another kind."""
    fields = Fields(value, name)
    kind = _REPEATED.get(fields.take("type", text))
    if kind is None:
        return any_guarantee(value, name)
    found: AnyGuarantee = _of_numbers(kind, fields, name, {"base": fields.take("base", guarantee)})
    return found


def _of_numbers(kind: Any, fields: Fields, name: str, base: dict[str, Any]) -> Any:
    numbers = {each: fields.take(each, exact) for each in fields.names()}
    if {*numbers, *base} != {each.name for each in kind_fields(kind)}:
        refuse(f"{name!r} has not the numbers of its type")
    try:
        return kind(**numbers, **base)
    except ParameterError:
        refuse(f"{name!r} has a number that no guarantee can have")

"""The rows of `tests/mission.json`: what the package does, each with its known answer.

A row is one mechanism, or one promise beside them.  It has

    law     the name that a result carries, with the version of its law; null where there is none
    call    lines of Python; the last one's value is the answer
    test    the test of its law, a node id
    broken  how its law is broken, in `tests/support/broken_laws.py`: then its test fails
    answer  by the name of a tape, what is released, below JSON, and how many bytes are asked for

Tapes are SHAKE-256 of the row's name and the tape's, in five ways; inputs come from NumPy's frozen
`RandomState`.  So an answer is the same alone, in any order, and whatever the source's hash is: the
hash, clocks, nonces, salts and receipts are left out.

`known.py` records a row anew.
"""

from __future__ import annotations

import ast
import json
import os
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from hashlib import shake_256
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from public import PUBLIC

import safeselect

PLACE = Path(__file__).parents[1] / "mission.json"
KEYS = ("law", "call", "test", "broken", "answer")
TAPES = ("random 0", "random 1", "random 2", "ties", "tails", "zeros", "ones")
LEFT_OUT = {"receipt", "source", "provenance", "commitment"}
"""Fields of results that tell where and when, and with which code."""

STATED = ("base", "spent")
"""What a result reads from its public parameters."""

Json = Any


class Tape:
    """A source of bytes that follow from two names alone.

    random  as they come
    ties    of the first 64 words of 64 bits most are one of four, so that further digits decide
    tails   one word of 16 bits in twenty is below 32: the ends of the noise
    zeros, ones  the first 16 bytes are so: the ends of (0, 1)
    """

    name = "a tape"
    production = False  # its bytes are taken as they are, and no others asked for

    def __init__(self, row: str, kind: str) -> None:
        self._stream, self._kind = shake_256(f"{row}/{kind}".encode()), kind.partition(" ")[0]
        self._known = b""
        self.asked = self._begun = 0

    def begin(self) -> bytes:
        self._begun += 1
        return self._begun.to_bytes(16, "big")

    def fill(self, buffer: Any, /) -> None:
        start, self.asked = self.asked, self.asked + len(buffer)
        if self.asked > len(self._known):
            size = max(1 << 16, 1 << self.asked.bit_length())
            self._known = changed(self._kind, self._stream.digest(size))
        buffer[:] = self._known[start : self.asked]


def changed(kind: str, data: bytes) -> bytes:
    """The bytes of a tape of this kind; longer ones begin with shorter ones."""
    if kind == "ties":
        words = np.frombuffer(data, "<u8").copy()
        tied = (words % 4 != 3) & (np.arange(words.size) < 64)
        words[tied] = words[:4][(words[tied] >> 8) % 4]
        return words.tobytes()
    if kind == "tails":
        short = np.frombuffer(data, "<u2").copy()
        short[short % 20 == 7] &= 31
        return short.tobytes()
    if kind in ("zeros", "ones"):
        return (b"\0" if kind == "zeros" else b"\xff") * 16 + data[16:]
    return data


def inputs() -> dict[str, Any]:
    """Numbers by name: X24 are 24 of them, R5 has five rows."""
    frozen = np.random.RandomState(7)  # its stream is the same in all versions of NumPy
    found: dict[str, Any] = {f"X{size}": frozen.randint(0, 6, size) for size in (3, 24, 60, 5000)}
    found |= {f"R{rows}": frozen.randint(0, 4, (rows, 4)) for rows in (5, 60)}
    found["W24"] = [1 + place % 5 for place in range(24)]
    found["COUNTS"] = {f"item {n}": int(90 - n + frozen.randint(0, 9)) for n in range(12)}
    return found


class Refused(str):
    """What an error that was expected says."""

    __slots__ = ()


def refused(work: Any) -> Refused:
    """The class and the words of a refusal."""
    try:
        work()
    except safeselect.SafeSelectError as error:
        return Refused(f"{type(error).__name__}: {error}")
    raise ValueError("nothing was refused")


@contextmanager
def environment(**variables: str) -> Any:
    """Environment variables, for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def plain(value: Any) -> Json:
    """A result below JSON: labels, integers, exact rationals as text, by the names of fields."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (np.integer, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if is_dataclass(value) and hasattr(value, "pure"):  # a guarantee
        numbers = (plain(getattr(value, each.name)) for each in fields(value))
        return f"{type(value).__name__}({', '.join(map(str, numbers))})"
    if is_dataclass(value):
        kept = [each.name for each in fields(value) if each.name not in LEFT_OUT]
        kept += [name for name in STATED if getattr(value, name, None) is not None]
        return {"class": type(value).__name__} | {
            name: (counted if name == "parts" else plain)(getattr(value, name))
            for name in kept
            if not name.startswith("_")
        }
    if isinstance(value, Mapping):
        return [[plain(name), plain(each)] for name, each in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    raise TypeError(f"a row must not answer with {type(value).__name__}: name what of it counts")


def counted(parts: Any) -> Json:
    """Guarantees of draws, each with how many follow each other."""
    return [[each, len(list(equal))] for each, equal in groupby(map(plain, parts))]


def answer(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    """What a row's call answers now, by the name of a tape."""
    return {kind: _answer(row["call"], Tape(name, kind)) for kind in TAPES}


def _answer(lines: list[str], tape: Tape) -> Json:
    public = PUBLIC
    names = {
        **public,
        **inputs(),
        "np": np,
        "Fraction": Fraction,
        "source": tape,
        "refused": refused,
        "environment": environment,
    }
    *work, last = ast.parse("\n".join(lines)).body
    if not isinstance(last, ast.Expr):
        raise TypeError("the last line of a row's call must be an expression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(ast.Module(work, []), "a row", "exec"), names)  # noqa: S102 - our own rows
        found = plain(eval(compile(ast.Expression(last.value), "a row", "eval"), names))  # noqa: S307
    return {"released": found, "bytes": tape.asked}


def read(place: Path = PLACE) -> dict[str, dict[str, Json]]:
    """The rows, by name."""
    found: dict[str, dict[str, Json]] = json.loads(place.read_text("utf-8"))
    return found

"""Known answers: fixed bytes and fixed inputs in, and exactly what is released, charged or refused.

A row has

    do      steps: [call, arguments, named arguments].  A call that begins with a dot is of what the
            first step gave; one that begins with "ledger." is of the row's ledger.
    times   how often the steps are made on one tape; once where it is left out.
    vary    argument -> values: the last step again, with each.
    needs   libraries, "temporary files" or "temporary ledgers": left out where one is missing.
    ledger  scope -> budget, of a ledger in memory; and their "neighbours".
    stated  mechanism, guarantee and parts of the releases, each kind once.
    told    by the name of a tape: what is released, below JSON, and how many bytes are asked for.

{"$name": [...]} in a step stands for an input of `_FORMS`; {"$own": [...]} for what a run has: its
ledger, tape and bits, what its steps made, and texts of their errors.  A call is one of `_CALLS`,
or a name of the package with its modules; $call takes a full name, and with builtins.eval an
expression of Python that is written in the row.  Tapes are SHAKE-256 of the row's name and the
tape's; inputs come from NumPy's frozen `RandomState`.  So an answer is the same alone, in any
order, and whatever the source's hash is: hashes, clocks, nonces and salts are left out.  The
command draws from the system's source, with an epsilon at which the noise is 0 but with probability
2**-1000. Of an error the class is compared and, where a row asks, how many texts there are: one is
the same for all private input.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, partial
from hashlib import shake_256
from importlib.resources import files
from importlib.util import find_spec
from inspect import signature
from io import BytesIO, StringIO, TextIOWrapper
from itertools import groupby
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory, gettempdir
from types import SimpleNamespace
from typing import Any

import numpy as np

import safeselect
from safeselect import prepared, samplers, sources
from safeselect.audit.certified import USED
from safeselect.audit.release import audit
from safeselect.errors import SafeSelectError
from safeselect.exact.interval import Interval
from safeselect.ledger.record import START, canonical, commitment, record_hash
from safeselect.ledger.store import Row as Line
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.release.progress import counted
from safeselect.release.results import Release

__all__ = ["SETS", "Row", "Tape", "Told", "differences", "not_asked", "read", "tell", "verify"]

SETS = (*USED, "large")
"""Files of rows: below JSON, as JSON, and large ones, which only tests run."""

_HASH = re.compile("[0-9a-f]{32,}")
_LONG = 4999
"""More numbers than these are recorded by every 999th, their count and their sum."""

Json = Any
Row = Mapping[str, Json]


class Tape:
    """A source of bytes that follow from two names alone.

    random  as they come
    ties    of four words of 64 bits three are one of four, so that further digits decide
    tails   one word of 16 bits in twenty is below 32: the ends of the noise
    zeros, ones  the first 256 bytes are so: the ends of (0, 1)
    ends N  as they come, up to N of them
    near S  of 192 words 64 differ by 2**S from 64 others, and 64 are large: near ties of rows
    """

    name = "a tape"
    production = False  # its bytes are taken as they are, and no others asked for

    def __init__(self, row: str, kind: str) -> None:
        self._stream, self._kind = shake_256(f"{row}/{kind}".encode()), kind.split()
        self._known = b""
        self.asked = self._begun = 0
        self.watch: Callable[[], int] | None = None
        self.first: int | None = None

    def begin(self) -> bytes:
        """A nonce that counts the calls."""
        self._begun += 1
        return self._begun.to_bytes(16, "big")

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """The next bytes of the tape."""
        if self.watch is not None and self.first is None:
            self.first = self.watch()
        start, self.asked = self.asked, self.asked + len(buffer)
        if self._kind[0] == "ends" and self.asked > int(self._kind[1]):
            raise OSError
        if self.asked > len(self._known):
            size = max(1 << 12, 1 << self.asked.bit_length())
            self._known = _changed(self._kind, self._stream.digest(size))
        buffer[:] = self._known[start : self.asked]


def _changed(kind: list[str], data: bytes) -> bytes:
    """The bytes of a tape of this kind; longer ones begin with shorter ones."""
    words = np.frombuffer(data, "<u8").copy()
    if kind[0] == "ties":
        tied = words % 4 != 3
        words[tied] = words[:4][(words[tied] >> 8) % 4]
    elif kind[0] == "tails":
        short = words.view("<u2")
        short[short % 20 == 7] &= 31
    elif kind[0] in ("zeros", "ones"):
        words[:32] = 0 if kind[0] == "zeros" else 2**64 - 1
    elif kind[0] == "near":
        words[:64] >>= 1
        words[64:128] = words[:64] + (1 << int(kind[1]))
        words[128:192] = 2**63 - 1
    return words.tobytes()


def _drawn(shape: Json, least: int, most: int, places: Json = (0, 0), value: int = 0) -> Any:
    """Integers from least to most - 1; a value from one place to another."""
    found: Any = np.random.RandomState(7).randint(least, most, shape)
    found[slice(*places)] = value
    return found


def _floats(size: int) -> np.typing.NDArray[np.float64]:
    """Numbers of either sign, from 2**-8 to 2**16, with all their digits random."""
    words = np.frombuffer(shake_256(b"floats").digest(8 * size), "<u8").copy()
    exponents = (1015 + (words >> 52) % 24) << 52
    return (words & 0x800F_FFFF_FFFF_FFFF | exponents).view("<f8").astype(float)


def _runs(
    inner: Json = None, times: int = 1, goes_on: bool = False, scores: Json = None
) -> Callable[[Any], Any]:
    """A private run whose scores are known; `inner` is charged within it, and may be refused."""
    made: list[int] = []

    def run(scope: Any) -> tuple[Any, int]:
        made.append(1)
        for _ in range(times if inner else 0):
            with suppress(*[SafeSelectError] * goes_on):
                _public(inner[0])([1, 2], **inner[1], source=Tape("inner", "random"), ledger=scope)
        own = scores or [(place + 1) * 37 % 11 for place in range(len(made))]
        return own[(len(made) - 1) % len(own)], len(made)

    return run


def _guarded(way: str, last: int, size: int, *, source: Tape) -> Json:
    """What a function as a source was asked for, and whether its bytes were taken."""
    asked: list[int] = []

    def function(count: int) -> bytes:
        asked.append(count)
        data = bytearray(count)
        if len(asked) <= last or way == "fresh":
            source.fill(data)
        elif way == "repeated":
            data[:] = shake_256(b"stuck").digest(count)
        elif way == "short":
            data = data[1:]
        elif way == "half":
            source.fill(data)
            data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        elif way == "end":
            data[-16:] = shake_256(b"canary").digest(16)
        elif way == "raises":
            raise OSError
        return bytes(data)

    guarded = sources.CallbackSource(function, exclusive=True)
    told = []
    for buffer in (bytearray(size), bytearray(size)):
        try:
            guarded.fill(buffer)
            told.append(shake_256(buffer).hexdigest(8))
        except SafeSelectError as error:
            told.append(type(error).__name__)
    return told, asked


def _witness(head: str | None) -> Any:
    """A witness, and the heads that it was sent."""
    kept = [head]
    return SimpleNamespace(kept=kept, last=lambda: kept[-1], keep=lambda new, *_: kept.append(new))


def _forged(ledger: Any, changes: Json, order: Json = None, signature: str = "") -> MemoryStore:
    """A log that somebody changed: its places and hashes follow from each other again.

    Args:
        changes: place, pattern, and the text in its stead.
        order: the records that there are, by their places before.
    """
    records, store, rows, last = [*ledger.records()], MemoryStore(), list[Line](), START
    for seq, place in enumerate(range(len(records)) if order is None else order):
        body = canonical({**records[place].content, "seq": str(seq), "previous": last})
        for at, pattern, text in changes:
            body = re.sub(pattern, text, body) if at == seq else body
        last = record_hash(body)
        rows.append(Line(seq, body, last, signature))
    store.write(lambda journal: [*map(journal.append, rows)])
    return store


def _audited(ledger: Any, release: Any, stated: Json, logged: Json, *given: Json) -> Json:
    """What an audit finds of a release and a log, both forged; the log commits to it again."""
    text, place = release.to_json(), release.receipt.record
    for pattern, other in stated:
        text = re.sub(pattern, other, text)
    bare = replace(safeselect.from_json(text), receipt=None).to_json()
    again = f'"commitment":"{commitment(release.receipt.salt, bare)}"'
    log = _forged(ledger, [*logged, [place, '"commitment":"[0-9a-f]*"', again]])
    return [[line.what, line.word] for line in audit(text, log, *given)]


_FOLDERS: list[TemporaryDirectory[str]] = []
"""Of files that rows make, until the process ends."""


def _file(name: str, *contents: Any) -> Path:
    """Return a place for a file; a text, or a release as JSON, is written into it."""
    _FOLDERS.append(TemporaryDirectory())
    place = Path(_FOLDERS[-1].name, name)
    for each in contents:
        text = each if isinstance(each, str) else each.to_json()
        place.write_text(text, "utf-8", newline="")
    return place


def _command(*words: object) -> Json:
    """Return the exit code of the command, and the words with digits on its standard output."""
    code, out = None, TextIOWrapper(BytesIO(), "utf-8")
    with redirect_stderr(StringIO()), redirect_stdout(out), suppress(SystemExit):
        code = _public("cli.main")([*map(str, words)])
    out.seek(0)
    return code, re.findall(r"\S*\d\S*", out.read())


_CALLS: dict[str, Callable[..., Any]] = {
    "made.file": _file,
    "made.command": _command,
    "made.witness": _witness,
    "made.size": len,
    "made.listed": list,
    "made.entries": lambda ledger: [_entry(record.content) for record in ledger.records()],
    "guarded": _guarded,
    "held.call": lambda held, name, *args, **words: (
        None if held is None else getattr(held, name)(*args, **words)
    ),
    "log.audited": _audited,
}
"""What rows call, where `safeselect` has no function of that name."""


@cache
def _public(call: str) -> Callable[..., Any]:
    return _CALLS.get(call) or resolve_name(f"safeselect.{call}")


_FORMS: dict[str, Callable[..., Any]] = {
    "array": np.array,
    "drawn": _drawn,
    "floats": _floats,
    "steps": lambda size, step: np.arange(size) * step,
    "cycle": lambda values, size: (values * size)[:size],
    "pointed": lambda size, place, value: [value if n % 29 == place else 1 for n in range(size)],
    "big": lambda exponent, more: 2**exponent + more,
    "counts": lambda size, most, step: {f"item {n}": most - n * step % 40 for n in range(size)},
    "fraction": Fraction,
    "logarithm": lambda number: lambda precision: Interval.of(number, precision).log(),
    "run": _runs,
    "float": float,
    "bytearray": bytearray,
    "constant": lambda value: lambda *_: value,
    "bound": lambda held, name, *args: partial(getattr(held, name), *args),
    "forged": _forged,
    "pair": lambda *numbers: numbers,
    "kind": lambda name: getattr(safeselect, name),
    "hex": bytes.fromhex,
    "pairs": lambda *pairs: dict(pairs),
    "call": lambda name, *given: resolve_name(name)(*given),
    "law": lambda: lambda steps, k, rate, _: [rate.rate.denominator % len(steps), *range(k)][:k],
}
"""Inputs by name; a guarantee, or `Counts`, is one by its own."""

_FIELDS: tuple[str, ...] = ("index", "indices", "label", "labels", "gap", "gaps", "winners")
_FIELDS += ("counts", "values", "value", "output", "score", "found", "base", "above", "branch")
_FIELDS += ("cost", "consumed", "costs", "branches", "offset", "k_bar", "budget", "remaining")
_FIELDS += ("spent", "rate", "order", "sigma_squared", "noise_rate", "threshold_rate")
_FIELDS += ("value_rate", "groups", "lower", "outcomes", "queries", "refusals")
_STATED = ("offset", "sigma_squared")
"""What is read of results; the last two of their public parameters."""


def _field(value: object, name: str) -> Any:
    if isinstance(value, Release) and name in _STATED:
        return value.provenance.number(name)
    with suppress(IndexError):  # the value of a run where there was none
        return getattr(value, name, None)
    return None


@dataclass(slots=True)
class Told:
    """What a row's steps told on one tape.

    Args:
        values: below JSON.
        asked: how many bytes; in a ledger also how many charges were in it at the first request.
        stated: mechanism, guarantee and parts, each kind once.
        releases: the results themselves that can be written.
    """

    values: Json = None
    asked: Json = 0
    stated: list[Json] = field(default_factory=list)
    releases: list[Any] = field(default_factory=list)

    def plain(self, value: Any) -> Json:
        """A result below JSON: labels, integers, exact rationals as text, by fields."""
        if isinstance(value, Fraction):
            return str(value)
        if isinstance(value, (np.generic, np.ndarray)):
            return self.plain(value.tolist())
        if isinstance(value, str):
            return _HASH.sub("", value)
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return f"{value:.9g}"
        if isinstance(value, Mapping):
            return [[self.plain(name), self.plain(each)] for name, each in value.items()]
        if isinstance(value, (set, frozenset)):
            return sorted(map(self.plain, value), key=repr)
        if isinstance(value, (list, tuple)):
            if len(value) > _LONG:
                numbers = sum(each for each in value if type(each) is int)
                return {"every 999th": list(value[::999]), "count": len(value), "sum": numbers}
            return [self.plain(each) for each in value]
        if hasattr(value, "pure") or hasattr(value, "theorem"):
            return _named(value, self.plain)
        if hasattr(value, "to_json"):
            self.releases.append(value)
        if hasattr(value, "mechanism") and hasattr(value, "guarantee"):
            parts = groupby(map(self.plain, getattr(value, "parts", ())))
            counted = [[each, len(list(equal))] for each, equal in parts]
            said = [value.mechanism, self.plain(value.guarantee), counted]
            if said not in self.stated:
                self.stated.append(said)
        found = {name: _field(value, name) for name in _FIELDS}
        told = {name: self.plain(each) for name, each in found.items() if each is not None}
        if told:
            same = [("label", "index"), ("labels", "indices"), ("labels", "winners")]
            twice = {one for one, other in same if told.get(one) == told.get(other)}
            return {name: each for name, each in told.items() if name not in twice}
        # Not of a session, whose answers are asked for, nor of what changes.
        fixed = is_dataclass(value) and type(value).__hash__ is not None
        whole = fixed and not hasattr(value, "guarantee")
        return _named(value, self.plain) if whole else None


def _named(value: Any, plain: Callable[[Any], Json]) -> str:
    """A guarantee, or another value that is its fields."""
    numbers = (plain(getattr(value, each.name)) for each in fields(value))
    return f"{type(value).__name__}({', '.join(map(str, numbers))})"


def _steps(row: Row) -> list[Json]:
    """The steps of a row, and the last one again with each other value of an argument."""
    *_, last = row["do"]
    changes = ((name, value) for name, values in row.get("vary", {}).items() for value in values)
    return [*row["do"], *([*last[:2], {**last[2], name: value}] for name, value in changes)]


class _Run:
    """The steps of a row on one tape."""

    def __init__(self, name: str, row: Row, kind: str) -> None:
        self.told, self.tape, self._row, self._draws = Told(), Tape(name, kind), row, kind != "none"
        self.ledger: Any = None
        self._first: Any = None
        self.made, self.said, self.bits = list[Any](), set[str](), samplers.Bits(self.tape)

    def all(self) -> Told:
        """Make them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "ledger" in self._row:
                self._open(self._row["ledger"])
            made = []
            for _ in range(self._row.get("times", 1)):
                made += [self._step(*step) for step in _steps(self._row)]
        self.told.values = made
        self.told.asked = self.tape.asked
        if self.ledger is not None:
            self.told.asked = [self.tape.asked, self.tape.first]
            made.append(_CALLS["made.entries"](self.ledger))
        return self.told

    def _open(self, given: Mapping[str, Json]) -> None:
        budgets = {name: safeselect.Budget("p", by, **of) for name, (of, by) in given.items()}
        ledger = self.ledger = safeselect.Ledger.create(":memory:", budgets)
        self.tape.watch = lambda: sum("charges" in each.content for each in ledger.records())

    def _step(self, call: str, args: list[Json] = [], words: Row = {}) -> Json:  # noqa: B006
        where, _, last = call.rpartition(".")
        holder = self._first if call[0] == "." else self.ledger if where == "ledger" else None
        if call[0] == "." and holder is None:
            return "was refused before"
        function = _public(call) if holder is None else getattr(holder, last)
        if not callable(function):
            return self.told.plain(function)
        given = {name: self._value(each) for name, each in words.items()}
        if self._draws and holder is None and where in ("", "prepared", "tables"):
            given["source"] = self.tape
        try:
            found = function(*map(self._value, args), **given)
        except (SafeSelectError, AssertionError) as error:
            self.made.append(None)
            self.said.add(f"{error} {error.__context__}")
            return type(error).__name__
        self.made.append(found)
        if holder is None and call != "held.call":
            self._first = found
        return self.told.plain(found)

    def _value(self, given: Json) -> Any:
        """An argument, with the inputs that it names."""
        if isinstance(given, list):
            return [self._value(each) for each in given]
        if not isinstance(given, dict):
            return given
        if len(given) != 1 or next(iter(given))[0] != "$":
            return {name: self._value(each) for name, each in given.items()}
        ((name, args),) = given.items()
        if name == "$scope":
            return self._scope(*args)
        if name == "$own":
            held: Any = self
            for each in args:
                held = held[each] if isinstance(each, int) else getattr(held, each)
            return held
        form = _FORMS.get(name[1:]) or _public(name[1:])
        if isinstance(args, dict):
            return form(**{word: self._value(each) for word, each in args.items()})
        return form(*map(self._value, args))

    def _scope(self, names: list[str], request: str | None = None, question: str = "") -> Any:
        """The ledger's scopes of these names together, for a request if one is named."""
        scopes = [
            self.ledger.scope(each, unit="p", neighbours=self._row["ledger"][each][1], purpose="x")
            for each in names
        ]
        both = scopes[0] if len(scopes) == 1 else scopes[0] & scopes[1]
        return both if request is None else both.asked(request, question=question)


def _entry(content: Json) -> Json:
    """What a record says: its kind, what was promised, the prices, and how it ended."""
    charges = content["charges"] if content["kind"] == "charged" else ()
    prices = {each["scope"]: each["charge"] for each in charges}
    kept = ("mechanism", "guarantee", "parts", "reason", "spent")
    return [content["kind"], prices, {each: content[each] for each in kept if content.get(each)}]


def tell(name: str, row: Row, kind: str) -> Told:
    """What a row's steps tell on this tape."""
    return _Run(name, row, kind).all()


def read(which: str) -> dict[str, dict[str, Json]]:
    """The rows of a set, by name."""
    text = files(__name__).joinpath(f"{which}.json").read_text("utf-8")
    found: dict[str, dict[str, Json]] = json.loads(text)
    return found


def _missing(row: Row) -> list[str]:
    """What the row needs and is not here."""
    return [each for each in row.get("needs", ()) if not _is_here(each)]


def _here(which: str) -> dict[str, dict[str, Json]]:
    """The rows of a set that can run here."""
    return {name: row for name, row in read(which).items() if not _missing(row)}


def _is_here(need: str) -> bool:
    with suppress(OSError, SafeSelectError):  # no folder is writable, or its disk fits no ledger
        if need == "temporary ledgers":
            return bool(_public("ledger.stores.file.check_file_system")(Path(gettempdir()), warn=0))
        return bool(gettempdir() if need == "temporary files" else find_spec(need))
    return False


def answer(name: str, row: Row, kind: str, stated: list[Json]) -> Json:
    """What is recorded of a tape; kinds of releases that are not in `stated` are added to it."""
    told = tell(name, row, kind)
    stated += [each for each in told.stated if each not in stated]
    if "written" in row:
        return [_written(each) for each in told.releases]
    return [json.loads(json.dumps(told.values)), told.asked]


def _written(release: Any) -> Json:
    """A release as JSON, without when and with which code; and whether it is read as written."""
    text = release.to_json()
    left_out = ("library", "receipt", "utc", "version", "source_tree_sha256")
    content = {key: each for key, each in json.loads(text).items() if key not in left_out}
    if "provenance" in content:
        kept = ("unit", "neighbours", "parameters")
        content["provenance"] = {each: content["provenance"][each] for each in kept}
    return [content, safeselect.from_json(text).to_json() == text]


def differences(which: str) -> Iterator[tuple[str, bool]]:
    """Each row of a set, and whether it answers as recorded; an error is another answer.

    Rows that need what is not here are left out.
    """
    for name, row in _here(which).items():
        stated: list[Json] = []
        try:
            told = {kind: answer(name, row, kind, stated) for kind in row["told"]}
            yield name, told == row["told"] and stated == row["stated"]
        except Exception:  # noqa: BLE001 - on a broken copy anything may fail
            yield name, False


def _calls(given: Json) -> Iterator[tuple[str, Json]]:
    """Yield what makes an input, and the inputs of that: its name, and its arguments."""
    for name, each in given.items() if isinstance(given, dict) else enumerate(given):
        if isinstance(name, str) and name[0] == "$":
            yield name[1:], each
        if isinstance(each, (dict, list)):
            yield from _calls(each)


def not_asked() -> list[str]:
    """Return the parameters of public functions whose effect the rows do not show.

    The rows show it if they give two values that are not the default.  One is enough for a ledger,
    and where the default is a word, or true or false.  A call that was refused does not count.  The
    parameters of a class are those with which an object is made.  Before them stands what rows need
    and is not here; these rows show nothing.
    """
    parameters = {
        name: signature(getattr(_public(name), "create", _public(name))).parameters
        for name in (*safeselect.__all__, *map("prepared.{}".format, prepared.__all__))
        if not hasattr(safeselect.errors, name)
    }
    given = defaultdict[str, set[str]](set)
    missing = {each for row in read("small").values() for each in _missing(row)}
    for row in _here("small").values():
        ends = next(iter(row["told"].values()))[0]
        steps = [
            one for one, end in zip(_steps(row), ends, strict=False) if "Error" not in str(end)
        ]
        scopes = [
            {"$Budget": {"neighbours": by, **of}} for of, by in row.get("ledger", {}).values()
        ]
        calls = [{f"${call}": each} for call, *rest in steps for each in rest]
        for call, args in _calls([*calls, {"$Ledger": {"budgets": scopes}}]):
            in_order = zip(parameters.get(call, ()), args, strict=False)
            for word, value in args.items() if isinstance(args, dict) else in_order:
                given[f"{call}: {word}"].add(json.dumps(value))

    return [f"all that needs {each}" for each in sorted(missing)] + [
        said
        for name, words in parameters.items()
        for word, each in words.items()
        if word != "source"
        and len(given[said := f"{name}: {word}"] - {json.dumps(each.default, default=repr)})
        < 2 - (word == "ledger" or isinstance(each.default, (bool, str)))
    ]


def verify() -> dict[str, bool]:
    """The rows of a user's machine, each with whether it answers as recorded."""
    found: dict[str, bool] = {}
    with counted("known answers", sum(len(_here(which)) for which in USED)) as more:
        for which in USED:
            for name, same in differences(which):
                found[f"{which}: {name}"] = same
                more(1)
    return found

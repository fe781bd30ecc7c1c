"""Recall: the releases of ledgers that a defect of the library hit, and what they still promise.

An advisory states a defect as conditions on what a record of a charge says.  Each condition is
true, false, or not known because the record does not say; so a release is affected, may be, or is
not.  Nothing is guessed, and no ledger is changed: a correction is a record that its owner appends.

`docs/advisories.md` is the manual of the format.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from safeselect.accounting.repetition import PoissonRepeated, Repeated
from safeselect.audit.theorems import is_one_shot
from safeselect.errors import InputError, ParameterError, SafeSelectError
from safeselect.exact.parameters import rational, read_exact
from safeselect.ledger import Balance, Checker, Record
from safeselect.ledger.budget import Amounts, ways
from safeselect.ledger.record import Fields, library, read_numbers
from safeselect.promises import guarantees
from safeselect.release.codec import read_part
from safeselect.release.display import cost
from safeselect.release.page import shown

SCHEMA = "safeselect.advisory/1"
_TEXTS = ("id", "published", "modified", "summary", "details", "restated_in_words")
_SECTIONS = ("guarantee", "source", "library", "parameters")
_FIELDS = ("mechanism", "unit", "neighbours")
_UNSAID = ("", "unknown", "unreadable", "not stated")
_LISTS, _VERSIONS = ("is", "is_not"), ("introduced", "fixed")
_NUMBERS = ("at_least", "above", "at_most", "below")
_FACTORS = {"epsilon_times": "epsilon", "rho_times": "rho", "mu_squared_times": "mu_squared"}
_TYPES = ("PureDP", "LaplaceDominated", "BoundedRange", "ApproximateDP")
_VERSION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)(\S*)")

_View = tuple[tuple[Any, int], ...]

Verdict = bool | None
"""None: the record does not say."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """A defect.

    Attributes:
        sha256: of the text that was read.
        content: its texts.
        affects: each a set of conditions, by the field of a record; one set that holds is enough.
        restated: how a guarantee is restated, by name; None: it is none any more.
    """

    sha256: str
    content: Mapping[str, str]
    affects: tuple[Mapping[tuple[str, ...], Mapping[str, Any]], ...]
    restated: Mapping[str, Any] | None

    def touches(self, said: Mapping[str, Any]) -> Verdict:
        """Whether the defect hit a charge, whose record says this."""
        found: Verdict = False
        for conditions in self.affects:
            case: Verdict = True
            for path, test in conditions.items():
                one = _holds(test, _said(said, path))
                if one is False:
                    case = False
                    break
                case = case and one
            if case:
                return True
            found = None if case is None else found
        return found

    def restate(self, guarantee: Any) -> Any:
        """Return what still holds where a release was affected; None if nothing that is known."""
        return _changed(self.restated, guarantee)


def read_advisory(text: str) -> Advisory:
    """Read an advisory.

    Raises:
        InputError: it is none; a condition that is not understood is never left out.
    """
    try:
        content = json.loads(text)
        if content.pop("schema") != SCHEMA:
            raise InputError(f"an advisory has the schema {SCHEMA}")
        texts = {name: content.pop(name) for name in _TEXTS}
        affects, how = content.pop("affects"), content.pop("restated")
        if content.keys() - {"references"} or not all(type(each) is str for each in texts.values()):
            raise InputError("an advisory has a field that is not known, or a text that is none")
        if not affects:
            raise InputError("an advisory that affects nothing")
        read = tuple(
            {tuple(name.split(".")): _read_test(name, test) for name, test in each.items()}
            for each in affects
        )
        restated = None if how == "none" else _read_restated(how)
    except SafeSelectError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise InputError("it is no advisory: see docs/advisories.md") from None
    return Advisory(hashlib.sha256(text.encode()).hexdigest(), texts, read, restated)


def _read_test(name: str, test: Mapping[str, Any]) -> dict[str, Any]:
    section, _, rest = name.partition(".")
    if name not in _FIELDS and not (section in _SECTIONS and rest):
        raise InputError(f"a condition is on {name!r}, which no record has")
    found: dict[str, Any] = {}
    for word, value in test.items():
        if word in _LISTS and type(value) is list and all(type(each) is str for each in value):
            found[word] = frozenset(value)
        elif word in _NUMBERS:
            found[word] = rational(value, word, zero=True, signed=True)
        elif word in _VERSIONS and _VERSION.fullmatch(value):
            found[word] = _parts(value)
        elif word == "absent" and value in (False, True) and section == "parameters":
            found[word] = value
        else:
            raise InputError(f"a condition on {name!r} is not understood: {word!r}")
    if not found.keys() - {"absent"}:
        raise InputError(f"a condition on {name!r} says nothing")
    return found


def _read_restated(how: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in how.items():
        if name in _FACTORS:
            found[name] = rational(value, name)
        elif name == "delta_plus":
            found[name] = rational(value, name, below=1)
        elif name == "type" and value in _TYPES:
            found[name] = value
        else:
            raise InputError(f"how a guarantee is restated is not understood: {name!r}")
    if not found:
        raise InputError("an advisory that restates nothing")
    return found


def _said(said: Any, path: tuple[str, ...]) -> str | None:
    for name in path:
        said = said.get(name) if isinstance(said, Mapping) else None
    return said if isinstance(said, str) and said not in _UNSAID else None


def _holds(test: Mapping[str, Any], value: str | None) -> Verdict:
    """Whether all that is said of one field holds."""
    if value is None:
        return test.get("absent")
    found: Verdict = True
    for word, wanted in test.items():
        one = _ONE[word](value, wanted)
        if one is False:
            return False
        found = found and one
    return found


def _number(value: str) -> Fraction | None:
    try:
        return read_exact(value)
    except ValueError:
        return None


def _parts(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at its end."""
    matched = _VERSION.search(version)
    numbers = [int(each) for each in matched[1].split(".")] if matched else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _from(value: str, wanted: tuple[int, ...]) -> Verdict:
    """Whether a version is this one or a later one; not known of a variant of this one."""
    matched = _VERSION.search(value)
    if matched is None:
        return None
    own = _parts(value)
    return None if own == wanted and matched[2] else own >= wanted


def _compared(compare: Any) -> Any:
    def holds(value: str, wanted: Fraction) -> Verdict:
        number = _number(value)
        return None if number is None else bool(compare(number, wanted))

    return holds


def _before(value: str, wanted: tuple[int, ...]) -> Verdict:
    later = _from(value, wanted)
    return None if later is None else not later


_ONE: dict[str, Any] = {
    "is": lambda value, wanted: value in wanted,
    "is_not": lambda value, wanted: value not in wanted,
    "introduced": _from,
    "fixed": _before,
    "at_least": _compared(Fraction.__ge__),
    "above": _compared(Fraction.__gt__),
    "at_most": _compared(Fraction.__le__),
    "below": _compared(Fraction.__lt__),
    "absent": lambda *_: True,
}
"""What each word of a condition asks of a value that a record states."""


def _changed(how: Mapping[str, Any] | None, guarantee: Any) -> Any:
    if how is None:
        return None
    if isinstance(guarantee, (Repeated, PoissonRepeated)):
        base = _changed(how, guarantee.base)
        try:
            return None if base is None else replace(guarantee, base=base)
        except ParameterError:
            return None
    numbers = {n: getattr(guarantee, n) for n in _FACTORS.values() if hasattr(guarantee, n)}
    changed = {
        own: how[name] * numbers[own]
        for name, own in _FACTORS.items()
        if name in how and own in numbers
    }
    if not changed and not (set(how) & {"type", "delta_plus"} and "epsilon" in numbers):
        return None  # nothing is said of such a guarantee
    own_delta = getattr(guarantee, "delta", None)
    delta = how.get("delta_plus", Fraction(0)) + (
        own_delta if isinstance(own_delta, Fraction) else 0
    )
    try:
        if "epsilon" not in numbers:
            return None if delta else type(guarantee)(**changed)
        epsilon = changed.get("epsilon", numbers["epsilon"])
        if delta or how.get("type") == "ApproximateDP":
            return guarantees.ApproximateDP(epsilon, delta)
        return getattr(guarantees, how.get("type", type(guarantee).__name__))(epsilon)
    except ParameterError:
        return None


@dataclass(slots=True)
class Hit:
    """A charge that is affected, or may be.

    Attributes:
        is_sure: whether the record says so; otherwise it may be.
        utc, mechanism, charges: as the record states them.
        guarantee: what was promised; None if that cannot be read.
        restated: what still holds; None: nothing that is known.
        parts: the same of its draws.
        outcome: how it ended, in a word.
    """

    is_sure: bool
    utc: str
    mechanism: str
    charges: Sequence[Mapping[str, Any]]
    guarantee: Any
    restated: Any
    parts: _View
    outcome: str = "no outcome"


@dataclass(slots=True)
class Recall:
    """What an advisory means for a ledger.

    Attributes:
        advisory: the defect.
        checker: has read all records.
        hits: the charges that are affected or may be, by their place.
        others: the number of other charges.
        over: the scopes that are over their budget, by name; whether that is sure.
    """

    advisory: Advisory
    checker: Checker
    hits: dict[str, Hit] = field(default_factory=dict)
    others: int = 0
    over: dict[str, bool] = field(default_factory=dict)


def recall(advisory: Advisory, records: Iterable[Record], checker: Checker) -> Recall:
    """Find what was affected, what it still promises, and the scopes that are over their budget.

    A call that was aborted released nothing, unless it was a session or another library's.

    Args:
        records: of a ledger, each checked by `checker` when it is taken.

    Raises:
        LedgerError: a record is not what a ledger writes.
    """
    found, known = Recall(advisory, checker), dict[str, tuple[Any, Any, _View]]()
    for record in records:
        content = record.content
        if content["kind"] == "charged":
            budget = next(iter(record.budgets.values()))
            more = {"unit": budget.unit, "neighbours": budget.neighbours}
            touched = advisory.touches({**content, **more, "library": record.library})
            if touched is False:
                found.others += 1
            else:
                key = repr((content["guarantee"], content["parts"]))
                if key not in known:
                    known[key] = _restated(advisory, content)
                about = content["utc"], content["mechanism"], content["charges"]
                found.hits[content["seq"]] = Hit(touched is True, *about, *known[key])
        elif hit := found.hits.get(content.get("charge", "")):
            hit.outcome = content["kind"]
            if hit.outcome == "aborted" and is_one_shot(hit.mechanism):
                del found.hits[content["charge"]]
                found.others += 1
    _restate(found)
    return found


def _restate(found: Recall) -> None:
    """Compare the budgets with what the releases really cost, each kind of them once."""
    kinds: dict[tuple[Any, ...], list[Any]] = {}
    for hit in found.hits.values():
        for charge in hit.charges:
            key = not hit.is_sure, charge["scope"], hit.restated, hit.parts, repr(charge["charge"])
            kinds.setdefault(key, [charge, 0])[1] += 1
    total: dict[str, Amounts | None] = {}
    for key, (charge, times) in sorted(kinds.items(), key=lambda kind: kind[0][0]):
        may_be, scope, restated, parts, _ = key  # those that may be affected come on top
        balance = found.checker.scopes[scope]
        sums = total.setdefault(scope, balance.spent)
        if sums is not None:
            total[scope] = sums = _with(balance, sums, restated, parts, charge["charge"], times)
        if sums is None or not ways(balance.budget.caps, sums):
            found.over.setdefault(scope, not may_be)


def _with(
    balance: Balance, sums: Amounts, restated: Any, parts: _View, charge: Fields, times: int
) -> Amounts | None:
    """The sums, with what so many charges of one kind really cost; None if that is not bounded."""
    if restated is None:
        return None
    paid = read_numbers(charge, "a charge")
    try:
        price = balance.budget.price(restated, parts)
    except ParameterError:
        return None
    return {name: sums[name] + times * max(Fraction(0), price[name] - paid[name]) for name in sums}


def _restated(advisory: Advisory, content: Mapping[str, Any]) -> tuple[Any, Any, _View]:
    """What was promised, what still holds, and what still holds of the draws."""
    try:
        guarantee, _ = read_part({"count": "1", "each": content["guarantee"]})
        parts = [read_part(part) for part in content["parts"]]
    except InputError:
        return None, None, ()
    draws = tuple((advisory.restate(each), count) for each, count in parts)
    # A delta that is added belongs to the whole.
    if "delta_plus" in (advisory.restated or {}) or any(each is None for each, _ in draws):
        draws = ()
    return guarantee, advisory.restate(guarantee), draws


def letter(found: Recall) -> str:
    """Return a letter to those who were given the releases: facts of the ledger, and no data."""
    advisory, ledger = found.advisory, found.checker.ledger
    sure = sum(hit.is_sure for hit in found.hits.values())
    over = [f"{name}{'' if is_sure else ' (may be)'}" for name, is_sure in found.over.items()]
    return _LETTER.format(
        **{name: shown(text) for name, text in advisory.content.items()},
        ledger=ledger,
        head=found.checker.head,
        sure=sure,
        may=len(found.hits) - sure,
        over=shown(", ".join(over) or "none"),
        rows="".join(f"  {' | '.join(row)}\n" for row in rows(found)),
    )


def rows(found: Recall) -> Iterator[tuple[str, ...]]:
    """Yield a line for each release: place, day, mechanism, outcome, promised, what still holds."""
    for seq, hit in found.hits.items():
        verdict = "affected" if hit.is_sure else "may be"
        promised = "not readable" if hit.guarantee is None else _named(hit.guarantee)
        named = (hit.utc, _shown(hit.mechanism), hit.outcome)
        yield seq, *named, verdict, promised, _named(hit.restated)


_shown = lru_cache(maxsize=1024)(shown)


@lru_cache(maxsize=1024)
def _named(guarantee: Any) -> str:
    if guarantee is None:
        return "no guarantee"
    return f"{type(guarantee).__name__}: {cost(guarantee)}"


def installed(advisory: Advisory) -> Verdict:
    """Whether a release of this installation is affected; None: some may be."""
    return advisory.touches({"library": library()})


_LETTER = """\
Releases made with differential privacy: a guarantee is restated

Advisory {id}, published {published}, modified {modified}
{summary}

What was wrong: {details}
How the guarantee is restated: {restated_in_words}

Ledger {ledger}, up to its head {head}:
{sure} releases are affected, and {may} may be, because their records do not say.
Scopes that are over their budget: {over}

  record | time | mechanism | outcome | affected | promised | what still holds
{rows}
Data that have been released cannot be called back.  What still holds is stated above, for each
single unit of privacy that the ledger names.  The ledger is unchanged; its owner appends a
correction that names this advisory.
"""

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from operator import ge, gt, le, lt
from typing import Any

from safeselect.audit.theorems import is_one_shot
from safeselect.errors import InputError, ParameterError, SafeSelectError
from safeselect.exact.parameters import exact_text, rational, read_exact
from safeselect.ledger import Balance, Checker, Record
from safeselect.ledger.budget import Amounts, ways
from safeselect.ledger.record import Fields, read_numbers
from safeselect.release.codec import once, read_part
from safeselect.release.display import cost
from safeselect.release.page import shown

SCHEMA = "safeselect.advisory/1"
_TEXTS = ("id", "published", "modified", "summary", "details", "restated_in_words")
_FIELDS = re.compile(r"mechanism|unit|neighbours|(guarantee|source|library|parameters)\.\S+")
_UNSAID = ("", "unknown", "unreadable", "not stated")
_FACTORS = ("epsilon_times", "rho_times", "mu_squared_times")
_TYPES = ("PureDP", "LaplaceDominated", "BoundedRange")
_VERSION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)(\S*)")

Verdict = bool | None
"""None: the record does not say."""

Guarantee = Any
"""A guarantee of any kind, or None: nothing that is known still holds."""

_Test = Mapping[str, object]
_View = tuple[tuple[Guarantee, int], ...]


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
    affects: Sequence[Mapping[str, _Test]]
    restated: Mapping[str, Any] | None

    def touches(self, said: Fields) -> Verdict:
        """Whether the defect hit a charge, whose record says this."""
        cases = [
            _all(_holds(test, _said(said, name)) for name, test in conditions.items())
            for conditions in self.affects
        ]
        return True if True in cases else None if None in cases else False

    def restate(self, said: Fields) -> Guarantee:
        """Return what still holds of a guarantee, as a record states it."""
        with suppress(LookupError, ValueError):  # the advisory says nothing of such a guarantee
            if self.restated is not None and read_guarantee(said) is not None:
                return read_guarantee(_changed(self.restated, said))
        return None


def read_advisory(text: str) -> Advisory:
    """Read an advisory.

    Raises:
        InputError: it is none; a condition that is not understood is never left out.
    """
    try:
        content = json.loads(text, object_pairs_hook=once)
        if content.pop("schema") != SCHEMA:
            raise InputError(f"the schema of an advisory must be {SCHEMA}")
        texts = {name: content.pop(name) for name in _TEXTS}
        affects, how = content.pop("affects"), content.pop("restated")
        content.pop("references", None)
        if content or not affects or not all(type(each) is str for each in texts.values()):
            raise InputError("a field of the advisory is unknown, empty or of the wrong type")
        conditions = [{name: _test(name, each[name]) for name in each} for each in affects]
        restated = None if how == "none" else {name: _how(name, how[name]) for name in how}
    except SafeSelectError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise InputError("this is not an advisory; see docs/advisories.md") from None
    return Advisory(hashlib.sha256(text.encode()).hexdigest(), texts, conditions, restated)


def _test(name: str, test: _Test) -> _Test:
    if not _FIELDS.fullmatch(name) or not test.keys() - {"absent"}:
        raise InputError(f"records have no field {name!r}, or the condition on it tests nothing")
    if unknown := test.keys() - _WORDS.keys():
        raise InputError(f"the condition on {name!r} has an unknown operator: {min(unknown)!r}")
    return {word: _WORDS[word][0](value) for word, value in test.items()}


def _how(name: str, value: object) -> Fraction | str:
    if name in _FACTORS or name == "delta_plus":
        return rational(value, name)
    if name != "type" or value not in _TYPES:
        raise InputError(f"the rule {name!r} with value {value!r} cannot restate a guarantee")
    return str(value)


def _said(said: object, name: str) -> str | None:
    for part in name.split("."):
        said = said.get(part) if isinstance(said, Mapping) else None
    return said if isinstance(said, str) and said not in _UNSAID else None


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether all hold; where one is false, it does not matter what is not known."""
    found = {*verdicts}
    return False if False in found else None if None in found else True


def _holds(test: _Test, value: str | None) -> Verdict:
    if value is None:
        absent = test.get("absent")
        return absent if isinstance(absent, bool) else None
    return _all(_WORDS[word][1](value, wanted) for word, wanted in test.items())


def _texts(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(type(each) is str for each in value):
        raise InputError(f"the operators is and is_not require a list of strings, not {value!r}")
    return frozenset(value)


def _version(value: str) -> list[int]:
    """The numbers of a version, without zeros at its end."""
    matched = _VERSION.search(value)
    if matched is None:
        raise InputError(f"a version must contain a number, got {value!r}")
    numbers = list(map(int, matched[1].split(".")))
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _from(value: str, wanted: list[int], *, is_from: bool) -> Verdict:
    """Whether a version is this one or a later one, or not; not known of a variant of this one."""
    matched = _VERSION.search(value)
    if matched is None or (matched[2] and _version(value) == wanted):
        return None
    return (_version(value) >= wanted) is is_from


def _compared(value: str, wanted: Fraction, *, by: Callable[[Fraction, Fraction], bool]) -> Verdict:
    with suppress(ValueError):
        return by(read_exact(value), wanted)
    return None


def _number(value: object) -> Fraction:
    return rational(value, "a number in a condition", zero=True, signed=True)


_COMPARED = {"at_least": ge, "above": gt, "at_most": le, "below": lt}
_WORDS: dict[str, tuple[Callable[..., object], Callable[..., Verdict]]] = {
    "is": (_texts, lambda value, wanted: value in wanted),
    "is_not": (_texts, lambda value, wanted: value not in wanted),
    "introduced": (_version, partial(_from, is_from=True)),
    "fixed": (_version, partial(_from, is_from=False)),
    **{word: (_number, partial(_compared, by=by)) for word, by in _COMPARED.items()},
    "absent": ({True: True, False: False}.__getitem__, lambda *_: True),
}
"""For each word of a condition, how it is read, and what it asks of a value in a record."""


def _changed(how: Mapping[str, Any], said: Fields) -> Fields:
    """A guarantee as a record would state it; of repeated runs that of each run."""
    if "base" in said:
        return {**said, "base": _changed(how, said["base"])}
    (name,) = said.keys() - {"type", "delta"}
    delta = read_exact(said.get("delta", "0")) + how.get("delta_plus", 0)
    kind = how.get("type", said["type"]) if name == "epsilon" else said["type"]
    changed = {name: exact_text(read_exact(said[name]) * how[f"{name}_times"])}
    if delta:
        return {"type": "ApproximateDP", **changed, "delta": exact_text(delta)}
    return {"type": kind, **changed}


def read_guarantee(said: Fields) -> Guarantee:
    """Read a guarantee as a record states it; None if it is none: a replay does not read it."""
    with suppress(InputError):
        return read_part({"count": "1", "each": said})[0]
    return None


@dataclass(slots=True)
class Hit:
    """A charge that is affected, or may be.

    Attributes:
        is_sure: whether the record says so; otherwise it may be.
        utc, mechanism, charges: as the record states them.
        promised: the guarantee; None if it cannot be read.
        restated: what still holds; None: nothing that is known.
        parts: the same of its draws.
        outcome: how it ended, in a word.
    """

    is_sure: bool
    utc: str
    mechanism: str
    charges: Sequence[Fields]
    promised: Guarantee
    restated: Guarantee
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
    found, known = Recall(advisory, checker), dict[str, tuple[Guarantee, Guarantee, _View]]()
    for record in records:
        content = record.content
        if content["kind"] == "charged":
            budget = next(iter(record.budgets.values()))
            more = {"unit": budget.unit, "neighbours": budget.neighbours}
            touched = advisory.touches({**content, **more, "library": record.library})
            if touched is False:
                found.others += 1
                continue
            key = repr((content["guarantee"], content["parts"]))
            known[key] = known.get(key) or _restated(advisory, content)
            about = content["utc"], content["mechanism"], content["charges"]
            found.hits[content["seq"]] = Hit(touched is True, *about, *known[key])
        elif hit := found.hits.get(content.get("charge", "")):
            hit.outcome = content["kind"]
            if hit.outcome == "aborted" and is_one_shot(hit.mechanism):
                del found.hits[content["charge"]]
                found.others += 1
    _compare(found)
    return found


def _restated(advisory: Advisory, content: Fields) -> tuple[Guarantee, Guarantee, _View]:
    """What was promised, what still holds, and what still holds of the draws."""
    whole = content["guarantee"]
    draws = tuple((advisory.restate(each["each"]), int(each["count"])) for each in content["parts"])
    # A delta that is added belongs to the whole.
    if "delta_plus" in (advisory.restated or {}) or any(each is None for each, _ in draws):
        draws = ()
    return read_guarantee(whole), advisory.restate(whole), draws


def _compare(found: Recall) -> None:
    """Compare the budgets with what the releases really cost, each kind of them once."""
    kinds: dict[tuple[object, ...], list[Hit]] = {}
    for hit in found.hits.values():
        charged = [(each["scope"], each["charge"]) for each in hit.charges]
        key = hit.is_sure, hit.restated, hit.parts, repr(charged)
        kinds.setdefault(key, []).append(hit)
    total: dict[str, Amounts | None] = {}
    for hits in sorted(kinds.values(), key=lambda hits: not hits[0].is_sure):
        hit = hits[0]
        for charge in hit.charges:
            scope, balance = charge["scope"], found.checker.scopes[charge["scope"]]
            sums = total.get(scope, balance.spent)
            total[scope] = sums = sums and _with(balance, sums, hit, charge["charge"], len(hits))
            if sums is None or not ways(balance.budget.caps, sums):
                found.over.setdefault(scope, hit.is_sure)


def _with(balance: Balance, sums: Amounts, hit: Hit, charge: Fields, times: int) -> Amounts | None:
    """The sums, with what so many such releases really cost; None if that is not bounded."""
    paid = read_numbers(charge, "a charge")
    price: Amounts | None = None
    with suppress(ParameterError):
        price = balance.budget.price(hit.restated, hit.parts) if hit.restated else None
    return price and {
        name: sums[name] + times * max(Fraction(0), price[name] - paid[name]) for name in sums
    }


def _rows(found: Recall) -> Iterator[str]:
    for seq, hit in found.hits.items():
        verdict = "affected" if hit.is_sure else "possibly"
        row = seq, hit.utc, _shown(hit.mechanism), hit.outcome, verdict
        yield " | ".join([*row, named(hit.promised), named(hit.restated)])


_shown = lru_cache(maxsize=1024)(shown)


@lru_cache(maxsize=1024)
def named(guarantee: Guarantee) -> str:
    """Return a guarantee in words, rounded up."""
    return f"{type(guarantee).__name__}: {cost(guarantee)}" if guarantee else "no guarantee"


def letter(found: Recall) -> str:
    """Return a letter to those who were given the releases: facts of the ledger, and no data."""
    over = [f"{name}{'' if is_sure else ' (possibly)'}" for name, is_sure in found.over.items()]
    sure = sum(hit.is_sure for hit in found.hits.values())
    return _LETTER.format(
        **{name: shown(text) for name, text in found.advisory.content.items()},
        ledger=found.checker.ledger,
        head=found.checker.head,
        counts=f"{sure} affected, {len(found.hits) - sure} possibly, {found.others} not",
        over=shown(", ".join(over) or "none"),
        rows="".join(f"  {row}\n" for row in _rows(found)),
    )


_LETTER = """\
A guarantee of differential privacy is restated
Advisory {id}, published {published}, modified {modified}: {summary}
What was wrong: {details}
How the guarantee is restated: {restated_in_words}
Ledger {ledger}, up to its head {head}
Releases: {counts} (possibly: their records do not settle the question)
Scopes that are over their budget: {over}
  record | day | mechanism | outcome | verdict | promised | what still holds
{rows}What was released cannot be withdrawn.  What still holds is stated above, for each individual
unit of privacy that the ledger names.  No ledger was changed; its owner appends a correction.
"""

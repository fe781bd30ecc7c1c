"""Every field of a release and of its ledger, changed in several ways, alone and together.

Where release and record of the charge state the same, a forger changes one of them, or both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from honest import Made
from ledgers import chained

from safeselect.ledger.record import commitment

Json = Any
Path = tuple[str | int, ...]

SHARED: dict[str, Path] = {
    "mechanism": ("mechanism",),
    "guarantee": ("guarantee",),
    "parameters": ("parameters",),
    "utc": ("utc",),
    "parts": ("parts",),
    "source": ("source", "name"),
}
"""What a release and the record of its charge both state: a field of one, a path in the other."""


@dataclass(frozen=True)
class Changed:
    """A change.

    Attributes:
        where: "release", "both", or "record" and the kind of record.
        path: of the field.
        value: what stands there now; None for a field that is gone.
    """

    where: str
    path: Path
    value: Json
    release: str
    records: list[Json]

    @property
    def name(self) -> str:
        return f"{self.where} {'.'.join(map(str, self.path))} = {self.value!r}"


def changes(made: Made) -> Iterator[Changed]:
    """Each field of a release, and of all records of its ledger, in several ways."""
    release = json.loads(made.release)
    records = [json.loads(line)["record"] for line in made.log.splitlines()]
    place = int(records[int(release["receipt"]["record"])]["charge"])
    for path, value in fields(release):
        for other in others(value):
            new = altered(release, path, other)
            yield Changed("release", path, other, json.dumps(new), records)
            theirs = shared(path, value, records[place])
            if theirs is not None:
                both = deepcopy(records)
                both[place] = altered(both[place], theirs, other)
                yield Changed("both", path, other, json.dumps(new), both)
    for seq, record in enumerate(records):
        for path, value in fields(record):
            if path[0] in ("seq", "previous"):
                continue  # the chain is computed anew
            for other in others(value):
                new = [*records[:seq], altered(record, path, other), *records[seq + 1 :]]
                yield Changed(f"record {record['kind']}", path, other, made.release, new)


def fields(content: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every field, objects and lists among them."""
    if path:
        yield path, content
    inside = content.items() if isinstance(content, dict) else ()
    for name, each in enumerate(content) if isinstance(content, list) else inside:
        yield from fields(each, (*path, name))


GONE = object()


def variants(value: Json) -> list[Json]:
    """Other values of a field; `GONE` leaves it out."""
    if isinstance(value, dict):
        return [GONE, {}, {**value, "more": "1"}]
    if isinstance(value, list):
        return [GONE, [], value[:-1], [*value, *value[-1:]], value[::-1]]
    found: list[Json] = [GONE, value + "x", ""]
    try:
        above, _, below = value.partition("/")
        number, bottom = int(above), int(below or 1)
    except ValueError:
        return [
            *found,
            "yes",
            "no",
            "0",
            "add_remove",
            "replace_one",
            "asserted",
            "not tested",
            value.upper(),
        ]
    texts = [str(Fraction(n, d)) for n, d in ((number + bottom, bottom), (number * 2, bottom))]
    texts += [str(Fraction(number, bottom * 2)), str(Fraction(number, bottom) - 1)]
    texts += [str(Fraction(-number, bottom))]
    return [*found, *texts, "0", "1", "-5", str(10**6), str(10**9), "1/1000000007"]


def others(value: Json) -> list[Json]:
    """The same variants, each once, but for the value itself."""
    found: list[Json] = []
    for each in variants(value):
        if each != value and each not in found:
            found.append(each)
    return found


def altered(content: Json, path: Path, value: Json) -> Json:
    """The same with another field."""
    first, *rest = path
    copy = dict(content) if isinstance(content, dict) else list(content)
    if rest:
        copy[first] = altered(content[first], tuple(rest), value)
    elif value is GONE:
        del copy[first]
    else:
        copy[first] = value
    return copy


def shared(path: Path, value: Json, charge: Json) -> Path | None:
    """Where the record of the charge states the same field; None if it does not."""
    first, *rest = path[1:] if path[0] == "provenance" and path[1:] else path
    if first not in SHARED:
        return None
    theirs = (*SHARED[str(first)], *rest)
    at = charge
    for step in theirs:
        try:
            at = at[step]
        except (LookupError, TypeError):
            return None
    return theirs if at == value else None


def rebuilt(changed: Changed) -> Made:
    """The chain and the commitment computed anew, as a forger does who has no key."""
    content = json.loads(changed.release)
    records, receipt = deepcopy(changed.records), content.get("receipt")
    for seq, record in enumerate(records):
        record["seq"] = str(seq)
    try:
        bare = {name: value for name, value in content.items() if name != "receipt"}
        output, own = json.dumps(bare, sort_keys=True), records[int(receipt["record"])]
        if changed.path[0] != "commitment":
            own["commitment"] = commitment(bytes.fromhex(receipt["salt"]), output)
    except (KeyError, IndexError, TypeError, ValueError):
        pass  # there is nothing to commit to
    log = chained(records)
    last = json.loads(log.splitlines()[-1])["hash"]
    return Made(changed.release, log, f"{len(records) - 1}:{last}")

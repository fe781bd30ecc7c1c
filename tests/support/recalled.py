"""A ledger of any length with charges of every mechanism, and 20 invented defects.

What a record says, `Truth` says too, in the words of the generator: each defect is written twice,
as an advisory, and as a function of the truth.  They share nothing but the record.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import honest
from ledgers import TERMS

import safeselect as s
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.record import START, canonical, log_line, record_hash

Json = dict[str, Any]
VERSIONS = ["0.1.0", "0.1.1", "0.2.0rc1", "0.2.0", "0.2.0.post1", "0.10.0", "1.0.0"]
HASHES = ["a" * 64, "b" * 64, "unreadable"]
NUMPY = ["1.26.4", "2.0.0", "2.0.1", "2.1.0", None]
SOURCES = ["OpenSSLSource", "SystemSource", "CombinedSource", "ForeignSource(x)"]
OPENSSL = ["OpenSSL 1.1.1w  11 Sep 2023", "OpenSSL 3.0.11 19 Sep 2023", "none"]
FIPS = ["0", "1", "unknown"]


@dataclass(frozen=True)
class Truth:
    """One charge, as the generator made it."""

    mechanism: str
    guarantee: Json
    parameters: dict[str, str]
    version: int
    code: int
    numpy: int
    openssl: int
    fips: int
    source: int
    unit: str
    outcome: str
    session: bool


@cache
def templates() -> list[Json]:
    """A charge of every mechanism, with several parameters."""
    found: dict[tuple[Any, ...], Json] = {}
    for _, call, caps in honest.every():
        try:
            made = honest.made(call, caps)
        except s.ParameterError:  # a few words do not go together
            continue
        for line in made.log.splitlines():
            record = json.loads(line)["record"]
            if record["kind"] == "charged":
                key = record["mechanism"], json.dumps(record["parameters"])
                found.setdefault(key, record)
    return list(found.values())


def opened(name: str, budget: s.Budget) -> Json:
    caps = exact_texts(budget.caps)
    return {"kind": "scope", "scope": name, "terms": budget.as_record(), "caps": caps,
            "max_refusals": "1000", "utc": "2026-01-01"}  # fmt: skip


SESSIONS = ("sparse_vector", "adaptive_sparse", "pay_what", "partition_strategy")


def ledger(size: int, seed: int = 1) -> tuple[list[bytes], dict[str, Truth]]:
    """The lines of a ledger with so many records, and the truth about each charge by its place."""
    dice, lines, truths = random.Random(seed), list[bytes](), dict[str, Truth]()
    known = templates()
    budgets = {
        "people": s.Budget(**TERMS, epsilon=10**6, delta="9/10"),
        "visits": s.Budget("visit", "replace_one", epsilon=10**6, delta="9/10"),
    }
    zero = s.PureDP(0).epsilon
    totals = {name: dict.fromkeys(each.terms.names, zero) for name, each in budgets.items()}
    before, running = START, (0, 0, 0, 0, 0)

    def put(record: Json) -> None:
        nonlocal before
        whole = {"schema": "safeselect.record/1", "ledger": "f" * 32, "previous": before}
        body = canonical({**record, **whole, "seq": str(len(lines))})
        before = record_hash(body)
        lines.append(log_line(body, before, ""))

    def library() -> Json:
        version, code, numpy, openssl, fips = running
        found = {"name": "safeselect", "version": VERSIONS[version], "fips_mode": FIPS[fips],
                 "deciding_sha256": HASHES[code], "openssl": OPENSSL[openssl]}  # fmt: skip
        return found | ({"numpy": NUMPY[numpy]} if NUMPY[numpy] else {})

    put({"kind": "created", "utc": "2026-01-01", "library": library(), "signer": {}, "place": {},
         "clock": "day"})  # fmt: skip
    for name, budget in budgets.items():
        put(opened(name, budget))
    while len(lines) + 2 <= size:
        template, scope = dice.choice(known), dice.choice([*budgets])
        record = {name: template[name] for name in _KEPT}
        if dice.random() < 0.01:
            running = tuple(map(dice.randrange, map(len, (VERSIONS, HASHES, NUMPY, OPENSSL, FIPS))))  # type: ignore[assignment]
            record["library"] = library()
        source = dice.randrange(len(SOURCES))
        record["source"] = {"name": SOURCES[source], "production": "yes", "health": "passed"}
        price = dict.fromkeys(totals[scope], TINY)
        totals[scope] = {n: totals[scope][n] + TINY for n in price}
        amounts = {"charge": exact_texts(price), "after": exact_texts(totals[scope])}
        record["charges"] = [{"scope": scope, **amounts}]
        place = str(len(lines))
        put({**record, "kind": "charged", "utc": "2026-01-02", "purpose": "x", "request": {},
             "nonce": f"{len(lines):032x}"})  # fmt: skip
        mechanism = record["mechanism"]
        outcome = dice.choice(["released"] * 8 + ["aborted", "nothing"])
        if outcome == "released":
            put({"kind": "released", "charge": place, "commitment": "0" * 64})
        elif outcome == "aborted":
            put({"kind": "aborted", "charge": place, "reason": "error"})
        truths[place] = Truth(
            mechanism, record["guarantee"], record["parameters"], *running, source,
            budgets[scope].unit, outcome, mechanism.startswith(SESSIONS),
        )  # fmt: skip
    return lines, truths


_KEPT = ("mechanism", "guarantee", "parts", "parameters")
TINY = s.PureDP("1/1000000").epsilon

Said = bool | None
Defect = tuple[list[Json], Callable[[Truth], Said]]


def three(*each: Said) -> Said:
    """All of them, where one that is not known may still be decided by another."""
    return False if False in each else None if None in each else True


def number(text: str | None, holds: Callable[[float], bool]) -> Said:
    try:
        above, _, below = str(text).partition("/")
        return holds(int(above) / int(below or 1))
    except ValueError:
        return None


def is_in(value: Any, listed: Any) -> bool:
    return value in listed


UNTIL_0_2 = {"fixed": "0.2.0"}
# 0.2.0rc1 may be before or after 0.2.0, and 0.2.0.post1 too: nothing but the number is compared.
OLD: list[Said] = [True, True, None, False, None, False, False]

FLIP, SELECTED = "permute_and_flip/1", "top_k_exponential/1"
OTHER_UNIT = [
    {"unit": {"is": ["visit"]}, "neighbours": {"is": ["replace_one"]}},
    {"neighbours": {"is_not": ["add_remove", "replace_one"]}},
]
WORDED = {"parameters.monotonic": {"is": ["yes"]}, "guarantee.type": {"is": ["BoundedRange"]}}
LOOSE = {"guarantee.type": {"is": ["ApproximateDP"]}, "guarantee.delta": {"above": "1/1000"}}
SYSTEM_OR_LAW = [{"source.name": {"is": ["SystemSource"]}}, {"mechanism": {"is": ["quantiles/1"]}}]


def by(name: str, *listed: Said) -> Callable[[Truth], Said]:
    """What is said of each place in a list of the generator."""
    return lambda truth: listed[getattr(truth, name)]


def stated(name: str, holds: Callable[[float], bool]) -> Callable[[Truth], Said]:
    return lambda truth: number(truth.parameters.get(name), holds)


DEFECTS: dict[str, Defect] = {
    "a law": ([{"mechanism": {"is": [SELECTED]}}], lambda t: t.mechanism == SELECTED),
    "two laws": (
        [{"mechanism": {"is": ["best_of/1", "best_of_poisson/1"]}}],
        lambda t: t.mechanism.startswith("best_of"),
    ),
    "all laws but one": ([{"mechanism": {"is_not": [FLIP]}}], lambda t: t.mechanism != FLIP),
    "a law of old versions": (
        [{"mechanism": {"is": [FLIP]}, "library.version": UNTIL_0_2}],
        lambda t: three(t.mechanism == FLIP, OLD[t.version]),
    ),
    "a range of versions": (
        [{"library.version": {"introduced": "0.1.1", "fixed": "0.10.0"}}],
        by("version", False, True, True, True, True, False, False),
    ),
    "from a version on": (
        [{"library.version": {"introduced": "0.2"}}],
        by("version", False, False, None, True, None, True, True),
    ),
    "a hash": ([{"library.deciding_sha256": {"is": HASHES[1:2]}}], by("code", False, True, None)),
    "not": ([{"library.deciding_sha256": {"is_not": HASHES[1:2]}}], by("code", True, False, None)),
    "a dependency": (
        [{"library.numpy": {"introduced": "2.0.0", "fixed": "2.0.1"}}],
        by("numpy", False, True, False, False, None),
    ),
    "a dependency, with a law": (
        [{"library.numpy": {"introduced": "2"}, "mechanism": {"is": ["quantile/1"]}}],
        lambda t: three([False, True, True, True, None][t.numpy], t.mechanism == "quantile/1"),
    ),
    "OpenSSL before 3": (
        [{"library.openssl": {"introduced": "1", "fixed": "3"}}],
        by("openssl", True, False, None),
    ),
    "FIPS mode": ([{"library.fips_mode": {"is": ["1"]}}], by("fips", False, True, None)),
    "a source": ([{"source.name": {"is": ["CombinedSource"]}}], lambda t: t.source == 2),
    "a source, or a law": (SYSTEM_OR_LAW, lambda t: t.source == 1 or t.mechanism == "quantiles/1"),
    "a parameter range": (
        [{"parameters.k": {"at_least": "2", "below": "4"}}],
        stated("k", lambda k: 2 <= k < 4),
    ),
    "a parameter that only some have": (
        [{"parameters.k": {"above": "2", "absent": False}}],
        lambda t: "k" in t.parameters and number(t.parameters["k"], lambda k: k > 2),
    ),
    "a rate": (
        [{"parameters.noise_rate": {"at_most": "1/4"}}],
        stated("noise_rate", lambda r: r <= 1 / 4),
    ),
    "a word": (
        [WORDED],
        lambda t: three(
            t.parameters["monotonic"] == "yes" if "monotonic" in t.parameters else None,
            t.guarantee["type"] == "BoundedRange",
        ),
    ),
    "a guarantee": (
        [LOOSE],
        lambda t: (
            t.guarantee["type"] == "ApproximateDP"
            and number(t.guarantee["delta"], lambda d: d > 1 / 1000)
        ),
    ),
    "a unit, in two ways": (OTHER_UNIT, lambda t: t.unit == "visit"),
}


def advisory(affects: list[Json], restated: Any = "none", **other: str) -> Json:
    texts = {"id": "EXAMPLE-1", "published": "2026-01-01", "modified": "2026-01-02"}
    texts |= {"summary": "too little noise", "details": "A made-up defect.",
              "restated_in_words": "As computed."}  # fmt: skip
    whole = {"schema": "safeselect.advisory/1", **texts, "affects": affects, "restated": restated}
    return whole | other


def expected(defect: Defect, truths: dict[str, Truth]) -> Iterator[tuple[str, Said]]:
    """What is affected (True), may be (None) or is not, by the truth alone."""
    for place, truth in truths.items():
        shows_nothing = truth.outcome == "aborted" and not truth.session
        yield place, False if shows_nothing else defect[1](truth)

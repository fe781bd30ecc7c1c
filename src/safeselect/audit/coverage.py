"""Mechanism by mechanism: what was looked at, what was found, and what was not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from safeselect.audit.mechanisms import LISTS, OTHERS, SESSIONS, names, noise_of
from safeselect.audit.verify import Finding

ASPECTS: Mapping[str, str] = {
    "code": "the loaded code is what the source compiles to",
    "bits": "each byte of the source is used once, in order",
    "samplers": "the laws of scalar samplers, from all strings of bits",
    "noise": "quantiles, tables, decisions, and whose each random word is",
    "privacy": "the cost over neighbours of small instances, or the rates and offsets it rests on",
    "few candidates": "releases from two or three candidates, items, keys, values or answers",
    "thousands": "releases from 1000 to 5000 candidates, items, keys or values",
    "hundreds of thousands": "releases from 140 000 to 300 000 candidates, items, keys or values",
    "joint": "pairs: two releases, rows, groups, places, counts, keys, values, queries, sessions",
    "charge": "one charge before the first bit, kept when the source fails",
    "fork": "a child of a fork releases other things, and cannot use an open session",
    "sources": "foreign sources are named and mixed, predictable ones refused",
}
"""What can be looked at of a mechanism."""

NEVER: tuple[str, ...] = (
    "whether the sensitivity that a caller declares is right",
    "guarantees for all inputs: theorems and tests of the source give them, not this run",
    "running time, memory faults, and what libraries and the interpreter do",
    "adapters to other libraries, and ledgers in files and databases",
    "the scalar tier as a whole (engine='reference'), but for its samplers",
    "calibration with rho or with delta, but for the mechanisms that always have one of them",
)
"""What this command looks at for no mechanism."""

_NO_INSTANCE: Mapping[str, str] = {
    "top_k_laplace/1": "its (epsilon, delta) rests on the published theorem; its rate is looked at"
}


def coverage(findings: Iterable[Finding]) -> dict[str, dict[str, str]]:
    """For each mechanism and aspect: "passed", "FAILED", or "not looked at" and why."""
    made = list(findings)
    table = {}
    for name in names():
        mine = [each for each in made if not each.check.mechanisms or name in each.check.mechanisms]
        row = {}
        for aspect in ASPECTS:
            verdicts = [each.passed for each in mine if each.check.aspect == aspect]
            row[aspect] = (
                ("passed" if all(verdicts) else "FAILED") if verdicts else _why_not(name, aspect)
            )
        table[name] = row
    return table


def not_cleared(findings: Iterable[Finding]) -> list[str]:
    """The mechanisms of which some check failed."""
    return [name for name, row in coverage(findings).items() if "FAILED" in row.values()]


def _why_not(name: str, aspect: str) -> str:
    if aspect == "samplers":
        return "not looked at: it draws with no scalar sampler"
    by_samplers = name in {**SESSIONS, **LISTS} or noise_of(name) == "discrete Laplace"
    if aspect == "noise" and by_samplers:
        return "not looked at: its noise is drawn by the samplers"
    if (
        aspect in ("thousands", "hundreds of thousands")
        and name in OTHERS
        and (not any(look.aspect == aspect for look in OTHERS[name].looks))
    ):
        return "not looked at: it chooses among runs, one after the other"
    if aspect == "privacy" and name in _NO_INSTANCE:
        return f"not looked at: {_NO_INSTANCE[name]}"
    return "not looked at: --full does"

"""All checks of the package on the machine where it runs, as `safeselect verify` does them.

Each relies on those before it:

- code: what is loaded is what the source compiles to;
- bits: every byte of the source is used once, in order (claim C1);
- samplers: the tree of random bits of every scalar sampler, against integer series (C1);
- noise: quantiles, tables and decisions of the array engine, and whose each random word is (C1);
- privacy: certified bounds of the cost over all neighbours of small instances (C2);
- releases: public calls with the source of this machine, against the laws (C1, C2): few, thousands
  and hundreds of thousands of candidates, single outcomes and pairs, lists and sessions;
- rules: the charge before the first bit, forks, sources (C6, C7, C8).

`safeselect.audit.coverage` says of each mechanism what was looked at.  The checks do not cover
memory faults and running time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from safeselect.audit.charges import check_charge
from safeselect.audit.code import check_code
from safeselect.audit.finding import Refuted
from safeselect.audit.keys import check_few_keys, check_many_keys, check_two_keys
from safeselect.audit.lists import check_bottom, check_list, check_many_items, check_two_counts
from safeselect.audit.measures import (
    check_cost,
    check_few_values,
    check_many_values,
    check_two_values,
    check_words,
)
from safeselect.audit.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS, names, noise_of
from safeselect.audit.noise import (
    LAWS,
    check_decision,
    check_fine_table,
    check_quantiles,
    check_thresholds,
)
from safeselect.audit.partitions import partition_tables
from safeselect.audit.paths import SIZES, check_few, check_joint, check_size
from safeselect.audit.primitives import check_primitive, primitives
from safeselect.audit.privacy import instances
from safeselect.audit.releases import check_releases, releases
from safeselect.audit.requests import check_forked, check_requests, check_variates
from safeselect.audit.rules import check_fork, check_sources
from safeselect.audit.sessions import check_answers, check_budget, check_queries, check_session_many
from safeselect.audit.tables import KEYS, MEASURES
from safeselect.audit.words import check_near_ties, check_owners, check_rounds, check_rows_owners

QUICK, FULL = 8, 1
"""Efforts: one in this many places is examined."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        kind: see the module.
        name: what is checked.
        claim: the claim of SECURITY.md that it supports.
        examine: effort -> a text of what was examined; raises `Refuted`.
        aspect: what it looks at, in the words of `coverage.ASPECTS`.
        mechanisms: the mechanisms that it clears; empty for all.
        only_full: whether it is left out at the quick effort.
    """

    kind: str
    name: str
    claim: str
    examine: Callable[[int], str]
    aspect: str = ""
    mechanisms: tuple[str, ...] = ()
    only_full: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `passed`, and what was examined or what is wrong."""

    check: Check
    passed: bool
    detail: str


def run(effort: int) -> Iterator[Finding]:
    """Run all checks of this effort, one after another.

    Reveals: nothing private; all inputs are made up.
    """
    for check in checks():
        if effort == FULL or not check.only_full:
            yield found(check, effort)


def found(check: Check, effort: int) -> Finding:
    """Run one check; its result or its error becomes a finding."""
    try:
        return Finding(check, True, check.examine(effort))
    except Refuted as error:
        return Finding(check, False, str(error))
    except Exception as error:  # noqa: BLE001 - on a broken copy anything may fail
        return Finding(check, False, f"ended with {type(error).__name__}")


def checks() -> Iterator[Check]:
    """Yield all checks, in the order in which they build on one another."""
    yield Check("code", "loaded code", "C1", check_code, "code")
    yield from _bits_and_noise()
    for instance in instances():
        concerned = instance.mechanisms
        slow = instance.k > 1 or (instance.gap and not instance.monotonic)
        yield Check("privacy", instance.name, "C2", instance.examine, "privacy", concerned, slow)
    for table in partition_tables():
        mine = table.mechanisms
        yield Check("noise", table.name, "C1", table.examine_draws, "noise", mine)
        yield Check("privacy", table.name, "C2", table.examine, "privacy", mine)
    for release in releases():
        examine = partial(check_releases, release)
        concerned = release.mechanisms
        slow = release.name.startswith("report_noisy_max")
        yield Check("releases", release.name, "C1", examine, "few candidates", concerned, slow)
    yield from _one_shot()
    yield from _lists()
    yield from _sessions()
    yield from _keys_and_measures()
    for name, case in OTHERS.items():
        for look in case.looks:
            said = f"{name}: {look.what}"
            yield Check(
                look.kind, said, look.claim, look.examine, look.aspect, (name,), look.only_full
            )
    for name in names():
        yield Check(
            "rules", f"{name}: charge", "C8", partial(check_charge, name), "charge", (name,)
        )
        late = name in OTHERS and OTHERS[name].rules_in_full
        fork, sources = partial(check_fork, name), partial(check_sources, name)
        yield Check("rules", f"{name}: fork", "C6", fork, "fork", (name,), late)
        yield Check("rules", f"{name}: sources", "C7", sources, "sources", (name,), late)


def _bits_and_noise() -> Iterator[Check]:
    yield Check("bits", "requests", "C1", check_requests, "bits")
    yield Check("bits", "a fork", "C6", check_forked, "bits")
    peeled = tuple(name for name, case in ONE_SHOT.items() if case.anew)
    yield Check("bits", "rounds of peeling", "C1", check_rounds, "noise", peeled)
    counted = tuple(name for name in names() if noise_of(name) == "discrete Laplace")
    yield Check("bits", "arrays of noise", "C1", check_variates, "bits", counted)
    geometric = tuple(name for name in SESSIONS if name.endswith("_geometric/1"))
    for primitive in primitives():
        examine = partial(check_primitive, primitive)
        yield Check("samplers", primitive.name, "C1", examine, "samplers", geometric + counted)
    for law in LAWS:
        drawn = tuple(name for name in names() if noise_of(name) == law.name)
        batches = tuple(name for name in drawn if name.startswith("select_many"))
        for what, check, concerned in (
            ("quantiles", check_quantiles, drawn),
            ("word bounds", check_thresholds, drawn),
            ("fine table", check_fine_table, drawn),
            ("decisions", check_decision, drawn),
            ("owners of words", check_owners, drawn),
            ("owners of words in batches", check_rows_owners, batches),
            ("near ties in batches", check_near_ties, batches),
        ):
            name = f"{law.name}: {what}"
            yield Check("noise", name, "C1", partial(check, law), "noise", concerned)


def _one_shot() -> Iterator[Check]:
    for name, case in ONE_SHOT.items():
        few, joint = partial(check_few, case), partial(check_joint, case)
        yield Check("releases", f"{name}: few", "C1", few, "few candidates", (name,))
        yield Check("releases", f"{name}: pairs", "C1", joint, "joint", (name,))
        for aspect, sizes in SIZES.items():
            for size in sizes:
                yield Check(
                    "releases",
                    f"{name}: {size.n} candidates",
                    "C1",
                    partial(check_size, case, size),
                    aspect,
                    (name,),
                    only_full=not size.quick or (case.shape == "rows" and size.rows < 3),
                )


_Looks = tuple[tuple[str, Callable[[Any, int], str], str, str], ...]
_Size = tuple[str, int, bool]
_MANY: tuple[_Size, ...] = (("thousands", 5000, False), ("hundreds of thousands", 150_000, True))


def _releases(
    name: str,
    case: object,
    looks: _Looks,
    check_many: Callable[[Any, int, int], str],
    noun: str,
    sizes: tuple[_Size, ...] = _MANY,
) -> Iterator[Check]:
    """The checks of one mechanism, and those of its releases from many."""
    for what, check, aspect, claim in looks:
        yield Check("releases", f"{name}: {what}", claim, partial(check, case), aspect, (name,))
    for aspect, size, only_full in sizes:
        many = partial(check_many, case, size)
        yield Check("releases", f"{name}: {size} {noun}", "C1", many, aspect, (name,), only_full)


def _lists() -> Iterator[Check]:
    looks: _Looks = (
        ("lists", check_list, "few candidates", "C1"),
        ("bottom", check_bottom, "privacy", "C2"),
        ("pairs", check_two_counts, "joint", "C1"),
    )
    for name, case in LISTS.items():
        yield from _releases(name, case, looks, check_many_items, "items")


def _sessions() -> Iterator[Check]:
    looks: _Looks = (
        ("answers", check_answers, "few candidates", "C1"),
        ("queries", check_queries, "joint", "C1"),
        ("budget", check_budget, "privacy", "C2"),
    )
    sizes = ("thousands", 3000, False), ("hundreds of thousands", 140_000, True)
    for name, case in SESSIONS.items():
        yield from _releases(name, case, looks, check_session_many, "values", sizes)


def _keys_and_measures() -> Iterator[Check]:
    of_keys: _Looks = (
        ("few", check_few_keys, "few candidates", "C1"),
        ("pairs", check_two_keys, "joint", "C1"),
    )
    for name, case in KEYS.items():
        yield from _releases(name, case, of_keys, check_many_keys, "keys")
    of_values: _Looks = (
        ("few", check_few_values, "few candidates", "C1"),
        ("pairs", check_two_values, "joint", "C1"),
        ("cost", check_cost, "privacy", "C2"),
    )
    for name, measured in MEASURES.items():
        if "Gaussian" in measured.noise:
            words = partial(check_words, measured)
            yield Check("noise", f"{name}: words", "C1", words, "noise", (name,))
        yield from _releases(name, measured, of_values, check_many_values, "values")

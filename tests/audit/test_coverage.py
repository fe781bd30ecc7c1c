"""No mechanism goes unseen: every name that a result can carry has its checks, and is told of."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from inspect import signature
from typing import Any, get_args

import pytest
from rules_table import ELSEWHERE, EVERY
from written import POINTS, TABLES

from safeselect.accounting.cost import PrivacyCost
from safeselect.audit.code import Running
from safeselect.audit.coverage import ASPECTS, NEVER, coverage, not_cleared
from safeselect.audit.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS, names, noise_of
from safeselect.audit.report import certificate_json, summary
from safeselect.audit.tables import KEYS, MEASURES
from safeselect.audit.theorems import _THEOREMS, is_known
from safeselect.audit.verify import FULL, QUICK, Finding, checks
from safeselect.errors import ParameterError
from safeselect.mechanisms.groups import plan_known, release_by_group
from safeselect.mechanisms.table import Peeled
from safeselect.randomness.source import resolve

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning")


def carried() -> set[str]:
    """The names that results carry: of every public call in the table of rules, run once."""
    found = set()
    for case in EVERY.values():
        made = case.run()
        result = made if hasattr(made, "mechanism") else case.ask(made)
        found.add(result.mechanism)
    # What stands elsewhere in the table of rules, and what adapters release.
    found |= {call().mechanism for call in (TABLES | POINTS).values()}
    found |= {weighted(case) for case in ONE_SHOT.values()} - {None}
    found |= {by_group(word).mechanism for word in get_args(Peeled) if "base2" not in word}
    return found


def weighted(case: Any) -> str | None:
    """The name that a result of this call carries with weights, where it takes them."""
    if case.shape == "above" or "_by_group_" in case.name:
        return None
    try:
        made = case.run([[3, 1, 0]] if case.shape == "rows" else [3, 1, 0], weights=[1, 2, 1])
    except ParameterError:
        return None
    return made.mechanism


def by_group(word: str) -> Any:
    rows = {"May": {"tea": 9, "milk": 2}}
    plan = plan_known(
        PrivacyCost.read(epsilon=1, rho=None, delta=None), ["tea", "milk"], 1, 1, word
    )
    return release_by_group(plan, ["May"], 1, {"k": "1"}, resolve(None), lambda: rows)


def passed(effort: int) -> list[Finding]:
    """A run in which nothing failed, without running anything."""
    return [Finding(c, True, "") for c in checks() if effort == FULL or not c.only_full]


def test_every_name_that_a_result_can_carry_has_a_call():
    """The table of rules fails for a new public name or word; so this fails for a new mechanism."""
    assert carried() == set(names())
    assert len(names()) == len(set(names()))


def test_what_stands_elsewhere_in_the_table_of_rules_is_run_here_too():
    """A name that draws and is in neither would carry a mechanism that nobody looks at."""
    points_and_runs = {"best_of", "first_above", "quantile", "quantiles"}
    assert set(ELSEWHERE) == {"measure", "partition_strategy"} | points_and_runs
    words = set(get_args(Peeled))
    assert words == {"permute_and_flip", "exponential", "exponential_base2"}
    with pytest.raises(ParameterError, match="for groups"):
        by_group("exponential_base2")


def test_what_adapters_of_tables_release_is_known_here():
    """Each of these calls one of the mechanisms of the package, or releases by group."""
    tables = pytest.importorskip("safeselect.tables")
    charging = {
        name
        for name in tables.__all__
        if callable(getattr(tables, name))
        and "ledger" in signature(getattr(tables, name)).parameters
    }
    lists = {"select_keys", "top_items", "top_items_by_group"}
    assert charging == {"choose_cap", "table_quantiles", *lists}


def test_whose_guarantee_is_known_is_looked_at_and_no_other():
    """The audit proves releases by their names; verify looks at the same ones."""
    later = {"quantile/3", "quantiles/3"}
    plain = {name for name in names() if "_weighted" not in name}
    assert {f"{name}/1" for name in _THEOREMS} | later == plain
    assert not any("quantiles" in each or "weights" in each or "runs" in each for each in NEVER)
    assert all(map(is_known, names()))


@pytest.mark.parametrize("kind", [LISTS, SESSIONS, KEYS, MEASURES, OTHERS])
def test_a_new_name_without_checks_is_seen_whatever_its_kind(monkeypatch, kind):
    """Mutant: a mechanism of each kind that has lost its call."""
    everything = carried()
    monkeypatch.delitem(kind, next(iter(kind)))
    assert everything != set(names())


def test_a_new_name_without_checks_is_seen(monkeypatch):
    """Mutant: a mechanism that has lost its call."""
    monkeypatch.delitem(ONE_SHOT, "top_k_permute_and_flip/1")
    assert carried() != set(names())


UNSEEN = {
    "privacy": {"top_k_laplace/1"},
    "noise": {*SESSIONS, *(name for name in names() if noise_of(name) == "discrete Laplace")},
    "samplers": {
        name
        for name in names()
        if noise_of(name) != "discrete Laplace" and "_geometric/" not in name
    },
    "thousands": {"best_of/1", "best_of_poisson/1", "first_above/1"},
    "hundreds of thousands": {"best_of/1", "best_of_poisson/1", "first_above/1"},
}
"""What is not looked at even at full effort, by aspect; `coverage` says why."""


def test_at_full_effort_every_aspect_of_every_mechanism_is_looked_at():
    table = coverage(passed(FULL))
    assert set(table) == set(names())
    for name, row in table.items():
        assert set(row) == set(ASPECTS)
        for aspect, verdict in row.items():
            if verdict != "passed":
                assert verdict.startswith("not looked at: ")
                assert "--full" not in verdict
                assert name in UNSEEN[aspect]


def test_the_quick_effort_says_what_it_leaves_out():
    table = coverage(passed(QUICK))
    left = {
        aspect
        for row in table.values()
        for aspect, verdict in row.items()
        if verdict.endswith("--full does")
    }
    assert left <= {"hundreds of thousands", "privacy", "thousands", "fork", "sources"}
    for name, row in table.items():
        late = {"thousands"} if name in OTHERS else set()
        late |= {"fork", "sources"} if "_weighted" in name else set()
        aspects = {"few candidates", "joint", "thousands", "charge", "fork", "sources", "code"}
        for aspect in aspects - late:
            assert row[aspect] == "passed"
    assert "--full looks at more" in summary(passed(QUICK))


def test_what_failed_is_told_mechanism_by_mechanism():
    found = passed(FULL)
    place = next(
        i for i, f in enumerate(found) if f.check.name == "select_many_exponential/1: pairs"
    )
    found[place] = replace(found[place], passed=False)
    assert not_cleared(found) == ["select_many_exponential/1"]
    told = summary(found)
    assert "not cleared: 1 of 64 mechanisms" in told
    assert "  select_many_exponential/1: joint" in told
    assert told.endswith(f"1 of {len(found)} checks FAILED: do not release anything with this copy")


def test_what_all_rely_on_clears_nobody_when_it_fails():
    found = passed(FULL)
    place = next(i for i, f in enumerate(found) if f.check.name == "requests")
    found[place] = replace(found[place], passed=False)
    assert not_cleared(found) == list(names())


def test_the_certificate_has_a_row_for_every_mechanism():
    code = Running({"safeselect": "00"}, 1, 0, ())
    written = certificate_json(
        passed(FULL), effort=FULL, utc="", library={}, running=code, extensions={"numpy": "11"}
    )
    content = json.loads(written)
    assert content["schema"] == "safeselect.certificate/2"
    assert set(content["mechanisms"]) == set(names())
    assert content["not_cleared"] == []
    assert content["not_looked_at"]
    assert content["code"]["loaded_sha256"] == code.digest
    assert content["code"]["extension_modules"] == {"numpy": "11"}
    assert content["passed"]
    other = replace(code, differing=("safeselect.x",))
    written = certificate_json(
        passed(FULL), effort=FULL, utc="", library={}, running=other, extensions={}
    )
    assert not json.loads(written)["passed"]


def test_the_command_checks_also_where_only_production_is_allowed(monkeypatch):
    """Checks need bytes that they know; afterwards the variable is what it was."""
    from argparse import Namespace

    from safeselect.audit.verify import found
    from safeselect.cli import _verify

    some = [
        c for c in checks() if f"{c.kind}: {c.name}" in ("bits: requests", "samplers: coin 1/2")
    ]
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    assert not any(found(check, QUICK).passed for check in some)
    monkeypatch.setattr(_verify, "run", lambda effort: (found(check, effort) for check in some))
    told: list[str] = []
    monkeypatch.setattr(_verify, "write", told.append)
    assert _verify.VERIFY.run(Namespace(certificate=None, full=False)) == 0
    assert len(told) == 2
    assert os.environ["SAFESELECT_REQUIRE_PRODUCTION"] == "1"

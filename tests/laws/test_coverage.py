"""No mechanism goes unseen: every name that a result can carry has its tests of laws."""

from __future__ import annotations

from inspect import signature
from typing import Any, get_args

import pytest
from checks.mechanisms import ONE_SHOT, names
from rules_table import EVERY
from written import POINTS, TABLES

from safeselect.accounting.cost import PrivacyCost
from safeselect.audit.theorems import _TABLE
from safeselect.errors import ParameterError
from safeselect.mechanisms.groups import plan_known, release_by_group
from safeselect.mechanisms.select import select_many, top_k
from safeselect.mechanisms.table import Peeled
from safeselect.randomness.source import resolve

LISTS: Any = (top_k, [3, 1]), (select_many, [[3, 1]])


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
    except (ParameterError, TypeError):  # TypeError: it has no such argument
        return None
    return made.mechanism


def by_group(word: str) -> Any:
    rows = {"May": {"tea": 9, "milk": 2}}
    plan = plan_known(
        PrivacyCost.read(epsilon=1, rho=None, delta=None), ["tea", "milk"], 1, 1, word
    )
    return release_by_group(plan, ["May"], 1, {"k": "1"}, resolve(None), lambda: rows)


def test_every_name_that_a_result_can_carry_has_a_call():
    """The table of rules fails for a new public name or word; so this fails for a new mechanism."""
    assert (carried(), len(names())) == (set(names()), len(set(names())))


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
    """The audit proves releases by their names; the tests of laws look at the same ones."""
    one = {"k": 1, "mechanism": "permute_and_flip", "weights": [1, 2]}  # not with a larger k
    single = {call(scores, **one, epsilon=1, sensitivity=1).mechanism for call, scores in LISTS}
    assert {*_TABLE} == {*names()} | single

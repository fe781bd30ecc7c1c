"""Lists by group: who counts where, what it costs, and one record for one release."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from ledgers import new, scope

import safeselect
from safeselect import Budget, InputError, Ledger, ParameterError, ScoreError
from safeselect.estimates import explain_groups
from safeselect.release.results import Groups
from safeselect.tables import TableAs, top_items_by_group
from safeselect.tables.keys import open_keyed
from safeselect.tables.sql import counts_of_groups

THREE = ("item", "person", "grp")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:epsilon=")

MONTHS = ["May", "June", "July", "August"]
# Rider r travels in 1 to 4 months, to r % 5 + 1 of the cities in each.
ROWS = [
    (month, f"city{(rider + step) % 7}", rider)
    for rider in range(60)
    for month in MONTHS[: rider % 4 + 1]
    for step in range(rider % 5 + 1)
]
COLUMNS = {"group": "month", "item": "city", "user": "rider"}
SURE = {**COLUMNS, "groups": MONTHS, "epsilon": 10_000, "delta": "1e-9"}


def table(rows=ROWS):
    names = ("month", "city", "rider")
    return pa.table(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


def counted(rows, groups: int | None, contributions: int | None = None, listed=MONTHS):
    """The counts that the SQL gives: group -> item -> users."""
    sql = counts_of_groups(groups=groups, places=10**6, contributions=contributions)
    found = defaultdict(dict)
    with open_keyed(table(rows), "city", "rider", "month") as keyed:
        for group, label, users in keyed.fetch(sql, *THREE, groups=list(listed)):
            found[group][label] = users
    return found


def moved(before, after) -> dict[str, int]:
    """For each group that differs, how many of its counts do."""
    changes = {
        group: sum(
            before[group].get(item, 0) != after[group].get(item, 0)
            for item in before[group].keys() | after[group].keys()
        )
        for group in before.keys() | after.keys()
    }
    return {group: change for group, change in changes.items() if change}


def test_groups_and_candidates_are_read_like_the_cells_and_released_as_stated():
    """A list of groups as people write them, of a table whose cells are tidied."""
    rows = [(f" {month.upper()} ", city.upper(), rider) for month, city, rider in ROWS]
    tidy = TableAs(table(rows), trim=True, casefold=True)
    found = top_items_by_group(tidy, **SURE, k=7, max_groups="all")
    assert found.groups == tuple(MONTHS)
    assert [set(found[month]) for month in MONTHS] == [{f"city{n}" for n in range(7)}] * 4
    some = {**SURE, "delta": None, "candidates": ["City3", "City4"]}
    known = top_items_by_group(tidy, **some, k=2, max_groups="all")
    assert {each for row in known.labels for each in row} == {"City3", "City4"}
    with pytest.raises(InputError, match="group 2 and group 1 are the same"):
        top_items_by_group(tidy, **{**SURE, "groups": ["May", "may "]}, k=1)


def test_a_list_that_no_column_holds_is_refused_before_the_charge():
    ledger = new(":memory:", epsilon=99, delta="0.1")
    years = pa.table({"month": [2024, 2025], "city": [1, 2], "rider": [1, 2]})
    asked = {**COLUMNS, "k": 1, "epsilon": 1, "ledger": scope(ledger)}
    with pytest.raises(InputError, match="group 1 is not an integer in plain decimal form"):
        top_items_by_group(years, **asked, groups=["May"], delta="1e-9")
    with pytest.raises(InputError, match="candidate 2 is not an integer in plain decimal form"):
        top_items_by_group(years, **asked, groups=[2024], candidates=[1, "x"])
    assert ledger.balance("a").left["epsilon"] == 99


@pytest.mark.parametrize(("groups", "contributions"), [(1, 2), (2, 1), (2, 10), (4, 2)])
def test_a_user_moves_counts_of_so_many_groups_and_by_one(groups, contributions):
    whole, seen = counted(ROWS, groups, contributions), Counter()
    for rider in range(60):
        without = counted([row for row in ROWS if row[2] != rider], groups, contributions)
        changes = moved(whole, without)
        assert 1 <= len(changes) <= groups
        assert max(changes.values()) <= contributions
        seen.update(changes.keys())
        for group, counts in whole.items():
            for item, users in counts.items():
                assert users - without[group].get(item, 0) in (0, 1)
        if rider > 6:
            break  # all kinds of riders were there
    assert len(seen) > 1


def test_nobody_is_lost_without_need():
    assert moved(counted(ROWS, 4), counted(ROWS, 99, 10**6)) == {}
    truth = defaultdict(lambda: defaultdict(set))
    for month, city, rider in ROWS:
        truth[month][city].add(rider)
    exact = {month: {city: len(who) for city, who in of.items()} for month, of in truth.items()}
    for groups in (4, None):
        assert moved(counted(ROWS, groups), exact) == {}


def test_groups_outside_the_list_take_no_place():
    listed = counted(ROWS, 1, listed=["August"])
    assert moved(listed, counted([row for row in ROWS if row[0] == "August"], 1)) == {}


def stated(found, name):
    return found.provenance.number(name)


def test_an_unknown_domain_in_groups():
    found = top_items_by_group(table(), **SURE, k=2, max_groups="all")
    exact = counted(ROWS, 4)
    assert isinstance(found, Groups)
    assert list(found) == MONTHS
    for month in MONTHS:
        best = sorted(exact[month], key=lambda city: (-exact[month][city], city))[:2]
        assert sorted(exact[month][city] for city in found[month]) == sorted(
            exact[month][city] for city in best
        )
    assert found["May"] == found.labels[0]
    assert top_items_by_group(table(), **{**SURE, "groups": ["Yule", "May"]}, k=2)["Yule"] == ()


def test_one_release_is_one_charge(tmp_path: Path):
    budget = Budget(unit="one rider", neighbours="add_remove", epsilon=1, delta="1e-6")
    ledger = Ledger.create(tmp_path / "ledger", {"trips": budget})
    scope = ledger.scope("trips", unit="one rider", neighbours="add_remove", purpose="months")
    cost = {"epsilon": "0.5", "delta": "1e-7", "ledger": scope}
    found = top_items_by_group(table(), **COLUMNS, groups=MONTHS, k=1, max_groups=2, **cost)
    assert found.receipt is not None
    assert found.provenance.unit == "one rider"
    # A fault in the rows: the charge stands, and the message says nothing of them.
    mixed = pytest.importorskip("pandas").DataFrame(
        {"month": ["May", "June"], "city": ["a", "b"], "rider": [1.5, 2]}
    )
    with pytest.raises(ScoreError, match="do not fit the arguments"):
        top_items_by_group(mixed, **COLUMNS, groups=MONTHS, k=1, **cost)
    with pytest.raises(safeselect.BudgetError, match="is left"):
        top_items_by_group(table(), **COLUMNS, groups=MONTHS, k=1, **cost)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"groups": None}, ParameterError, "pass either groups="),
        ({"groups_are_public": True}, ParameterError, "pass either groups="),
        ({"groups_are_public": 1}, ParameterError, "groups_are_public must be True or False"),
        ({"groups": ["May", "May"]}, InputError, "group 2 repeats group 1"),
        ({"groups": []}, InputError, "the list of groups is empty"),
        ({"max_groups": 0}, ParameterError, "max_groups must be"),
        ({"max_groups": "some"}, ParameterError, "max_groups must be an integer"),
        ({"group": "week"}, InputError, "no column named 'week'"),
        ({"group": None}, ParameterError, "name must be a string"),
        ({"candidates": ["a"], "k_bar": 9}, ParameterError, "cannot be used with known candidates"),
        ({"mechanism": "exponential"}, ParameterError, "requires known candidates"),
        ({"delta": None}, ParameterError, "requires epsilon and delta"),
        ({"epsilon": None, "rho": 1}, ParameterError, "requires epsilon and delta, not rho"),
        ({"candidates": ["a"], "k": 2}, ParameterError, "1 is the number of candidates"),
        ({"k_bar": (5, 10)}, ParameterError, "k_bar must be an integer"),
    ],
)
def test_mistakes(change, error, message):
    arguments = {**SURE, "k": 1, **change}
    with pytest.raises(error, match=message):
        top_items_by_group(table(), **arguments)


def test_a_public_set_of_groups_may_not_be_empty():
    empty = pa.table({name: pa.array([], pa.string()) for name in ("month", "city", "rider")})
    with pytest.raises(InputError, match="has no group"):
        top_items_by_group(empty, **{**SURE, "groups": None}, groups_are_public=True, k=1)
    # With a stated list the same table is a release like any other.
    assert top_items_by_group(empty, **SURE, k=1).labels == ((),) * 4


def test_stated_facts_choose_in_how_many_groups_a_user_counts():
    there = scope(new(":memory:", epsilon=99, delta="0.1"))
    asked = {**COLUMNS, "groups": MONTHS, "k": 2, "epsilon": 1, "delta": "1e-7"}
    for facts in (1, 3, {1: 50, 4: 50}):
        found = top_items_by_group(table(), **asked, groups_per_user=facts, ledger=there)
        best = explain_groups(2, [1], "1e-7", groups=4, groups_per_user=facts).best()
        same = top_items_by_group(table(), **asked, max_groups=best.max_groups)
        assert stated(found, "max_groups") == best.max_groups
        assert (stated(found, "offset"), found.parts) == (stated(same, "offset"), same.parts)
    assert (
        dict(found.provenance.parameters)["groups_per_user"]
        == "1/2 of users in 1, 1/2 of users in 4"
    )
    assert safeselect.from_json(found.to_json()) == found
    known = {**asked, "delta": None, "candidates": ["city1", "city2"]}
    for cost in ({}, {"epsilon": None, "rho": "0.1"}):
        chosen = top_items_by_group(table(), **{**known, **cost}, groups_per_user=3)
        assert stated(chosen, "max_groups") == 3
    with pytest.raises(ParameterError, match="omit max_groups: groups_per_user"):
        top_items_by_group(table(), **asked, groups_per_user=3, max_groups=1)
    with pytest.raises(ParameterError, match="groups_per_user must be"):
        top_items_by_group(table(), **asked, groups_per_user="all")

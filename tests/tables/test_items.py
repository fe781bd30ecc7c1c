"""From a table to a release in one call: what the command does, and the same refusals."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import safeselect
from safeselect import Budget, InputError, Ledger, ParameterError, SafeSelectWarning
from safeselect.cli import main
from safeselect.scores.candidates import Unread
from safeselect.tables import (
    choose_cap,
    count_distinct_users,
    items,
    select_keys,
    table_quantiles,
    top_items,
    top_items_by_group,
)

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

COLUMNS = {"item": "city", "user": "rider"}
RIDERS = {"Rome": 30, "Oslo": 20, "Bern": 3, "Lima": 1}
ROWS = [(city, rider) for city, riders in RIDERS.items() for rider in range(riders)]
TABLE = pa.table({"city": [city for city, _ in ROWS], "rider": [rider for _, rider in ROWS]})
SURE: dict[str, Any] = {**COLUMNS, "epsilon": 10_000, "delta": "1e-9"}


OPTIONS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["--k-bar", "3"], {"k_bar": 3}),
    (["--max-contributions", "2"], {"max_contributions": 2}),
    (["--with-counts"], {"with_counts": True}),
    (["--candidates-are-public"], {"candidates_are_public": True}),
    (["--candidates", "list.txt"], {"candidates": ["Rome", "Oslo", "Bern"]}),
    (
        ["--candidates-are-public", "--mechanism", "exponential"],
        {"candidates_are_public": True, "mechanism": "exponential"},
    ),
]


@pytest.mark.parametrize(("options", "arguments"), OPTIONS, ids=lambda each: str(each)[:40])
def test_the_command_and_the_call_are_one(
    options: list[str],
    arguments: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same counts go to the same mechanism with the same parameters, and the release is one."""
    monkeypatch.chdir(tmp_path)
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(TABLE, "trips.parquet")
    Path("list.txt").write_text("Rome\nOslo\nBern\n")
    asked: list[Any] = []
    for name in ("top_k", "unknown_domain_top_k"):
        real = getattr(items, name)

        def spy(counts: Unread, *, real: Any = real, **given: Any) -> Any:
            found = counts.read()
            texts = str(found), {name: str(value) for name, value in given.items()}
            asked.append((counts.size, counts.labels, *texts))
            return real(replace(counts, read=lambda: found), **given)

        monkeypatch.setattr(items, name, spy)
    typed = ["--item", "city", "--user", "rider", "-k", "2", "--epsilon", "9000", "--delta", "1e-9"]
    assert main(["top-k", "trips.parquet", *typed, *options, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    called = top_items("trips.parquet", **COLUMNS, k=2, epsilon=9000, delta="1e-9", **arguments)
    assert (json.loads(called.to_json()), asked[0]) == (printed, asked[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": None}, "an unknown domain requires epsilon and delta; or pass"),
        ({"epsilon": None}, "an unknown domain requires epsilon and delta; or pass"),
        ({"k": 0}, "k must be between 1"),
        ({"k_bar": 1}, "k_bar must be between 2"),
        ({"mechanism": "exponential"}, "mechanism requires known candidates"),
        ({"candidates_are_public": 1}, "candidates_are_public must be True or False"),
        ({"candidates_are_public": True, "candidates": ["a"]}, "cannot be used with candidates"),
        ({"candidates_are_public": True, "k_bar": 3}, "cannot be used with known candidates"),
        ({"rows": 0}, "rows must be between 1"),
        ({"ledger": "wards"}, "ledger must be the result of ledger.scope"),
    ],
)
def test_wrong_parameters_are_refused_before_the_table_is_read(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        top_items("missing.parquet", **{**SURE, "epsilon": 1, "k": 2, **change})
    with pytest.raises(InputError, match="does not exist"):
        top_items("missing.parquet", **{**SURE, "epsilon": 1}, k=2)


def test_the_ledger_is_charged_once_and_its_unit_is_that_of_the_counts(tmp_path: Path) -> None:
    budget = Budget(unit="rider", neighbours="add_remove", epsilon=9, delta="1e-6")
    ledger = Ledger.create(tmp_path / "ledger", {"trips": budget})
    scope = ledger.scope("trips", unit="rider", neighbours="add_remove", purpose="cities")
    call: dict[str, Any] = {**SURE, "epsilon": 1, "k": 2, "ledger": scope}
    assert top_items(TABLE, **call, unit="rider").receipt is not None
    for known in ({}, {"candidates_are_public": True}):
        with pytest.raises(ParameterError, match="but the unit of the scope is 'rider'"):
            top_items(TABLE, **call, **known, unit="city")
    assert ledger.balance("trips").spent["epsilon"] == 1


@pytest.mark.claim("C2")
def test_counts_that_were_cut_or_not_capped_are_refused() -> None:
    """What let one more user show an item: 200 of 200 releases, where 1e-9 was promised."""
    lone = pa.table({"city": ["Rome"] * 60 + ["Lima"], "rider": [*range(60), 0]})
    cut = count_distinct_users(lone, **COLUMNS, places=1)
    with pytest.raises(ParameterError, match="k_bar=1 requires the 2 largest counts"):
        safeselect.unknown_domain_top_k(cut, k=1, k_bar=1, epsilon="0.1", delta="1e-9")
    loose = count_distinct_users(lone, **COLUMNS, places=4)
    with pytest.raises(
        ParameterError, match="max_contributions=1 requires counts with a cap of at most 1"
    ):
        safeselect.unknown_domain_top_k(
            loose, k=1, k_bar=3, epsilon="0.1", delta="1e-9", max_contributions=1
        )


def warned(**more: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        top_items(TABLE, **{**SURE, "epsilon": 1, "k": 2, **more})
    assert all(each.category is SafeSelectWarning for each in seen)
    assert all(Path(each.filename).name == Path(__file__).name for each in seen)
    return [str(each.message) for each in seen]


def test_warnings_are_about_parameters_alone() -> None:
    assert (warned(), warned(epsilon=10, delta="1e-3", rows=1000)) == ([], [])
    (large,) = warned(epsilon="10.5")
    assert large.startswith("epsilon=10.5 is above 10: ")
    (loose,) = warned(delta="1e-3", rows=1001)
    assert loose.startswith("delta=0.001 is above 1/1001 (one divided by the number of rows); ")
    (same,) = warned(user="city")
    assert same == "item and user are the same column, so every count is 1"
    assert len(warned(user="city", epsilon=11, rows=2, delta="0.9")) == 3


@pytest.mark.parametrize("by", ["list", "candidates", "cap", "keys", "groups", "quantiles"])
def test_a_release_says_whose_privacy_was_stated(by: str) -> None:
    """Without a ledger it is in the statement that the caller's words for the unit stand."""
    table = pa.table(
        {"city": ["Rome"] * 99, "rider": range(99), "fare": [5] * 99, "month": ["May"] * 99}
    )
    common: dict[str, Any] = {"item": "city", "user": "rider", "epsilon": 1, "unit": "one rider"}
    groups = {"group": "month", "groups": ["May"], "k": 1, "delta": "1e-9"}
    ends = {"lowest": 0, "step": 1, "highest": 9, "quantiles": ["1/2"], "of": "largest"}
    found: Any = {
        "list": lambda: top_items(table, **common, k=1, delta="1e-9"),
        "candidates": lambda: top_items(table, **common, k=1, candidates=["Rome"]),
        "cap": lambda: choose_cap(table, **common, most=3),
        "keys": lambda: select_keys(table, **common, delta="1e-9"),
        "groups": lambda: top_items_by_group(table, **common, **groups),
        "quantiles": lambda: table_quantiles(
            table, value="fare", user="rider", epsilon=1, unit="one rider", **ends
        ),
    }[by]()
    assert found.provenance.unit == "one rider"

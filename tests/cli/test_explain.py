"""`safeselect explain-...` prints what the function of this name returns: a table, or JSON."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from safeselect import Budget, explain
from safeselect.cli import main
from safeselect.estimates import explain_groups, explain_items, explain_keys
from safeselect.ledger import Balance

PLANS = {
    "explain-items -k 5 --max-contributions 3 --epsilon 0.5 1 --delta 1e-7": explain_items(
        5, ["0.5", 1], "1e-7", max_contributions=3
    ),
    "explain-keys --with-counts --pre-threshold 9 --epsilon 0.5 1 --delta 1e-7": explain_keys(
        ["0.5", 1], "1e-7", pre_threshold=9, with_counts=True
    ),
    "explain-keys --keys-per-user 30 --epsilon 0.5 1 --delta 1e-7": explain_keys(
        ["0.5", 1], "1e-7", keys_per_user=30
    ),
    "explain-groups -k 5 --known --groups 12 --groups-per-user 6 --epsilon 1": explain_groups(
        5, [1], groups=12, groups_per_user=6, known=True
    ),
}


@pytest.mark.parametrize("line", PLANS)
def test_a_command_is_the_function_of_its_name(line: str, capsys) -> None:
    plans = PLANS[line]
    assert (main(line.split()), capsys.readouterr().out) == (0, f"{plans}\n")
    assert main([*line.split(), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    words = {name: told.pop(name) for name in ("noise",) if name in told}
    read = {name: [c if c is None else Fraction(c) for c in told[name]] for name in told} | words
    assert read == plans.to_dict()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("explain --epsilon 1", "required: -k"),
        ("explain-items -k 1 --epsilon 1", "required: --delta"),
        ("explain-keys --epsilon 1 --delta 1e-6 -k 1", "unrecognized arguments: -k"),
        ("explain-groups -k 1 --groups 3 --epsilon 1", "required: --groups-per-user"),
    ],
)
def test_what_a_command_needs(line: str, reason: str, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert reason in capsys.readouterr().err


def test_the_table_of_explain_is_json_too(capsys) -> None:
    assert main(["explain", "-k", "2", "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == explain(2, 1).to_dict()


def test_a_plan_is_the_forecast_of_a_whole_budget(capsys) -> None:
    line = "ledger plan -k 5 --epsilon 1/10"
    assert main([*line.split(), "--budget", "1"]) == 0
    fresh = Balance.fresh(Budget("person", "add_remove", epsilon=1))
    said = capsys.readouterr().out.removeprefix(f"{fresh}\n")
    assert "10" in said
    assert str(fresh) not in said
    for more in ("", " --budget 1 1e-6 1e-7 3", " --scope a x.ledger --budget 1"):
        assert main((line + more).split()) == 2
        assert "pass either FILE and --scope" in capsys.readouterr().err

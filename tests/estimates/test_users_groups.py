"""In how many groups to count a user: against other plans, a made-up market, and the release."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from safeselect import ParameterError, top_k_many
from safeselect.cli import main
from safeselect.estimates import explain_groups, explain_items

CASES = [(1, 16), (11, 12), ({1: 70, 3: 20, 12: 10}, 12), ({5: 1}, 300)]


@pytest.mark.parametrize(("per_user", "groups"), CASES)
@pytest.mark.parametrize("cap", [None, 3])
def test_users_are_those_of_the_noise_over_the_share_that_is_counted(per_user, groups, cap):
    facts = {"groups": groups, "groups_per_user": per_user, "max_contributions": cap}
    plans = explain_groups(5, ["0.5", 2], "1e-7", **facts)
    spread = per_user if isinstance(per_user, dict) else {per_user: 1}
    for plan in plans.plans:
        counted = sum(n * min(m, plan.max_groups) for m, n in spread.items())
        assert plan.kept == Fraction(counted, sum(n * m for m, n in spread.items()))
        (alone,) = explain_items(
            5, [plan.epsilon], "1e-7", max_contributions=cap, max_groups=plan.max_groups
        ).plans
        assert plan.users == math.ceil(alone.users / plan.kept)
        assert plan.standard_deviation == alone.standard_deviation
    tried = [plan.max_groups for plan in plans.plans if plan.epsilon == 2]
    assert {1, groups, *(min(m, groups) for m in spread)} <= set(tried)
    best = plans.best("0.5")
    assert best.users == min(plan.users for plan in plans.plans if plan.epsilon == best.epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, None), (1, "1e-6")])
@pytest.mark.parametrize("mechanism", [None, "permute_and_flip", "exponential"])
def test_a_lead_decides_between_two_as_often_as_told(epsilon, delta, mechanism):
    """Two candidates in 2000 rows, of which a user may change three: each wins as it should.

    False alarms: below 1e-9, by Hoeffding's bound, for the share that is missed, which is 0.05 at
    most and 0.04 at least. Power: a lead that is off by a fifth misses 0.08 or 0.03.
    """
    facts = {"groups": 7000, "groups_per_user": 3, "known": True, "mechanism": mechanism}
    plan = next(
        plan for plan in explain_groups(1, [epsilon], delta, **facts).plans if plan.max_groups == 4
    )
    assert plan.kept == 1
    rows = np.tile([plan.users, 0], (7000, 1))
    found = top_k_many(
        rows, k=1, max_rows=4, epsilon=epsilon, delta=delta, sensitivity=1, monotonic=True,
        **({} if mechanism is None else {"mechanism": mechanism}),
    )  # fmt: skip
    missed = np.mean(np.asarray(found.winners) != 0)
    slack = math.sqrt(math.log(1e9) / 2 / 7000)
    assert 0.035 - slack < missed < 0.05 + slack
    # The law itself, from the released rate.
    rate = float(found.parts[0].epsilon)
    pure = mechanism == "permute_and_flip" or (mechanism is None and delta is None)

    def wrong(lead):
        return math.exp(-rate * lead) / 2 if pure else 1 / (1 + math.exp(rate * lead))

    assert wrong(plan.users) <= 0.05 < wrong(plan.users - 1)


def test_of_equal_plans_the_one_that_drops_nobody():
    """Pure epsilon: twice as many groups double the noise and what is counted."""
    plans = explain_groups(5, [1], groups=12, groups_per_user=4, known=True)
    users = {plan.max_groups: plan.users for plan in plans.plans}
    assert users[1] == users[2] == users[4] < users[8]
    assert plans.best().max_groups == 4


def test_data_text_plot_and_command(capsys):
    plans = explain_groups(5, ["0.5", 1], "1e-7", groups=12, groups_per_user=6)
    columns = plans.to_dict()
    lines = str(plans).splitlines()
    assert lines[0] == "top 5 in each of 12 groups; users, as stated: 100 % in 6"
    assert [line.split()[1] for line in lines[2:-1] if line.endswith(" best")] == ["6", "6"]
    line = "explain -k 5 --unknown --groups 12 --groups-per-user 6 --epsilon 0.5 1 --delta 1e-7"
    assert main(line.split()) == 0
    assert capsys.readouterr().out == f"{plans}\n"
    assert main([*line.split(), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [int(each) for each in told["users"]] == columns["users"]
    assert told["standard_deviation"] == [None] * 12
    pytest.importorskip("matplotlib")
    (axes,) = plans.plot().axes
    first, circle, second, _ = axes.get_lines()
    assert [*first.get_ydata(), *second.get_ydata()] == columns["users"]
    assert list(circle.get_xdata()) == [plans.best("0.5").max_groups]


def test_a_plot_from_the_command(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.svg"
    line = f"explain -k 5 --unknown --epsilon 0.5 1 --delta 1e-7 --plot {file}"
    assert main(line.split()) == 0
    assert file.read_text("utf-8").startswith("<?xml")
    assert capsys.readouterr().out.startswith("top 5 of an unknown domain")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilons": []}, "one epsilon or more"),
        ({"k": 0}, "k must be"),
        ({"groups": 0}, "groups must be"),
        ({"groups_per_user": 0}, "groups_per_user must be"),
        ({"groups_per_user": {}}, "at least one user"),
        ({"groups_per_user": {0: 1}}, "a number of groups"),
        ({"groups_per_user": {1: -1}}, "a number of users"),
        ({"delta": None}, "needs epsilon and delta"),
        ({"known": True, "k_bar": 9}, "go with an unknown domain"),
        ({"known": True, "mechanism": "laplace"}, "mechanism must be"),
        ({"known": "yes"}, "known must be"),
    ],
)
def test_mistakes(change, message):
    asked = {"k": 5, "epsilons": [1], "delta": "1e-7", "groups": 12, "groups_per_user": 3}
    with pytest.raises(ParameterError, match=message):
        explain_groups(**{**asked, **change})


def test_best_needs_to_know_for_which_epsilon():
    plans = explain_groups(5, ["0.5", 1], "1e-7", groups=2, groups_per_user=1)
    with pytest.raises(ParameterError, match="say for which of the epsilons"):
        plans.best()
    with pytest.raises(ParameterError, match="one of those asked"):
        plans.best(2)

"""How many users an item needs: against the released offsets, and laws computed another way."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from safeselect import ParameterError, unknown_domain_top_k
from safeselect.estimates import explain_groups, explain_items, explain_keys

CASES = [(5, "0.5", "1e-7"), (5, 1, "1e-7"), (1, 4, "1e-9"), (20, "0.05", "1e-6")]


def released(k, epsilon, delta, **more):
    return unknown_domain_top_k(
        {"a": 1}, k=k, k_bar=10 * k, epsilon=epsilon, delta=delta, places="all", **more
    )


@pytest.mark.parametrize(("k", "epsilon", "delta"), CASES)
def test_offset_and_rate_are_those_of_the_release_and_users_those_of_the_logistic_law(
    k, epsilon, delta
):
    (plan,) = explain_items(k, [epsilon], delta).plans
    found = released(k, epsilon, delta)
    assert (plan.offset, plan.noise_rate) == (found.offset, found.noise_rate)

    def shows(users):  # two Gumbel noises differ by a logistic one
        return 1 / (1 + math.exp(-float(plan.noise_rate) * (users - float(plan.offset))))

    assert shows(plan.users) >= 0.95 > shows(plan.users - 1)


@pytest.mark.parametrize(("k", "epsilon", "delta"), CASES)
@pytest.mark.parametrize("cap", [1, 7])
def test_users_by_summing_two_discrete_laplace_laws(k, epsilon, delta, cap):
    (plan,) = explain_items(k, [epsilon], delta, max_contributions=cap).plans
    found = released(k, epsilon, delta, max_contributions=cap)
    assert (plan.offset, plan.noise_rate) == (found.offset, found.noise_rate)
    assert plan.standard_deviation == found.count_noise.standard_deviation
    a, far = math.exp(-float(plan.noise_rate)), int(40 / plan.noise_rate) + 10
    law = [(1 - a) / (1 + a) * a ** abs(x) for x in range(-far, far + 1)]
    above = [0.0] * (2 * far + 2)  # P(noise >= x), at x + far
    for place in range(2 * far, -1, -1):
        above[place] = above[place + 1] + law[place]

    def shows(users):  # users + X > offset + Y
        lead = users - int(plan.offset)
        return sum(
            law[y + far] * (above[max(0, y - lead + 1 + far)] if y - lead + 1 <= far else 0)
            for y in range(-far, far + 1)
        )

    assert shows(plan.users) >= 0.95 - 1e-9
    assert shows(plan.users - 1) < 0.95


def test_groups_share_epsilon_and_delta():
    one = explain_items(5, [1], "1e-7", max_contributions=2)
    four = explain_items(5, [4], "4e-7", max_contributions=2, max_groups=4)
    assert one.plans[0].users == four.plans[0].users
    users = [explain_items(5, [1], "1e-7", max_groups=c).plans[0].users for c in (1, 2, 4, 8)]
    assert users == sorted(set(users))


def test_data_text_and_plot():
    plans = explain_items(5, ["0.5", 1, 2], "1e-7", max_contributions=3)
    columns = plans.to_dict()
    assert columns["epsilon"] == [0.5, 1.0, 2.0]
    assert columns["users"] == [plan.users for plan in plans.plans]
    lines = str(plans).splitlines()
    assert len(lines) == 6
    assert f"{plans.plans[1].users} users" in lines[3]
    assert lines[3].startswith("1 ")
    pytest.importorskip("matplotlib")
    (axes,) = plans.plot().axes
    (line,) = axes.get_lines()
    assert list(line.get_ydata()) == columns["users"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilons": []}, "one epsilon or more"),
        ({"k": 0}, "k must be"),
        ({"k_bar": 2}, "k_bar must be"),
        ({"k_bar": (5, 50)}, "k_bar must be an integer"),
        ({"delta": 0}, "delta"),
        ({"max_groups": 0}, "max_groups"),
        ({"max_contributions": 0}, "max_contributions"),
        ({"epsilons": [Fraction(-1)]}, "epsilon"),
    ],
)
def test_mistakes(change, message):
    with pytest.raises(ParameterError, match=message):
        explain_items(**{"k": 5, "epsilons": [1], "delta": "1e-7", **change})


@pytest.mark.parametrize("one", ["0.5", Fraction(1, 2), 0.5])
def test_one_epsilon_needs_no_list(one):
    assert explain_items(5, one, "1e-7") == explain_items(5, ["0.5"], "1e-7")
    assert explain_keys(one, "1e-7") == explain_keys(["0.5"], "1e-7")
    facts = {"groups": 3, "groups_per_user": 2}
    assert explain_groups(5, one, "1e-7", **facts) == explain_groups(5, ["0.5"], "1e-7", **facts)

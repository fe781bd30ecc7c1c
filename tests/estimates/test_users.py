"""How many users an item, a key or a group needs: against releases, and other computations."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from math import ceil, isqrt

import pytest

from safeselect import ParameterError, partition_strategy, select_many, unknown_domain_top_k
from safeselect.cli import main
from safeselect.estimates import explain_groups, explain_items, explain_keys
from safeselect.mechanisms.weighted_keys import WeightedTerms

ITEMS = [(5, "0.5", "1e-7"), (5, 1, "1e-7"), (1, 4, "1e-9"), (50, "0.05", "1e-6")]
KEYS = [
    ("0.2", "1e-9", 1, 1, False),
    (1, "1e-6", 1, 20, True),
    (1, "1e-6", 12, 1, True),
    (3, "0.01", 3, 4, False),
]
GROUPS = [(1, 16), (11, 12), ({1: 70, 3: 20, 12: 10}, 12), ({5: 1}, 300)]


# ------------------------------------------------------------------------------------- items


def released(k, epsilon, delta, **more):
    return unknown_domain_top_k(
        {"a": 1}, k=k, k_bar=10 * k, epsilon=epsilon, delta=delta, places="all", **more
    )


@pytest.mark.parametrize(("k", "epsilon", "delta"), ITEMS)
def test_offset_and_rate_are_those_of_the_release_and_users_those_of_the_logistic_law(
    k, epsilon, delta
):
    (plan,) = explain_items(k, [epsilon], delta).plans
    found = released(k, epsilon, delta)
    assert (plan.offset, plan.noise_rate) == (found.provenance.number("offset"), found.noise_rate)

    def shows(users):  # two Gumbel noises differ by a logistic one
        return 1 / (1 + math.exp(-float(plan.noise_rate) * (users - float(plan.offset))))

    assert shows(plan.users) >= 0.95 > shows(plan.users - 1)


@pytest.mark.parametrize(("k", "epsilon", "delta"), ITEMS)
@pytest.mark.parametrize("cap", [1, 7])
def test_users_by_summing_two_discrete_laplace_laws(k, epsilon, delta, cap):
    (plan,) = explain_items(k, [epsilon], delta, max_contributions=cap).plans
    found = released(k, epsilon, delta, max_contributions=cap)
    assert (plan.offset, plan.noise_rate) == (found.provenance.number("offset"), found.noise_rate)
    assert plan.standard_deviation == found.noise.deviation
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


# -------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(("epsilon", "delta", "most", "least", "counts"), KEYS)
def test_users_are_the_first_whose_probability_is_enough(epsilon, delta, most, least, counts):
    asked = {"max_partitions": most, "pre_threshold": least, "with_counts": counts}
    (plan,) = explain_keys([epsilon], delta, **asked).plans
    keeps = partition_strategy(epsilon=epsilon, delta=delta, **asked).probability_of_keep
    for users, chance in (
        (plan.even_odds, Fraction(1, 2)),
        (plan.users, Fraction(19, 20)),
        (plan.certain, 1),
    ):
        assert keeps(users) >= chance > keeps(users - 1)
    assert plan.even_odds >= least
    assert (plan.standard_deviation is not None) is counts


@pytest.mark.parametrize("per_user", [1, 4, 6, 100, {1: 30, 20: 10, 500: 1}])
def test_the_laws_of_keys_are_compared_at_their_best_caps(per_user):
    """Users needed of all who have a key, from the law of each cap; the rest is averages."""
    spread = per_user if isinstance(per_user, dict) else {per_user: 1}
    pairs, by_cap, by_weight = sum(n * d for d, n in spread.items()), {}, {}
    for cap in {1 << power for power in range(max(spread).bit_length())} | {*spread}:
        terms = WeightedTerms.read(1, "1e-6", cap)
        held = [(n, min(d, cap)) for d, n in spread.items()]
        (alone,) = explain_keys([1], "1e-6", max_partitions=cap).plans
        by_cap[cap] = ceil(alone.users * Fraction(pairs, sum(n * m for n, m in held)))
        weight = sum(n * m * isqrt(terms.squared // m) for n, m in held)
        by_weight[cap] = (terms.threshold + 1.644854 * 2**13) * pairs / weight
    plans = explain_keys([1], "1e-6", keys_per_user=per_user)
    table, weights = plans.plans
    assert table.users == min(by_cap.values()) == by_cap[table.max_partitions]
    assert (weights.noise, weights.max_partitions) == (
        "gaussian",
        min(by_weight, key=by_weight.get),
    )
    assert weights.users == pytest.approx(min(by_weight.values()), abs=1.01)
    assert plans.best().noise == ("table" if per_user in (1, 4) else "gaussian")
    assert str(plans).count("best") == 1


# ------------------------------------------------------------------------------------ groups


@pytest.mark.parametrize(("per_user", "groups"), GROUPS)
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
    """By the law of two candidates at the rate that is released."""
    facts = {"groups": 7000, "groups_per_user": 3, "known": True, "mechanism": mechanism}
    plan = next(
        plan for plan in explain_groups(1, [epsilon], delta, **facts).plans if plan.max_groups == 4
    )
    assert plan.kept == 1
    found = select_many(
        [[plan.users, 0]] * 4, k=1, max_rows=4, epsilon=epsilon, delta=delta, sensitivity=1,
        monotonic=True, **({} if mechanism is None else {"mechanism": mechanism}),
    )  # fmt: skip
    # The law itself, from the released rate.
    rate = float(found.parts[0].epsilon)
    pure = mechanism == "permute_and_flip" or (mechanism is None and delta is None)

    def wrong(lead):
        return math.exp(-rate * lead) / 2 if pure else 1 / (1 + math.exp(rate * lead))

    assert wrong(plan.users) <= 0.05 < wrong(plan.users - 1)


def test_best_needs_to_know_for_which_epsilon():
    plans = explain_groups(5, ["0.5", 1], "1e-7", groups=2, groups_per_user=1)
    with pytest.raises(ParameterError, match="the table has several epsilons"):
        plans.best()
    with pytest.raises(ParameterError, match="epsilon must be a value in the table, got"):
        plans.best(2)


# ------------------------------------------------------------------------- text, columns and plots


def test_data_text_plot_and_command(capsys):
    items = explain_items(5, ["0.5", 1, 2], "1e-7", max_contributions=3)
    keys = explain_keys(["0.5", 1, 2], "1e-7", max_partitions=2, pre_threshold=9, with_counts=True)
    groups = explain_groups(5, ["0.5", 1], "1e-7", groups=12, groups_per_user=6)
    of_keys = "explain-keys --with-counts --max-partitions 2 --pre-threshold 9"
    for plans, line in (
        (items, "explain-items -k 5 --max-contributions 3 --epsilon 0.5 1 2"),
        (keys, f"{of_keys} --epsilon 0.5 1 2"),
        (groups, "explain-groups -k 5 --groups 12 --groups-per-user 6 --epsilon 0.5 1"),
    ):
        columns = plans.to_dict()
        assert columns["users"] == [plan.users for plan in plans.plans]
        command = [*line.split(), "--delta", "1e-7"]
        assert (main(command), capsys.readouterr().out) == (0, f"{plans}\n")
        assert main([*command, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {n: [c if c is None else Fraction(c) for c in told[n]] for n in told} == columns
        for plan, row in zip(plans.plans, str(plans).splitlines()[2:-1], strict=True):
            assert str(plan.users) in row.split()
    assert list(keys.to_dict()) == [
        "epsilon",
        "users",
        "even_odds",
        "certain",
        "standard_deviation",
    ]
    assert "each user counts for at most 2 keys" in keys.title
    assert "never below 9 users" in keys.title
    assert groups.title == "top 5 in each of 12 groups; users as stated: 100 % in 6"
    rows = str(groups).splitlines()[2:-1]
    assert [row.split()[1] for row in rows if row.endswith(" best")] == ["6", "6"]

"""How many users a key needs: against the probabilities that a strategy states, and its law."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import pytest

from safeselect import ParameterError, partition_strategy
from safeselect.cli import main
from safeselect.estimates import explain_keys

CASES = [
    ("0.2", "1e-9", 1, 1, False),
    (1, "1e-6", 1, 20, True),
    (1, "1e-6", 12, 1, True),
    (3, "0.01", 3, 4, False),
]


@pytest.mark.parametrize(("epsilon", "delta", "most", "least", "counts"), CASES)
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


@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", "1e-7"), (1, "1e-6"), (4, "1e-3")])
def test_the_deviation_is_that_of_the_thresholds(epsilon, delta):
    """From the differences of the stated probabilities, in floating point."""
    (plan,) = explain_keys([epsilon], delta, with_counts=True).plans
    strategy = partition_strategy(epsilon=epsilon, delta=delta, max_partitions=1, with_counts=True)
    chances = [float(strategy.probability_of_keep(n)) for n in range(plan.certain + 1)]
    law = [after - before for before, after in itertools.pairwise(chances)]
    mean = sum(n * each for n, each in enumerate(law))
    deviation = math.sqrt(sum((n - mean) ** 2 * each for n, each in enumerate(law)))
    assert deviation <= float(plan.standard_deviation) < deviation + 0.0011


def test_data_text_plot_and_command(capsys):
    plans = explain_keys(["0.5", 1, 2], "1e-7", max_partitions=2, pre_threshold=9, with_counts=True)
    columns = plans.to_dict()
    assert list(columns) == ["epsilon", "even_odds", "users", "certain", "standard_deviation"]
    assert columns["users"] == [plan.users for plan in plans.plans]
    lines = str(plans).splitlines()
    assert "a user counts for 2 keys at most" in lines[0]
    assert "never below 9 users" in lines[0]
    assert f"{plans.plans[1].users} users" in lines[3]
    line = ["explain", "--keys", "--epsilon", "0.5", "1", "2", "--delta", "1e-7", "--with-counts"]
    line += ["--max-partitions", "2", "--pre-threshold", "9"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"{plans}\n"
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: [Fraction(cell) for cell in told[name]] for name in told} == columns
    pytest.importorskip("matplotlib")
    (axes,) = plans.plot().axes
    (drawn,) = axes.get_lines()
    assert list(drawn.get_ydata()) == columns["users"]
    assert [each.get_text() for each in axes.get_xticklabels()] == ["0.5", "1", "2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilons": []}, "one epsilon or more"),
        ({"epsilons": "x"}, "epsilon must be"),
        ({"delta": 0}, "delta"),
        ({"max_partitions": 0}, "max_partitions"),
        ({"pre_threshold": 0}, "pre_threshold"),
        ({"with_counts": 1}, "with_counts"),
        ({"epsilons": ["1e-9"]}, "choose a larger epsilon"),
    ],
)
def test_mistakes(change, message):
    with pytest.raises(ParameterError, match=message):
        explain_keys(**{"epsilons": [1], "delta": "1e-7", **change})

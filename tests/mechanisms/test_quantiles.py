"""Quantiles: the law over the grid, the loss on neighbours, all inputs, and what is paid."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from safeselect import (
    ApproximateDP,
    BoundedRange,
    Budget,
    LaplaceDominated,
    Ledger,
    ParameterError,
    ScoreError,
    ZeroConcentratedDP,
    quantile,
    quantiles,
)
from safeselect.grid_quantiles._point import Classes, _point, draw_point
from safeselect.grid_quantiles.release import _range, _split

CASES = [
    case
    for case in json.loads(
        (Path(__file__).parents[1] / "vectors" / "weights_quantiles_runs.json").read_text()
    )
    if case["group"] == "k3"
]
QUANTILES = [Fraction(x) for x in ("0", "1/4", "1/2", "2/3", "1")]


def cases(name):
    found = [(case["inputs"], case["output"]) for case in CASES if case["name"] == name]
    assert found
    return found


def grid_law(data, first, last, share, rate):
    """By definition: every point of the grid, its score in ranks, and the exponential mechanism."""
    with mpmath.workdps(40):
        scores = [abs(sum(x < g for x in data) - share * len(data)) for g in range(first, last + 1)]
        terms = [
            mpmath.exp(
                -mpmath.mpf(rate.numerator * s.numerator) / (rate.denominator * s.denominator)
            )
            for s in map(Fraction, scores)
        ]
        return [term / mpmath.fsum(terms) for term in terms]


def class_law(data, first, last, share, rate):
    """The shipped classes: sizes times the shipped powers, as shares."""
    classes = Classes.of(sorted(data), first, last, share)
    powers, error = classes.powers(rate, share, 160)
    sizes = [b - a for a, b in itertools.pairwise(classes.starts)]
    weights = [size * power for size, power in zip(sizes, powers, strict=True)]
    assert error < 1 << 20
    return sizes, [Fraction(weight, sum(weights)) for weight in weights]


def near(found, wanted, digits=20):
    return abs(Fraction(found) - Fraction(str(wanted))) < Fraction(1, 10**digits)


# --------------------------------------------------------------------------- published laws


@pytest.mark.parametrize(("inputs", "output"), cases("quantile_grid_probabilities"))
def test_published_probabilities_of_classes_and_points(inputs, output):
    share, data = Fraction(inputs["quantile"]), inputs["data"]
    first, last = inputs["lowest"], inputs["highest"]
    rate = Fraction(inputs["epsilon"]) / _range(share, False)
    sizes, law = class_law(data, first, last, share, rate)
    assert sizes == output["class_sizes"]
    assert all(map(near, law, output["class_probabilities"]))
    points = [law[i] / size for i, size in enumerate(sizes) for _ in range(size)]
    assert all(map(near, points, output["probabilities"]))


@pytest.mark.parametrize(("inputs", "output"), cases("quantile_class_probabilities_wide_grid"))
def test_published_probabilities_of_a_grid_of_all_integers(inputs, output):
    share = Fraction(inputs["quantile"])
    rate = Fraction(inputs["epsilon"]) / _range(share, False)
    _, law = class_law(inputs["data"], inputs["lowest"], inputs["highest"], share, rate)
    assert all(near(p, Fraction(q), 25) for p, q in zip(law, output, strict=True))


@pytest.mark.parametrize(("inputs", "output"), cases("recursive_quantiles_joint"))
def test_published_probabilities_of_three_quantiles(inputs, output, monkeypatch):
    """The shipped recursion with every point as a branch: all outcomes, with exact shares."""
    shares = [Fraction(x) for x in inputs["quantiles"]]
    epsilon = Fraction(inputs["epsilon_per_level"])
    law = joint(inputs["data"], inputs["lowest"], inputs["highest"], shares, epsilon, monkeypatch)
    assert abs(sum(law.values()) - 1) < Fraction(1, 10**20)
    likeliest = sorted(law.values(), reverse=True)[:5]
    for outcome, given in output.items():
        found = law[tuple(map(int, outcome.split(",")))]
        assert near(found, given)
        assert found >= likeliest[-1] - Fraction(1, 10**20)


def joint(data, first, last, shares, epsilon, monkeypatch):
    """The law of `_split`, by trying each point wherever it draws one."""
    law: dict[tuple[int, ...], Fraction] = {}
    pending: list[list[int]] = [[]]
    while pending:
        script = pending.pop()
        trail: list[tuple[int, list[int]]] = []
        weight = Fraction(1)

        def draw(cells, low, high, share, rate, bits, script=script, trail=trail):
            nonlocal weight
            sizes, by_class = class_law(cells, low, high, share, rate)
            points = [
                p / size for p, size in zip(by_class, sizes, strict=True) for _ in range(size)
            ]
            at = len(trail)
            choice = script[at] if at < len(script) else low
            trail.append((choice, list(range(low, high + 1))))
            weight *= points[choice - low]
            return choice

        monkeypatch.setattr("safeselect.grid_quantiles.release.draw_point", draw)
        outcome = _split(
            sorted(data), (first, last), shares, lambda q: epsilon / _range(q, False), None
        )
        law[tuple(outcome)] = law.get(tuple(outcome), Fraction(0)) + weight
        for at in range(len(script), len(trail)):
            chosen = [choice for choice, _ in trail[:at]]
            pending += [[*chosen, other] for other in trail[at][1][1:]]
    return law


def test_all_published_numbers_are_looked_at():
    assert {case["name"] for case in CASES} == {
        "quantile_grid_probabilities",
        "quantile_class_probabilities_wide_grid",
        "recursive_quantiles_joint",
    }


# ------------------------------------------------------- the law, for all small multisets


@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.parametrize("size", range(5))
def test_classes_have_the_law_of_the_grid(share, size):
    rate = Fraction(3, 4)
    for data in itertools.combinations_with_replacement(range(5), size):
        law = grid_law(data, 0, 4, share, rate / share.denominator * share.denominator)
        sizes, by_class = class_law(data, 0, 4, share, rate / share.denominator)
        at = 0
        for count, p in zip(sizes, by_class, strict=True):
            for _ in range(count):
                assert near(p / count, mpmath.nstr(law[at], 30))
                at += 1
        assert at == 5


@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.parametrize("data", [(), (2,), (0, 0), (1, 1, 3), (4, 4, 4)])
def test_every_word_draws_the_point_of_the_exact_sums(share, data):
    """For all words of 8 digits: the point between whose sums all completions lie, or none."""
    rate, open_ = Fraction(3, 4), 0
    law = grid_law(data, 0, 4, share, rate)
    with mpmath.workdps(40):
        sums = [mpmath.mpf(0), *itertools.accumulate(law)]
        sums[-1] = mpmath.mpf(1)
        classes = Classes.of(sorted(data), 0, 4, share)
        for word in range(256):
            found = _point(classes, share, rate / share.denominator, word, 8)
            low, high = mpmath.mpf(word) / 256, mpmath.mpf(word + 1) / 256
            within = [g for g in range(5) if sums[g] <= low and high <= sums[g + 1]]
            open_ += found is None
            # At an exact end of a sum, equality is left open.
            assert found is None or [found] == within
            if found is None:
                assert any(low <= s <= high for s in sums[1:-1])
    assert open_ <= 8


@pytest.mark.parametrize("share", QUANTILES)
def test_the_loss_on_all_small_neighbours(share):
    """Ranges of the log-ratio: below epsilon for every pair, and near it for some."""
    widest = {"add_remove": 0.0, "replace_one": 0.0}
    for size in range(4):
        for data in itertools.combinations_with_replacement(range(4), size):
            for extra in range(4):
                pairs = [("add_remove", data, (*data, extra))]
                pairs += [("replace_one", (*data, extra), (*data, other)) for other in range(4)]
                for kind, one, other in pairs:
                    rate = Fraction(1) / _range(share, kind == "replace_one") * share.denominator
                    p, q = (grid_law(each, 0, 3, share, rate) for each in (one, other))
                    ratios = [float(mpmath.log(x / y)) for x, y in zip(p, q, strict=True)]
                    widest[kind] = max(widest[kind], max(ratios) - min(ratios))
    for found in widest.values():
        assert 0.49 < found < 1 + 1e-12


def test_the_loss_of_several_is_that_of_the_levels(monkeypatch):
    """Three quantiles are two levels: below 2 epsilon, and above 1, so that one is too little."""
    shares, widest = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], 0.0
    for data in [(), (0,), (2,), (0, 2), (1, 1), (0, 1, 2), (0, 0, 2)]:
        for extra in range(3):
            laws = [
                joint(each, 0, 2, shares, Fraction(1), monkeypatch)
                for each in (data, (*data, extra))
            ]
            losses = [
                math.log(laws[0].get(k, Fraction(1)) / laws[1].get(k, Fraction(1)))
                for k in laws[0].keys() | laws[1].keys()
            ]
            assert laws[0].keys() == laws[1].keys()
            widest = max(widest, max(map(abs, losses)))
    assert 1 < widest < 2


# ---------------------------------------------------------------------------- all inputs


@pytest.mark.parametrize("values", [[], [7], [7] * 500, [0, 10**30, -(10**30)], [3, 3, 4, 4]])
@pytest.mark.parametrize("share", [0, "1/2", "0.999", 1])
@pytest.mark.parametrize("ends", [(0, 9), (7, 7), (-(2**63), 2**64 - 1), (0, 2**255)])
@pytest.mark.parametrize("epsilon", ["1e-9", 1, "1000000"])
@pytest.mark.filterwarnings("ignore:epsilon=")
def test_no_values_and_no_grid_are_a_fault(values, share, ends, epsilon):
    given = {"lowest": ends[0], "highest": ends[1], "epsilon": epsilon}
    found = quantile(values, quantile=share, **given)
    assert ends[0] <= found.value <= ends[1]
    several = quantiles(values, quantiles=[share, "1/3", "2/3"], **given)
    order = sorted(zip(several.quantiles, several.values, strict=True))
    assert [point for _, point in order] == sorted(several.values)


def test_a_large_epsilon_finds_the_quantile_itself():
    with pytest.warns(UserWarning, match="epsilon="):
        found = quantiles(
            [5, 1, 9, 3, 7], quantiles=["1/5", "4/5"], lowest=0, highest=10, epsilon=10**6
        )
    assert 1 < found.values[0] <= 3
    assert 7 < found.values[1] <= 9


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
KINDS = [
    ([DAY] * 9, (datetime.date(2024, 2, 1), datetime.date(2024, 3, 31), None), datetime.date),
    (
        np.array(["2024-02-29"] * 9, "datetime64[ns]"),
        (datetime.date(2024, 2, 28), DAY, 1),
        datetime.date,
    ),
    ([NOON], (DAY, DAY, None), datetime.date),
    (["0.3"], None, None),
    ([0.3] * 9, (Decimal(0), Decimal(1), "0.1"), Decimal),
    (np.array([0.25, np.inf, -np.inf]), ("0", "1", "1/3"), Fraction),
    (np.arange(9, dtype=np.uint8), (0, 9, 3), int),
    ([1, 2.5, Fraction(1, 3), Decimal("0.1")], (0, 9, "1/2"), Fraction),
]


@pytest.mark.parametrize(("values", "ends", "kind"), [k for k in KINDS if k[1]])
def test_points_are_of_the_kind_of_the_ends(values, ends, kind):
    lowest, highest, step = ends
    found = quantile(values, quantile="1/2", lowest=lowest, highest=highest, step=step, epsilon=1)
    assert type(found.value) is kind
    assert (
        Fraction(lowest) <= found.value <= Fraction(highest)
        if kind is not datetime.date
        else (lowest <= found.value <= highest)
    )
    assert json.loads(found.to_json())["values"] == [
        str(found.value) if kind is not int else str(int(found.value))
    ]


def test_a_float_stands_for_its_decimal():
    """0.3 lies in the cell of 0.3, though its double is below it."""
    from safeselect.grid_quantiles._grid import Grid

    grid = Grid.read(Decimal(0), Decimal(1), "0.1")
    assert grid.cells([0.3, 0.29999, 0.7, -1, 2]) == [0, 2, 3, 7, 10]
    assert [str(grid.point(place)) for place in (0, 3, 10)] == ["0", "0.3", "1"]


@pytest.mark.parametrize(
    "values",
    [[1, None], [1, float("nan")], ["1"], [True], [DAY], [object()], [[1]], [1j], [Decimal("NaN")]],
)
def test_values_that_are_none_are_refused_without_being_quoted(values):
    with pytest.raises(ScoreError, match="values must be numbers where") as caught:
        quantile(values, quantile="1/2", lowest=0, highest=9, epsilon=1)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    made, scope = ledger(epsilon=1)
    with pytest.raises(ScoreError, match="the values cannot be read as the arguments say"):
        quantile(values, quantile="1/2", lowest=0, highest=9, epsilon=1, ledger=scope)
    assert made.balance("main").spent["epsilon"] == 1
    assert made.balance("main").refusals == 1


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"quantile": "1.1"}, "quantile must be at most 1"),
        ({"quantile": -1}, "quantile must be at least zero"),
        ({"lowest": 9, "highest": 0}, "highest must not be below lowest"),
        ({"highest": 2**256}, "at most 2\\*\\*256 points"),
        ({"lowest": DAY}, "highest must be a date"),
        ({"lowest": NOON, "highest": DAY}, "for times write"),
        ({"highest": "9.5"}, "step must be given"),
        ({"step": 0}, "step must be greater than zero"),
        ({"step": "1/2", "lowest": DAY, "highest": DAY}, "whole number of days"),
        ({"epsilon": None}, "epsilon"),
        ({"rho": 1}, "epsilon"),
        ({"neighbours": "both"}, "neighbours must be 'add_remove' or 'replace_one'"),
        ({"max_contributions": 0}, "max_contributions must be between"),
    ],
)
def test_wrong_parameters_say_what_to_write(given, match):
    whole = {"quantile": "1/2", "lowest": 0, "highest": 9, "epsilon": 1, **given}
    with pytest.raises(ParameterError, match=match):
        quantile([1, 2], **whole)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"quantiles": []}, "different from one another, and at least one"),
        ({"quantiles": ["1/2", "0.5"]}, "different from one another"),
        ({"quantiles": "1/2"}, "quantiles must be a list"),
        ({"quantiles": ["1/2", "1/3"], "max_contributions": 2}, "max_contributions=1"),
    ],
)
def test_wrong_lists_of_quantiles(given, match):
    with pytest.raises(ParameterError, match=match):
        quantiles([1, 2], **{"lowest": 0, "highest": 9, "epsilon": 1, **given})


@pytest.mark.parametrize("values", ["123", b"123", {1, 2}, {1: 2}, 7, np.ones((2, 2))])
def test_what_is_no_list_is_refused(values):
    with pytest.raises(ScoreError, match="values must"):
        quantile(values, quantile="1/2", lowest=0, highest=9, epsilon=1)


# ------------------------------------------------------------------------------ what is paid


def ledger(neighbours="add_remove", **budget):
    made = Ledger.create(":memory:", {"main": Budget("person", neighbours, **budget)})
    return made, made.scope("main", unit="person", neighbours=neighbours, purpose="test")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8])
def test_the_cost_is_that_of_the_levels(count):
    levels = count.bit_length()
    asked = [Fraction(i, count + 1) for i in range(1, count + 1)]
    given = {"quantiles": asked, "lowest": 0, "highest": 99}
    pure = quantiles(range(100), epsilon=1, **given)
    assert pure.parts == (BoundedRange(Fraction(1, levels)),) * levels
    assert pure.guarantee == (BoundedRange if levels == 1 else LaplaceDominated)(1)
    assert quantiles([], rho="1/8", **given).guarantee == (
        ZeroConcentratedDP("1/8") if levels > 1 else quantiles([], rho="1/8", **given).parts[0]
    )
    with_delta = quantiles([], epsilon=1, delta="1e-6", **given)
    assert with_delta.guarantee == ApproximateDP(1, "1e-6")
    assert len(with_delta.parts) == levels


def test_depth_is_that_of_the_levels(monkeypatch):
    """The recursion itself: no path draws more often than is paid for."""
    for count in range(1, 40):
        deepest = 0

        def draw(cells, low, high, share, rate, bits):
            nonlocal deepest
            names, frame = [], sys._getframe()
            while frame is not None:
                names.append(frame.f_code.co_name)
                frame = frame.f_back
            deepest = max(deepest, names.count("_split"))
            return low

        monkeypatch.setattr("safeselect.grid_quantiles.release.draw_point", draw)
        shares = [Fraction(i, count) for i in range(1, count + 1)]
        _split([], (0, 9), shares, lambda q: Fraction(1), None)
        assert deepest == count.bit_length()


def test_rates_are_those_of_the_proof(monkeypatch):
    seen = []

    def draw(cells, low, high, share, rate, bits):
        seen.append(rate * share.denominator)
        return low

    monkeypatch.setattr("safeselect.grid_quantiles.release.draw_point", draw)
    given = {"lowest": 0, "highest": 9, "epsilon": 1}
    for share, more, rate in [
        ("1/2", {}, 1),
        ("1/4", {}, Fraction(2, 3)),
        (0, {}, 1),
        (1, {"neighbours": "replace_one"}, 1),
        ("1/4", {"neighbours": "replace_one"}, Fraction(1, 2)),
        ("1/2", {"max_contributions": 3}, Fraction(1, 3)),
    ]:
        quantile([], quantile=share, **given, **more)
        assert seen.pop() == rate
    quantiles([], quantiles=["1/4", "1/2"], neighbours="replace_one", **given)
    # Two levels, and half of each for a value that changes two parts: 1/4 / R, R = 3/2 and 4/3.
    assert sorted(seen) == [Fraction(1, 6), Fraction(3, 16)]


def test_a_ledger_is_charged_before_the_values_are_read():
    made, scope = ledger(epsilon=3)
    found = quantiles(
        range(10), quantiles=["1/2", "1/4"], lowest=0, highest=9, epsilon=1, ledger=scope
    )
    charged, released = [r.content for r in made.records()][2:]
    assert (charged["kind"], released["kind"]) == ("charged", "released")
    assert charged["parameters"] == {
        "lowest": "0",
        "highest": "9",
        "step": "1",
        "neighbours": "add_remove",
        "max_contributions": "1",
        "quantiles": "1/2, 1/4",
    }
    assert found.receipt is not None
    assert made.balance("main").spent["epsilon"] == 1
    _, other = ledger("replace_one", epsilon=3)
    with pytest.raises(ParameterError, match="are not those of scope 'main'"):
        quantile([], quantile=0, lowest=0, highest=9, epsilon=1, ledger=other)


def test_the_requests_follow_from_the_grid():
    class Taken:
        def __init__(self):
            self.sizes = []

        def take(self, count):
            self.sizes.append(count)
            return (1 << count) // 3

    for last, size in ((9, 192), (2**64 - 1, 256)):
        for data in ([], [1, 1, 1], list(range(9))):
            bits = Taken()
            draw_point(data, 0, last, Fraction(1, 2), Fraction(1, 3), bits)
            assert bits.sizes == [size]

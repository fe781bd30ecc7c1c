"""Quantiles: the law over the grid, the loss on neighbours, all inputs, and what is paid."""

from __future__ import annotations

import array
import collections
import datetime
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import gmpy2
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
from safeselect.grid_quantiles._grid import Grid
from safeselect.grid_quantiles._part import Part
from safeselect.grid_quantiles._point import Law, _point, draw_point
from safeselect.grid_quantiles._values import reader
from safeselect.grid_quantiles.release import _FINE, _range, _split

CASES = [
    case
    for case in json.loads(
        (Path(__file__).parents[1] / "vectors" / "weights_quantiles_runs.json").read_text()
    )
    if case["group"] == "k3"
]
QUANTILES = [Fraction(x) for x in ("0", "1/4", "1/2", "2/3", "1")]
TIES = ("interval", "below")


def cases(name):
    found = [(case["inputs"], case["output"]) for case in CASES if case["name"] == name]
    assert found
    return found


def distance(data, g, share, ties):
    """By definition, in ranks: how far the wanted rank lies from what is below g, or outside of
    the interval from there to what is up to g; inside, minus the way to the nearer end.
    """
    below, up_to, wanted = sum(x < g for x in data), sum(x <= g for x in data), share * len(data)
    if ties == "below":
        return abs(below - wanted)
    if below <= wanted <= up_to:
        return -min(wanted - below, up_to - wanted)
    return min(abs(wanted - below), abs(wanted - up_to))


def grid_law(data, first, last, share, rate, ties="below"):
    """By definition: every point of the grid, its distance, and the exponential mechanism."""
    with mpmath.workdps(40):
        away = [Fraction(distance(data, g, share, ties)) for g in range(first, last + 1)]
        terms = [
            mpmath.exp(
                -mpmath.mpf(rate.numerator * s.numerator) / (rate.denominator * s.denominator)
            )
            for s in away
        ]
        return [term / mpmath.fsum(terms) for term in terms]


def whole(data, first, last, fine=1):
    """All values as a part; fine points and values alike begin at 0."""
    return Part.whole(sorted(x - first for x in data), last - first + 1, fine)


def run_law(part, law):
    """The shipped runs: first points, sizes, and the chance of each point of a run."""
    runs, error = law.powers(part, 200)
    assert error < 1 << 20
    total = sum((after - start) * power for start, after, power in runs)
    return [(start, after, Fraction(power, total)) for start, after, power in runs]


def point_law(part, law):
    """The shipped chance of every fine point of a part."""
    chances = [Fraction(0)] * part.points
    for start, after, chance in run_law(part, law):
        chances[start - part.first : after - part.first] = [chance] * (after - start)
    return chances


def near(found, wanted, digits=20):
    return abs(Fraction(found) - Fraction(str(wanted))) < Fraction(1, 10**digits)


# --------------------------------------------------------------------------- published laws


@pytest.mark.parametrize(("inputs", "output"), cases("quantile_grid_probabilities"))
@pytest.mark.claim("C1")
def test_published_probabilities_of_classes_and_points(inputs, output):
    share, data = Fraction(inputs["quantile"]), inputs["data"]
    first, last = inputs["lowest"], inputs["highest"]
    rate = Fraction(inputs["epsilon"]) / _range(share, False)
    points = point_law(whole(data, first, last), Law(share, rate, "below"))
    assert all(map(near, points, output["probabilities"]))
    assert all(map(near, classes(data, first, last, points), output["class_probabilities"]))


@pytest.mark.parametrize(("inputs", "output"), cases("quantile_class_probabilities_wide_grid"))
@pytest.mark.claim("C1")
def test_published_probabilities_of_a_grid_of_all_integers(inputs, output):
    share = Fraction(inputs["quantile"])
    rate = Fraction(inputs["epsilon"]) / _range(share, False)
    first, data = inputs["lowest"], sorted(inputs["data"])
    part = whole(data, first, inputs["highest"])
    by_class = [Fraction(0)] * len(output)
    for start, after, chance in run_law(part, Law(share, rate, "below")):
        by_class[sum(x - first < start for x in data)] += (after - start) * chance
    assert all(near(p, Fraction(q), 25) for p, q in zip(by_class, output, strict=True))


def classes(data, first, last, points):
    """What each number of values below a point has of the chances of points."""
    found = [Fraction(0)] * (len(data) + 1)
    for g in range(first, last + 1):
        found[sum(x < g for x in data)] += points[g - first]
    return found


@pytest.mark.parametrize(("inputs", "output"), cases("recursive_quantiles_joint"))
@pytest.mark.claim("C1")
def test_published_probabilities_of_three_quantiles(inputs, output):
    """The shipped recursion with every point as a branch: all outcomes, with exact shares."""
    shares = [Fraction(x) for x in inputs["quantiles"]]
    first = inputs["lowest"]
    part = whole(inputs["data"], first, inputs["highest"])
    law = joint(part, shares, Fraction(inputs["epsilon_per_level"]), "below")
    assert abs(sum(law.values()) - 1) < Fraction(1, 10**20)
    likeliest = sorted(law.values(), reverse=True)[:5]
    for outcome, given in output.items():
        found = law[tuple(int(x) - first for x in outcome.split(","))]
        assert near(found, given)
        assert found >= likeliest[-1] - Fraction(1, 10**20)


def joint(part, shares, epsilon, ties):
    """The law of `_split`, by trying each point wherever it draws one; outcomes are points."""
    law: dict[tuple[int, ...], Fraction] = {}
    pending: list[list[int]] = [[]]
    with pytest.MonkeyPatch.context() as patch:
        while pending:
            script = pending.pop()
            trail: list[Part] = []
            taken: list[int] = []
            weight = Fraction(1)

            def draw(part, law, bits, script=script, trail=trail, taken=taken):
                nonlocal weight
                choice = script[len(trail)] if len(trail) < len(script) else part.first
                taken.append(choice)
                trail.append(part)
                weight *= chances(part, law)[choice - part.first]
                return choice

            patch.setattr("safeselect.grid_quantiles.release.draw_point", draw)
            outcome = _split(
                part,
                shares,
                lambda q: Law(q, epsilon / (_range(q, False) * part.fine), ties),
                None,
            )
            key = tuple(point // part.fine for point in outcome)
            law[key] = law.get(key, Fraction(0)) + weight
            for at in range(len(script), len(trail)):
                others = range(trail[at].first + 1, trail[at].last + 1)
                pending += [[*taken[:at], other] for other in others]
    return law


@cache
def _chances(key, law):
    cells, rest = key
    return tuple(point_law(Part(list(cells), *rest), law))


def chances(part, law):
    return _chances((tuple(part.cells), (part.fine, part.first, part.last, part.end)), law)


def test_all_published_numbers_are_looked_at():
    assert {case["name"] for case in CASES} == {
        "quantile_grid_probabilities",
        "quantile_class_probabilities_wide_grid",
        "recursive_quantiles_joint",
    }


# ------------------------------------------------------- the law, for all small multisets


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.parametrize("size", range(5))
@pytest.mark.claim("C1")
def test_runs_have_the_law_of_the_grid(share, size, ties):
    rate = Fraction(3, 4)
    for data in itertools.combinations_with_replacement(range(5), size):
        wanted = grid_law(data, 0, 4, share, rate, ties)
        found = point_law(whole(data, 0, 4), Law(share, rate / share.denominator, ties))
        assert all(near(p, mpmath.nstr(q, 30)) for p, q in zip(found, wanted, strict=True))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.claim("C1")
def test_parts_have_the_law_of_their_shares(share, ties):
    """All parts of small grids: values are `fine` points each, and what lies outside is not there.

    By definition: the part's shares as values of their own, on the part's fine points.
    """
    rate = Fraction(3, 4)
    for fine, data in itertools.product((1, 2, 3), [(), (1,), (0, 0), (1, 1, 2), (0, 2, 2)]):
        parted = [x * fine + j for x in data for j in range(fine)]
        for first, last in itertools.combinations_with_replacement(range(3 * fine), 2):
            for end in {last, last + 1} if last + 1 == 3 * fine else {last}:
                part = Part(sorted(data), fine, first, last, end)
                inside = [p for p in parted if first <= p < end]
                assert part.size == len(inside)
                wanted = grid_law(inside, first, last, share, rate, ties)
                found = point_law(part, Law(share, rate / share.denominator, ties))
                assert all(near(p, mpmath.nstr(q, 30)) for p, q in zip(found, wanted, strict=True))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.parametrize("data", [(), (2,), (0, 0), (1, 1, 3), (4, 4, 4)])
@pytest.mark.claim("C1")
def test_every_word_draws_the_point_of_the_exact_sums(share, data, ties):
    """For all words of 8 digits: the point between whose sums all completions lie, or none."""
    rate, open_ = Fraction(3, 4), 0
    law = grid_law(data, 0, 4, share, rate, ties)
    with mpmath.workdps(40):
        sums = [mpmath.mpf(0), *itertools.accumulate(law)]
        sums[-1] = mpmath.mpf(1)
        part, shipped = whole(data, 0, 4), Law(share, rate / share.denominator, ties)
        for word in range(256):
            found = _point(part, shipped, word, 8)
            low, high = mpmath.mpf(word) / 256, mpmath.mpf(word + 1) / 256
            within = [g for g in range(5) if sums[g] <= low and high <= sums[g + 1]]
            open_ += found is None
            # At an exact end of a sum, equality is left open.
            assert found is None or [found] == within
            if found is None:
                assert any(low <= s <= high for s in sums[1:-1])
    assert open_ <= 8


@pytest.mark.parametrize(("far", "seen"), [(1, 10), (20, 5), (1000, 1)])
def test_points_that_are_left_out_are_within_the_error(far, seen):
    """Where powers end, what lies beyond is smaller than the error that is stated."""
    data = sorted(list(range(10)) * far)
    runs, error = Law(Fraction(1, 2), Fraction(1, 2), "below").powers(whole(data, 0, 9), 64)
    found = {p: power for start, after, power in runs for p in range(start, after)}
    assert len(found) == seen
    away = [distance(data, g, Fraction(1, 2), "below") for g in range(10)]
    with mpmath.workdps(60):
        for g in range(10):
            exact = mpmath.exp(min(away) - int(away[g])) * 2**64
            assert 0 <= exact - found.get(g, 0) < error < 100


def distances_by_point(data, share, ties, top=3):
    return [distance(data, g, share, ties) for g in range(top + 1)]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
def test_the_range_of_distances_is_that_of_the_proof(share, ties):
    """All multisets of up to 5 values on 4 points: never above the range, and equal to it at last.

    Enumerated: R = 2 max(q, 1 - q) for add/remove, 2 for replace, 1 for the quantiles 0 and 1.
    """
    stated = {
        kind: Fraction(_range(share, kind == "replace"), share.denominator)
        for kind in ("add", "replace")
    }
    widest = dict.fromkeys(stated, Fraction(0))
    for size in range(5):
        for data in itertools.combinations_with_replacement(range(4), size):
            grown = [distances_by_point((*data, x), share, ties) for x in range(4)]
            before = distances_by_point(data, share, ties)
            pairs = [("add", before, one) for one in grown]
            pairs += [("replace", one, other) for one, other in itertools.combinations(grown, 2)]
            for kind, one, other in pairs:
                moves = [x - y for x, y in zip(other, one, strict=True)]
                assert max(map(abs, moves)) <= stated[kind]
                widest[kind] = max(widest[kind], max(moves) - min(moves))
    assert widest == stated


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.claim("C2")
def test_the_loss_on_all_small_neighbours(share, ties):
    """Ranges of the log-ratio of the shipped law: at most epsilon for every pair, and near it."""
    widest = {"add_remove": 0.0, "replace_one": 0.0}
    laws = {}

    def law(data, kind):
        key = tuple(sorted(data)), kind
        if key not in laws:
            rate = Fraction(1, _range(share, kind == "replace_one"))
            laws[key] = point_law(whole(data, 0, 3), Law(share, rate, ties))
        return laws[key]

    for size in range(4):
        for data in itertools.combinations_with_replacement(range(4), size):
            for extra in range(4):
                pairs = [("add_remove", data, (*data, extra))]
                pairs += [("replace_one", (*data, extra), (*data, other)) for other in range(4)]
                for kind, one, other in pairs:
                    both = zip(law(one, kind), law(other, kind), strict=True)
                    ratios = [math.log(x / y) for x, y in both]
                    widest[kind] = max(widest[kind], max(ratios) - min(ratios))
    for found in widest.values():
        assert 0.49 < found < 1 + 1e-12


SEVERAL = [
    # quantiles, fine, the last point, the least loss that must be seen
    (("1/2",), 1, 3, 0.6),
    (("1/3", "2/3"), 1, 2, 0.75),
    (("1/4", "1/2", "3/4"), 1, 2, 1.0),
    (("1/4", "1/2", "3/4"), 2, 1, 0.7),
    (("1/8", "1/4", "3/8", "1/2", "5/8", "3/4", "7/8"), 1, 1, 1.0),
]


@pytest.mark.parametrize("kind", ["add_remove", "replace_one"])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("asked", "fine", "last", "least"), SEVERAL)
@pytest.mark.claim("C2")
def test_the_loss_of_several_is_that_of_the_levels(asked, fine, last, least, ties, kind):
    """The joint law of all outcomes on neighbours, for one nat a level and one value of change."""
    shares = [Fraction(each) for each in asked]
    # As shipped: of several, replaced values are drawn at half the cost of a level.
    epsilon = Fraction(1, 2) if kind == "replace_one" and len(shares) > 1 else Fraction(1)
    factor = 2 if kind == "replace_one" and len(shares) == 1 else 1
    laws = {}

    def law(data):
        key = tuple(sorted(data))
        if key not in laws:
            laws[key] = joint(whole(key, 0, last, fine), shares, epsilon / factor, ties)
        return laws[key]

    values, worst = range(last + 1), 0.0
    some = [(), (0,), (last,), (0, last), (0, 0, last), tuple(values)]
    for data, x in itertools.product(some, values):
        one = data if kind == "add_remove" else (*data, 0)
        if kind == "replace_one" and not x:
            continue
        first, second = law(one), law((*data, x))
        assert first.keys() == second.keys()
        worst = max(worst, *(abs(math.log(first[k] / second[k])) for k in first))
    levels = len(shares).bit_length()
    assert worst <= levels + 1e-12
    assert worst > least * (1 if kind == "add_remove" else 0.5)


def test_cuts_divide_equal_values():
    """All values are equal: each quantile finds them, and each part has about its share of them."""
    part = whole([3] * 1000, 0, 9, _FINE)
    lower, upper = part.split(3 * _FINE + _FINE // 2)
    assert (lower.size, upper.size) == (500 * _FINE, 500 * _FINE)
    shares = ["0.1", "1/4", "1/2", "3/4", "0.9"]
    found = quantiles([3] * 1000, quantiles=shares, lowest=0, highest=9, epsilon=5)
    assert found.values == (3,) * 5
    many = [0] * 700 + list(range(1, 301))
    found = quantiles(many, quantiles=["1/4", "1/2", "0.85"], lowest=0, highest=300, epsilon=5)
    assert found.values[:2] == (0, 0)
    assert 70 < found.values[2] < 230


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
    assert 1 <= found.values[0] <= 3
    assert 7 <= found.values[1] <= 9


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
    grid = Grid.read(Decimal(0), Decimal(1), "0.1")
    assert grid.cells([0.3, 0.29999, 0.7, -1, 2]) == [0, 2, 3, 7, 10]
    assert [str(grid.point(place)) for place in (0, 3, 10)] == ["0", "0.3", "1"]


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1, float("nan")],
        ["1"],
        [DAY],
        [object()],
        [[1]],
        [1j],
        [Decimal("NaN")],
        [Decimal("sNaN")],
        [np.timedelta64(5, "ns")],
        np.array([1, 2], "timedelta64[ns]"),
        np.array([1, 2], "datetime64[ns]"),
        np.array([10**9, 2], "datetime64[D]"),
        np.array([1, 2], np.longdouble),
        np.array([0x7FF4000000000000], np.uint64).view(np.float64),
        np.array([0x7FA00000], np.uint32).view(np.float32),
    ],
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
        ({"ties": "above"}, "ties must be 'interval' or 'below'"),
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


class Counting(list):
    """A list that may count as it likes."""


def never():
    raise AssertionError("this is private code")
    yield 1


class Unknown:
    """A class whose iteration is its own, and with methods that columns have."""

    ndim = 1

    def __iter__(self):
        return never()

    tolist = to_list = to_pylist = __len__ = __iter__


@pytest.mark.parametrize(
    "values",
    [
        *("123", b"123", {1, 2}, {1: 2}, 7, np.ones((2, 2)), Counting([1]), never(), map(int, "1")),
        *(Unknown(), {1: 2}.values(), collections.deque([1]), np.ma.array([1]), np.float64(1)),
        *(array.array("q", [1]), None),
    ],
    ids=lambda values: type(values).__name__,
)
def test_what_is_no_list_is_refused_by_its_class(values):
    made, scope = ledger(epsilon=1)
    for given in ({}, {"ledger": scope}):
        with pytest.raises(ScoreError, match="values must be a list, a tuple, a range") as caught:
            quantile(values, quantile="1/2", lowest=0, highest=9, epsilon=1, **given)
        assert caught.value.__context__ is None
    assert made.balance("main").spent["epsilon"] == 0


def cell_of(value, **ends):
    return Grid.read(**ends).cells([value])[0]


# Numbers that are equal, in all types.
EQUALS = [
    [
        1,
        True,
        1.0,
        np.True_,
        np.float16(1),
        np.uint8(1),
        Fraction(1),
        Decimal("1.00"),
        gmpy2.mpz(1),
    ],
    [0, False, -0.0, Decimal("0E+5000"), Decimal("-0E-999999999"), Fraction(0), gmpy2.mpq(0)],
    [0.3, np.float64(0.3), Fraction(0.3), Decimal.from_float(0.3), gmpy2.mpq(Fraction(0.3))],
    [float(np.float32(0.7)), np.float32(0.7), Fraction(float(np.float32(0.7)))],
    [2**60 + 256, float(2**60 + 256), Decimal(2**60 + 256)],
    [5e-324, Fraction(5e-324), Decimal.from_float(5e-324)],
    [-5e-324, Fraction(-5e-324)],
    [math.inf, 10**5000, Decimal("1e5000"), Decimal("Infinity"), np.float32(np.inf), 10**9999],
    [-math.inf, -(10**5000), Decimal("-1e999999999"), -Fraction(10**5000, 3)],
    [Decimal("1e-5000"), Fraction(1, 10**5000), Decimal("1e-999999999")],
    [Decimal("-1e-5000"), Fraction(-1, 10**5000), Decimal("-1e-999999999")],
]
GRIDS = [
    {"lowest": 0, "highest": 9, "step": None},
    {"lowest": Decimal(-1), "highest": 2, "step": "0.1"},
    {"lowest": "-1/7", "highest": 2, "step": "1/3"},
    {"lowest": -(2**70), "highest": 2**70, "step": None},
]


@pytest.mark.parametrize("ends", GRIDS)
@pytest.mark.parametrize("same", EQUALS)
@pytest.mark.claim("C3")
def test_equal_numbers_lie_at_one_point_in_all_types(same, ends):
    places = [cell_of(value, **ends) for value in same]
    assert len(set(places)) == 1
    exact = Fraction(same[0]) if math.isfinite(same[0]) else None
    if exact is not None and exact.denominator == 1:
        grid = Grid.read(**ends)
        wanted = (exact - grid.lowest) // grid.step
        assert places[0] == min(max(wanted, 0), grid.points - 1)


@pytest.mark.parametrize("same", EQUALS)
@pytest.mark.claim("C3")
def test_no_number_is_refused_by_its_type(same):
    for value in same:
        made, scope = ledger(epsilon=1)
        held = np.empty(2, dtype=object)
        held[:] = [value, 1]
        for values in ([value, 1], held):
            quantile(values, quantile="1/2", lowest=0, highest=9, epsilon="1/9", ledger=scope)
        assert made.balance("main").refusals == 0


def test_arrays_of_true_and_false_are_numbers():
    for values in (np.array([True, False]), [True, False], [1, 0], np.array([1.0, 0.0], "f2")):
        assert Grid.read(0, 9, None).cells(reader(values).read()) == [0, 1]


class Liar(float):
    """A float with methods of its own."""

    def __str__(self):
        return "inf"

    def __float__(self):
        return 9.0

    def as_integer_ratio(self):
        return 9, 1

    __repr__, __hash__, __eq__ = __str__, None, never  # type: ignore[assignment]
    lower = __lt__ = __floor__ = never


class Own(Fraction):
    numerator = property(never)
    denominator = property(never)
    as_integer_ratio = never


class Lying(Decimal):
    is_nan = is_infinite = adjusted = as_integer_ratio = as_tuple = never


class Whole(int):
    __int__ = __index__ = __hash__ = bit_length = never


class Late(datetime.date):
    def toordinal(self):
        return 1


def test_a_subclass_is_read_by_the_methods_of_its_class():
    for kind in (Liar, Own, Lying, Whole):
        assert Grid.read(0, 9, None).cells([kind(3), 2]) == [2, 3]
    assert Grid.read(Decimal(0), 9, "0.1").cells([Liar(0.3)]) == [3]
    days = Grid.read(datetime.date(2024, 2, 1), datetime.date(2024, 3, 31), None)
    assert days.cells([Late(2024, 2, 3), np.datetime64("2024-02-03T23:59:59")]) == [2, 2]


class Quoting:
    """A number of no class, whatever is asked of it."""

    def __getattribute__(self, name):
        raise ValueError(f"987654321 has no {name}")

    def __hash__(self):
        raise ValueError("987654321")


class Panic(BaseException):
    """As Rust's panics are in Python."""

    __module__ = "pyo3_runtime"


class Panicking:
    def __hash__(self):
        raise Panic("987654321")

    __eq__ = __str__ = __index__ = __hash__


@pytest.mark.claim("C8")
@pytest.mark.parametrize("value", [Quoting, Panicking, lambda: Decimal("sNaN"), lambda: None])
def test_what_a_value_raises_is_one_sentence_and_counted(value, capfd):
    value = value()
    made, scope = ledger(epsilon=1)
    for count in range(1, 4):
        with pytest.raises(ScoreError, match="the values cannot be read as") as caught:
            quantile([1, value], quantile="1/2", lowest=0, highest=9, epsilon="1/9", ledger=scope)
        assert caught.value.__context__ is None
        assert "987654321" not in str(caught.value)
        assert made.balance("main").refusals == count
    assert capfd.readouterr() == ("", "")


def far_dates():
    """Columns with a date that Python lacks, each by the name of its library."""
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    days = pl.Series([2**31 - 1, 0], dtype=pl.Int32).cast(pl.Date)
    return {
        "pyarrow": pa.array([10**9, 18300], pa.date32()),
        "pyarrow chunked": pa.chunked_array([pa.array([10**9, 18300], pa.date32())]),
        "pyarrow times": pa.array([2**62, 18300], pa.timestamp("s")),
        "pyarrow table": pa.table({"day": pa.array([10**9, 18300], pa.date32())}),
        "polars": days,
        "polars times": pl.Series([2**62, 0]).cast(pl.Datetime("us", "Asia/Tokyo")),
        "polars lists": pl.Series([[1], [2]]).cast(pl.List(pl.Date)),
        "polars table": days.to_frame(),
        "pandas": pd.Series(np.array(["30000-01-01", "2020-01-01"], "datetime64[s]")),
        "pandas missing": pd.Series(pd.to_datetime(["2020-01-01", None])),
        "pandas Arrow": pd.Series(
            pd.arrays.ArrowExtensionArray(pa.array([10**9, 18300], pa.date32()))
        ),
        "pandas times": [
            pd.Timestamp("2020-01-01"),
            pd.Timestamp(np.datetime64("30000-01-01", "s")),
        ],
        "pandas no time": [pd.Timestamp("2020-01-01"), pd.NaT],
        "numpy": np.array([10**9, 18300], "datetime64[D]"),
        "numpy missing": np.array(["NaT", "2020-01-01"], "datetime64[D]"),
        "times": np.array([np.datetime64("30000-01-01", "s"), None], object),
    }


@pytest.mark.claim("C8")
def test_sixteen_private_dates_cost_sixteen_charges_in_every_column(capfd):
    ends = {"lowest": datetime.date(2020, 1, 1), "highest": datetime.date(2020, 12, 31)}
    for name, column in far_dates().items():
        made, scope = ledger(epsilon=1)
        for count in range(1, 4):
            with pytest.raises(ScoreError, match="the values cannot be read as") as caught:
                quantile(column, quantile="1/2", epsilon="1/100", ledger=scope, **ends)
            assert caught.value.__context__ is None, name
            assert made.balance("main").refusals == count, name
        assert made.balance("main").spent["epsilon"] == Fraction(3, 100)
    assert capfd.readouterr() == ("", "")  # polars tells standard error of a panic


def test_columns_are_read_as_lists_are():
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    grid = Grid.read(Decimal(-1), 9, "0.1")
    exact = [Decimal("0.3"), Decimal("2.5")]
    for column in (
        pa.array(exact, pa.decimal128(9, 2)),
        pa.array([0.3, 2.5]).dictionary_encode(),
        pl.Series(exact),
        pl.Series([0.3, 2.5]),
        pd.Series([0.3, 2.5]),
        pd.Series(exact, dtype=object),
        pd.array([0.3, 2.5], dtype="Float64"),
        pd.DataFrame({"x": [0.3, 2.5]}),
        pd.Series([0.3, 2.5], dtype="double[pyarrow]"),
    ):
        assert grid.cells(reader(column).read()) == [13, 35]
    for column in (pl.Series([True, False]), pa.array([True, False]), pd.Series([True, False])):
        assert grid.cells(reader(column).read()) == [10, 20]
    day = datetime.datetime(2024, 2, 3, 23, tzinfo=datetime.UTC)
    days = Grid.read(datetime.date(2024, 2, 1), datetime.date(2024, 3, 31), None)
    tokyo = pl.Series([day]).dt.convert_time_zone("Asia/Tokyo")
    for column, place in (
        (pl.Series([day.date()]), 2),
        (tokyo, 3),  # the day that the column's own time zone has
        (pd.Series([day]).dt.tz_convert("Asia/Tokyo"), 3),
        (pa.array([day], pa.timestamp("us", "Asia/Tokyo")), 3),
        (pa.array([day.date()]), 2),
        (pd.Series([day.replace(tzinfo=None)]), 2),
    ):
        assert days.cells(reader(column).read()) == [place]


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
    depth = [0]

    def counted(part, order, law_of, bits):
        depth.append(depth[-1] + bool(order))
        deepest.append(depth[-1])
        found = _split(part, order, law_of, bits)
        depth.pop()
        return found

    monkeypatch.setattr("safeselect.grid_quantiles.release._split", counted)
    monkeypatch.setattr(
        "safeselect.grid_quantiles.release.draw_point", lambda part, law, bits: part.first
    )
    for count in range(1, 40):
        deepest: list[int] = []
        shares = [Fraction(i, count) for i in range(1, count + 1)]
        counted(whole([], 0, 9), shares, lambda q: Law(q, Fraction(1), "below"), None)
        assert max(deepest) == count.bit_length()


@pytest.mark.parametrize("ties", TIES)
def test_rates_are_those_of_the_proof(monkeypatch, ties):
    seen = []

    def draw(part, law, bits):
        assert law.ties == ties
        seen.append(law.rate * law.quantile.denominator * part.fine)
        return part.first

    monkeypatch.setattr("safeselect.grid_quantiles.release.draw_point", draw)
    given = {"lowest": 0, "highest": 9, "epsilon": 1, "ties": ties}
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


def test_the_law_has_its_name():
    given = {"lowest": 0, "highest": 9, "epsilon": 1}
    for ties, version in (("interval", 3), ("below", 1)):
        one = quantile([1], quantile="1/2", ties=ties, **given)
        two = quantiles([1], quantiles=["1/4", "1/2"], ties=ties, **given)
        assert (one.mechanism, two.mechanism) == (f"quantile/{version}", f"quantiles/{version}")
        assert ("ties", ties) in one.statement.parameters
    assert quantile([1], quantile="1/2", **given).mechanism == "quantile/3"


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
        "ties": "interval",
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
            draw_point(whole(data, 0, last), Law(Fraction(1, 2), Fraction(1, 3), "interval"), bits)
            assert bits.sizes == [size]

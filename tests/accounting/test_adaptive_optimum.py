"""The adaptive optimum: known values, adversaries, and what must never happen."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
    calibrate,
    compose,
)
from safeselect.accounting import compose_delta
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.optimum import certified, curve
from safeselect.accounting.optimum.certified import bracket
from safeselect.accounting.optimum.curve import Curve, backward, interleaved, start
from safeselect.accounting.optimum.problem import Problem

pytestmark = pytest.mark.claim("C2")

HERE = Path(__file__).parents[1] / "vectors"
VECTORS = json.loads((HERE / "accounting.json").read_text())
BEFORE = json.loads((HERE / "composition_before.json").read_text())["cases"]
RATES = json.loads((HERE / "calibration_before.json").read_text())["cases"]
KINDS = {
    kind.__name__: kind
    for kind in (ApproximateDP, BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP)
}


def named(name: str, number: int = 0) -> dict[str, dict[str, str]]:
    return [case for case in VECTORS if case["name"].startswith(name)][number]


def between(composed, value: str, width: Fraction, digits: int = 15) -> None:
    """The bracket of a delta holds the value, which is known to so many digits, and is narrow."""
    slack = Fraction(1, 10**digits)
    true = Fraction(value)
    upper = composed.guarantee.delta
    assert composed.lower <= true * (1 + slack)
    assert upper >= true * (1 - slack)
    assert upper <= composed.lower * (1 + width)


# ----------------------------------------------------------------------------- published values


@pytest.mark.parametrize(
    ("parts", "epsilon", "value"),
    [
        ([LaplaceDominated(1)] * 2, 1, "0.24183667535920822050"),
        ([LaplaceDominated("1/2"), PureDP("1/2")], "1/2", "0.13768751663174727211"),
        ([BoundedRange(1)] * 2, 0, "0.30336549648318225911"),
        ([BoundedRange(1)] * 2, "1/2", "0.15245190679866558650"),
        ([BoundedRange(1), BoundedRange("1/2")], "1/2", "0.096530846010741452506"),
        ([BoundedRange(1), GaussianDP(Fraction(16, 9))], 5, "0.00086851931021696992602"),
        ([BoundedRange("1/2")] * 3, 0, "0.1855680258250338"),
    ],
)
def test_vectors_of_several_parts(parts, epsilon, value):
    """Groups m2 and m3: worked out in 256 bits, elsewhere, from the recursion."""
    assert any(value in map(str, case["output"].values()) for case in VECTORS)
    between(compose_delta(parts, epsilon), value, Fraction(1, 10**5))


@pytest.mark.parametrize("kind", [BoundedRange, LaplaceDominated, PureDP])
def test_vectors_of_one_part(kind):
    """Group m1: one part composed is its own profile, and so is the guarantee's own delta."""
    case = named(f"{kind.__name__} profile")
    assert case["inputs"]["part"] == f"{kind.__name__}(1/2)"
    at, value = case["inputs"]["epsilon"], case["output"]["delta"]
    between(compose_delta([kind("1/2")], at), value, Fraction(1, 10**6))


def test_of_unlike_ranges_the_order_that_costs_more():
    """Group m3: of two unlike ranges, the order that costs more is the optimum."""
    case = named("ranges 1 first, 1/2 last")["output"]
    step, one, half = Fraction(1, 200), (200, 1), (100, 1)
    for name, first, last in (("one_then_half", one, half), ("half_then_one", half, one)):
        row = backward(backward(start(step), *last, 400), *first, 400)
        value = float(case[name])
        assert row.lower[100] <= value * (1 + 1e-12)
        assert value * (1 - 1e-12) <= row.upper[100] <= value * (1 + 1e-4)
    # The same in the other order of the list, and in both the bound covers the worse order.
    for parts in ([BoundedRange(1), BoundedRange("1/2")], [BoundedRange("1/2"), BoundedRange(1)]):
        between(compose_delta(parts, "1/2"), case["half_then_one"], Fraction(1, 10**5))
    assert float(case["half_then_one"]) > 1.05 * float(case["one_then_half"])


def test_equal_pure_parts_have_their_optimum_exactly():
    case = named("k pure, optimum")
    value = Fraction(case["output"]["epsilon"])
    composed = compose([PureDP("1/2")] * 16, "1e-6")
    assert value * (1 - Fraction(1, 10**19)) <= composed.guarantee.epsilon
    assert composed.guarantee.epsilon <= value * (1 + Fraction(1, 10**9))
    assert value * (1 - Fraction(1, 10**8)) <= composed.lower <= value


def test_approximate_parts():
    """Groups m2 and m4: the delta of each part is an infinite loss."""
    for parts, at, value in (
        ([ApproximateDP("1/2", "1/10000")] * 2, "3/5", named("2 approximate")["output"]["delta"]),
        (
            [ApproximateDP("1/2", "1/1000"), PureDP("1/2")],
            "1/2",
            named("ApproximateDP(1/2,1e-3)")["output"]["delta"],
        ),
    ):
        found = compose_delta(parts, at).guarantee.delta
        assert Fraction(value) * (1 - Fraction(1, 10**18)) <= found
        assert found <= Fraction(value) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("parts", "lower", "upper"),
    [
        ([BoundedRange("1/2")] * 16, "4.752039333", "4.752040183"),
        ([BoundedRange("1/2")] * 16 + [GaussianDP("1/25")] * 16, "6.452592387", "6.452593051"),
        ([BoundedRange("1/10")] * 16 + [GaussianDP("1/25")] * 16, "3.933505119", "3.933505155"),
        ([BoundedRange(1)] * 16 + [GaussianDP("1/9")] * 16, "13.483622645", "13.483624381"),
        ([LaplaceDominated("1/2")] * 16, "7.94541", "7.94541564"),
    ],
    ids=["16 ranges", "with noise", "small with noise", "large with noise", "16 Laplace"],
)
def test_brackets_overlap_those_of_another_program_and_are_as_narrow_as_asked(parts, lower, upper):
    composed = compose(parts, "1e-6")
    assert composed.lower <= Fraction(upper)
    assert composed.guarantee.epsilon >= Fraction(lower)
    assert composed.guarantee.epsilon <= composed.lower * (1 + Fraction(1, 10**6))
    assert "optimum" in composed.theorem or "dominating pairs" in composed.theorem


def test_long_rows_stay_near_the_gaussian_limit():
    composed = compose([BoundedRange(Fraction(1, 150))] * 10240, "1e-6")
    assert Fraction("1.4663") < composed.lower < composed.guarantee.epsilon < Fraction("1.471")


# --------------------------------------------------------------- the recursion, once more, slowly


def recursion(ranges: list[float], x: mpmath.mpf) -> mpmath.mpf:
    """T of the first range on T of the others, by search over the offset: no grid, no chord."""
    if not ranges:
        return max(1 - x, mpmath.mpf(0))
    e = ranges[0]
    whole = 1 - mpmath.exp(-e)
    if len(ranges) == 1:
        if x >= mpmath.exp(e):
            return mpmath.mpf(0)
        if x <= mpmath.exp(-e):
            return 1 - x
        return (1 - mpmath.sqrt(x * mpmath.exp(-e))) ** 2 / whole

    def value(t):
        p = (1 - mpmath.exp(t - e)) / whole
        one = recursion(ranges[1:], x * mpmath.exp(-t))
        return p * one + (1 - p) * recursion(ranges[1:], x * mpmath.exp(e - t))

    offsets = [e * i / 24 for i in range(25)]
    best = max(range(25), key=lambda i: value(offsets[i]))
    low, high = offsets[max(0, best - 1)], offsets[min(24, best + 1)]
    for _ in range(40):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if value(left) < value(right) else (low, right)
    return value((low + high) / 2)


@pytest.mark.parametrize(
    ("ranges", "at"),
    [
        (("0.7", "0.7"), "0.2"),
        (("2", "2"), "1.3"),
        (("0.9", "0.3"), "0.4"),
        (("0.3", "0.9"), "0.4"),
    ],
)
def test_two_ranges_against_the_recursion(ranges, at):
    """Values that are on no list.  With unequal ranges the better order is the optimum."""
    with mpmath.workdps(25):
        orders = [ranges, ranges[::-1]]
        true = max(
            recursion([mpmath.mpf(e) for e in o], mpmath.exp(mpmath.mpf(at))) for o in orders
        )
        value = mpmath.nstr(true, 18)
    between(compose_delta([BoundedRange(e) for e in ranges], at), value, Fraction(1, 10**5), 12)


def test_a_laplace_pair_before_a_range_by_quadrature():
    """The pair first, then the range: the range's profile integrated over the pair's losses."""
    own, e, at = mpmath.mpf("0.8"), mpmath.mpf("0.6"), mpmath.mpf("0.5")
    with mpmath.workdps(25):
        x = mpmath.exp(at)

        def after(loss):
            return recursion([e], x * mpmath.exp(-loss))

        density = mpmath.quad(
            lambda s: mpmath.exp((s - own) / 2) / 4 * after(s), [-own, at - e, at + e, own]
        )
        value = after(own) / 2 + mpmath.exp(-own) / 2 * after(-own) + density
        text = mpmath.nstr(value, 18)
    parts = [LaplaceDominated("0.8"), BoundedRange("0.6")]
    between(compose_delta(parts, "0.5"), text, Fraction(1, 10**5), 12)


# -------------------------------------------------------------------------------- adversaries


def adversaries(ranges: list[float], number: int, generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all outcomes under both data sets, of adversaries that adapt.

    At every history an adversary picks one of the ranges that are left, and an offset; here at
    random, around the middle, where the strong ones are.
    """
    p, q = np.ones((number, 1)), np.ones((number, 1))
    left = np.ones((number, 1, len(ranges)), bool)
    sizes = np.array(ranges)
    for _ in ranges:
        keys = generator.random(left.shape) * left
        pick = keys.argmax(axis=2)
        e = sizes[pick]
        t = e * np.clip(generator.normal(0.5, 0.2, pick.shape), 0, 1)
        first = (1 - np.exp(t - e)) / (1 - np.exp(-e))
        p = np.concatenate([p * first, p * (1 - first)], axis=1)
        q = np.concatenate([q * first * np.exp(-t), q * (1 - first) * np.exp(e - t)], axis=1)
        remaining = left.copy()
        np.put_along_axis(remaining, pick[:, :, np.newaxis], False, axis=2)
        left = np.concatenate([remaining, remaining], axis=1)
    return p, q


@pytest.mark.parametrize(
    ("ranges", "at"),
    [(("1", "1", "1"), "0.4"), (("1", "0.5", "0.25"), "0.3"), (("2", "0.4", "0.4", "0.4"), "0.7")],
)
def test_no_random_adversary_exceeds_the_bound_and_some_come_near(ranges, at):
    """100 000 adversaries of two candidates that choose mechanism and order as they go on."""
    generator = np.random.default_rng(24)
    best = 0.0
    for _ in range(10):
        p, q = adversaries([float(e) for e in ranges], 10_000, generator)
        assert np.allclose(p.sum(1), 1)
        assert np.allclose(q.sum(1), 1)
        best = max(best, np.maximum(p - np.exp(float(at)) * q, 0).sum(1).max())
    upper = float(compose_delta([BoundedRange(e) for e in ranges], at).guarantee.delta)
    assert best <= upper * (1 + 1e-12)
    assert best >= 0.9 * upper


# ------------------------------------------------------------------- mutants that must be noticed


def test_a_range_before_the_noise_is_not_the_worst():
    """A mutant that takes the range first, on the noise's own profile: it says too little."""
    case = named("one bounded range and a Gaussian")["output"]
    noise, step, cells = GaussianDP(Fraction(16, 9)), Fraction(1, 64), 64
    after = np.array([float(noise.delta(step * n)) for n in range(12 * cells)])
    wrong = backward(Curve(step, after, after), cells, 1, 11 * cells)
    assert abs(wrong.lower[5 * cells] / float(case["gaussian_last"]) - 1) < 1e-3
    right = compose_delta([BoundedRange(1), noise], 5, "1e-3")
    assert wrong.upper[5 * cells] < 0.9 * float(right.lower)
    assert right.guarantee.delta >= Fraction(case["optimum"])


def sixteen() -> Fraction:
    delta = Fraction(1, 10**6)
    problem = Problem.of([(BoundedRange("1/2"), 16)], delta, Fraction(8))
    return bracket(problem, 64, lambda p, s: p.epsilon(delta) - s).upper


@pytest.mark.parametrize("mutant", ["offsets on the grid alone", "values between, not chords"])
def test_a_bound_that_looks_at_too_little_is_noticed(mutant, monkeypatch):
    """The known lower bound of sixteen ranges is above what these two find."""
    known = Fraction("4.752039333")
    assert sixteen() > known

    def shrunk(*arguments, **more):
        found = real(*arguments, **more)
        between = np.append(found.upper[1:], 0) * 0.5 + found.upper * 0.5
        return Curve(found.step, found.lower if "grid" in mutant else between, found.lower)

    real = certified.row
    monkeypatch.setattr(certified, "row", shrunk)
    assert sixteen() < known


# ------------------------------------------------------------------------------ what must hold


@pytest.mark.parametrize(
    "parts",
    [
        [(BoundedRange("1/2"), 8)],
        [(BoundedRange(1), 2), (BoundedRange("1/2"), 3), (PureDP("1/4"), 2)],
        [(LaplaceDominated("1/3"), 5), (GaussianDP("1/9"), 1), (BoundedRange("1/3"), 4)],
    ],
)
def test_finer_grids_are_narrower_from_both_sides(parts):
    delta = Fraction(1, 10**5)
    problem = Problem.of(parts, delta, Fraction(8))
    found = [bracket(problem, n, lambda p, s: p.epsilon(delta) - s) for n in (16, 32, 64, 128)]
    uppers, lowers = [f.upper for f in found], [f.lower for f in found]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)
    assert lowers[-1] < uppers[-1]
    widths = [f.upper - f.lower for f in found]
    assert widths[-1] * 16 < widths[0]


@pytest.mark.parametrize(("cells", "count"), [(150, 6), (97, 5), (300, 3)])
def test_dropping_cells_changes_nothing(cells, count, monkeypatch):
    """Every offset looked at, and only those that wide cells leave: the same bound."""
    step = Fraction(7, 10 * cells)
    quick = backward(start(step), cells, count, 10**6)
    monkeypatch.setattr(curve, "_BLOCKS", 10**6)
    slow = backward(start(step), cells, count, 10**6)
    assert np.allclose(quick.upper, slow.upper, rtol=1e-13, atol=0)
    assert (quick.lower <= slow.upper).all()


def test_a_curve_is_a_profile():
    """At least (1 - x)+, falling, convex in x up to the bound's own slack; lower below upper."""
    curve = backward(start(Fraction(1, 64)), 64, 5, 10**6)
    x = np.exp(np.arange(len(curve.upper)) / 64)
    for side in (curve.upper, curve.lower):
        assert (np.diff(side) <= 0).all()
        slopes = np.diff(side) / np.diff(x)
        assert (np.diff(slopes) >= -1e-6 * np.abs(slopes[:-1])).all()
    assert (curve.lower <= curve.upper).all()
    # Nothing beyond the sum of the ranges but what was added to be safe.
    assert curve.upper[-1] <= 1e-200


def test_interleaving_is_never_below_an_order_in_advance():
    step = Fraction(1, 40)
    whole = interleaved(step, ((40, 2), (20, 2)), 200)
    for first, second in (((40, 2), (20, 2)), ((20, 2), (40, 2))):
        row = backward(backward(start(step), *first, 200), *second, 200)
        assert (row.upper <= whole.upper * (1 + 1e-12)).all()


def test_against_other_bounds_that_are_valid():
    """Never above the sum, the moments, or the product of the profiles' own pairs."""
    for number, at in ((0, 0), (1, Fraction(1, 2))):
        pairs = named("2 of bounded range", number)["output"]["profile_pairs"]
        assert compose_delta([BoundedRange(1)] * 2, at).guarantee.delta < Fraction(pairs)


@pytest.mark.parametrize("part", range(4))
def test_no_list_of_the_past_costs_more(part):
    """200 lists of the tests as they were before, at a precision that is quick."""
    assert len(BEFORE) == 200
    for case in BEFORE[part::4]:
        parts = [KINDS[k](*map(Fraction, a)) for k, a, n in case["parts"] for _ in range(n)]
        composed = compose(parts, case["delta"], "1e-2")
        assert composed.guarantee.epsilon <= Fraction(case["epsilon"])
        assert composed.lower <= composed.guarantee.epsilon


def test_no_rate_of_the_past_was_larger():
    gained = 0
    for case in RATES:
        if case["k"] > 60 or case["k"] == 1:
            continue
        arguments = {"epsilon": case["epsilon"], "delta": case["delta"]}
        each = calibrate(KINDS[case["family"]], k=case["k"], **arguments)
        assert each >= Fraction(case["each"])
        gained += each > Fraction(case["each"]) * Fraction(101, 100)
    assert gained > 20


KNOWN = [
    (BoundedRange, 10, 1, "1e-6", "2634100753/17179869184"),
    (BoundedRange, 100, 1, "1e-6", "6498233549/137438953472"),
    (BoundedRange, 30, 2, "0.01", "1393887345/4294967296"),
    (LaplaceDominated, 16, 1, "1e-6", "17690897/268435456"),
    (LaplaceDominated, 30, 8, "1e-6", "5476422243/17179869184"),
]


@pytest.mark.parametrize(("family", "k", "epsilon", "delta", "each"), KNOWN)
def test_a_rate_is_the_same_number_everywhere(family, k, epsilon, delta, each):
    """Known answers: a rate must not depend on the machine, as ledgers and records compare it."""
    assert calibrate(family, k=k, epsilon=epsilon, delta=delta) == Fraction(each)


def test_ask_for_precision_and_get_more():
    coarse = calibrate(BoundedRange, k=10, epsilon=1, delta="1e-6")
    fine = calibrate(BoundedRange, k=10, epsilon=1, delta="1e-6", precision="1e-5")
    assert coarse < fine < coarse * Fraction(101, 100)
    assert compose([BoundedRange(fine)] * 10, "1e-6", "1e-5").guarantee.epsilon <= 1
    more = compose([BoundedRange(fine * Fraction(10001, 10000))] * 10, "1e-6", "1e-5")
    assert more.lower > 1


# ----------------------------------------------------------------------------- both directions


@pytest.mark.parametrize(
    "parts",
    [
        [BoundedRange("0.3")] * 6,
        [LaplaceDominated("0.5"), BoundedRange("0.25"), GaussianDP("0.04")],
        [PureDP("0.1")] * 5,
        [ZeroConcentratedDP("0.02"), BoundedRange("0.2")],
        [GaussianDP("0.5")],
        [BoundedRange("0.3")] * 3 + [ApproximateDP("0.1", "1e-9")],
    ],
)
def test_delta_is_the_inverse_of_epsilon(parts):
    epsilon = compose(parts, "1e-6", "1e-5").guarantee.epsilon
    back = compose_delta(parts, epsilon, "1e-5").guarantee.delta
    assert Fraction(99, 10**8) <= back <= Fraction(1_001, 10**9)


def test_delta_at_the_sum_is_nothing():
    composed = compose_delta([BoundedRange("0.3")] * 3, "0.9")
    assert composed.guarantee == PureDP("0.9")
    assert compose_delta([], 1).guarantee == PureDP(1)
    with pytest.raises(ParameterError, match="no delta below 1"):
        compose_delta([ZeroConcentratedDP(100)], 0)
    for wrong in (-1, "x", None, True):
        with pytest.raises(ParameterError, match="epsilon"):
            compose_delta([PureDP(1)], wrong)


# ---------------------------------------------------------------------------------- one step


def step_by_hand(values: np.ndarray, step: float, cells: int, place: int, offset: float) -> float:
    """One step at a place, for any offset, of the chords of values at 0, 1, ...; level beyond."""

    def chord(s: float) -> float:
        if s < 0:
            return 1 - np.exp(s) + np.exp(s) * chord(-s)
        n = int(s / step)
        if n + 1 >= len(values):
            return values[-1]
        share = np.expm1(s - n * step) / np.expm1(step)
        return values[n] + share * (values[n + 1] - values[n])

    e, s = cells * step, place * step
    p = (1 - np.exp(offset - e)) / (1 - np.exp(-e))
    return p * chord(s - offset) + (1 - p) * chord(s + e - offset)


@pytest.mark.parametrize("cells", [3, 40, 130])
@pytest.mark.parametrize("dented", [False, True])
def test_a_step_bounds_every_offset(cells, dented):
    """Between the places, too, and for values that are not quite convex."""
    generator = np.random.default_rng(cells)
    step = Fraction(3, 4 * cells)
    width = float(step)
    length = 4 * cells
    x = np.exp(width * np.arange(length))
    knots, weights = np.exp(generator.uniform(0, 3, 6)), generator.dirichlet(np.ones(6))
    values = sum(w * np.maximum(1 - x / k, 0) for w, k in zip(weights, knots, strict=True))
    values = np.maximum(values, 1 - x)
    if dented:
        values = values * (1 + 1e-3 * generator.random(length))
        values = np.maximum.accumulate(values[::-1])[::-1]
    found = backward(Curve(step, values, np.zeros(length)), cells, 1, 5 * cells)
    slack = 0.0
    for place in generator.integers(0, 3 * cells, 12).tolist():
        offsets = np.linspace(0, cells * width, 20 * cells + 1)
        true = max(step_by_hand(values, width, cells, place, t) for t in offsets)
        assert found.upper[place] >= true * (1 - 1e-12)
        slack = max(slack, found.upper[place] / max(true, 1e-9) - 1)
    assert slack < 2 / cells


LONG = st.integers(0, 2).map(lambda i: Fraction(2**300 - i, 3 * 2**300))
SIZES = st.one_of(st.fractions(Fraction(1, 50), 2, max_denominator=60), LONG)
PARTS = st.one_of(
    *(SIZES.map(kind) for kind in (BoundedRange, LaplaceDominated, PureDP, GaussianDP))
)


@given(
    parts=st.lists(st.tuples(PARTS, st.integers(1, 4)), min_size=1, max_size=6),
    delta=st.sampled_from(["1e-9", "1e-4", "0.2"]),
)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_the_two_bounds_never_cross(parts, delta):
    """Unequal numbers of many digits too, that are equal once they are rounded."""
    listed = [part for part, count in parts for _ in range(count)]
    composed = compose(listed, delta, "1e-1")
    assert composed.lower <= composed.guarantee.epsilon
    assert composed.guarantee.epsilon <= compose(listed, delta, None).guarantee.epsilon
    # What a part alone costs is not more than what it costs among others.
    alone = max(part.approximate(delta).epsilon for part, _ in parts)
    assert alone <= composed.guarantee.epsilon * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("epsilon", [6, 20, 64, 1000])
def test_guarantees_that_protect_nobody_are_composed_at_once(epsilon: int) -> None:
    """Above 4 nats the optimum is not worked out; the other bounds hold there too."""
    found = compose([BoundedRange(epsilon)] * 16, "1e-6")
    assert "optimum of bounded ranges" not in found.theorem
    assert 0 < found.guarantee.epsilon <= 16 * epsilon


@pytest.mark.parametrize("epsilon", [0, 1, 10**6])
def test_parts_of_delta_alone_have_a_delta(epsilon: int) -> None:
    found = compose_delta([ApproximateDP(0, "1e-9")] * 3, epsilon)
    assert found.guarantee.delta == 1 - (1 - Fraction(1, 10**9)) ** 3


def test_a_calibrated_rate_is_the_same_whatever_a_thread_rounds_to(tmp_path: Path) -> None:
    program = (
        "import gmpy2; gmpy2.get_context().round = gmpy2.{}\n"
        "from safeselect import BoundedRange, calibrate\n"
        "print(calibrate(BoundedRange, k=50, epsilon=3, delta='1e-9'))"
    )
    rates = {
        subprocess.run(
            [sys.executable, "-c", program.format(mode)], capture_output=True, check=True
        ).stdout
        for mode in ("RoundDown", "RoundUp", "RoundToNearest")
    }
    assert len(rates) == 1

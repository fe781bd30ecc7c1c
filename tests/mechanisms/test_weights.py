"""Public weights: the published laws, both engines, zero and equal weights, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from tapes import TapeSource

from safeselect import (
    Budget,
    Ledger,
    ParameterError,
    exponential_mechanism,
    exponential_mechanism_base2,
    permute_and_flip,
    report_noisy_max,
    select_many,
    top_k,
)
from safeselect.engine.draws import Weights, plan
from safeselect.engine.laws import GUMBEL
from safeselect.engine.rankings import certified_order
from safeselect.engine.tables import keys
from safeselect.exact.interval import NoiseRate
from safeselect.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    TopKMechanism,
)
from safeselect.testing import DeterministicSource, RecordingSource

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning")

CASES = [
    case
    for case in json.loads(
        (Path(__file__).parents[1] / "vectors" / "weights_quantiles_runs.json").read_text()
    )
    if case["group"] == "k2"
]
ALARM = 1e-9  # of each statistical test, in all


def cases(name):
    found = [(case["inputs"], case["output"]) for case in CASES if case["name"] == name]
    assert found
    return found


def softmax(scores, weights, rate):
    """The exponential mechanism by its definition."""
    with mpmath.workdps(40):
        terms = [
            mpmath.mpf(w.numerator) / w.denominator * mpmath.exp(mpmath.mpf(str(float(q * rate))))
            for q, w in zip(scores, weights, strict=True)
        ]
        return [term / mpmath.fsum(terms) for term in terms]


def fits(counts, probabilities):
    """No share is off by what chance does with probability ALARM (Bernstein).

    Power: at 40 000 draws a share of 1/4 that is off by 0.02 is noticed but for 1e-6.
    """
    total = sum(counts)
    for count, p in zip(counts, map(float, probabilities), strict=True):
        log = math.log(2 * len(counts) / ALARM)
        slack = math.sqrt(2 * total * p * (1 - p) * log) + log * 2 / 3
        if abs(count - total * p) > slack:
            return False
    return True


def winners(rows, mechanism, count, **given):
    found = select_many(np.tile(rows, (count, 1)), mechanism=mechanism, **given).winners
    return np.bincount(found, minlength=len(rows)).tolist()


# ------------------------------------------------------------------------------ exact laws


@pytest.mark.parametrize(
    ("inputs", "output"), cases("weighted_exponential_mechanism"), ids=["nats", "heavy", "rational"]
)
@pytest.mark.claim("C1")
def test_all_words_of_few_digits_bound_the_published_law(inputs, output):
    """Each combination of leading digits decides for all digits that follow, or leaves it open.

    The shares that are decided are lower bounds of the probabilities: exact for these digits.
    """
    scores, weights = (list(map(Fraction, inputs[name])) for name in ("scores", "weights"))
    least, rate = min(scores), Fraction(inputs["rate"])
    steps = [int(4 * (score - least)) for score in scores]
    measure = Weights.of(weights)
    public = replace(
        plan(GUMBEL, 1, NoiseRate(rate / 4), False, spread=measure.spread), weights=measure
    )
    size = {2: 7, 3: 5}[len(steps)]
    counts, undecided = [0] * len(steps), 0
    for words in itertools.product(range(1 << size), repeat=len(steps)):
        known = [(word, size) for word in words]
        candidates = list(range(len(steps)))
        found = certified_order(candidates, steps, known, None, public, public.precision)
        if found is None:
            undecided += 1
        else:
            counts[found.indices[0]] += 1
    total = (1 << size) ** len(steps)
    assert undecided < total * {2: 0.1, 3: 0.45}[len(steps)]
    for count, given in zip(counts, output, strict=True):
        assert Fraction(count, total) <= Fraction(given) <= Fraction(count + undecided, total)


@pytest.mark.parametrize(
    ("inputs", "output"), cases("weighted_exponential_mechanism"), ids=["nats", "heavy", "rational"]
)
@pytest.mark.claim("C1")
def test_drawn_winners_follow_the_published_law(inputs, output):
    scores, weights = inputs["scores"], inputs["weights"]
    draws = 40_000
    steps = [[int(4 * Fraction(score)) for score in scores]]
    found = winners(
        np.array(steps[0]),
        "exponential",
        draws,
        epsilon=draws * Fraction(inputs["rate"]) / 4,
        range_=1,
        weights=weights,
    )
    assert fits(found, map(Fraction, output))
    plain = winners(
        np.array(steps[0]),
        "exponential",
        draws,
        epsilon=draws * Fraction(inputs["rate"]) / 4,
        range_=1,
    )
    assert not fits(plain, map(Fraction, output)), "no weights would pass too"


@pytest.mark.parametrize(("inputs", "output"), cases("permute_and_flip_with_copies"))
@pytest.mark.claim("C1")
def test_permute_and_flip_takes_copies(inputs, output):
    scores, copies = inputs["scores"], inputs["multiplicities"]
    found = winners(
        np.array([int(score) for score in scores]),
        "permute_and_flip",
        40_000,
        epsilon=40_000 * Fraction(inputs["rate"]),
        range_=1,
        weights=copies,
    )
    assert fits(found, map(Fraction, output))


@pytest.mark.parametrize(("inputs", "output"), cases("weighted_peeled_top2_ordered"))
@pytest.mark.parametrize("name", ["exponential", "exponential_base2"])
@pytest.mark.claim("C1")
def test_top_k_removes_a_candidate_with_its_weight(inputs, output, name):
    draws = 4000
    found = select_many(
        np.tile([int(score) for score in inputs["scores"]], (draws, 1)),
        k=2,
        mechanism=name,
        epsilon=2 * draws * Fraction(inputs["rate"]),
        range_=1,
        weights=inputs["weights"],
    ).winners
    pairs = [tuple(map(int, pair.split(","))) for pair in output]
    counts = [int(np.sum(np.all(found == pair, axis=1))) for pair in pairs]
    assert fits(counts, map(Fraction, output.values()))


def test_all_published_numbers_are_looked_at():
    assert {case["name"] for case in CASES} == {
        "weighted_exponential_mechanism",
        "permute_and_flip_with_copies",
        "weighted_peeled_top2_ordered",
    }


# ------------------------------------------------------------------- all paths of the engine


@pytest.mark.parametrize(("size", "k"), [(3, 3), (30, 1), (600, 3), (6000, 1)])
@pytest.mark.claim("C1")
def test_heavy_and_light_candidates_on_every_path(size, k):
    """Weights undo scores exactly: every candidate is as likely, whatever the path and the spread.

    100 nats lie beyond the reach of tables without weights: a clipped score would be noticed.
    """
    high = [2**144 if place % 2 else 1 for place in range(size)]
    scores = [0 if place % 2 else 1 for place in range(size)]
    wins, draws = 0, 60 if size > 1000 else 200
    for _ in range(draws):
        # base**100 = 2**-144 closely: the probabilities differ by less than 1e-9.
        found = top_k(
            [100 * score for score in scores],
            k=k,
            mechanism="exponential",
            epsilon=k * Fraction(144 * 693147180559945, 10**17),
            range_=1,
            weights=high,
        )
        wins += found.indices[0] % 2
        assert len(set(found.indices)) == k
    share = (size // 2) / size
    assert fits([wins, draws - wins], [share, 1 - share])


@pytest.mark.parametrize("size", [5, 300, 6000])
def test_equal_tapes_and_equal_weights_are_as_no_weights(size):
    scores = [place * 7 % 11 for place in range(size)]
    given = {"epsilon": 1, "sensitivity": 1}
    for function in (exponential_mechanism, exponential_mechanism_base2):
        taken = []
        for weights in (None, [1] * size, ["5/3"] * size):
            source = TapeSource(bytearray(b""), 5)
            found = function(scores, source=source, weights=weights, **given)
            taken.append((found.index, source.asked, source.begun))
        assert taken[0] == taken[1] == taken[2]


@pytest.mark.claim("C1")
def test_splitting_a_candidate_changes_no_probability():
    """By enumeration: one of weight 3/2 and two of 1/2 and 1 together."""
    whole = softmax([0, 2, 1], list(map(Fraction, ("1", "3/2", "2"))), Fraction(1))
    split = softmax([0, 2, 2, 1], list(map(Fraction, ("1", "1/2", "1", "2"))), Fraction(1))
    assert abs(whole[1] - split[1] - split[2]) < mpmath.mpf(10) ** -12
    draws = 40_000
    given = {"epsilon": draws, "range_": 1}
    one = winners(np.array([0, 2, 1]), "exponential", draws, weights=["1", "3/2", "2"], **given)
    two = winners(
        np.array([0, 2, 2, 1]), "exponential", draws, weights=["1", "1/2", "1", "2"], **given
    )
    assert fits(one, whole)
    assert fits(two, split)


# ----------------------------------------------------------------------------- zero weights


def test_a_weight_of_zero_is_never_chosen_and_costs_no_bit():
    scores, weights = [90, 3, 95, 2], [0, 1, 0, "1/2"]
    source, fewer = TapeSource(bytearray(b""), 5), TapeSource(bytearray(b""), 5)
    given = {"epsilon": 1, "sensitivity": 1}
    found = exponential_mechanism(scores, weights=weights, source=source, **given)
    same = exponential_mechanism([3, 2], weights=[1, "1/2"], source=fewer, **given)
    assert found.index == [1, 3][same.index]
    assert source.asked == fewer.asked
    labelled = permute_and_flip(
        dict(zip("abcd", scores, strict=True)), weights={"b": 2, "a": 0, "c": 0, "d": 0}, **given
    )
    assert labelled.label == "b"
    both = top_k(scores, k=2, mechanism="exponential", weights=weights, **given)
    assert set(both.indices) == {1, 3}
    with pytest.raises(ParameterError, match="k must be between 1 and 2"):
        top_k(scores, k=3, mechanism="exponential", weights=weights, **given)
    many = select_many(
        [scores] * 3, labels=[*"abcd"], weights=weights, mechanism="exponential", **given
    )
    assert set(many.labels) <= {"b", "d"}


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ([0, 0, 0], "but not all"),
        ([1, 2], "weights must be 3 numbers"),
        ([1, 2, 3, 4], "weights must be 3 numbers"),
        ([1, 2, -1], "weights must be at least zero"),
        ([1, 2, "x"], "weights must be numbers in the order"),
        ([1, 2, float("nan")], "weights must be a finite number"),
        ([1, 2, None], "weights must be"),
        ([1, 2, True], "weights must be a number"),
        ("123", "weights must be numbers"),
        (b"123", "weights must be numbers"),
        ({1, 2, 3}, "weights must be numbers"),
        ({0: 1, 1: 2}, "weights must be 3 numbers"),
        ({0: 1, 1: 2, 2: 3, 3: 4}, "weights must be 3 numbers"),
        ({0: 1, 1: 2, "c": 3}, "weights must be 3 numbers"),
        (np.ones((3, 1)), "weights must be"),
        (7, "weights must be numbers"),
        ([1, 1, Fraction(1, 2**4095) / 4], "factor of 2\\*\\*4096|at most 4096 bits"),
        ([2**3000, 1, Fraction(1, 2**3000)], "factor of 2\\*\\*4096"),
    ],
)
def test_wrong_weights_are_refused_before_anything_is_charged(weights, match):
    made = Ledger.create(":memory:", {"main": Budget("person", "add_remove", epsilon=1)})
    scope = made.scope("main", unit="person", neighbours="add_remove", purpose="test")
    for scores in ([1, 2, 3], np.array([1, 2, 3])):
        with pytest.raises(ParameterError, match=match):
            exponential_mechanism(scores, weights=weights, epsilon=1, sensitivity=1, ledger=scope)
    assert made.balance("main").spent["epsilon"] == 0


@pytest.mark.parametrize("extreme", [[Fraction(2) ** -2000, 2**2096], [0, 1]])
def test_weights_may_differ_by_the_factor_that_the_message_names(extreme):
    ExponentialMechanism(epsilon=1, sensitivity=1, weights=extreme)
    if extreme[0]:
        with pytest.raises(ParameterError, match="factor of 2\\*\\*4096"):
            ExponentialMechanism(
                epsilon=1, sensitivity=1, weights=[extreme[0], extreme[1] + Fraction(1, 2**100)]
            )


def test_copies_may_add_up_to_the_number_that_the_message_names():
    PermuteAndFlip(epsilon=1, sensitivity=1, weights=[2**24 - 1, 1])
    with pytest.raises(ParameterError, match="2\\*\\*24 at most"):
        PermuteAndFlip(epsilon=1, sensitivity=1, weights=[2**24, 1])


def test_a_label_that_cannot_be_hashed_has_no_weight():
    """The weights of a mapping are never taken in its own order."""
    for labels in ([["a"], ["b"]], ["a", ["b"]]):
        with pytest.raises(ParameterError, match="weights must be 2 numbers"):
            exponential_mechanism(
                [1, 2], labels=labels, weights={"b": 1, "a": 2}, epsilon=1, sensitivity=1
            )


def test_prepared_mechanisms_read_weights_once_and_look_labels_up_in_each_call():
    weights = {"a": 0, "b": 3, "c": "1/2"}
    choose = ExponentialMechanism(epsilon=1, sensitivity=1, weights=weights)
    weights["a"] = 10**6
    assert choose.mechanism == "exponential_mechanism_weighted/1"
    for order in ("abc", "cba", "bac"):
        found = [choose([9, 9, 9], labels=[*order]) for _ in range(200)]  # one has 1/7
        assert {each.label for each in found} == {"b", "c"}
        assert {order[each.index] for each in found} == {"b", "c"}
        assert found[0].mechanism == choose.mechanism
        assert found[0].statement == choose([1, 2, 3], labels=[*order]).statement
    with pytest.raises(ParameterError, match="weights must be 2 numbers"):
        choose([1, 2], labels=["b", "c"])
    with pytest.raises(ParameterError, match="weights must be 3 numbers"):
        choose([1, 2, 3], labels=["a", "b", "d"])
    with pytest.raises(ParameterError, match="weights= goes with"):
        PermuteAndFlip(epsilon=1, sensitivity=1, weights=[1, "1/2"])
    with pytest.raises(ParameterError, match="but not all"):
        TopKMechanism(k=1, mechanism="exponential", epsilon=1, sensitivity=1, weights=[0, 0])
    copies = PermuteAndFlip(epsilon=1, sensitivity=1, weights=[0, 5, 0])
    assert {copies([9, 1, 9]).index for _ in range(20)} == {1}
    base2 = ExponentialMechanismBase2(base="1/2", sensitivity=1, weights=[1, 0])
    assert (base2([1, 50]).index, base2.mechanism) == (0, "exponential_mechanism_base2_weighted/1")
    several = TopKMechanism(
        k=2, mechanism="exponential", epsilon=1, sensitivity=1, weights=[1, 0, "3/2"]
    )
    assert set(several([1, 9, 1]).indices) == {0, 2}
    with pytest.raises(ParameterError, match="k must be between 1 and 1"):
        TopKMechanism(k=2, mechanism="exponential", epsilon=1, sensitivity=1, weights=[1, 0])(
            [1, 2]
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda **g: permute_and_flip([1, 2], weights=[1, "1/2"], **g),
        lambda **g: permute_and_flip([1, 2], weights=[1, 2**24], **g),
        lambda **g: top_k([1, 2], k=2, mechanism="permute_and_flip", weights=[1, 2], **g),
        lambda **g: top_k([1, 2], k=2, weights=[1, 2], **g),
        lambda **g: top_k([1, 2], k=1, mechanism="one_shot_exponential", weights=[1, 2], **g),
        lambda **g: report_noisy_max([1, 2], noise="laplace", weights=[1, 2], **g),
        lambda **g: report_noisy_max([1, 2], noise="exponential", weights=[1, 2], **g),
    ],
)
def test_what_takes_no_such_weights_says_what_does(call):
    said = r"weights= goes with the exponential mechanism \(exponential_mechanism, or mechanism="
    with pytest.raises(ParameterError, match=said):
        call(epsilon=1, sensitivity=1)


def test_laplace_sets_take_no_weights():
    with pytest.raises(ParameterError, match="weights= goes with"):
        top_k(
            [1, 2],
            k=1,
            mechanism="laplace",
            epsilon="1/5",
            delta="1/100",
            sensitivity=1,
            weights=[1, 2],
        )


def test_ledgers_and_results_tell_of_weights():
    made = Ledger.create(":memory:", {"main": Budget("person", "add_remove", epsilon=9)})
    scope = made.scope("main", unit="person", neighbours="add_remove", purpose="test")
    found = exponential_mechanism(
        {"a": 1, "b": 2}, weights={"b": 3, "a": 1}, epsilon=1, sensitivity=1, ledger=scope
    )
    assert found.mechanism == "exponential_mechanism_weighted/1"
    charged = [r.content for r in made.records() if r.content["kind"] == "charged"]
    assert charged[0]["parameters"]["weights"].startswith("sha256:")
    # By place in the order of the scores, whatever form they had.
    again = exponential_mechanism(
        [1, 2], weights=["1", 3.0], epsilon=1, sensitivity=1, ledger=scope
    )
    told = [r.content["parameters"]["weights"] for r in made.records() if "parameters" in r.content]
    assert told[0] == told[1]
    assert again.guarantee == found.guarantee


@pytest.mark.parametrize("rate", ["1/1099511627776", "1/1000", 1, 63, 65, 1000, 2900, 2**19, 2**20])
def test_keys_and_units_hold_the_largest_spread(rate):
    """Ratios of 2**4096, at the smallest and the largest rates: nothing overflows its integers."""
    measure = Weights.of([Fraction(1), Fraction(2) ** 4096])
    assert measure.spread == 2840
    public = keys(GUMBEL, NoiseRate(Fraction(rate)), spread=measure.spread)
    most = int(measure.rounded_up(np.uint32, public.nats).max())
    highest = 2 * public.reach * Fraction(2) ** public.shift + int(public.tail_bounds.max()) + most
    assert highest < 1 << public.bits <= 1 << 32
    wide = plan(GUMBEL, 1, NoiseRate(Fraction(rate)), False, spread=measure.spread)
    units = wide.fixed_rate.units(2 * wide.fixed_rate.reach) + int(measure.rounded_up().max())
    assert units < 1 << 59
    # `loss` bounds what the fixed point loses over the whole reach.
    nats = NoiseRate(Fraction(rate)).nats(200).fractions()[1]
    true = 2 * wide.fixed_rate.reach * nats * 2**32
    assert 0 <= true - wide.fixed_rate.units(2 * wide.fixed_rate.reach) < wide.loss


def test_a_column_with_labels_is_a_mapping():
    """By its order, the labels of one column and the weights of another were mixed up."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    terms = {"epsilon": 1, "range_": 1}
    scores = pd.Series([0, 0, 0], index=["a", "b", "c"])
    weights = pd.Series([1, 0, 0], index=["c", "b", "a"])
    assert {exponential_mechanism(scores, weights=weights, **terms).label for _ in range(20)} == {
        "c"
    }
    assert permute_and_flip(dict(scores), weights=weights, **terms).label == "c"
    for numbered in (weights.to_numpy(), pd.Series([1, 0, 0])):
        assert exponential_mechanism(scores, weights=numbered, **terms).label == "a"
    for wrong in (weights[:2], weights.rename({"a": "d"}), pd.Series([1, 0, 0], index=[3, 4, 5])):
        with pytest.raises(ParameterError, match="or a mapping with all labels and no other"):
            exponential_mechanism(scores, weights=wrong, **terms)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("n", [3, 40, 5_000])
@pytest.mark.parametrize("k", [1, 2])
def test_weights_and_scores_that_are_thousands_of_nats_apart(n, k):
    """What is certain stays so on every path of the engine, however far weights reach."""
    heavy = Fraction(2) ** 4000  # 2772 nats
    given = {"epsilon": k, "sensitivity": 1, "monotonic": True, "mechanism": "exponential", "k": k}
    for behind, wins in ((0, True), (2000, True), (2700, True), (2900, False), (10**6, False)):
        scores, weights = [behind] * n, [Fraction(1)] * n
        scores[n // 2], weights[n // 2] = 0, heavy
        for _ in range(3):
            found = top_k(scores, weights=weights, **given).indices
            assert (found[0] == n // 2) == wins
            assert wins or n // 2 not in found or k == n
    # One that is light and far ahead, one that is heavy, and the rest behind both.
    scores, weights = [0] * n, [Fraction(1)] * n
    scores[0], weights[n - 1] = 4000, heavy
    found = top_k(scores, weights=weights, **given).indices
    assert found == (0, n - 1)[:k]


@pytest.mark.claim("C1")
@pytest.mark.claim("C4")
@pytest.mark.parametrize("n", [100, 5_000])
def test_what_is_asked_of_the_source_does_not_depend_on_who_is_ahead_of_heavy_ones(n):
    """One that is light and far ahead, and fifty heavy ones that fill the places of contenders."""
    weights = [Fraction(2) ** 4000] * 50 + [Fraction(1)] * (n - 50)
    given = {"epsilon": 2, "sensitivity": 1, "monotonic": True, "mechanism": "exponential", "k": 2}
    asked = set()
    for ahead in (0, 100, 4000, 10**9):
        tape = DeterministicSource(3, i_understand_this_is_not_private=True)
        source = RecordingSource(tape)
        found = top_k([0] * (n - 1) + [ahead], weights=weights, source=source, **given).indices
        assert ahead < 4000 or found[0] == n - 1
        asked.add(tuple(source.requests))
    assert len(asked) == 1

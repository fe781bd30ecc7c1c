"""Public weights: the published laws, both engines, zero and equal weights, and what is refused."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import mpz

from safeselect import ParameterError, exponential_mechanism, permute_and_flip, top_k
from safeselect.engine.draws import Weights, plan
from safeselect.engine.laws import GUMBEL
from safeselect.engine.rankings import certified_order
from safeselect.engine.tables import keys
from safeselect.exact.interval import NoiseRate
from safeselect.exact.parameters import rational
from safeselect.mechanisms.weights import GivenWeights
from safeselect.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    TopKMechanism,
)
from safeselect.testing import DeterministicSource, RecordingSource
from vectors import vectors

CASES = [case for case in vectors("weights_quantiles_runs") if case["group"] == "k2"]


def cases(name):
    found = [(case["inputs"], case["output"]) for case in CASES if case["name"] == name]
    assert found
    return found


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
    measure = Weights.of(np.array(weights))
    public = plan(GUMBEL, 1, NoiseRate(rate / 4), False, spread=measure.spread)
    public, size = public._replace(weights=measure), {2: 7, 3: 5}[len(steps)]
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


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "given",
    [
        (np.array([3, 0, 2**40]), [3, 0, 2**40], np.array([3.0, 0, 2**40]), ["3", 0, 2**40]),
        (np.array([0.1, 0, 7]), [0.1, 0.0, 7.0], ["1/10", Decimal(0), 7]),
        ([0.5, 1e300], ["0.5", 10**300], np.array([0.5, 1e300])),
        ([2**63], np.array([2**63], np.uint64), [float(2**63), 9223372036854775808][1:]),
        (np.array([1e22]), ["1e22"], [10**22]),
        ([np.float32(0.1), 1], ["0.1", 1], [0.1, 1.0]),
        ([5e-324, 1.0], ["5e-324", 1]),
        (["1/3", 2], [Fraction(1, 3), Fraction(2)]),
        ([3, np.float64(0.5), np.int8(2)], np.array([3, 0.5, 2]), [mpz(3), "1/2", 2]),
        ([2**53 + 1, 0.5], [Fraction(2**53 + 1), 0.5]),
        ([2**53 + 1, 1.0], [Decimal(2**53 + 1), 1]),
        ([1e300, 1], [10**300, 1.0]),
        (np.array([0.1, 3, 1e-45], np.float32), [np.float32(0.1), 3, "1e-45"]),
        ([np.float32(0.1), np.float32(2)], np.array([0.1, 2], ">f4"), ["0.1", 2]),
        (np.array([-0.0, 0.5]), [0, 0.5], [np.float16(0), "0.5"]),
    ],
)
def test_equal_weights_are_one_column_whatever_they_are_written_as(given):
    read = [GivenWeights.read(each) for each in given]
    assert len({each.ordered.digest for each in read}) == 1
    assert len({type(each.cells[0]) for each in read}) == 1
    exact = [[rational(cell, "weights", zero=True) for cell in each.cells] for each in read]
    assert exact == [[rational(cell, "weights", zero=True) for cell in given[-1]]] * len(read)


@pytest.mark.parametrize(("kind", "words"), [(np.float16, np.uint16), (np.float32, np.uint32)])
def test_short_floats_are_the_decimals_that_they_print(kind, words):
    every = np.arange(1 << 15, dtype=words)
    if kind is np.float32:  # ends of each power of two, and others between 2**-55 and 2**30
        some = np.random.default_rng(1).integers(72 << 23, 157 << 23, 50_000)
        every = np.concatenate([(every >> 7 << 23) + (every % 128) - 64, some]).astype(words)
    floats = every.view(kind)
    floats = floats[np.isfinite(floats) & (floats >= 0)]
    assert floats.size > 31_000
    assert GivenWeights.read(floats).cells.tolist() == list(map(float, map(str, floats)))


@pytest.mark.parametrize("extreme", [[Fraction(2) ** -2000, 2**2096], [0, 1]])
def test_weights_may_differ_by_the_factor_that_the_message_names(extreme):
    ExponentialMechanism(epsilon=1, sensitivity=1, weights=extreme)
    if extreme[0]:
        with pytest.raises(ParameterError, match="factor of 2\\*\\*4096"):
            ExponentialMechanism(
                epsilon=1, sensitivity=1, weights=[extreme[0], extreme[1] + Fraction(1, 2**100)]
            )


def test_small_whole_weights_have_the_logarithms_of_other_weights():
    whole = np.arange(2000, dtype=np.uint64) % 50 + 1
    assert np.array_equal(Weights.of(whole).units, Weights.of(whole / 1).units)


def test_copies_may_add_up_to_the_number_that_the_message_names():
    PermuteAndFlip(epsilon=1, sensitivity=1, weights=[2**24 - 1, 1])
    with pytest.raises(ParameterError, match=r"at most 2\*\*24"):
        PermuteAndFlip(epsilon=1, sensitivity=1, weights=[2**24, 1])


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
        assert found[0].provenance == choose([1, 2, 3], labels=[*order]).provenance
    with pytest.raises(ParameterError, match="weights must be 2 numbers"):
        choose([1, 2], labels=["b", "c"])
    with pytest.raises(ParameterError, match="weights must be 3 numbers"):
        choose([1, 2, 3], labels=["a", "b", "d"])
    with pytest.raises(ParameterError, match="weights= requires"):
        PermuteAndFlip(epsilon=1, sensitivity=1, weights=[1, "1/2"])
    with pytest.raises(ParameterError, match="at least one"):
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


@pytest.mark.parametrize("rate", ["1/1099511627776", "1/1000", 1, 63, 65, 1000, 2900, 2**19, 2**20])
def test_keys_and_units_hold_the_largest_spread(rate):
    """Ratios of 2**4096, at the smallest and the largest rates: nothing overflows its integers."""
    measure = Weights.of(np.array([Fraction(1), Fraction(2) ** 4096]))
    assert measure.spread == 2840
    public = keys(GUMBEL, NoiseRate(Fraction(rate)), spread=measure.spread)
    most = int(measure.keys(public.nats).max())
    highest = 2 * public.reach * Fraction(2) ** public.shift + int(public.tail_bounds.max()) + most
    assert highest < 1 << public.bits <= 1 << 32
    wide = plan(GUMBEL, 1, NoiseRate(Fraction(rate)), False, spread=measure.spread)
    units = wide.fixed_rate.units(2 * wide.fixed_rate.reach) + int(measure.units.max())
    assert units < 1 << 59
    # `loss` bounds what the fixed point loses over the whole reach.
    true = 2 * wide.fixed_rate.reach * NoiseRate(Fraction(rate)).nats(200).fractions()[1] * 2**32
    assert 0 <= true - wide.fixed_rate.units(2 * wide.fixed_rate.reach) < wide.loss


def test_a_column_with_labels_is_a_mapping():
    """By its order, the labels of one column and the weights of another were mixed up."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    terms, scores = {"epsilon": 1, "range_": 1}, pd.Series([0, 0, 0], index=["a", "b", "c"])
    weights = pd.Series([1, 0, 0], index=["c", "b", "a"])
    assert {exponential_mechanism(scores, weights=weights, **terms).label for _ in range(20)} == {
        "c"
    }
    assert permute_and_flip(dict(scores), weights=weights, **terms).label == "c"
    for numbered in (weights.to_numpy(), pd.Series([1, 0, 0])):
        assert exponential_mechanism(scores, weights=numbered, **terms).label == "a"
    for wrong in (weights[:2], weights.rename({"a": "d"}), pd.Series([1, 0, 0], index=[3, 4, 5])):
        with pytest.raises(ParameterError, match="or a mapping from each label"):
            exponential_mechanism(scores, weights=wrong, **terms)


@pytest.mark.claim("C1")
@pytest.mark.claim("C4")
@pytest.mark.parametrize("n", [100, 5_000])
def test_what_is_asked_of_the_source_does_not_depend_on_who_is_ahead_of_heavy_ones(n):
    """One that is light and far ahead, and fifty heavy ones that fill the places of contenders."""
    weights = [Fraction(2) ** 4000] * 50 + [Fraction(1)] * (n - 50)
    given = {"epsilon": 2, "sensitivity": 1, "monotonic": True, "mechanism": "exponential", "k": 2}
    asked = set()
    for ahead in (0, 100, 4000, 10**9):
        source = RecordingSource(DeterministicSource(3, i_understand_this_is_not_private=True))
        found = top_k([0] * (n - 1) + [ahead], weights=weights, source=source, **given).indices
        assert ahead < 4000 or found[0] == n - 1
        asked.add(tuple(source.requests))
    assert len(asked) == 1

"""Every mechanism against its law, two-sided, with a mutant that the same test must reject.

False alarms: 1e-9 each (Chernoff).  Power: 6 000 draws find a shift of 0.06 in the probability of
an outcome with probability above 0.999; every mutant here shifts one by more than that, and is
drawn in four quarters until it is rejected.
The random bytes are those of a fixed seed, so a pass stays a pass.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path

import either as safeselect
import pytest
from chances import fits

import engine
from safeselect.exact.rate import NoiseRate
from safeselect.spec import rankings as _reference
from safeselect.spec.rankings import ExponentialNoise
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.claim("C1"), pytest.mark.slow("statistics with power")]

DRAWS = 6_000
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laws.json").read_text())
ENGINES = ("array", "reference")


def source() -> DeterministicSource:
    with pytest.warns(safeselect.testing.InsecureSourceWarning):
        return DeterministicSource(b"statistics", i_understand_this_is_not_private=True)


def vector(group: str, case: str) -> dict:
    entry = VECTORS[group]["cases"][case]
    if "ordered_top2" in entry:
        return {
            tuple(map(int, key.split(","))): float(value)
            for key, value in entry["ordered_top2"].items()
        }
    return {i: float(value) for i, value in enumerate(entry["probs"])}


FLAT = [5, 5, 3, 0]  # case v4: rate 1
STAIR = [0, 1, 2, 3]

SELECTIONS = {
    "permute_and_flip": (
        lambda **k: safeselect.permute_and_flip(FLAT, epsilon=1, range_=1, **k).index,
        vector("a_permute_and_flip_probs", "v4@rate=1"),
    ),
    "noisy_max_exponential": (
        lambda **k: (
            safeselect.report_noisy_max(
                FLAT, epsilon=2, sensitivity=1, noise="exponential", **k
            ).index
        ),
        vector("a_permute_and_flip_probs", "v4@rate=1"),
    ),
    "exponential_mechanism": (
        lambda **k: (
            safeselect.exponential_mechanism(
                FLAT, epsilon=1, sensitivity=1, monotonic=True, **k
            ).index
        ),
        vector("b_exponential_mechanism_probs", "v4@rate=1"),
    ),
    "noisy_max_gumbel": (
        lambda **k: (
            safeselect.report_noisy_max(FLAT, epsilon=1, range_=1, noise="gumbel", **k).index
        ),
        vector("b_exponential_mechanism_probs", "v4@rate=1"),
    ),
    "noisy_max_laplace": (
        lambda **k: (
            safeselect.report_noisy_max(FLAT, epsilon=1, range_=1, noise="laplace", **k).index
        ),
        vector("d_rnm_laplace_argmax", "v4@rate=1"),
    ),
    "base2": (
        lambda **k: safeselect.exponential_mechanism_base2(STAIR, base="3/4", range_=1, **k).index,
        dict(enumerate((27 / 175, 36 / 175, 48 / 175, 64 / 175))),
    ),
}
RANKINGS = {
    "exponential": vector("c1_peeled_em_top2", "v3@rate=1/10"),
    "permute_and_flip": vector("c2_peeled_pf_top2", "v3@rate=1/10"),
    "one_shot_exponential": vector("c3_oneshot_exponential_top2", "v3@rate=1/10"),
}


def top2(mechanism: str, **keywords):
    # Rate 1/10 a draw: two draws of 1/10, or one shot at twice the scale.
    return safeselect.top_k(
        STAIR, k=2, epsilon="0.2", range_=1, mechanism=mechanism, **keywords
    ).indices


def observed(run, **keywords) -> Counter:
    tape = source()
    return Counter(run(source=tape, **keywords) for _ in range(DRAWS))


def noticed(run, law) -> bool:
    """Whether the same test rejects a mutant of the reference, be it at a quarter of the draws."""
    tape, counts = source(), Counter()
    for _ in range(4):
        counts.update(run(source=tape, engine="reference") for _ in range(DRAWS // 4))
        if not fits(counts, law):
            return True
    return False


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SELECTIONS)
def test_selection_follows_its_law(name, engine):
    run, law = SELECTIONS[name]
    assert fits(observed(run, engine=engine), law)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mechanism", RANKINGS)
def test_top2_follows_its_law(mechanism, engine):
    assert fits(observed(lambda **k: top2(mechanism, **k), engine=engine), RANKINGS[mechanism])


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
def test_laplace_set_follows_its_law(engine):
    """Two of three equal scores: each pair with probability 1/3; one far behind: never chosen."""

    def run(**keywords):
        return safeselect.top_k(
            [7, 7, 7, -(10**7)],
            k=2,
            epsilon="0.2",
            delta="0.05",
            range_=1,
            mechanism="laplace",
            **keywords,
        ).indices

    pairs = [frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert fits(observed(run, engine=engine), dict.fromkeys(pairs, 1 / 3))


def laplace_pair(gap: int, **keywords) -> int:
    """Which of two candidates is alone in the set; R = 1."""
    result = safeselect.top_k(
        [gap, 0], k=1, epsilon="0.2", delta="0.05", range_=1, mechanism="laplace", **keywords
    )
    (index,) = result.indices
    return index


def laplace_pair_law(gap: int) -> dict[int, float]:
    """P(X - Y < gap) for Laplace noise of scale 8 s sqrt(k ln(n / delta)) / epsilon, s = 1/2."""
    apart = gap * 0.2 / (4 * sqrt(log(2 / 0.05)))
    behind = (0.5 + apart / 4) * exp(-apart)
    return {0: 1 - behind, 1: behind}


@pytest.mark.claim("C1")
@pytest.mark.parametrize("engine", ENGINES)
def test_laplace_set_has_the_scale_of_the_theorem(engine):
    counts = observed(lambda **k: laplace_pair(50, **k), engine=engine)
    assert fits(counts, laplace_pair_law(50))
    # Twice or half the scale is noticed.
    assert not fits(counts, laplace_pair_law(25))
    assert not fits(counts, laplace_pair_law(100))


def twice_the_rate(noise_rate):
    return NoiseRate(2 * noise_rate.rate)


def half_the_rate(noise_rate):
    return NoiseRate(noise_rate.rate / 2)


@pytest.mark.parametrize("wrong", [twice_the_rate, half_the_rate])
@pytest.mark.parametrize("name", [name for name in SELECTIONS if name != "base2"])
def test_a_factor_of_two_in_the_rate_is_noticed(monkeypatch, name, wrong):
    """In either direction: too little noise breaks privacy, too much breaks the promise of use."""
    run, law = SELECTIONS[name]
    engine.change_decay(monkeypatch, wrong)
    assert noticed(run, law)


def test_a_wrong_base_is_noticed():
    _, law = SELECTIONS["base2"]

    def run(**keywords):
        return safeselect.exponential_mechanism_base2(
            STAIR, base=Fraction(9, 16), range_=1, **keywords
        ).index

    assert noticed(run, law)


@pytest.mark.parametrize("mechanism", RANKINGS)
def test_a_wrong_rate_in_the_ranking_is_noticed(monkeypatch, mechanism):
    engine.change_decay(monkeypatch, lambda noise_rate: NoiseRate(4 * noise_rate.rate))
    assert noticed(lambda **k: top2(mechanism, **k), RANKINGS[mechanism])


def test_ties_broken_by_position_are_noticed(monkeypatch):
    run, law = SELECTIONS["permute_and_flip"]
    true_draw = _reference.draw_exponential

    def fixed_ties(count, noise_rate, bits):
        noise = true_draw(count, noise_rate, bits)
        return ExponentialNoise(noise.floors, tuple(range(count)))

    monkeypatch.setattr(_reference, "draw_exponential", fixed_ties)
    assert noticed(run, law)

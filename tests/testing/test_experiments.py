"""Experiments: draws agree with the chances, and the chances with closed forms and proofs."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations

import mpmath
import numpy as np
import pytest
from proved_tables import FACTORS, lists, read

from safeselect import select_many, top_k
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.interval import NoiseRate
from safeselect.scores.candidates import Candidates
from safeselect.testing import Probabilities, experiments, probabilities, simulate, sources
from safeselect.testing.sources import SimulationSource

MECHANISMS = "permute_and_flip", "exponential", "exponential_base2"
COUNT = {"sensitivity": 1, "monotonic": True}
SCORES = [0, 3, 7, 7, 12, 13, 5, 9, 10, 4, 11, 13, 12, 6, 1, 2, 8, 8, 10, 11]
ERROR = Fraction(1, 2**50)


def fractions(law: Probabilities) -> list[Fraction]:
    return [Fraction(value) for value in law.values.tolist()]


def one_winner(mechanism: str, weights: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """By the definition: of permute-and-flip all sets of coins that accept, one after the other."""
    if mechanism != "permute_and_flip":
        return [weight / mpmath.fsum(weights) for weight in weights]
    found = []
    for place, weight in enumerate(weights):
        rest, total = weights[:place] + weights[place + 1 :], mpmath.mpf(0)
        for size in range(len(rest) + 1):
            for chosen in combinations(range(len(rest)), size):
                chances = (p if i in chosen else 1 - p for i, p in enumerate(rest))
                total += mpmath.fprod(chances) / (size + 1)
        found.append(weight * total)
    return found


def order(
    mechanism: str, scores: list[int], rate: mpmath.mpf, places: tuple[int, ...]
) -> mpmath.mpf:
    """The chance of an order: one winner after the other."""
    left, chance = list(range(len(scores))), mpmath.mpf(1)
    for place in places:
        best = max(scores[i] for i in left)
        weights = [mpmath.exp(-rate * (best - scores[i])) for i in left]
        chance *= one_winner(mechanism, weights)[left.index(place)]
        left.remove(place)
    return chance


@pytest.mark.parametrize("mechanism", MECHANISMS[:2])
@pytest.mark.parametrize(
    "scores", [[0], [4, 4], [0, 1, 1], [5, 5, 5, 0], [9, 0, 2, 9, 8], [0, 400, 399, 1, 7, 380]]
)
def test_chances_are_those_of_the_definition(mechanism: str, scores: list[int]) -> None:
    rate = Fraction(7, 10)
    for k in range(1, min(3, len(scores)) + 1):
        # The cost of a call is split evenly between its k draws.
        given = {"mechanism": mechanism, "epsilon": rate * k, **COUNT}
        law = probabilities(scores, k=k, **given)
        orders = [tuple(each) for each in law.indices.tolist()]
        assert orders == [*permutations(range(len(scores)), k)]
        with mpmath.workprec(400):
            nats = mpmath.mpf(rate.numerator) / rate.denominator
            for places, value in zip(orders, law.values.tolist(), strict=True):
                exact = order(mechanism, scores, nats, places)
                allowed = max(exact * mpmath.mpf(2) ** -50, mpmath.mpf(2) ** -1000)
                assert abs(value - exact) <= allowed, (places, k)
        if k == 1:
            assert (law.values == probabilities(scores, **given).values).all()


def test_orders_of_base_2_are_those_of_the_proved_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lists of candidates with scores below 3 (proofs/Luce.v), with weights 1 / w**distance."""
    seen, original = 0, experiments._read
    for key, *answers in read("luce")[1]:
        factor, _, scores = key.partition(":")
        w, told = int(factor), dict(zip(lists(len(scores)), answers, strict=True))
        assert w in FACTORS
        rate = NoiseRate(Fraction(1), Fraction(1, w))

        def given(*arguments: object, rate: NoiseRate = rate) -> object:
            plan, steps = original(*arguments)
            return replace(plan, noise_rate=rate), steps

        monkeypatch.setattr(experiments, "_read", given)
        for k in range(1, min(2, len(scores)) + 1):
            mechanism = "exponential_base2"
            law = probabilities([*map(int, scores)], mechanism=mechanism, epsilon=1, k=k, **COUNT)
            for places, value in zip(law.indices.tolist(), fractions(law), strict=True):
                exact = Fraction(*map(int, told[tuple(places)].split(",")))
                assert abs(value - exact) <= ERROR * exact, (key, places)
                seen += 1
    assert seen > 500


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "n", [1, 2, 33, 1000, pytest.param(10_000, marks=pytest.mark.slow("as many as are allowed"))]
)
def test_all_chances_add_up_to_one_within_the_stated_error(mechanism: str, n: int) -> None:
    scores = [i * i % 997 for i in range(n)]
    law = probabilities(scores, mechanism=mechanism, epsilon="1/20", **COUNT)
    assert law.error == ERROR
    assert abs(1 - sum(fractions(law))) <= law.error
    assert law.indices.tolist() == [*range(n)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_ties_share_and_the_hopeless_get_nothing(mechanism: str) -> None:
    law = probabilities([2**60] * 7 + [0], mechanism=mechanism, epsilon=1, **COUNT)
    assert all(abs(each - Fraction(1, 7)) <= ERROR / 7 for each in fractions(law)[:7])
    assert law.values[7] == 0
    # Of those far behind, one wins as soon as the others are gone.
    order = probabilities([2**60, 0, 2**40], mechanism=mechanism, epsilon=1, k=2, **COUNT)
    assert dict(zip(map(tuple, order.indices.tolist()), order.values, strict=True))[0, 2] == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_engine_is_that_of_releases(mechanism: str) -> None:
    drawn = simulate(mechanism, SCORES, epsilon=1, repetitions=300, seed=b"7", **COUNT)
    batch = select_many(
        [SCORES] * 300, mechanism=mechanism, epsilon=300, source=SimulationSource(b"7"), **COUNT
    )
    assert drawn.indices.tolist() == batch.indices.tolist()


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "one_shot_exponential"])
def test_orders_are_drawn_as_top_k_draws_them(mechanism: str) -> None:
    call = {"mechanism": mechanism, "k": 3, "epsilon": 1, **COUNT}
    drawn = simulate(scores=SCORES, repetitions=1, seed=3, **call)
    released = top_k(SCORES, source=SimulationSource(3), **call)
    assert [tuple(drawn.indices[0].tolist())] == [released.indices]


def test_a_seed_repeats_and_another_does_not() -> None:
    draw = partial(simulate, "exponential", SCORES, epsilon=1, repetitions=200, **COUNT)
    first, again, other = (draw(seed=seed).indices.tolist() for seed in (1, "1", 2))
    assert first == again != other


def test_the_numbers_of_a_seed_are_the_published_ones() -> None:
    """Those of SplitMix64 from state 0, as its reference program prints them."""
    source = sources.SimulationSource(b"")
    source._key = np.zeros(1, np.uint64)
    few, more = source._draw(3), source._draw(16)
    assert np.uint64(0xE220A8397B1DCDAF).tobytes()[:3] == few
    assert np.frombuffer(more, np.uint64).tolist() == [0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_scores_are_read_once_and_a_block_is_all_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads, original = [], Candidates.scores_on_grid

    def counted(self: Candidates, *arguments: object, **named: object) -> object:
        reads.append(1)
        return original(self, *arguments, **named)

    monkeypatch.setattr(Candidates, "scores_on_grid", counted)
    draw = partial(simulate, "exponential", np.arange(2000), epsilon=1, seed=1, **COUNT)
    draw(repetitions=1)
    reads.clear()
    tracemalloc.start()
    drawn = draw(repetitions=2000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(reads), drawn.indices.shape) == (1, (2000,))
    assert most < 4 << 20  # all rows at once would take 32 MB


def test_both_say_that_they_are_not_private_and_are_refused_in_production(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = partial(probabilities, [1, 2], mechanism="exponential", epsilon=1, **COUNT)
    drawn = partial(simulate, "exponential", [1, 2], epsilon=1, repetitions=3, seed=1, **COUNT)
    for experiment in (law, drawn):
        assert "NOT PRIVATE" in repr(experiment())
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    for experiment in (law, drawn):
        with pytest.raises(ParameterError, match="SAFESELECT_REQUIRE_PRODUCTION is set"):
            experiment()


def test_there_is_a_limit_of_outcomes() -> None:
    law = partial(probabilities, mechanism="exponential", epsilon=1, **COUNT)
    assert len(law([0] * 100, k=2).values) == 9900
    for scores, k in ([0] * 101, 2), ([0] * 10_001, None):
        with pytest.raises(ParameterError, match="more than 10000 outcomes"):
            law(scores, k=k)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"mechanism": "laplace"}, "mechanism must be"),
        ({"epsilon": 0}, "epsilon"),
        ({"k": 4}, "k must be between"),
        ({"repetitions": 0}, "repetitions must be"),
        ({"seed": 1.5}, "the seed must be"),
        ({"rho": 1}, "exactly one"),
    ],
)
def test_wrong_arguments(wrong: dict[str, object], reason: str) -> None:
    right = {"mechanism": "exponential", "scores": [1, 2], "epsilon": 1, "seed": 1, **COUNT}
    with pytest.raises(ParameterError, match=reason):
        simulate(**{**right, **wrong})
    with pytest.raises(ParameterError, match="mechanism must be"):
        probabilities([1, 2], mechanism="one_shot_exponential", epsilon=1, **COUNT)
    with pytest.raises(ScoreError):
        simulate(**{**right, "scores": [1, "x"]})

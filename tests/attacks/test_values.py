"""A11, A12, A13: numbers whose last digits tell where they came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from safeselect import (
    exponential_mechanism_with_gap,
    permute_and_flip_with_gap,
    report_noisy_max_with_gap,
    top_k_with_gaps,
)
from safeselect.testing import DeterministicSource, SensitivityExceeded, check_sensitivity

pytestmark = [pytest.mark.claim("C3")]

# ------------------------------------------------------------------ A11: sums of floats


LARGE_FIRST = [2.0**53, *[1.0] * 1000]
LARGE_LAST = [*[1.0] * 1000, 2.0**53]


def test_a11_naive_sums_of_floats_exceed_their_sensitivity():
    """Clipped to 1 but for one public offset, and yet the order moves the sum by 1000."""
    assert (sum(LARGE_FIRST) - 2.0**53, sum(LARGE_LAST) - 2.0**53) == (0, 1000)


def test_a11_our_check_finds_it_and_integers_have_no_such_order():
    pairs = [(LARGE_FIRST, LARGE_LAST)]
    with pytest.raises(SensitivityExceeded, match="the declared sensitivity") as caught:
        check_sensitivity(lambda data: [sum(data), 0], pairs, sensitivity=1)
    assert caught.value.observed == 1000
    assert check_sensitivity(lambda data: [sum(map(int, data)), 0], pairs, sensitivity=1) == 1


# ------------------------------------------- A12, A13: the precision of noisy numbers

RUNS = 4000


def laplace(rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(size=RUNS)


def several_uniforms(rng: np.random.Generator) -> np.ndarray:
    """Laplace noise of four uniforms, which hides the digits of each, not those of the sum."""
    one, two, three, four = 1 - rng.random((4, RUNS))
    first = np.log(one) * np.cos(math.pi * two)
    return first + np.log(three) * np.cos(math.pi * four)


def finer_than_the_neighbour(released: np.ndarray) -> float:
    """The share of numbers in (0, 1/2) that are no multiple of 2**-53, the last place near 1."""
    low = released[(released > 0) & (released < 0.5)]
    assert len(low) > 50
    return float(np.mean(low * 2.0**53 % 1 != 0))


@pytest.mark.parametrize("noise", [laplace, several_uniforms])
def test_a12_a13_naive_noise_leaves_the_precision_of_the_score(noise):
    """From score 1 no released number in (0, 1/2) has a digit below 2**-53; from 0 most have."""
    assert finer_than_the_neighbour(0 + noise(np.random.default_rng(12))) > 0.4
    assert finer_than_the_neighbour(1 + noise(np.random.default_rng(12))) == 0


GAPS: dict[str, Callable[..., object]] = {
    "permute_and_flip": permute_and_flip_with_gap,
    "exponential": exponential_mechanism_with_gap,
    "laplace": lambda scores, **more: report_noisy_max_with_gap(scores, noise="laplace", **more),
    "top 2": lambda scores, **more: top_k_with_gaps(scores, k=2, **more),
}


def releases(name: str, scores: object, tapes: int, **more: object) -> list[tuple[int, Fraction]]:
    """Winner and first gap on so many tapes."""
    found = []
    for tape in range(tapes):
        source = DeterministicSource(tape, i_understand_this_is_not_private=True)
        result = GAPS[name](scores, epsilon=3, sensitivity=1, source=source, **more)
        gaps = getattr(result, "gaps", None) or (result.gap,)
        indices = getattr(result, "indices", None) or (result.index,)
        found.append((indices[0], gaps[0]))
        assert all(gap >= 0 for gap in gaps)
    return found


@pytest.mark.parametrize("gap_grid", ["1/8", "2/3", 1])
@pytest.mark.parametrize("name", GAPS)
def test_a12_a13_our_gaps_have_one_precision_whatever_the_scores(name, gap_grid):
    """At 0, near 1, and where floats are 1 and 256 apart."""
    grid, plain = Fraction(gap_grid), releases(name, [1, 0, 0], 40, gap_grid=gap_grid)
    for offset in (1, 2**53, 2**60):
        assert releases(name, [offset + 1, offset, offset], 40, gap_grid=gap_grid) == plain
    for scores in ([0, 0, 0], [2**53 + 1, 2**53, 2**53 - 1], [1.0, 1 - 2.0**-53, 2.0**-60]):
        found = releases(name, scores, 20, gap_grid=gap_grid, grid=1)
        assert all((gap / grid).denominator == 1 for _, gap in found)


@pytest.mark.parametrize("name", GAPS)
def test_a12_a13_our_neighbours_reach_the_same_gaps(name):
    """Every winner with every small gap, from both of two neighbours; the tapes are fixed."""
    wanted = {(winner, Fraction(gap)) for winner in range(2) for gap in range(3)}
    for scores in ([0, 0, -1], [1, 0, -1]):
        assert set(releases(name, scores, 600)) >= wanted

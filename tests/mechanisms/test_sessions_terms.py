"""The public numbers of sessions by definition: rates, shares, recentring, records, requests.

Sensitivities above one step, fractions of one, and grids of several sizes: where all are 1, a
formula that forgets one of them says the same.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from safeselect import AdaptiveSparseVector, SparseVector
from safeselect.engine.single import SPARE

pytestmark = [pytest.mark.claim("C2")]

BASE: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": 1, "split": "1/4"}
CASES: list[tuple[dict[str, Any], Any, Any, Any]] = [
    # options; how far scores move one way; both ways; both ways if monotonic: in score units
    ({"sensitivity": 5}, 5, 10, 5),
    ({"sensitivity": "5/2"}, "5/2", 5, "5/2"),
    ({"sensitivity": 5, "noise": "geometric"}, 5, 10, 5),
    ({"sensitivity": "5/2", "noise": "geometric"}, 3, 6, 3),
    ({"sensitivity": "7/2", "noise": "laplace"}, "7/2", 7, "7/2"),
    ({"sensitivity": "1/2", "grid": "1/3"}, 1, 2, "4/3"),
    ({"sensitivity": 4, "grid": 2, "noise": "geometric"}, 6, 12, 8),
    ({"sensitivity": "7/20", "grid": "1/10", "score_error": 0}, "2/5", "4/5", "2/5"),
    ({"sensitivity": "7/20", "grid": "1/10", "on_grid": True}, "2/5", "4/5", "2/5"),
]
each_case = pytest.mark.parametrize(("options", "one_way", "both_ways", "monotonic"), CASES)


@each_case
def test_rates_cover_what_scores_may_move(
    options: dict[str, Any], one_way: Any, both_ways: Any, monotonic: Any
) -> None:
    for spread, given in (
        (Fraction(both_ways), options),
        (Fraction(monotonic), {**options, "monotonic": True}),
    ):
        plain = SparseVector(**BASE, **given)
        assert plain.threshold_rate == Fraction(1, 4) / Fraction(one_way)
        assert plain.value_rate == Fraction(3, 8) / spread
        adaptive = AdaptiveSparseVector(**BASE, **given)
        assert adaptive.threshold_rate == plain.threshold_rate
        top, middle = adaptive._terms.branches
        assert (middle.noise_rate, top.noise_rate.rate) == (
            plain._terms.branches[0].noise_rate,
            middle.noise_rate.rate / 2,
        )
        # The standard deviation of Laplace noise of the rate of "top".
        assert abs(float(top.margin * plain.value_rate / 2) - 2**0.5) < 1e-10


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("grid", [None, 2])
def test_the_means_of_the_noises_are_subtracted(noise: str, grid: Any) -> None:
    given = {**BASE, "sensitivity": 4, "grid": grid, "noise": noise, "threshold": 6}
    terms = SparseVector(**given)._terms
    (branch,) = terms.branches

    def mean(rate: Fraction) -> Fraction:
        if noise == "laplace":
            return Fraction(0)
        if noise == "exponential":
            return 1 / rate
        power = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        return Fraction(int(mpmath.floor(power / (1 - power) * 2**20)), 2**20)

    with mpmath.workdps(40):
        moved = mean(branch.noise_rate.rate) - mean(terms.noise_rate.rate)
    assert Fraction(branch.place, terms.denominator) == 6 // (grid or 1) + moved


@pytest.mark.parametrize("gap_grid", ["1/1000000", "1/3", 1, 1000])
@pytest.mark.parametrize("epsilon", ["1/1000000", 1000, *(Fraction(1, 2**j) for j in range(9))])
def test_noise_has_digits_enough_for_the_narrowest_cell(gap_grid: Any, epsilon: Any) -> None:
    """A second round of digits has a probability below 2**-50 if 64 digits lie below a cell."""
    given = {**BASE, "epsilon": epsilon, "sensitivity": 1, "gap_grid": gap_grid}
    terms = SparseVector(**given)._terms
    rates = [terms.noise_rate.rate, *(branch.noise_rate.rate for branch in terms.branches)]
    cell = min(rates) * min(Fraction(gap_grid), Fraction(1))  # in nats
    assert 2**64 <= cell * 2 ** (terms.digits - SPARE) < 2 ** (64 + 16)
    assert terms.digits % 8 == 0


SURE: dict[str, Any] = {"epsilon": 2**20, "k": 9, "sensitivity": 1, "grid": "1/2"}


def test_the_threshold_goes_to_the_nearest_step_and_the_margin_does_not() -> None:
    session = SparseVector(**SURE, threshold="1.3", gap_grid="1/100")
    assert Fraction(99, 100) <= session.query(2.5).gap <= 1
    adaptive = AdaptiveSparseVector(**SURE, threshold=0, sigma=1)
    found = [adaptive.query(value) for value in (1.5, 0.5, -0.5)]
    assert [each.branch for each in found] == ["top", "middle", None]
    top, middle, below = found
    # Noise of a millionth of a step decides whether a gap is rounded down by a whole one.
    assert top.gap in (1, Fraction(3, 2))
    assert middle.gap in (0, Fraction(1, 2))
    assert below.gap is None
    assert (2 * top.cost, below.cost) == (middle.cost, 0)

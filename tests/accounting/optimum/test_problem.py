"""Sizes are put on a grid to the side of the bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safeselect import BoundedRange, LaplaceDominated
from safeselect.accounting.optimum.problem import Problem, ranges_of

DELTA = Fraction(1, 10**6)
UNLIKE = {
    "two": [BoundedRange("0.613")] * 8 + [BoundedRange("0.417")] * 8,
    "three": [BoundedRange(f"0.{digits}") for digits in (613, 417, 251) for _ in range(4)],
    "many digits": [BoundedRange(Fraction(2**40 + 1, 2**41))] * 6 + [BoundedRange("1/3")] * 6,
    "with a pair": [BoundedRange("1/2")] * 5
    + [BoundedRange("1/3")] * 5
    + [LaplaceDominated("0.3141")] * 3,
    "alone, of many digits": [BoundedRange(Fraction(7**30, 8**30))] * 4,
}


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("cells", [16, 64, 100])
def test_ranges_are_rounded_to_the_side_of_the_bound(name, cells):
    parts = [(part, 1) for part in UNLIKE[name]]
    problem = Problem.of(parts, DELTA, Fraction(8))
    true = sorted(
        epsilon for part, _ in parts if isinstance(part, BoundedRange) for epsilon in [part.epsilon]
    )
    for upwards in (True, False):
        step, listed = problem.on_grid(cells, upwards=upwards)
        found = sorted(e for e, n in ranges_of(listed) for _ in range(n))
        assert len(found) == len(true)
        assert all((a >= b) if upwards else (a <= b) for a, b in zip(found, true, strict=True))
        assert all(abs(a - b) <= b / 50 for a, b in zip(found, true, strict=True))
        if all(not each % step for each in true):
            assert found == true


@pytest.mark.parametrize("tiny", ["1e-4", "1e-9", "1e-30"])
@pytest.mark.parametrize("upwards", [True, False])
def test_a_tiny_range_beside_a_large_one_makes_no_finer_step(tiny, upwards):
    problem = Problem.of([(BoundedRange(1), 1), (BoundedRange(tiny), 1)], DELTA, Fraction(8))
    assert problem.on_grid(64, upwards=upwards)[0] >= Fraction(1, 256)


@pytest.mark.parametrize("upwards", [True, False])
def test_ranges_without_a_common_measure_are_multiples_of_a_step(upwards):
    for name in ("two", "three"):
        problem = Problem.of([(part, 1) for part in UNLIKE[name]], DELTA, Fraction(8))
        step, listed = problem.on_grid(16, upwards=upwards)
        assert all(not epsilon % step for epsilon, _ in ranges_of(listed))


def test_sizes_of_many_digits_are_cut_and_keep_nine():
    true = Fraction(7**30, 8**30)
    problem = Problem.of([(BoundedRange(true), 4)], DELTA, Fraction(8))
    ((above, _),), ((below, _),) = ranges_of(problem.above), ranges_of(problem.below)
    assert below < true < above < below * (1 + Fraction(1, 2**31))
    assert max(above.denominator, below.denominator) < 2**64

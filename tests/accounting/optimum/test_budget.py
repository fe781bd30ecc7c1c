"""The errors of the adaptive optimum, added up: each sum is below what it may cost."""

from __future__ import annotations

from fractions import Fraction

import pytest
from composed import FINEST

from safeselect.accounting import optimum
from safeselect.accounting.composition import MOST_PARTS
from safeselect.accounting.optimum import problem, upper
from safeselect.accounting.search import BITS, NUDGE

pytestmark = pytest.mark.claim("C2")

UNIT = Fraction(1, 2**53)  # a float is off by so much of its size, at most
STEPS = 2 * MOST_PARTS.bit_length() * upper.FEW_KINDS
"""Products of laws: two for each bit of a count, for each kind of part, of a few kinds."""


def below(bits: int) -> Fraction:
    return Fraction(1, 2**bits)


def test_floats_are_moved_further_than_they_are_wrong():
    # An end: two products, a sum, and two constants within 2**-52; a bend: four more.
    end, bend = (3 + 2 * 2) * UNIT, (7 + 2 * 2) * UNIT
    assert end + bend < below(optimum.ROUNDED)
    assert 8 * below(optimum.ROUNDED) < below(optimum.MARGIN)
    # Below this floats have fewer digits: the smallest normal one is 2**-1022.
    assert optimum.SMALLEST + 20 < 1022


def test_the_margin_of_a_row_is_below_the_finest_precision():
    assert max(problem.ROW, problem.BLOCK) * below(optimum.MARGIN) * 2 < FINEST / 1000


def test_tails_and_units_of_all_products_are_below_the_finest_precision():
    tails = STEPS * below(optimum.TAIL)
    most = problem.MOST_KINDS + problem.MOST_LAWS + problem._MOST_RANGES + 1
    units = STEPS * most * problem._MOST_PLACES * below(optimum.MASS)
    assert tails + units < FINEST / 2
    # More kinds share the tails of so few.
    delta, few = Fraction(1, 10**6), upper.FEW_KINDS
    own = upper.Grid.on(Fraction(1, 100), delta).tail
    assert own == delta * below(optimum.TAIL)
    for kinds in range(1, most + 1):
        assert kinds * upper.Grid.on(Fraction(1, 100), delta, 64, kinds).tail <= few * own
    # A coarse bound alone: some thousandths.
    few = 2 * MOST_PARTS.bit_length()
    assert few * below(optimum.QUICK_TAIL) + few * 2**13 * below(optimum.QUICK_MASS) < Fraction(
        1, 250
    )


def test_a_lower_profile_is_known_as_well_as_is_said():
    units = optimum.LOOSE_UNITS * problem._MOST_PLACES * below(optimum.MASS)
    assert units < below(optimum.LOOSE)


def test_a_calibrated_rate_gives_up_its_last_digit():
    assert below(BITS) >= 4 * NUDGE

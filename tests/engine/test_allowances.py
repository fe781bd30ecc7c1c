"""The table of allowances adds up: each covers all that it is for."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from safeselect.engine import allowances, draws, laws
from safeselect.engine.allowances import ERROR, LINE, LOG_ERROR, LOSS, REACH, ROUNDINGS, UNIT_BITS
from safeselect.exact.interval import NoiseRate

UNIT, WINDOW = Fraction(1, 2**UNIT_BITS), Fraction(1, 2**16)


def test_distances_add_up() -> None:
    # A second derivative of at most 1 in f, over a step of 2**-6, with the values in 2**-32 nat.
    assert (Fraction(1, 2**12) / 8, ERROR) == (LINE * UNIT, LINE + ROUNDINGS)
    assert ROUNDINGS >= 2 + 1 + 2
    assert 2 * REACH * 2 * Fraction(1, 2**30) + UNIT <= LOSS * UNIT
    key = Fraction(1, 2**allowances.KEY_BITS)
    assert Fraction(1, 32) + 2 * ERROR * UNIT + 2 * key < allowances.WINDOW * WINDOW
    weight = key * Fraction(101, 100) + LOG_ERROR * UNIT
    wide = Fraction(1, 32) + 2 * ERROR * UNIT + 2 * key + weight
    assert wide < allowances.WEIGHTED_WINDOW * WINDOW
    assert (2 * ERROR + LOSS) * UNIT < allowances.FINE_WINDOW * WINDOW
    most = LOSS * -(-(REACH + allowances.MOST_SPREAD) // REACH)
    assert (2 * ERROR + most + LOG_ERROR) * UNIT < allowances.WEIGHTED_FINE_WINDOW * WINDOW


@pytest.mark.parametrize("spread", [1, 64, 65, 128, allowances.MOST_SPREAD])
def test_the_loss_of_weighted_rows_has_room_for_their_logarithms(spread: int) -> None:
    public = draws.plan(laws.GUMBEL, 1, NoiseRate(Fraction(1)), False, spread=spread)
    lost = Fraction(2 * (REACH + spread) * 2, 2**30) + (1 + LOG_ERROR) * UNIT
    assert lost <= public.loss * UNIT


def test_no_tabulated_noise_is_beyond_half_the_reach() -> None:
    for law in laws.LAWS.values():
        for v in (1 << 32, (1 << 64) - (1 << 32)):
            low, high = laws.enclose(law, v, 64, 32)
            assert max(-low, high) < REACH * 2**31, law.name


def test_chances_add_up_for_as_many_candidates_as_are_promised() -> None:
    """The ordinary path is left with probability below 2**-40, for 10**8 candidates too."""

    def chance(digits: int) -> Fraction:
        return Fraction(1, 2**digits)

    rare, tails = chance(42), 10**8 * chance(69)
    by_keys = chance(allowances.RARE_WINDOW) + chance(allowances.RARE_STEEP)
    uncovered = comb(draws.FINE_LIMIT, 3) * chance(31) ** 3
    assert by_keys + rare + tails < chance(40)
    assert chance(allowances.RARE_FINE) + uncovered + rare < chance(40)
    assert chance(allowances.RARE_ROWS) + rare < chance(40)

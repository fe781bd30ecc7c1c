"""Sparse vectors as published: answers from given noises, known as far as a comparison needs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from tapes import Known, TapeSource

from safeselect.errors import SourceError
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.samplers import LazyExponential, LazyLaplace
from safeselect.spec import sessions
from safeselect.spec.sessions import Branch, draw, excess, sparse_vector

RATE = NoiseRate(Fraction(1, 3))


@pytest.mark.parametrize("margin", [Fraction(0), Fraction(3, 2), Fraction(1034, 1000)])
@pytest.mark.parametrize("cell", [Fraction(1), Fraction(3, 4)])
def test_a_comparison_is_that_of_the_numbers(margin: Fraction, cell: Fraction) -> None:
    """Never a tie here, as continuous noise never has one: one has sevenths, the other thirds."""
    none: Any = None
    found = set()
    for value, own, start in product(range(-3, 4), range(-4, 5), range(-4, 5)):
        noise, threshold = Fraction(own, 3) + Fraction(1, 30), Fraction(start, 7)
        lead = value + noise - threshold
        wanted = lead // cell if lead >= margin else None
        assert excess(Fraction(value), Known(noise), Known(threshold), margin, cell, none) == wanted
        whole = excess(Fraction(value), own, start, margin, cell, none)
        assert whole == ((value + own - start) // cell if value + own - start >= margin else None)
        found.add(wanted)
    assert None in found
    assert len(found) > 3


def test_a_tie_of_digits_is_never_decided() -> None:
    none: Any = None
    same = Fraction(0), Known(Fraction(1, 3)), Known(Fraction(1, 3)), Fraction(0), Fraction(1)
    with pytest.raises(SourceError, match="independent random bits"):
        excess(*same, none)


def test_the_first_branch_that_finds_a_value_above_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: a threshold of 10, two branches of margins 5 and 0, a budget of 2 and a half."""
    noises = iter([1, 0, 0, 4, 0, 4, 1, 0, 0, 9, 9, 0, 7])  # of the threshold, then two a value
    asked = []

    def given(noise: str, noise_rate: NoiseRate, bits: object) -> int:
        asked.append(noise_rate)
        return next(noises)

    monkeypatch.setattr(sessions, "draw", given)
    cheap, dear = NoiseRate(Fraction(1, 2)), NoiseRate(Fraction(1))
    branches = [
        Branch(Fraction(10), Fraction(5), Fraction(1, 2), cheap),
        Branch(Fraction(10), Fraction(0), Fraction(1), dear),
    ]
    none: Any = None
    run = sparse_vector(
        [10, 12, 12, 10, 30, 30], "geometric", RATE, branches, Fraction(5, 2), Fraction(2), none
    )
    # 10 - 11 < 0; 12 + 4 - 11 = 5, top; 12 + 4 - 11 = 5, top; 10 - 11 < 0; 30 + 9 - 11 = 28, top;
    # then a budget of 1 pays for one more answer, whichever branch gives it.
    assert list(run) == [None, (0, 2), (0, 2), None, (0, 14), (0, 9)]
    assert asked == [RATE, *[cheap, dear] * 6]


def test_what_is_drawn() -> None:
    bits = Bits(TapeSource(seed=4))
    assert isinstance(draw("geometric", RATE, bits), int)
    assert isinstance(draw("laplace", RATE, bits), LazyLaplace)
    assert isinstance(draw("exponential", RATE, bits), LazyExponential)

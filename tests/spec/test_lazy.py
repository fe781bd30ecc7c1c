"""Lazily refined noise: its law at every depth, its ties, and that refining never revises."""

import copy
import pickle
import sys
from fractions import Fraction
from functools import partial

import pytest
from effort import pairs
from exact_pmf import bit_tree
from sampler_laws import (
    agrees,
    digit_mass,
    endless,
    geometric_mass,
    gumbel_below,
    gumbel_mass,
    power,
    scripted,
)

from safeselect.errors import SourceError
from safeselect.exact.interval import NoiseRate
from safeselect.samplers import LazyExponential, LazyGumbel, LazyLaplace

pytestmark = pytest.mark.claim("C1")

MODULE = sys.modules["safeselect.samplers"]
KINDS = [LazyExponential, LazyLaplace, LazyGumbel]
DECAYS = [
    NoiseRate(Fraction(1)),
    NoiseRate(Fraction(1, 3)),
    NoiseRate(Fraction(5, 2)),
    NoiseRate(Fraction(1), Fraction(1, 2)),
    NoiseRate(Fraction(1, 4), Fraction(3, 7)),
]
WIDE = [
    *DECAYS,
    NoiseRate(Fraction(1, 2**40)),
    NoiseRate(Fraction(1, 2**40), Fraction(1, 4)),
    NoiseRate(Fraction(2**20)),
    NoiseRate(Fraction(3**50, 2**64 * 11)),
]


def floor_of(kind, noise_rate, levels, step):
    def run(bits):
        noise = kind(bits, noise_rate, step=step)
        noise.refine(bits, levels)
        return noise.floor

    return run


# --------------------------------------------------- exponential and Laplace, by parts


@pytest.mark.parametrize("noise_rate", [DECAYS[0], DECAYS[3]])
def test_fraction_digits_bit_by_bit(monkeypatch, noise_rate):
    """All of refine on real bits, given an integer part of 0."""
    monkeypatch.setattr(MODULE, "geometric", lambda bits, noise_rate, step: 0)
    law = bit_tree(floor_of(LazyExponential, noise_rate, 3, 1), max_leaves=600)
    low, high = power(noise_rate, 1)

    def mass(f):
        least, most = geometric_mass(noise_rate, f, 3)
        return least / (1 - low), most / (1 - high)

    assert law.unfinished < 2**-6
    assert agrees(law, mass, range(8))


def test_a_tied_fraction_digit_goes_on_to_the_next_word():
    noise_rate = DECAYS[0]
    p = digit_mass(noise_rate, 1, 1)[0]
    tie, second = int(p * 2**64), int(p * 2**128) % 2**64
    for script, digit in (
        ([tie - 1], 1),
        ([tie + 1], 0),
        ([tie, second - 1], 1),
        ([tie, second + 1], 0),
    ):
        noise = LazyExponential(scripted(0b1, size=1), noise_rate)  # quotient coin: 1 is "stop"
        assert (noise.level, noise.floor) == (0, 0)
        bits = scripted(*script)
        noise.refine(bits, 1)
        assert (noise.level, noise.floor) == (1, digit)
        assert bits.consumed == 64 * len(script)


# ------------------------------------------------------------------------------- Gumbel
@pytest.mark.parametrize(
    ("steps", "depth", "noise_rate"),
    pairs([(1, 400), (2, 500), (3, 600)], [(0, 2**-7), (1, 2**-4), (3, 0.36)], DECAYS),
)
@pytest.mark.nightly("tests/test_mission.py has its answers")
def test_gumbel_bit_by_bit(steps, depth, noise_rate):
    (step, leaves), (levels, unfinished) = steps, depth
    law = bit_tree(floor_of(LazyGumbel, noise_rate, levels, step), max_leaves=leaves)
    assert law.unfinished < unfinished
    assert agrees(law, partial(gumbel_mass, noise_rate, level=levels), range(-4, 8 << levels))


@pytest.mark.parametrize("noise_rate", WIDE)
@pytest.mark.parametrize("levels", [0, 4])
def test_a_tied_gumbel_word_goes_on_to_the_next(noise_rate, levels):
    nats = noise_rate.nats(64).fractions()[0]
    t = max(1, int((1 << levels) / nats)) if nats < 1 else 0
    low, high = gumbel_below(noise_rate, t, levels)  # the chance that X is below t / 2**levels
    tie, second = int(low * 2**64), int(low * 2**128) % 2**64
    assert int(high * 2**128) % 2**64 == second
    for script, below in (
        ([tie, 0], True),
        ([tie, second - 1], True),
        ([tie, second + 1], False),
        ([tie, 2**64 - 1], False),
    ):
        bits = scripted(*script)
        noise = LazyGumbel(bits, noise_rate)
        noise.refine(bits, levels)
        assert (noise.floor < t) is below
        if nats > Fraction(1, 2**20):
            assert noise.floor == (t - 1 if below else t)
            assert bits.consumed == 128
    if nats > Fraction(1, 2**20):
        with pytest.raises(SourceError, match="the tape ended"):
            floor_of(LazyGumbel, noise_rate, levels, 64)(scripted(tie))


# ------------------------------------------------------------------------- all of them
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise_rate", WIDE)
def test_refining_only_appends_digits(kind, noise_rate):
    bits = endless(f"append {kind.__name__}")
    for _ in range(20):
        noise = kind(bits, noise_rate)
        assert noise.level == 0
        for levels in (0, 1, 3, 40, 5):
            level, floor = noise.level, noise.floor
            noise.refine(bits, levels)
            assert (noise.level, noise.floor >> levels) == (level + levels, floor)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_neither_shown_nor_copied(kind):
    noise = kind(endless("silent"), NoiseRate(Fraction(1, 1000)))
    assert str(abs(noise.floor)) not in repr(noise)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(noise)

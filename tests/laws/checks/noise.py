"""Checks of the array engine's noise: quantiles, tables and the decision, on this machine.

Each check returns how much it examined, and raises `Refuted` at the first error.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from checks.finding import Refuted
from checks.series import survival

from safeselect.engine.allowances import ERROR, UNIT_BITS
from safeselect.engine.draws import plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law, enclose
from safeselect.engine.rankings import certified_order
from safeselect.engine.tables import TAIL_BITS, TAIL_DIGITS, bound_table, noise_table, read_noise
from safeselect.exact.interval import NoiseRate

LAWS = (EXPONENTIAL, LAPLACE, GUMBEL)

_PRECISION = 128
_SCALES = (50, 96)  # enclosed in integers, and by MPFR
_WIDTH = 16  # digits of a word


def check_quantiles(noise: Law, every: int) -> str:
    """Compare Q(V), and its enclosure over a cell, with the survival function in integers.

    Method: x >= Q(v) if and only if P(E > x) <= v.
    """
    count = 0
    for bits in (5, 16, 64):
        numbers = range(1, 1 << bits, max(1, (1 << bits) // 512 * every))
        for v in numbers:
            share = Fraction(v, 1 << bits)
            mantissa, exponent = noise.quantile(v, bits, _PRECISION).as_mantissa_exp()
            high = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
            low = high - Fraction(1, 1 << (_PRECISION - 9))
            _require(_surely_at_most(noise, high, share), "a quantile is too small")
            _require(_surely_at_least(noise, low, share), "a quantile is too large")
            for scale in _SCALES:
                ends = [Fraction(end, 1 << scale) for end in enclose(noise, v, bits, scale)]
                _require(_surely_at_most(noise, ends[1], share), "an enclosure is too low")
                if v + 1 < 1 << bits:
                    over = Fraction(v + 1, 1 << bits)
                    _require(_surely_at_least(noise, ends[0], over), "an enclosure is too high")
            count += 1
    return f"{count} quantiles"


def check_thresholds(noise: Law, every: int) -> str:
    """Compare the bounds of the 16-bit words and the tail thresholds with Python integers."""
    built = bound_table(noise)
    lowest = Fraction(noise.lowest, 64)
    places = range(1 << TAIL_BITS, 1 << _WIDTH, 1 if every == 1 else 16 * every)
    for word in places:
        bound = lowest + Fraction(int(built.word_bounds[word]), 1 << UNIT_BITS)
        share = Fraction(word, 1 << _WIDTH)
        _require(_surely_at_most(noise, bound, share), "a word's bound is too small")
    unit = 1 << (_WIDTH - TAIL_BITS + TAIL_DIGITS)
    for number in range(1, built.tail_thresholds.size + 1, every):
        threshold = int(built.tail_thresholds[number - 1])
        if threshold < 1 << TAIL_DIGITS:  # larger ones are cut; no tail word reaches them
            bound = lowest + Fraction(int(built.tail_bounds[number]), 1 << UNIT_BITS)
            share = Fraction(threshold, unit)
            _require(_surely_at_most(noise, bound, share), "a tail threshold is too small")
    return f"{len(places)} words, {-(-built.tail_thresholds.size // every)} tail thresholds"


def check_fine_table(noise: Law, every: int) -> str:
    """Compare the tabulated noise at the ends and the middle of pieces with the quantile."""
    fractions = np.arange(0, 1 << 7, every, dtype=np.uint64)  # half a piece of the table each
    words = np.concatenate(
        [
            np.right_shift(np.uint64(1 << 63) | fractions << np.uint64(56), np.uint64(zeros))
            for zeros in range(1, 32)
        ]
    )
    words = np.concatenate([words, ~words])
    found = np.empty(words.size, dtype=np.int64)
    read_noise(noise_table(noise), np.copy(words), found)
    for word, value in zip(words.tolist(), found.tolist(), strict=True):
        low, high = enclose(noise, word, 64, UNIT_BITS + 16)
        _require(
            (value - ERROR << 16) <= low + (1 << 16) and high - (1 << 16) <= (value + ERROR << 16),
            "a tabulated noise is off by more than its error",
        )
    return f"{words.size} places"


def check_decision(noise: Law, every: int) -> str:
    """Check that the answer of `certified_order` holds at every corner of its cells.

    The noise is monotone in V, so an answer that holds at the corners holds in the whole cells.
    """
    public = plan(noise, 1, NoiseRate(Fraction(1, 2)), True)
    bits, decided = 9, 0
    cells = range(1, (1 << bits) - 2, 7 * every)
    for one, two, score in product(cells, cells, (0, 3)):
        ranking = certified_order(
            [0, 1], [score, 0], [(one, bits), (two, bits)], None, public, public.precision
        )
        if ranking is None:
            continue
        decided += 1
        corners = {
            _truth(noise, (score, 0), (one + a, two + b), bits)
            for a, b in product((0, 1), repeat=2)
        }
        _require(corners == {(ranking.indices, ranking.gaps)}, "a decision was too early")
    _require(decided > 0, "nothing was decided")
    return f"{decided} decisions"


def _truth(
    noise: Law, scores: tuple[int, int], numbers: tuple[int, int], bits: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return winner and floor of the gap for these uniform numbers, at rate 1/2."""
    noisy = []
    for score, v in zip(scores, numbers, strict=True):
        mantissa, exponent = noise.quantile(v, bits, 256).as_mantissa_exp()
        noisy.append(score + 2 * Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    winner = 0 if noisy[0] > noisy[1] else 1
    gap = noisy[winner] - noisy[1 - winner]
    return (winner,), (gap.numerator // gap.denominator,)


def _surely_at_most(noise: Law, x: Fraction, share: Fraction) -> bool:
    return survival(noise.name, x)[1] <= share


def _surely_at_least(noise: Law, x: Fraction, share: Fraction) -> bool:
    return survival(noise.name, x)[0] >= share


def _require(truth: bool, message: str) -> None:
    if not truth:
        raise Refuted(message)

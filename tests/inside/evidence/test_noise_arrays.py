"""Arrays of noise: every number is made of its own words, at each size around a chunk's end.

The tape is decoded word by word and each number is worked out again from the law of its digits, as
fractions of a word, without the tables of the engine.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import exp, isqrt
from typing import Any

import mpmath
import numpy as np
import pytest
from tapes import Stream, lanes

import engine
from engine import NoiseRate

pytestmark = pytest.mark.claim("C1")

CHUNK = engine.geometric._CHUNK
PIECE = engine.geometric._PIECE

DECAYS = {
    "one digit": NoiseRate(Fraction(1)),
    "one digit, 1/8": NoiseRate(Fraction(1, 8)),
    "two digits": NoiseRate(Fraction(1, 200)),
    "three digits": NoiseRate(Fraction(1, 20_000)),
    "six digits": NoiseRate(Fraction(1, 2**40)),
}


def rate_of(noise_rate: NoiseRate) -> mpmath.mpf:
    if noise_rate.base is None:
        return mpmath.mpf(noise_rate.rate.numerator) / noise_rate.rate.denominator
    base = mpmath.mpf(noise_rate.base.numerator) / noise_rate.base.denominator
    return -mpmath.log(base) * noise_rate.rate.numerator / noise_rate.rate.denominator


class Digit:
    """The law of one digit: thresholds T_1 > T_2 > ..., ascending, in units of 2**-128.

    The first digit has no end; the engine knows so many thresholds of it, and a digit that reaches
    the last one has only begun.
    """

    def __init__(self, rate: mpmath.mpf, weight: int, begun: int | None) -> None:
        self.begun = begun
        with mpmath.workdps(80):
            whole = mpmath.exp(-256 * weight * rate) if begun is None else mpmath.mpf(0)
            chances = [
                (mpmath.exp(-d * weight * rate) - whole) / (1 - whole)
                for d in range(1, 256 if begun is None else begun + 1)
            ]
            # Powers of a rational base may be whole numbers here, which a logarithm just misses.
            trifle = mpmath.ldexp(1, -60)
            ends = sorted(int(mpmath.floor(mpmath.ldexp(each, 128) + trifle)) for each in chances)
        self._ends = ends
        self._words = np.array([end >> 112 for end in ends], dtype=np.int64)
        self._crossed = self._words[np.array([end % (1 << 112) > 0 for end in ends])]

    def read(self, words: Any, fine: Any) -> Any:
        """The digits; -1 for one that has only begun.

        A word that a threshold crosses is lengthened by 112 digits; such words take them in order.
        """
        values = words.astype(np.int64)
        digits = len(self._ends) - np.searchsorted(self._words, values, side="right")
        for number, place in enumerate(np.flatnonzero(np.isin(values, self._crossed)).tolist()):
            high, low = (int(row[number]) for row in fine)
            v = int(words[place]) << 112 | high >> 16 << 64 | low
            digits[place] = len(self._ends) - bisect_right(self._ends, v)
        return np.where(digits == self.begun, -1, digits) if self.begun else digits


def digits_of(noise_rate: NoiseRate) -> list[Digit]:
    """The first digit, unbounded, and the others: in base 256 from a weight near 1/32 nat up."""
    with mpmath.workdps(80):
        rate = rate_of(noise_rate)
    weights = [1]
    while rate * weights[0] * 32 < 1:
        weights.insert(0, weights[0] * 256)
    begun = len(engine.geometric.digit_tables(noise_rate)[0].high)
    return [Digit(rate, weight, None if i else begun) for i, weight in enumerate(weights)]


class Reader:
    """Reads a tape part by part, as it was asked for."""

    def __init__(self, stream: Stream) -> None:
        assert all(size > 0 for size in stream.requests)
        self._parts = list(stream.parts)

    def words(self, kind: type[np.unsignedinteger[Any]]) -> Any:
        return lanes(self._parts.pop(0), kind)

    def number(self, laws: list[Digit], size: int) -> tuple[Any, Any]:
        """The numbers of a chunk, and which are known."""
        total, known = np.zeros(size, dtype=np.int64), np.full(size, True)
        for law in laws:
            words, fine = self.words(np.uint16), self.words(np.uint64).reshape(2, -1)
            assert words.size == size
            digits = law.read(words, fine)
            if law.begun:
                self.words(np.uint64)
            known &= digits >= 0
            total = total * 256 + digits
        return total, known

    def complements(self, chance: float, size: int) -> tuple[Any, Any]:
        """Which numbers are to be mirrored, with this chance, and which are known."""
        words, _ = self.words(np.uint16), self.words(np.uint64)
        assert words.size == size
        return words < np.floor(chance * 65536), words != int(chance * 65536)

    @property
    def done(self) -> bool:
        return not self._parts


def sizes() -> list[int]:
    around = [
        step + size for size in (PIECE, CHUNK, CHUNK + PIECE, 2 * CHUNK) for step in (-1, 0, 1)
    ]
    return [1, 2, *around]


@pytest.mark.parametrize("name", DECAYS)
@pytest.mark.parametrize("signed", [False, True], ids=["geometric", "laplace"])
def test_every_number_is_made_of_its_own_words(name, signed):
    """A chunk, a piece or one more number: no word is used twice and none is passed over."""
    noise_rate = DECAYS[name]
    laws, chance = digits_of(noise_rate), 1 / (1 + exp(float(rate_of(noise_rate))))
    draw = engine.geometric.discrete_laplace if signed else engine.geometric.geometric
    every = name in ("one digit", "two digits")
    for size in sizes() if every else (1, PIECE + 1, CHUNK + 1):
        stream = Stream(seed=size)
        found = draw(size, noise_rate, stream)
        assert found.shape == (size,)
        reader = Reader(stream)
        parts = [min(CHUNK, size - start) for start in range(0, size, CHUNK)]
        total, known = joined([reader.number(laws, part) for part in parts])
        if signed:
            mirrored, told = joined([reader.complements(chance, part) for part in parts])
            total, known = np.where(mirrored, -1 - total, total), known & told
        assert reader.done
        assert found[known].tolist() == total[known].tolist()
        assert int(known.sum()) >= size - 2 - 9 * isqrt(size)


def joined(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    first, second = zip(*pairs, strict=True)
    return np.concatenate(first), np.concatenate(second)

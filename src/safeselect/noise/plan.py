"""Everything public about a ranking, computed before any bit is drawn or any score is read.

Two calls with equal plans and equally many candidates do equal work.

The contender lemma of `docs/mathematics.md`, section 10, says how many contenders suffice to put j
candidates in order.  Outside the `steep` last words a key is less than WINDOW / 2**16 nat above Y:
1/32 for the width of a word, twice the fine table's ERROR, and two units of a key (`tables`).  The
noise has a hazard rate of at most 1 a nat, also given that no steep word was drawn.  So j + m or
more candidates without a steep word have keys that reach the j-th largest Y with probability at
most P(Bin(j + m - 1, WINDOW / 2**16) >= m).  A candidate with a steep word has less noise than any
without one.  Where its key reaches the j-th largest Y, fewer than j candidates without a steep word
have scores as high.  So m or more candidates with steep words have keys that reach the j-th largest
Y with probability at most P(Bin(j + m - 1, steep / 2**16) >= m).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from safeselect.exact.rate import NoiseRate
from safeselect.noise.arrays import Numbers
from safeselect.noise.laws import Law, enclose
from safeselect.noise.tables import LOSS, REACH, UNIT_BITS
from safeselect.noise.weights import Weights

_ONE = Fraction(1)

DIRECT_LIMIT = 24
"""Up to so many candidates, each is given a slot: arrays would take longer."""

FINE_LIMIT = 1 << 12
"""Up to so many candidates, the noise of each is read off the fine table: see `tables`."""

GUARD = 72
"""Extra digits of the rate: a score has 64 bits, so rate * score keeps 8 beyond the precision."""

_DIGITS = 168  # behind the point of a rate's lower bound: it has 128 or more, above 2**-40

WINDOW = 2320
"""2**16 times: 1/32 nat, twice ERROR, which is below 2**-13, and two units of 2**-9 nat."""


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """A distance of d grid steps, d <= 2 * reach, counts for ((d >> shift) * factor) >> back units.

    All numbers are public.  Nothing overflows.  d >> shift and factor have 32 bits at most, unless
    one step is worth 2**31 units or more; then 2 * reach steps are worth less than 2**55 units.
    """

    reach: int
    shift: int
    factor: int
    back: int

    def units(self, distance: int) -> int:
        """How many units one distance is worth."""
        return ((distance >> self.shift) * self.factor) >> self.back

    def apply(self, distances: Numbers) -> None:
        """Replace distances, uint64, by units."""
        if self.shift:
            np.right_shift(distances, np.uint64(self.shift), out=distances)
        np.multiply(distances, np.uint64(self.factor), out=distances)
        if self.back:
            np.right_shift(distances, np.uint64(self.back), out=distances)


def fixed_point(noise_rate: NoiseRate, unit_bits: int, reach: int) -> FixedPoint:
    """The noise rate for units of 2**-unit_bits nat and distances of `reach` nats both ways.

    Exactness: the units are never too many.  The last shift loses less than 1.  `shift` is zero or
        leaves 31 digits of 2 * reach, and `factor` has 31 digits or is exact, so each of them loses
        less than a 2**-30th part of 2 * reach nats.
    """
    nats, _ = noise_rate.scaled(_DIGITS)
    steps = (reach << _DIGITS) // nats + 1
    shift = max(0, (2 * steps).bit_length() - 32)
    unit = nats << unit_bits + shift  # times 2**-_DIGITS
    back = max(0, 32 + _DIGITS - unit.bit_length())
    return FixedPoint(steps, shift, unit << back >> _DIGITS, back)


@dataclass(frozen=True, slots=True)
class Plan:
    """The public numbers of a ranking.

    Args:
        law, noise_rate: the law of the noise, and the noise rate.
        k: how many to rank.
        ranked: how many must be put in order: k, or k + 1 with gaps.
        contenders: how many candidates are given a slot, if there are that many.
        slot_bits: digits of a slot.
        precision: enclosures are integers in units of 2**-precision nats.
        rate: encloses the nats of one grid step; see `rate`.
        gap_unit: the unit of the gaps in grid steps, worth 2**-40 nats or more.  The slots then
            decide the floors but with probability 2**-42 (docs/mathematics.md, section 11).
        fine_contenders: how many candidates are given a slot where the fine table has all noise.
        fixed_rate: the score's part of a noisy score, in units of `tables`; at most `loss` too
            small.
        loss: LOSS for the reach of `fixed_rate`.
        spread: nats by which logarithms of weights may differ; 0 without weights.
        weights: public weights of the candidates, or None.
    """

    law: Law
    noise_rate: NoiseRate
    k: int
    ranked: int
    contenders: int
    slot_bits: int
    precision: int
    rate: tuple[int, int]
    gap_unit: Fraction
    fine_contenders: int
    fixed_rate: FixedPoint
    loss: int
    spread: int
    weights: Weights | None = None


@lru_cache(maxsize=64)
def plan(
    law: Law, k: int, noise_rate: NoiseRate, gaps: bool, gap_unit: Fraction = _ONE, spread: int = 0
) -> Plan:
    """Compute the plan of a ranking, but for the weights themselves.

    With weights the reach grows by their spread: so a candidate whose score is clipped is still as
    far from the `ranked` best as without weights.  A bound adds ln w rounded up, so the windows
    grow by a unit; LOSS grows with the reach.
    """
    ranked = k + gaps
    slot_bits = 128 if gaps or k > 256 else 64
    # The l-th and the next differ by less than h nats with probability l * h at most.  Enclosures
    # are a few units wide.  So all neighbours are told apart but with probability 2**-42.
    precision = 144 if gaps else 48 + 2 * ranked.bit_length()
    _fill_caches(law, slot_bits, precision)
    return Plan(
        law=law,
        noise_rate=noise_rate,
        k=k,
        ranked=ranked,
        # 2**7 / 2**16 nat is the largest unit of a key.
        contenders=_contenders(law, ranked, WINDOW + 128 if spread else WINDOW),
        slot_bits=slot_bits,
        precision=precision,
        rate=rate(noise_rate, precision),
        gap_unit=gap_unit,
        # A window of 2 * ERROR and LOSS is below 5 / 2**16 nat.  The table does not cover a noise
        # with probability 2**-31.  It does not cover more than three of FINE_LIMIT with
        # probability below 2**-80.
        # With weights LOSS may be 46 times as large, and the window is below 6 / 2**16 nat.
        fine_contenders=ranked + (_excess(ranked, 6 if spread else 5) - 1) + 3,
        fixed_rate=fixed_point(noise_rate, UNIT_BITS, REACH + spread),
        loss=LOSS * -(-(REACH + spread) // REACH),
        spread=spread,
    )


@lru_cache(maxsize=256)
def _fill_caches(law: Law, slot_bits: int, precision: int) -> None:
    """Enclose the noise of a V of every length that occurs; no rate comes in."""
    for size in (slot_bits, slot_bits + 16):
        enclose(law, 1 << (size - 1), size, precision)


@lru_cache(maxsize=256)
def rate(noise_rate: NoiseRate, precision: int) -> tuple[int, int]:
    """Integers that enclose the nats of a grid step times 2**(precision + GUARD)."""
    return noise_rate.scaled(precision + GUARD)


def _contenders(law: Law, ranked: int, window: int = WINDOW) -> int:
    """How many candidates can still be among the `ranked` first, but with probability 2**-41.

    `_excess` says how many are too many, so each term takes one less.
    """
    if ranked > 1000:  # far above both bounds, and without binomials of a thousand digits
        return ranked + ranked // 2 + ranked // 64 + 16
    return ranked + (_excess(ranked, window) - 1) + (_excess(ranked, law.steep) - 1)


@lru_cache(maxsize=256)
def _excess(ranked: int, words: int) -> int:
    """The least m with P(Bin(ranked + m - 1, words / 2**16) >= m) <= 2**-42, by a union bound.

    The probability is at most the expected number of sets of m trials that all succeed.
    """
    m = 1
    while comb(ranked + m - 1, m) * words**m > (1 << 16 * m) >> 42:
        m += 1
    return m

"""Everything public about a ranking, worked out before any bit is drawn or any score is read.

Two calls with equal plans and equally many candidates do equal work.

How many contenders suffice: the contender lemma of `docs/mathematics.md`, section 10. Outside the
`steep` last words a key is less than WINDOW / 2**16 nat above Y: 1/32 for the width of a word,
twice the fine table's ERROR, and two units of a key (`thresholds`).  The noise has a hazard rate of
at most 1 a nat, also given that no steep word was drawn.  So need + m or more candidates without a
steep word have keys that reach the need-th largest Y with probability at most P(Bin(need + m - 1,
WINDOW / 2**16) >= m).  A candidate with a steep word has less noise than any without; where its key
reaches the need-th largest Y, fewer than `need` candidates without one have scores as high.  So m
or more such have probability at most P(Bin(need + m - 1, steep / 2**16) >= m).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

from safeselect.exact.rate import Decay
from safeselect.noise.fine import REACH, UNIT_BITS
from safeselect.noise.laws import Law, enclose
from safeselect.noise.scale import Scale, scale_of

__all__ = ["DIRECT_LIMIT", "FINE_LIMIT", "GUARD", "WINDOW", "Plan", "plan", "rate"]

DIRECT_LIMIT = 24
"""Up to so many candidates all are given a slot: arrays would take longer."""

FINE_LIMIT = 1 << 12
"""Up to so many candidates the noise of all is worked out finely: see `fine`."""

GUARD = 72
"""Further digits of the rate: a score has 64 bits, so rate * score keeps 8 beyond the scale."""

WINDOW = 2320
"""2**16 times: 1/32 nat, twice ERROR, which is below 2**-13, and two units of 2**-9 nat."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The public numbers of a ranking.

    Args:
        law, decay: the noise.
        k: how many to rank.
        need: how many must be separated: k, or k + 1 with gaps.
        contenders: how many candidates are given a slot, if there are as many.
        slot_bits: digits of a slot.
        scale: enclosures are integers in units of 2**-scale nats.
        rate: encloses the nats of one grid step; see `rate`.
        gap_unit: the unit of the gaps in grid steps, 2**-40 nats or more: the floors are then
            decided by the slots but with probability 2**-42 (docs/mathematics.md, section 11).
        few: how many candidates are given a slot where the noise of all is known finely.
        fine: the score's part of a noisy score, in units of `fine`; at most LOSS too small.
    """

    law: Law
    decay: Decay
    k: int
    need: int
    contenders: int
    slot_bits: int
    scale: int
    rate: tuple[int, int]
    gap_unit: Fraction
    few: int
    fine: Scale


@lru_cache(maxsize=64)
def plan(law: Law, k: int, decay: Decay, gaps: bool, gap_unit: Fraction = Fraction(1)) -> Plan:
    """Work out the plan of a ranking."""
    need = k + gaps
    slot_bits = 128 if gaps or k > 256 else 64
    # The l-th and the next differ by less than h nats with probability l * h at most, and
    # enclosures are a few units wide: so all `need` are separated but with probability 2**-42.
    scale = 144 if gaps else 48 + 2 * need.bit_length()
    # Fill the caches for V of every length that is enclosed.
    for size in (slot_bits, slot_bits + 16):
        enclose(law, 1 << (size - 1), size, scale)
    return Plan(
        law=law,
        decay=decay,
        k=k,
        need=need,
        contenders=_contenders(law, need),
        slot_bits=slot_bits,
        scale=scale,
        rate=rate(decay, scale),
        gap_unit=gap_unit,
        few=_few(need),
        fine=scale_of(decay, UNIT_BITS, REACH),
    )


@lru_cache(maxsize=256)
def rate(decay: Decay, scale: int) -> tuple[int, int]:
    """Integers that enclose the nats of a grid step times 2**(scale + GUARD)."""
    return decay.nats(scale + GUARD + 64).scaled(scale + GUARD)


def _contenders(law: Law, need: int) -> int:
    """How many candidates can still be among the `need` first, but with probability 2**-41.

    One less in either sum: `_excess` says how many are too many.
    """
    if need > 1000:  # far on the safe side of both bounds, without binomials of a thousand digits
        return need + need // 2 + need // 64 + 16
    return need + (_excess(need, WINDOW) - 1) + (_excess(need, law.steep) - 1)


def _few(need: int) -> int:
    """The same where noise is known to 2**-15 nat and FINE_LIMIT candidates take part.

    A window of 2 * ERROR and LOSS is below 5 / 2**16 nat.  Each noise is not covered with
    probability 2**-31, so more than three of 2**12 are not with probability below 2**-80.
    """
    return need + (_excess(need, 5) - 1) + 3


def _excess(need: int, words: int) -> int:
    """The least m with P(Bin(need + m - 1, words / 2**16) >= m) <= 2**-42, by a union bound.

    The probability is at most the expected number of sets of m trials that all succeed.
    """
    m = 1
    while comb(need + m - 1, m) * words**m > (1 << 16 * m) >> 42:
        m += 1
    return m

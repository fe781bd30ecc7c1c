"""Everything public about a ranking, worked out before any bit is drawn or any score is read.

Two calls with equal plans and equally many candidates do equal work.

How many contenders suffice (mathematics.md 11, the contender lemma).  Outside the `steep` last
words a key is within 5/64 nat above Y: 2 for the width of a word, 3 for roundings.  The noise has a
hazard rate of at most 1 a nat, also given that no steep word was drawn.  So need + m or more
candidates without a steep word have keys that reach the need-th largest Y with probability at most
P(Bin(need + m - 1, 5/64) >= m).  A candidate with a steep word has less noise than any without;
where its key reaches the need-th largest Y, fewer than `need` candidates without one have scores as
high.  So m or more such have probability at most P(Bin(need + m - 1, steep / 2**16) >= m).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

from safeselect.lattice.laws import Law
from safeselect.lattice.thresholds import STEPS_PER_NAT
from safeselect.samplers.decay import Decay

__all__ = ["GUARD", "Plan", "plan", "rate"]

GUARD = 72
"""Further digits of the rate: a score has 64 bits, so rate * score keeps 8 beyond the scale."""

_REACH = 4096  # nats, 2048 or more in whole grid steps; bounded noise spans less than 64


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
        reach, shift, factor, back: the score's part of a key, in 1/64 nat, is
            ((distance >> shift) * factor) >> back for a distance of 0 .. 2 * reach grid steps.
    """

    law: Law
    decay: Decay
    k: int
    need: int
    contenders: int
    slot_bits: int
    scale: int
    rate: tuple[int, int]
    reach: int
    shift: int
    factor: int
    back: int


@lru_cache(maxsize=64)
def plan(law: Law, k: int, decay: Decay, gaps: bool) -> Plan:
    """Work out the plan of a ranking.

    Exactness: rate * distance * 64 is at least the score's part of the key, and less than 2 above:
        the final shift loses less than 1; `shift` is zero or leaves 31 bits or more of 2**20
        steps, so it loses less than 2**-11; `factor` has 30 bits or more and so loses as little.
    """
    need = k + gaps
    slot_bits = 128 if gaps or k > 256 else 64
    nats, _ = decay.nats(128).fractions()
    reach = max(1, int(_REACH / nats))
    shift = max(0, (2 * reach).bit_length() - 32)
    unit = nats * STEPS_PER_NAT * 2**shift
    back = 31 - unit.numerator.bit_length() + unit.denominator.bit_length()
    factor = int(unit * 2**back)  # 2**30 <= factor < 2**32, or 2**31 before truncation
    # The l-th and the next differ by less than h nats with probability l * h at most, and
    # enclosures are a few units wide: so all `need` are separated but with probability 2**-43.
    scale = 144 if gaps else 48 + 2 * need.bit_length()
    count = _contenders(law, need)
    steps = rate(decay, scale)
    return Plan(law, decay, k, need, count, slot_bits, scale, steps, reach, shift, factor, back)


@lru_cache(maxsize=256)
def rate(decay: Decay, scale: int) -> tuple[int, int]:
    """Integers that enclose the nats of a grid step times 2**(scale + GUARD)."""
    return decay.nats(scale + GUARD + 64).scaled(scale + GUARD)


def _contenders(law: Law, need: int) -> int:
    """How many candidates can still be among the `need` first, but with probability 2**-41."""
    if need > 1000:  # far on the safe side of both bounds, without binomials of a thousand digits
        return need + need // 2 + need // 64 + 16
    return need + _excess(need, 5 << 10) + _excess(need, law.steep)


def _excess(need: int, words: int) -> int:
    """The least m with P(Bin(need + m - 1, words / 2**16) >= m) <= 2**-42, by a union bound.

    The probability is at most the expected number of sets of m trials that all succeed.
    """
    m = 1
    while comb(need + m - 1, m) * words**m > (1 << 16 * m) >> 42:
        m += 1
    return m

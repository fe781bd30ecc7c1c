"""One ranking, watched: what it drew, from which bytes, and what it knew when it decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from float_oracle import noise, noise_of
from numpy.typing import NDArray

import engine
from engine import Plan

Words = NDArray[np.uint64]
TOP = (1 << 64) - 1


@dataclass
class Round:
    """One round of noise.

    Attributes:
        n: how many candidates there are.
        words: the leading digits of all, width digits each, as drawn.
        tails: digits that follow the words of some, 64 each, by candidate.
        known: what the last decision knew: (v, bits) by candidate.
        first: what the first one knew.
    """

    n: int
    plan: Plan
    width: int
    words: NDArray[Any]
    tails: dict[int, int]
    slots: list[int]
    known: dict[int, tuple[int, int]] = field(default_factory=dict)
    first: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def less(self) -> int:
        """Digits of a slot that words of 64 digits have already."""
        return 64 if self.width == 64 else 0

    def digits(self) -> dict[int, tuple[int, int]]:
        """(v, bits) of all of whom more than a word is known."""
        more = {
            i: (int(self.words[i]) << 64 | extra, self.width + 64)
            for i, extra in self.tails.items()
        }
        return more | self.known

    def cells(self) -> tuple[Words, Words]:
        """The least and the largest first 64 digits that each V can have."""
        if self.words.size:
            shift = np.uint64(64 - self.width)
            low = self.words.astype(np.uint64) << shift if self.width < 64 else self.words.copy()
            high = low | np.uint64((1 << 64 - self.width) - 1)
        else:
            low, high = np.zeros(self.n, np.uint64), np.full(self.n, TOP, np.uint64)
        for i, (v, bits) in self.digits().items():
            low[i] = high[i] = v >> bits - 64
        return low, high

    def noises(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest noise of each in nats; infinite where there is no bound."""
        low, high = self.cells()
        most, least = noise(self.plan.law.name, low), noise(self.plan.law.name, high)
        most[low == 0] = np.inf
        digits = self.digits()
        places = list(digits)
        most[places] = least[places] = noise_of(self.plan.law.name, list(digits.values()))
        return least, most


def watch(run: Callable[[], Any]) -> tuple[Any, list[Round]]:
    """Run a ranking and return its result with all rounds of noise that it drew."""
    rounds: list[Round] = []
    draw, decide = engine.rankings.draw, engine.rankings.certified_order

    def drawn(n: int, plan: Plan, bits: Any, removed: int = 0) -> Any:
        result = draw(n, plan, bits, removed)
        inside = np.flatnonzero(result.tails < n)
        rounds.append(
            Round(
                n,
                plan,
                result.width,
                result.words.copy(),
                dict(
                    zip(result.tails[inside].tolist(), result.extra[inside].tolist(), strict=True)
                ),
                list(result.slots),
            )
        )
        return result

    def decided(candidates: Any, scores: Any, known: Any, *rest: Any) -> Any:
        rounds[-1].known = dict(zip(candidates, known, strict=True))
        rounds[-1].first = rounds[-1].first or rounds[-1].known
        return decide(candidates, scores, known, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.rankings, "draw", drawn)
        patch.setattr(engine.rankings, "certified_order", decided)
        return run(), rounds


def path_of(n: int, plan: Plan) -> str:
    """Which of the three ways of drawing n candidates take."""
    if n <= plan.quick:
        return "slots"
    return "noise" if n <= engine.draws.FINE_LIMIT else "keys"


def tape_for(v: Words, plan: Plan, rng: np.random.Generator) -> bytes:
    """The bytes with which candidate i draws the 64 leading digits v[i]; the others at random."""
    n, spare = len(v), plan.slot_bits // 64 - 1
    path = path_of(n, plan)
    if path == "slots":
        lanes = rng.integers(0, TOP, (n, 1 + spare), dtype=np.uint64, endpoint=True)
        lanes[:, -1] = v
        return lanes.tobytes()
    if path == "noise":
        slots = rng.integers(0, TOP, plan.fine_contenders * spare, dtype=np.uint64, endpoint=True)
        return v.tobytes() + slots.tobytes()
    slots = rng.integers(0, TOP, plan.contenders * (1 + spare), dtype=np.uint64, endpoint=True)
    extra = rng.integers(0, TOP, engine.tail_capacity(n), dtype=np.uint64, endpoint=True)
    tails = np.flatnonzero(v < np.uint64(1 << 48 + engine.tables.TAIL_BITS))[: len(extra)]
    extra[: len(tails)] = v[tails] << np.uint64(16) | extra[: len(tails)] >> np.uint64(48)
    words = (v >> np.uint64(48)).astype(np.uint16)
    return slots.tobytes() + extra.tobytes() + words.tobytes() + bytes(-2 * n % 8)


def drawn_as_told(one: Round, v: Words) -> bool:
    """Whether each candidate's digits are its own on the tape, and each slot was given away once.

    Further digits come after those that were drawn for all, slot by slot in the order of those who
    were given one; a tail word has 64 of its own already, and takes so many fewer.
    """
    width = one.width or 64
    # Slots of no digits are all 0; others are the same by chance with probability 2**-50.
    if one.plan.slot_bits > one.less and len(set(one.slots)) < len(one.slots):
        return False
    low, _ = one.cells()
    shift = np.uint64(64 - width)
    if not np.array_equal(low >> shift, v >> shift):
        return False
    for i, more in one.tails.items():
        if int(one.words[i]) << 48 | more >> 16 != int(v[i]):
            return False
    for (i, (known, bits)), slot in zip(one.first.items(), one.slots, strict=False):
        own = 64 if i in one.tails else 0
        before = (int(one.words[i]) << own | one.tails.get(i, 0)) if one.words.size else 0
        left = bits - one.width - own
        if known != before << left | slot >> own or left + own != one.plan.slot_bits - one.less:
            return False
    return True

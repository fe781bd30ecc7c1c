"""The law of a sampler, proved by walking the tree of its random bits.

A sampler is a function of fair bits.  It runs on a tape that starts with known bits.  When it stops
after c bits, all tapes with these c bits give the same outcome, so a mass of exactly 2**-c is
known.  Every bit that it read gives a sibling prefix, in which that bit is flipped.  The heaviest
prefix is opened first.  The masses add up to lower bounds for every outcome, and the mass of the
unopened prefixes bounds the rest:

    lower[o] <= P(o) <= lower[o] + unfinished        exactly, in rationals.

The code that runs is the shipped code on the shipped `Bits`; only the source is a tape.

A rejection loop never ends on some tapes, and its tree repeats the same attempt again and again.
So the samplers have a function for one attempt, which returns None where the loop starts again.
Its tree is small, and `restarted` sums the loop as a geometric series.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.bits import Bits

_PIECE = 16  # bytes that the tape hands out at once


@dataclass(frozen=True, slots=True)
class Law:
    """Bounds of a law: lower[o] <= P(o) <= lower[o] + unfinished for every outcome o.

    An outcome that is not in `lower` has lower bound 0.  The lower bounds and `unfinished` add up
    to exactly 1.
    """

    lower: Mapping[Hashable, Fraction]
    unfinished: Fraction

    def bounds(self, outcome: Hashable) -> tuple[Fraction, Fraction]:
        """Return the proved bounds for P(outcome)."""
        low = self.lower.get(outcome, Fraction(0))
        return low, low + self.unfinished


def bit_tree(
    run: Callable[[Bits], Hashable],
    *,
    max_leaves: int,
    min_weight: Fraction = Fraction(0),
    max_bits: int = 512,
) -> Law:
    """Prove bounds for the law of run(bits), each a sum of dyadic masses.

    Requires: run is a function of its bits alone; it draws by `take` and `coin`, not `fill`.
    Method: heaviest first.  A known prefix is continued with fixed arbitrary bits.  Any
        continuation is right, but zeros would never end a loop that continues on zeros.
    Exactness: integers in units of 2**-max_bits.

    Args:
        run: draws from the `Bits` that it is given and returns an outcome.
        max_leaves: the largest number of runs.
        min_weight: prefixes of less mass than this stay unfinished.
        max_bits: a run that takes more is abandoned, and its mass stays unfinished; a multiple of
            128.

    Raises:
        ParameterError: max_leaves < 1, or max_bits is not a positive multiple of 128.
        RuntimeError: run is not a function of its bits.
    """
    if max_leaves < 1 or max_bits < 1 or max_bits % (8 * _PIECE):
        raise ParameterError("max_leaves must be positive, max_bits a positive multiple of 128")
    lower: dict[Hashable, int] = {}
    unfinished, tail = 0, int.from_bytes(shake_256(b"bit tree").digest(max_bits // 8), "big")
    heap = [(0, 0)]  # (length, bits) of prefixes not yet opened: the shortest is the heaviest
    for _ in range(max_leaves):
        if not heap:
            break
        length, prefix = heapq.heappop(heap)
        tape = prefix << (max_bits - length) | tail & (1 << (max_bits - length)) - 1
        leaf = _run(run, tape, length, max_bits)
        weight = 1 << (max_bits - leaf.used)
        if leaf.ended:
            lower[leaf.outcome] = lower.get(leaf.outcome, 0) + weight
        else:
            unfinished += weight
        for end in range(length + 1, leaf.used + 1):
            if min_weight * (1 << end) <= 1:
                heapq.heappush(heap, (end, tape >> (max_bits - end) ^ 1))
            else:
                unfinished += 1 << (max_bits - end)
    unfinished += sum(1 << (max_bits - length) for length, _ in heap)
    unit = 1 << max_bits
    masses = {outcome: Fraction(mass, unit) for outcome, mass in lower.items()}
    return Law(masses, Fraction(unfinished, unit))


class Choices:
    """The choices of a run under `choice_tree`, of known rational probabilities."""

    __slots__ = ("_prefix", "_tail", "trail")

    def __init__(self, prefix: tuple[int, ...], tail: bytes) -> None:
        self._prefix, self._tail = prefix, tail
        self.trail: list[tuple[int, Sequence[Fraction]]] = []

    def choose(self, weights: Sequence[Fraction]) -> int:
        """Return i with probability weights[i]; they must add up to 1."""
        place = len(self.trail)
        if place >= len(self._tail):
            raise _RanOut
        if place < len(self._prefix):
            index = self._prefix[place]
        else:
            # Any index of positive weight is right; drawing it by weight ends loops soon.
            aim, index = Fraction(self._tail[place], 256), 0
            while aim >= weights[index]:
                aim -= weights[index]
                index += 1
        self.trail.append((index, weights))
        return index

    def below(self, n: int) -> int:
        """Return an integer in 0 .. n - 1, each with probability 1/n."""
        return self.choose([Fraction(1, n)] * n) if n > 1 else 0

    def flip(self, chance: Fraction) -> bool:
        """Return True with this probability."""
        return chance > 0 and (chance >= 1 or self.choose((1 - chance, chance)) == 1)

    def enclosed(self, low: Fraction, high: Fraction) -> bool:
        """Return True with a probability in low .. high.

        The difference is left unfinished, so the bounds of the tree stay proved.
        """
        index = self.choose((low, 1 - high, high - low))
        if index == 2:
            raise _RanOut
        return index == 0

    def coin(self) -> int:
        """Return 0 or 1, each with probability 1/2."""
        return self.below(2)


def choice_tree(
    run: Callable[[Choices], Hashable], *, max_leaves: int, max_choices: int = 256
) -> Law:
    """Prove bounds for the law of run(choices), where verified primitives are exact choices.

    Requires: run is a function of its choices alone.
    Method: as `bit_tree`, with a choice of rational probabilities in place of a bit.  `unfinished`
        is far smaller.  The result relies on what the bit tree proved.

    Args:
        run: draws from the `Choices` that it is given and returns an outcome.
        max_leaves: the largest number of runs.
        max_choices: a run that makes more is abandoned, and its mass stays unfinished.
    """
    tail = shake_256(b"choice tree").digest(max_choices)
    lower: dict[Hashable, Fraction] = {}
    unfinished = Fraction(0)
    heap: list[tuple[Fraction, tuple[int, ...]]] = [(Fraction(-1), ())]
    for _ in range(max_leaves):
        if not heap:
            break
        negative, prefix = heapq.heappop(heap)
        choices, mass, path = Choices(prefix, tail), -negative, prefix
        try:
            outcome, ended = run(choices), True
        except _RanOut:
            outcome, ended = None, False
        for index, weights in choices.trail[len(prefix) :]:
            for other, weight in enumerate(weights):
                if other != index and weight > 0:
                    heapq.heappush(heap, (-mass * weight, (*path, other)))
            mass, path = mass * weights[index], (*path, index)
        if ended:
            lower[outcome] = lower.get(outcome, Fraction(0)) + mass
        else:
            unfinished += mass
    unfinished -= sum((entry[0] for entry in heap), Fraction(0))
    return Law(lower, unfinished)


def restarted(law: Law, restart: Hashable = None) -> Law:
    """Return the law of a loop that repeats an attempt until its outcome is not `restart`.

    Requires: the attempts are independent and follow `law`, which gives some other outcome.
    Method: P(o) = A(o) / (1 - A(restart)), a geometric series.  Its lower bounds are
        lower[o] / (1 - lower[restart]), and again they and `unfinished` add up to 1.

    Raises:
        ParameterError: no outcome but `restart` has been seen.
    """
    again = law.lower.get(restart, Fraction(0))
    kept = {outcome: mass for outcome, mass in law.lower.items() if outcome != restart}
    if not kept:
        raise ParameterError("an attempt that was never seen to end has no law to restart")
    masses = {outcome: mass / (1 - again) for outcome, mass in kept.items()}
    return Law(masses, law.unfinished / (1 - again))


def combined(first: Law, second: Law, join: Callable[[Hashable, Hashable], Hashable]) -> Law:
    """Return the law of join(x, y) for independent x and y of two laws."""
    masses: dict[Hashable, Fraction] = {}
    for x, p in first.lower.items():
        for y, q in second.lower.items():
            outcome = join(x, y)
            masses[outcome] = masses.get(outcome, Fraction(0)) + p * q
    return Law(masses, 1 - (1 - first.unfinished) * (1 - second.unfinished))


class _RanOut(Exception):
    """A run exceeded its number of choices; the exception never leaves this module."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One run: the outcome if it ended, and how many bits it read."""

    outcome: Hashable
    used: int
    ended: bool


@final
class Tape:
    """A source that gives its content and then fails."""

    name = "tape"
    production = False

    def __init__(self, content: bytes) -> None:
        self._bytes = content
        self._next = 0
        self.ran_out = False

    def begin(self) -> bytes:
        return bytes(16)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        end = self._next + len(buffer)
        if end > len(self._bytes):
            self.ran_out = True
            raise SourceError("the tape ended")
        buffer[:] = self._bytes[self._next : end]
        self._next = end


def _run(run: Callable[[Bits], Hashable], content: int, length: int, max_bits: int) -> _Leaf:
    tape = Tape(content.to_bytes(max_bits // 8, "big"))
    with Bits(tape, piece=_PIECE) as bits:
        try:
            outcome, ended = run(bits), True
        except SourceError:
            if not tape.ran_out:
                raise
            outcome, ended = None, False
        used = bits.consumed
    if used < length:
        # The run that made this prefix read all of it, so this run must too.
        raise RuntimeError("the sampler is not a function of its bits")
    return _Leaf(outcome, used, ended)

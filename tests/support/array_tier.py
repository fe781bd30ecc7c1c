"""The array engine by cells of noise; see `tiers`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from tiers import ONE, RANKS, Cells, Noise, Round, agreed, first_word

from safeselect import engine as lattice
from safeselect.engine import Ranking
from safeselect.engine.draws import GUARD, rate
from safeselect.engine.laws import LAWS, enclose


class Words:
    """Bits for the engine: in each round the leading words of V, else whatever comes.

    V are asked for alone, 64 or 128 digits each (of which the leading ones come last), or 64 with
    slots for a few candidates beside them.
    """

    def __init__(self, *rounds: Sequence[int]) -> None:
        self._rounds = list(rounds)
        self._random = random.Random(1)

    def fill(self, buffer: memoryview) -> None:
        lanes = np.full(len(buffer) // 8, self.take(64), dtype=np.uint64)
        if self._rounds and lanes.size >= len(self._rounds[0]):
            words = self._rounds.pop(0)
            step = lanes.size // len(words) if lanes.size % len(words) == 0 else 1
            lanes[step - 1 : step * len(words) : step] = words
        buffer[:] = lanes.tobytes()

    def take(self, count: int) -> int:
        return self._random.getrandbits(count)


@lru_cache(maxsize=1 << 14)
def crossing(noise: Noise, place: Fraction | int) -> int:
    """The first word of V with which the engine does not enclose the noise above this place."""
    line, scale = noise.line(place), 160
    slow, fast = rate(noise.noise_rate, scale)
    limit = -(-(fast if line > 0 else slow) * line.numerator // line.denominator) >> GUARD
    # 64 digits more, for near V = 1 a word of V alone is enclosed less well than need be.
    return first_word(
        lambda word: word == 0 or enclose(LAWS[noise.name], word << 64, 128, scale)[0] > limit
    )


class Array:
    """The array engine: V is uniform, noise is found by inversion, so a cell is a range of V.

    With `extra`, so many candidates without a chance are added: the engine then works out the
    noise of all, and looks closely at a few.
    """

    def __init__(self, extra: int = 0) -> None:
        self._extra = extra

    def words(self, noise: Noise, cell: int) -> tuple[int, int]:
        """The ends of a cell, as leading words of V that lie inside with all that may follow."""
        low, high = crossing(noise, cell + 1), crossing(noise, cell)
        return min(low + 2, ONE - 1), max(high - 2, 0)

    def masses(self, noise: Noise) -> Mapping[int, int]:
        ends = {cell: self.words(noise, cell) for cell in noise.cells}
        return {cell: max(high - low, 0) for cell, (low, high) in ends.items()}

    def outcome(
        self, noise: Noise, scores: Sequence[int], cells: Cells, ranks: Cells, k: int, gaps: bool
    ) -> Ranking | None:
        """Noisy scores rise with each noise: what holds at all corners holds in between."""
        corners = product(*(self.words(noise, cell) for cell in cells))
        if ranks:
            corners = iter(
                [tuple(self.ranked(noise, *each) for each in zip(cells, ranks, strict=True))]
            )
        idle = [ONE // 2] * self._extra
        return agreed(
            lattice.noisy_top_k(
                noise.name,
                self._steps(noise, scores),
                k,
                noise.noise_rate,
                Words([*words, *idle]),
                gaps=gaps,
            )
            for words in corners
        )

    def peeled(self, noise: Noise, scores: Sequence[int], rounds: Sequence[Round]) -> Ranking:
        """Where noise is drawn for those who won before, it is larger than any other."""
        drawn, done = [], ()
        for cells, ranks in rounds:
            words = [self.ranked(noise, *each) for each in zip(cells, ranks, strict=True)]
            if self._extra:
                for i in sorted(done):
                    words.insert(i, 9)
            drawn.append([*words, *[ONE // 2] * self._extra])
            steps, bits = self._steps(noise, scores), Words(*drawn)
            result = lattice.peeled_top_k("exponential", steps, len(drawn), noise.noise_rate, bits)
            done = result.indices
        return result

    def _steps(self, noise: Noise, scores: Sequence[int]) -> Any:
        steps = [(1 << 62) + score * noise.unit for score in scores] + [0] * self._extra
        return np.array(steps, dtype=np.uint64)

    @staticmethod
    def ranked(noise: Noise, cell: int, rank: int) -> int:
        """A leading word of V for noise in the cell that exceeds it by a part of this rank."""
        # Parts of a nat, if a cell has more than one, so that words are not too small to differ.
        widest = min(Fraction(1), 1 / noise.nats)
        return crossing(noise, cell + widest * Fraction(2 * rank + 1, 2 * RANKS))

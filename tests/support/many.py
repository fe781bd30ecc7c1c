"""Many candidates, of whom few are looked at: the cases of `proofs/Ceiling.v`.

Keys, tail words and enclosures are made up; only the standard library is needed (`proved_tables`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

TAILS = 8
"""Words below this are tail words: they have the bound 0 until they are looked at."""

BOUNDS = tuple(0 if word < TAILS else 96 - word for word in range(64))
"""How far above its score each word lets a candidate's Y lie; noise falls as words grow."""

MORE = tuple(160 - 2 * place for place in range(40))
"""The same of a tail word, by its further digits."""

REACH = 1 << 13
"""In steps; no score is that far from the best."""


@dataclass(frozen=True)
class Sizes:
    """The engine's public numbers: members of a group, a block, how many are looked at directly."""

    group: int
    most: int
    direct: int

    def block(self, n: int) -> int:
        """A power of two: at most `most`, and not much more than a third of n."""
        fitting = [1 << bit for bit in range(40) if 1 << bit <= max(n // 3, self.direct)]
        return min(self.most, fitting[-1])


SMALL, SHIPPED = Sizes(4, 64, 16), Sizes(32, 1 << 15, 1 << 12)


@dataclass(frozen=True)
class Round:
    """Numbers of n candidates: scores, words, which further digits, and enclosures of the noise."""

    scores: tuple[int, ...]
    words: tuple[int, ...]
    further: tuple[int, ...]
    noise: tuple[tuple[int, int], ...]

    @property
    def tails(self) -> list[int]:
        return [i for i, word in enumerate(self.words) if word < TAILS]

    def bound(self, i: int) -> int:
        """The upper bound of a candidate's noise, once it is looked at."""
        return MORE[self.further[i]] if self.words[i] < TAILS else BOUNDS[self.words[i]]

    def lowest(self, ranked: int) -> int:
        """The score that distances are counted from: the reach below the one in that place."""
        return max(sorted(self.scores, reverse=True)[ranked - 1] - REACH, 0)


@dataclass(frozen=True)
class Many:
    """One ranking, or several rounds of one."""

    name: str
    sizes: Sizes
    k: int
    count: int
    unit: tuple[int, int, int] | None
    rounds: tuple[Round, ...]

    @property
    def ranked(self) -> int:
        return self.k + (self.unit is not None)

    def _round(self, one: Round) -> str:
        low = one.lowest(self.ranked)
        first = (s - low + BOUNDS[w] for s, w in zip(one.scores, one.words, strict=True))
        tails = (f"{i} {one.scores[i] - low + one.bound(i)}" for i in one.tails)
        ends = (
            f"{s - low + a} {s - low + b}" for s, (a, b) in zip(one.scores, one.noise, strict=True)
        )
        return " ".join([*map(str, first), "/", *tails, "/", *ends])

    def asked(self, command: str) -> str:
        """As the extracted program reads it."""
        n = len(self.rounds[0].scores)
        sizes = f"{self.sizes.group} {self.sizes.block(n)} {self.sizes.direct} {self.count}"
        told = [self._round(each) for each in self.rounds]
        if command == "peeled":
            return f"peeled {sizes} {' ; '.join(told)}"
        if command == "contenders":
            return f"contenders {sizes} {told[0].rpartition(' /')[0]}"
        unit = "-" if self.unit is None else " ".join(map(str, self.unit))
        return f"ranked {self.k} {unit} {sizes} {told[0]}"


def made(name: str, n: int, style: str) -> Round:
    """Numbers that follow from a name; `style` says what is forced.

    Enclosures of ties are wide, and many keys are equal; in `clear` ones few candidates lead, so
    that the order is mostly decided.
    """
    chance = random.Random(name)  # made-up numbers that must stay the same
    spread = {"clear": 4000, "ties": 3, "tails": 40}[style]
    scores = [REACH + chance.randrange(spread) for _ in range(n)]
    if style == "clear":
        scores[-1] = max(scores) - chance.randrange(3)  # among the first, with padding behind it
    words = [chance.randrange(TAILS, 64) for _ in range(n)]
    for i in range(n):
        if chance.random() < {"clear": 0.02, "ties": 0.1, "tails": 0.3}[style]:
            words[i] = chance.randrange(TAILS)
    further = [chance.randrange(len(MORE)) for _ in range(n)]
    one, noise = Round(tuple(scores), tuple(words), tuple(further), ()), []
    for i in range(n):
        high = one.bound(i) - chance.choice((0, 0, 1, 2))
        noise.append((high - chance.randrange(2 if style == "clear" else 4), high))
    return Round(one.scores, one.words, one.further, tuple(noise))


UNITS = (None, (1, 1, 1), (3, 1, 1))
WIDTHS = (40, 130, 500, 1024, 2500)
STYLES = ("clear", "ties", "tails")


def rankings(style: str) -> Iterator[Many]:
    """Of small groups and of the shipped ones, for all numbers of places and units."""
    sizes = [(SMALL, n) for n in WIDTHS] + [(SHIPPED, 5000)]
    for (size, n), k, unit in product(sizes, (1, 3), UNITS):
        for count in (5, 40) if n in (1024, 2500) else (5,):
            name = f"{size.group},{n},{style},{k},{count},{UNITS.index(unit)}"
            yield Many(name, size, k, count, unit, (made(name, n, style),))


def peelings(style: str) -> Iterator[Many]:
    """Three rounds, each with noise of its own on scores that stay."""
    for n, seed in product((130, 1024), range(4)):
        name = f"peeled,{n},{style},{seed}"
        drawn = [made(f"{name},{each}", n, style) for each in range(3)]
        same = [Round(drawn[0].scores, one.words, one.further, one.noise) for one in drawn]
        yield Many(name, SMALL, 1, 5, None, tuple(same))

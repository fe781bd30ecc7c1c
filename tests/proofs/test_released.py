"""What public calls release is what the proved programs answer, from numbers to labels and gaps.

A call gets numbers and, as its random bytes, noise in given cells; the steps, the rate and the
ranking are those of `Reading.v`, `Calibrate.v` and `Combine.v`: the composition of EndToEnd.v.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from array_tier import Array
from effort import LONG
from proved_tables import read
from tapes import TapeSource
from tiers import Noise

import safeselect
from safeselect import ParameterError, permute_and_flip
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")


@dataclass(frozen=True)
class Call:
    """A public function, how often its noise is drawn, and whether there are gaps."""

    function: Callable[..., Any]
    more: dict[str, object]
    peeled: bool = False
    gaps: bool = False


CALLS = {
    "permute_and_flip": Call(safeselect.permute_and_flip, {}),
    "report_noisy_max": Call(safeselect.report_noisy_max, {"noise": "exponential"}),
    "top_k": Call(safeselect.top_k, {}),
    "top_k, peeled": Call(safeselect.top_k, {"mechanism": "permute_and_flip"}, peeled=True),
    "permute_and_flip_with_gap": Call(safeselect.permute_and_flip_with_gap, {}, gaps=True),
    "report_noisy_max_with_gap": Call(
        safeselect.report_noisy_max_with_gap, {"noise": "exponential"}, gaps=True
    ),
    "top_k_with_gaps": Call(safeselect.top_k_with_gaps, {}, gaps=True),
}
TABLE = {tuple(map(int, row[0])): row[1:] for row in read("combine")[1]}
(RANGES,) = (
    [int(each) for each in row[4].split(",")] for row in read("ranges")[1] if row[0] == "4,1"
)
"""For steps of 4 units, error 1, change 4: both ways, one way, declared, on the grid."""

WAYS: dict[str, tuple[dict[str, object], int]] = {
    "both ways": ({"sensitivity": 1}, 2),
    "one way": ({"sensitivity": 1, "monotonic": True}, 1),
    "declared": ({"range_": 1}, 1),
}
"""What is declared, in steps; and how many steps scores on the grid move apart."""


def answer(noisy: list[int], ranks: list[int], k: int) -> tuple[list[int], list[int]]:
    """The places of the k first, and all floors of gaps."""
    which = list(permutations(range(len(noisy)))).index(tuple(ranks))
    order, _, floors = TABLE[tuple(noisy)][which].partition(":")
    return list(map(int, order[:k])), list(map(int, floors))


def column(values: list[Fraction], kind: str) -> Any:
    """The same numbers, of another type or in another container."""
    if kind == "names":
        return {f"c{place}": value for place, value in enumerate(values)}
    if kind == "integers":
        return np.array(list(map(int, values)))
    return np.array(list(map(float, values))) if kind == "floats" else values


KINDS = ["fractions", "names", "integers", "floats"]


def drawn(noise: Noise, cells: list[int], ranks: list[int], digits: int) -> bytes:
    """Random bytes of noise in these cells, ranked so: the leading word of a slot comes last."""
    lanes = np.full(len(cells) * digits // 64, 0x9E3779B97F4A7C15, np.uint64)
    words = [Array.ranked(noise, *each) for each in zip(cells, ranks, strict=True)]
    lanes[digits // 64 - 1 :: digits // 64] = words
    return lanes.tobytes()


def read_as(way: int, kind: str, grid: Fraction, chance: random.Random) -> tuple[Any, ...]:
    """What is declared of numbers, how far apart their steps move, and how far off they are."""
    declared, on_grid = WAYS[list(WAYS)[way]]
    said = {name: value * grid if value is not True else value for name, value in declared.items()}
    if kind == "integers":
        return said, on_grid, [0, 0, 0]
    if chance.random() < 0.5:
        return said | {"grid": grid, "on_grid": True}, on_grid, [0, 0, 0]
    off = [grid / 4 * chance.choice((-1, 0, 1)) for _ in range(3)]
    return said | {"grid": grid, "score_error": grid / 4}, RANGES[way], off


@pytest.mark.parametrize("name", CALLS)
def test_a_call_releases_what_is_proved(name: str) -> None:
    """Either end best, numbers of every kind, on the grid or off it, gaps coarser and finer."""
    call, many, chance = CALLS[name], name.startswith("top_k"), random.Random(name)
    for number in range(400 if LONG else 80):
        kind, k, minimize = KINDS[number % 4], 1 + number % 3 % 2 * many, chance.random() < 0.5
        grid = Fraction(1) if kind == "integers" else chance.choice([Fraction(1, 4), Fraction(3)])
        over, under = chance.choice([(1, 1), (2, 1), (1, 2), (3, 2)]) if call.gaps else (1, 1)
        said, apart, off = read_as(number % 3, kind, grid, chance)
        q = [chance.randrange(3) for _ in range(3)]
        values = [(100 - each if minimize else 100 + each) * grid for each in q]
        # The rate is half a step's: what the program `one_shot` makes of epsilon and the range.
        noise = Noise("exponential", NoiseRate(Fraction(1, 2 * under)))
        said |= call.more | {"epsilon": Fraction(k * apart, 2), "minimize": minimize}
        said |= {"k": k} if many else {}
        said |= {"gap_grid": grid * over / under} if call.gaps else {}
        tape, left, winners = b"", [0, 1, 2], []
        for _ in range(k if call.peeled else 1):
            cells = [chance.randrange(4) for _ in left]
            ranks = chance.sample(range(len(left)), len(left))
            tape += drawn(noise, cells, ranks, 128 if call.gaps else 64)
            noisy = [under * q[i] + cell for i, cell in zip(left, cells, strict=True)]
            order, floors = answer(noisy, ranks, 1 if call.peeled else k)
            winners += [left[place] for place in order]
            left = [i for i in left if i not in winners]
        numbers = column([a + b for a, b in zip(values, off, strict=True)], kind)
        found = call.function(numbers, source=TapeSource(tape), **said)
        labels = list(found.labels) if many else [found.label]
        assert labels == [f"c{i}" if kind == "names" else i for i in winners], (number, said, q)
        if call.gaps:
            gaps = list(found.gaps) if many else [found.gap]
            unit = grid * over / under
            assert gaps == [each // over * unit for each in floors[:k]], (number, said, q)


@pytest.mark.parametrize(("n", "k"), [(1, {}), (3, {"k": 3})])
def test_a_gap_needs_one_candidate_more(n: int, k: dict[str, int]) -> None:
    call = CALLS["top_k_with_gaps" if k else "permute_and_flip_with_gap"]
    with pytest.raises(ParameterError, match=r"at least two|between 1 and 2"):
        call.function(list(range(n)), epsilon=1, sensitivity=1, **k)


@pytest.mark.parametrize("name", ["grid", "epsilon"])
@pytest.mark.parametrize("value", [0, -1, Fraction(-1, 3)], ids=str)
def test_grid_and_epsilon_are_positive(name: str, value: Fraction) -> None:
    said = {"epsilon": 1, "sensitivity": 1, name: value}
    with pytest.raises(ParameterError, match=f"{name} must be greater than zero"):
        permute_and_flip([1, 2], **said)

"""Releases of every one-shot mechanism on each path of the engine, against the claimed laws.

The engine takes another path for few, thousands and hundreds of thousands of candidates.  On each,
all scores are made up: three candidates with a law that is enumerated; one candidate ahead of many
equal ones, which shows the noise's scale; and equal candidates, of which each must win as often.
Pairs are looked at as well as single outcomes: two outputs may each follow their law and yet be
one and the same noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from math import log
from typing import Any

import numpy as np
from checks.few import cut_off, law_of_few, sorted_law, uniform
from checks.finding import Refuted
from checks.leaders import gap_of_equals, leader_among
from checks.mechanisms import OneShot, Places
from checks.releases import gate

_SCORES = (3, 1, 0)
_CALIBRATIONS: tuple[Mapping[str, Any], ...] = ({}, {"monotonic": False, "halved": True})
"""Scores that all move the same way, and scores that move both ways by half as much."""

_ENOUGH = 40  # fewer releases could not show a wrong scale at this rate of false alarms
_PARTS = 16  # equal candidates are divided by their places into so many parts


@dataclass(frozen=True, slots=True)
class Size:
    """How many candidates, and how many rows and releases are looked at.

    Args:
        n: how many candidates.
        rows: how many rows a batch has; the last block of rows is then an incomplete one.
        full, quick: how many outcomes are compared with each law; 0 where it is left out.
    """

    n: int
    rows: int
    full: int
    quick: int

    def count(self, every: int) -> int:
        """How many outcomes at this effort."""
        return self.full if every == 1 else self.quick


SIZES = (Size(1000, 33, 400, 0), Size(5000, 7, 400, 48), Size(300_000, 2, 100, 30))


def check_few(case: OneShot, every: int) -> None:
    """Compare releases from three candidates with the law, enumerated.

    Raises:
        Refuted: the shares of the outcomes contradict it.
    """
    count = 3000 if every == 1 else 120
    rate = case.rate(len(_SCORES))
    scores = [round(score / rate) for score in _SCORES]
    law = law_of_few(case.noise, tuple(scores), Fraction(rate), case.k, case.anew)
    given: dict[str, Any] = {}
    if case.shape == "above":  # the last of the three is the threshold
        given, law = {"threshold": scores.pop()}, cut_off(law, len(scores))
    if not case.ordered:
        law = sorted_law(law)
    for more in _CALIBRATIONS:
        outcomes: Counter[Hashable] = Counter(_outcomes(case, scores, count, {**given, **more}))
        gate(outcomes, count, law)


def check_joint(case: OneShot, every: int) -> None:
    """Compare pairs of outcomes of equal candidates with independent ones.

    Looked at are two releases, one after the other; two places of a ranking; for batches two rows
    of a small batch, and rows that are next to one another or a block apart in a large one.

    Raises:
        Refuted: they depend on each other.
    """
    count = 3000 if every == 1 else 80
    equals: Any = [7, 7, 7]
    if case.shape == "above":
        equals = [7, 7]
    rows = 2 if case.shape == "rows" else 1
    found: list[Places] = []
    given: dict[str, Any] = {"threshold": 7} if case.shape == "above" else {}
    # As many calls as pairs: two rows of a small batch are neighbours in the list.
    for places in _batches(case, equals, rows, count, given):
        found += places
    if case.k > 1 and case.shape != "above":
        size = 6 if case.ordered else 3
        gate(Counter(found), len(found), uniform(set(_all_places(case)), size))
    if case.k > 1 and case.ordered and case.shape != "above":
        half = (Fraction(1, 2),) * 2
        ascending: Counter[Hashable] = Counter(one < other for one, other in found)
        gate(ascending, len(found), {True: half, False: half})
    firsts: list[Hashable] = [places[0] if places else 2 for places in found]
    if not case.ordered:
        firsts = [*found]
    _independent(firsts, [1, rows], 3)
    if case.gaps:
        _gaps_differ(case, every)
    if case.shape == "rows":
        _many_rows(case, every)


def check_size(case: OneShot, size: Size, every: int) -> None:
    """Compare releases from many candidates with the laws of one ahead, and of equal ones.

    Raises:
        Refuted: the shares of the outcomes contradict them.
    """
    count = size.count(every)
    _equals(case, size, count // (1 if every == 1 else 3))
    if count >= _ENOUGH:
        _one_ahead(case, size, count)


# ---- the releases


def _all_places(case: OneShot) -> Iterator[Places]:
    for places in permutations(range(3), case.k):
        yield places if case.ordered else tuple(sorted(places))


def _outcomes(
    case: OneShot, scores: Any, count: int, given: Mapping[str, Any]
) -> Iterator[Hashable]:
    if case.shape == "rows":
        yield from case.places(case.run([scores] * count, **given))
    else:
        for _ in range(count):
            yield case.places(case.run(scores, **given))[0]


def _batches(
    case: OneShot, scores: Any, rows: int, count: int, given: Mapping[str, Any]
) -> Iterator[list[Places]]:
    for _ in range(count):
        yield case.places(case.run([scores] * rows if rows > 1 else scores, **given))


def _independent(found: list[Hashable], lags: Iterable[int], size: int) -> None:
    """Pairs of uniform outcomes so far apart: each pair must be equally likely."""
    outcomes = set(found)
    if len(outcomes) > size:
        raise Refuted("a release has an outcome that its law does not have")
    # Every second block of pairs, so that none overlap.
    for lag in set(lags):
        starts = (i for i in range(len(found) - lag) if i // lag % 2 == 0)
        pairs = [(found[i], found[i + lag]) for i in starts]
        agree: Counter[Hashable] = Counter(one == other for one, other in pairs)
        same = Fraction(1, size)
        gate(agree, len(pairs), {True: (same, same), False: (1 - same, 1 - same)})
        if len(outcomes) == size:
            gate(Counter(pairs), len(pairs), uniform(product(outcomes, repeat=2), size**2))


def _many_rows(case: OneShot, every: int) -> None:
    """Rows of one large batch: next to one another, and as far apart as a block is long."""
    n = 3
    rows = 25_000 if every == 1 else 11_000
    if case.k > 1:  # row by row: no blocks
        rows = 2_000 if every == 1 else 300
    found: list[Hashable] = [row[0] for row in case.places(case.run([[7] * n] * rows))]
    block = (1 << 15) // n
    _independent(found, [lag for lag in (1, 2, block - 1, block, block + 1) if lag < rows], n)
    gate(Counter(found), rows, uniform(range(n), n))


def _gaps_differ(case: OneShot, every: int) -> None:
    """Gaps on a grid so fine that two of them are equal with probability below 2**-20 at most."""
    count = 60 if every == 1 else 12
    scores = [7, 7, 7] if case.shape == "list" else [7, 7]
    threshold: dict[str, Any] = {"threshold": 7} if case.shape == "above" else {}
    grid = Fraction(1, 1 << 30)
    seen: list[Fraction] = []
    for _ in range(count):
        seen += case.released_gaps(case.run(scores, gap_grid=grid, **threshold))
    if len(set(seen)) < len(seen) - 1:
        raise Refuted("gaps repeat: they share their noise")


def _one_ahead(case: OneShot, size: Size, count: int) -> None:
    """The last candidate of all is ahead of the others."""
    rate = case.rate(size.n + (case.shape == "above"))
    others = size.n - 1
    lead = _lead(case.noise, rate, others, case.k, case.anew)
    low, high = leader_among(case.noise, rate, others, lead, case.k, anew=case.anew)
    scores = np.zeros(size.n, dtype=np.int64)
    scores[-1] = lead
    chosen = [size.n - 1 in places for places in _releases(case, scores, size, count)]
    gate(Counter(chosen), len(chosen), {True: (low, high), False: (1 - high, 1 - low)})


@cache
def _lead(noise: str, rate: float, others: int, k: int, anew: bool) -> int:
    """A whole lead with which the one ahead is chosen less than half of the time, but often."""
    lead = max(1, round((log(others) - 2) / rate))
    step = max(1, round(1 / (2 * rate)))
    while leader_among(noise, rate, others, lead + step, k, anew=anew)[1] < Fraction(1, 2):
        lead += step
    return lead


def _equals(case: OneShot, size: Size, count: int) -> None:
    """All are equal: every part of the places wins as often, every order is as likely."""
    scores = np.zeros(size.n, dtype=np.int64)
    parts: Counter[Hashable] = Counter()
    ascending: Counter[Hashable] = Counter()
    leads: Counter[Hashable] = Counter()
    firsts: list[int] = []
    total = 0
    for places, gaps in _releases_with_gaps(case, scores, size, count):
        total += 1
        firsts.append(places[0])
        parts.update(place * _PARTS // size.n for place in places)
        if len(set(places)) < case.k:
            raise Refuted("a release names a candidate twice")
        if case.k > 1 and case.ordered:
            ascending[places[0] < places[1]] += 1
        if gaps:
            leads[gaps[0] >= 1] += 1
    share = [(size.n * (i + 1) - 1) // _PARTS - (size.n * i - 1) // _PARTS for i in range(_PARTS)]
    gate(parts, total * case.k, {i: (Fraction(s, size.n),) * 2 for i, s in enumerate(share)})
    half = Fraction(1, 2)
    if ascending:
        gate(ascending, total, {True: (half, half), False: (half, half)})
    if leads:
        low, high = gap_of_equals(case.noise, case.rate(size.n), size.n, 1)
        gate(leads, total, {True: (low, high), False: (1 - high, 1 - low)})
    same = Fraction(1, size.n) if case.ordered else Fraction(4, size.n)
    again: Counter[Hashable] = Counter(one == other for one, other in pairwise(firsts))
    gate(again, total - 1, {True: (Fraction(0), same), False: (1 - same, Fraction(1))})


def _releases(case: OneShot, scores: Any, size: Size, count: int) -> Iterator[Places]:
    for places, _ in _releases_with_gaps(case, scores, size, count):
        yield places


def _releases_with_gaps(
    case: OneShot, scores: Any, size: Size, count: int
) -> Iterator[tuple[Places, tuple[Fraction, ...]]]:
    if case.shape == "rows":
        rows = np.tile(scores, (size.rows, 1))
        for _ in range(-(-count // size.rows)):
            yield from ((places, ()) for places in case.places(case.run(rows)))
        return
    for _ in range(count):
        result = case.run(scores)
        yield case.places(result)[0], case.released_gaps(result)

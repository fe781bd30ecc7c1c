"""Releases of every one-shot mechanism against the claimed laws.

Scores are made up: three candidates with a law that is enumerated, and equal candidates.  Pairs are
looked at as well as single outcomes: two outputs may each follow their law and yet be one and the
same noise.  Each path of the engine, whatever the number of candidates, is decoded from its tape in
`tests/inside/evidence`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from checks.few import cut_off, law_of_few, sorted_law, uniform
from checks.finding import Refuted
from checks.mechanisms import OneShot, Places
from checks.releases import gate

_SCORES = (3, 1, 0)
_CALIBRATIONS: tuple[Mapping[str, Any], ...] = ({}, {"monotonic": False, "halved": True})
"""Scores that all move the same way, and scores that move both ways by half as much."""


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
    of a small batch.

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

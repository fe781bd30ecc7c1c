"""Releases of keys against their law, which is worked out here from the published rule alone.

A key with n users is kept if n is at least a random threshold J, P(J <= n) = p_n; its noisy count
is n + centre - J.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, prod
from typing import Any

from checks.cells import Enclosure
from checks.finding import Refuted
from checks.releases import gate
from checks.tables import KEY_COST, KeyCase

_NEAR = Fraction(1, 10**9)


def check_few_keys(case: KeyCase, every: int) -> None:
    """Compare releases of three keys with the law of all three, by each way to ask.

    Raises:
        Refuted: the shares of the outcomes contradict it.
    """
    count = 2000 if every == 1 else 150
    users = (1, half_kept(), half_kept() + 2)
    law = _joint(users, counted=case.with_counts)
    for way in range(len(case.ways)):
        gate(Counter(_seen(case, users, way) for _ in range(count)), count, law)


def check_two_keys(case: KeyCase, every: int) -> None:
    """Two keys of one release, and one key of two releases, are independent.

    Raises:
        Refuted: they depend on each other.
    """
    count = 1500 if every == 1 else 150
    users = (half_kept(),) * 2
    law = _joint(users, counted=case.with_counts)
    for way in range(len(case.ways)):
        found = [_seen(case, users, way) for _ in range(2 * count)]
        gate(Counter(found), 2 * count, law)
        pairs = [(one[0], other[0]) for one, other in zip(found[::2], found[1::2], strict=True)]
        gate(Counter(pairs), count, law)


def half_kept() -> int:
    """A number of users with which a key is kept about half of the time."""
    rows, _ = _rule()
    return min(range(len(rows)), key=lambda n: abs(rows[n] - 0.5))


def _seen(case: KeyCase, users: Sequence[int], way: int) -> tuple[Any, ...]:
    """Of each key: None if it is not kept, whether its count is below, at or above its users."""
    _, found = case.ask(dict(enumerate(users)), way)
    if not case.with_counts:
        return tuple(found)
    return tuple(
        None if each is None else (each > n) - (each < n)
        for each, n in zip(found, users, strict=True)
    )


@cache
def _rule() -> tuple[list[float], int]:
    """The chances to be kept, and the centre: the last row that the first bound limits."""
    growth, delta = exp(float(KEY_COST["epsilon"])), float(Fraction(KEY_COST["delta"]))
    rows, centre = [0.0], 0
    while rows[-1] < 1:
        risen, fallen = growth * rows[-1] + delta, 1 - (1 - rows[-1] - delta) / growth
        if risen <= min(fallen, 1):
            centre = len(rows)
        rows.append(min(risen, fallen, 1.0) if rows[-1] + delta < 1 else 1.0)
    return rows, centre


def _law(users: int, *, counted: bool) -> Mapping[Any, float]:
    rows, centre = _rule()
    law: dict[Any, float] = {}
    for threshold in range(1, len(rows)):
        outcome: Any = None
        if threshold <= users:
            outcome = (centre > threshold) - (centre < threshold) if counted else True
        law[outcome] = law.get(outcome, 0.0) + rows[threshold] - rows[threshold - 1]
    return law


def _joint(users: Sequence[int], *, counted: bool) -> Enclosure:
    laws = [_law(each, counted=counted) for each in users]
    joint: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for outcomes in product(*laws):
        chance = Fraction(prod(law[each] for law, each in zip(laws, outcomes, strict=True)))
        joint[outcomes] = max(chance - _NEAR, Fraction(0)), min(chance + _NEAR, Fraction(1))
    if not joint:
        raise Refuted("there is no law to compare with")
    return joint

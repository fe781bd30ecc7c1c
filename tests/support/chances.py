"""Tests of shares: the chance of a false alarm, and the smallest change that they see."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from math import inf, log

FALSE_ALARM = 1e-9
MISSED = 1e-3
"""A change that a test sees is missed with at most this probability."""


def divergence(p: float, q: float) -> float:
    """KL(Bernoulli(p), Bernoulli(q)) in nats; infinite if q is certain and p is not."""
    pairs = [(a, b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0]
    return inf if any(b <= 0 for _, b in pairs) else sum(a * log(a / b) for a, b in pairs)


def threshold(outcomes: int) -> float:
    """Chernoff: P(total * KL(share, p) >= this, for any outcome, on either side) <= FALSE_ALARM."""
    return log(2 * outcomes / FALSE_ALARM)


def fits(counts: Mapping[Hashable, int], law: Mapping[Hashable, float], *, sees: float) -> bool:
    """Whether observed counts are compatible with a law, in both directions.

    A right law is rejected with probability at most FALSE_ALARM.  A law in which the probability of
    an outcome is changed by `sees` or more is accepted with probability at most MISSED; it is an
    error if there are too few counts for that.
    """
    total, enough = sum(counts.values()), threshold(len(law))
    box = [(share, share) for share in law.values()]
    assert smallest_change(total, box, enough) <= sees, "too few counts for this power"
    return counts.keys() <= law.keys() and all(
        total * divergence(counts.get(outcome, 0) / total, share) < enough
        for outcome, share in law.items()
    )


def smallest_change(total: int, box: Iterable[tuple[float, float]], enough: float) -> float:
    """The smallest change of any probability that a test of `total` counts sees.

    `box` has the least and the greatest probability of each outcome.  The test rejects at `enough`
    nats from both.  Where no share is both accepted and likely after a change, at most MISSED of
    all tests miss it, by Chernoff's bound again.
    """
    return max(_change(total, p, enough) for low, high in box for p in (high, 1 - low))


def _change(total: int, p: float, enough: float) -> float:
    """How far p must rise; if it cannot rise far enough, nothing has to be seen."""
    accepted = least_number(lambda share: total * divergence(share, p) >= enough, p)
    seen = least_number(lambda other: total * divergence(accepted, other) >= -log(MISSED), accepted)
    return seen - p if seen < 1 else 0.0


def least_number(holds: Callable[[float], bool], low: float) -> float:
    """The least number from `low` to 1 from which on something holds; 1 if it never does."""
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

"""Bounds on the chance that a statistical test raises a false alarm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import log

FALSE_ALARM = 1e-9


def divergence(p: float, q: float) -> float:
    """KL(Bernoulli(p), Bernoulli(q)) in nats."""
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def fits(counts: Mapping[Hashable, int], law: Mapping[Hashable, float]) -> bool:
    """Whether observed counts are compatible with a law, in both directions.

    Two-sided for every outcome; by Chernoff's bound P(n KL(observed, p) >= t) <= 2 exp(-t), so
    with t = ln(2 * outcomes / FALSE_ALARM) the test rejects a right law with probability at most
    FALSE_ALARM.  Power: a deviation d of one outcome of probability p is found with probability
    above 0.999 once n d**2 / (2 p (1 - p)) exceeds about 2 t, that is d = 0.06 at n = 6 000.
    """
    total = sum(counts.values())
    threshold = log(2 * len(law) / FALSE_ALARM)
    if any(outcome not in law for outcome in counts):
        return False
    return all(
        total * divergence(counts.get(outcome, 0) / total, share) < threshold
        for outcome, share in law.items()
    )

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


def same_law(first: Mapping[Hashable, int], second: Mapping[Hashable, int], outcomes: int) -> bool:
    """Whether two independent samples may come from one law over so many outcomes.

    For an outcome of probability p, n KL(seen, p) is at least t with probability at most 2 exp(-t),
    so it lies below ln(2) + an exponential variable, and the sum of two such exceeds s with
    probability at most 4 (1 + s) exp(-s).  The pooled share makes the sum smallest, so one law is
    rejected with probability at most FALSE_ALARM over all outcomes.  Power: above 0.999 for two
    samples of n that differ by d in an outcome of probability p, once n d**2 / (4 p (1 - p))
    exceeds about 2 s, that is d = 0.1 at n = 6 000.
    """
    sizes = sum(first.values()), sum(second.values())
    most = log(4 * outcomes / FALSE_ALARM)
    for _ in range(50):  # the fixed point of s = ln(4 outcomes (1 + s) / FALSE_ALARM), from below
        most = log(4 * outcomes * (1 + most) / FALSE_ALARM)
    for outcome in {*first, *second}:
        seen = first.get(outcome, 0), second.get(outcome, 0)
        pooled = sum(seen) / sum(sizes)
        parted = (n * divergence(k / n, pooled) for k, n in zip(seen, sizes, strict=True))
        if pooled < 1 and sum(parted) > most:
            return False
    return True

"""The best that any adaptive strategy can do against a budget, exactly.

Losses are whole steps of ln r with a rational r, so every probability is a rational.  The state is
how often each part was charged, and the loss; the adversary chooses the next part, the offset of a
range, and when to stop, after seeing everything.  What a budget may be charged is asked of the code
under test, with q, a rational just above ln r, for a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gmpy2 import mpq

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.exact.interval import Interval, rounded_up
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, LaplaceDominated, PureDP

Law = Sequence[tuple[mpq, int]]
"""Chances and losses in steps; they add up to less than 1 where the rest reveals everything."""

Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A release: what it guarantees, and the laws of its loss, of which the adversary takes one."""

    guarantee: AnyGuarantee
    laws: tuple[Law, ...]


def step(r: Fraction) -> Fraction:
    """A rational just above ln r."""
    return rounded_up(lambda bits: Interval.of(r, bits).log(), 128)


def part(kind: str, size: int, r: Fraction, delta: Fraction = Fraction(0)) -> Part:
    """A part of one kind; `size` is its epsilon in steps.

    "response" is randomized response; "zcdp" the same, charged as zCDP; "range" every exponential
    mechanism of two candidates; "laplace" Laplace noise, in cells of two steps, each of which has
    one loss; "approximate" randomized response that reveals all with probability delta; "reveal"
    that alone.
    """
    p, own = mpq(r), size * step(r)
    yes = p**size / (1 + p**size)
    response: Law = [(yes, size), (1 - yes, -size)]
    if kind == "response":
        return Part(PureDP(own), (response,))
    if kind == "zcdp":
        return Part(PureDP(own).zcdp, (response,))
    if kind == "range":
        top = 1 - p**-size
        laws = [((1 - p ** (t - size)) / top, t) for t in range(size + 1)]
        return Part(BoundedRange(own), tuple([(a, t), (1 - a, t - size)] for a, t in laws))
    if kind == "laplace":
        cells = range(1 - size, size, 2)
        inner = [(p ** ((m + 1 - size) // 2) - p ** ((m - 1 - size) // 2), m) for m in cells]
        law = [(mpq(1, 2), size), (p**-size / 2, -size), *((a / 2, m) for a, m in inner)]
        return Part(LaplaceDominated(own), (law,))
    if kind == "approximate":
        return Part(ApproximateDP(own, delta), ([(a * (1 - mpq(delta)), m) for a, m in response],))
    return Part(ApproximateDP(Fraction(0), delta), ([(1 - mpq(delta), 0)],))


def true_delta(
    r: Fraction, epsilon_steps: int, parts: Sequence[Part], grants: Callable[[Counts], bool]
) -> Fraction:
    """The largest P(A) - r**epsilon_steps Q(A) of all strategies."""
    powers = lru_cache(None)(lambda exponent: mpq(r) ** exponent)
    granted = lru_cache(None)(grants)

    @lru_cache(None)
    def value(counts: Counts, loss: int) -> mpq:
        best = max(mpq(0), 1 - powers(epsilon_steps - loss))
        for place, each in enumerate(parts):
            more = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
            if not granted(more):
                continue
            for law in each.laws:
                kept = sum(p for p, _ in law)
                found = 1 - kept + sum(p * value(more, loss + m) for p, m in law if p)
                best = max(best, found)
        return best

    found = value((0,) * len(parts), 0)
    return Fraction(int(found.numerator), int(found.denominator))

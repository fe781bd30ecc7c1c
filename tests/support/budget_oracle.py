"""What a budget grants, by mpmath and from the theorem alone: no code of the package is used.

Caps and moments are real numbers of 60 digits, not rounded; moments are expectations over the laws
of the worst pairs, not the closed forms of `docs/mathematics.md`, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import mpmath

DIGITS = 60
WEIGHTS = Fraction(4, 5), Fraction(1, 10), Fraction(1, 10)

Part = tuple[str, Any, int]
"""A kind of guarantee as the vectors name it, its parameter, and how often it occurs."""


def real(value: object) -> mpmath.mpf:
    """An exact number, given as the vectors give it."""
    exact = Fraction(value)  # type: ignore[arg-type]
    return mpmath.mpf(exact.numerator) / exact.denominator


def cap(epsilon: mpmath.mpf, delta: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    """The ln M at order 1 + x that gives (epsilon, delta)."""
    return x * epsilon + mpmath.log(delta) + (1 + x) * mpmath.log(1 + x) - x * mpmath.log(x)


def log_moment(kind: str, parameter: object, x: mpmath.mpf) -> mpmath.mpf:
    """ln E e**(x loss) of the worst pair, at its worst offset."""
    if kind == "approximate":
        return log_moment("pure", parameter[0], x)  # type: ignore[index]
    size = real(parameter)
    if kind == "zcdp":
        return (1 + x) * x * size
    if kind == "gaussian":
        return (1 + x) * x * size / 2
    if kind == "pure":
        return mpmath.log(_mean(x, [(1 / (1 + mpmath.exp(-size)), size), (None, -size)]))
    if kind == "laplace":

        def density(loss: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp((loss - size) / 2 + x * loss) / 4

        ends = mpmath.exp(x * size) / 2 + mpmath.exp(-(1 + x) * size) / 2
        return mpmath.log(ends + mpmath.quad(density, [-size, 0, size]))

    def offset(t: mpmath.mpf) -> mpmath.mpf:
        p = mpmath.expm1(t - size) / mpmath.expm1(-size)
        return mpmath.log(_mean(x, [(p, t), (None, t - size)]))

    return offset(largest_at(offset, mpmath.mpf(0), size))


def _mean(x: mpmath.mpf, law: list[tuple[mpmath.mpf | None, mpmath.mpf]]) -> mpmath.mpf:
    """E e**(x loss); a chance that is not given is what is left."""
    known = mpmath.fsum(p for p, _ in law if p is not None)
    return mpmath.fsum((1 - known if p is None else p) * mpmath.exp(x * loss) for p, loss in law)


def largest_at(
    of: Callable[[mpmath.mpf], mpmath.mpf], low: mpmath.mpf, high: mpmath.mpf
) -> mpmath.mpf:
    """Where a function that rises and then falls is largest."""
    for _ in range(260):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if of(left) < of(right):
            low = left
        else:
            high = right
    return (low + high) / 2


def default_excess(epsilon: mpmath.mpf, delta: mpmath.mpf) -> tuple[mpmath.mpf, Fraction]:
    """The best real order less 1, and the best m 2**k with 32 <= m < 64."""

    def gain(x: mpmath.mpf) -> mpmath.mpf:
        return cap(epsilon, delta, x) / (x * (1 + x))

    best = mpmath.exp(
        largest_at(lambda log: gain(mpmath.exp(log)), mpmath.mpf(-20), mpmath.mpf(30))
    )
    octave = int(mpmath.floor(mpmath.log(best, 2))) - 5
    ladder = [m * Fraction(2) ** (octave + k) for k in (-1, 0, 1) for m in range(32, 64)]
    return best, max(ladder, key=lambda each: gain(real(each)))


class Filter:
    """A budget of (epsilon, delta): its terms, its caps, and how many releases it grants."""

    def __init__(self, epsilon: str, delta: str, own_delta: str | None = None) -> None:
        self.epsilon, self.delta = Fraction(epsilon), Fraction(delta)
        self.own = self.delta / 4 if own_delta is None else Fraction(own_delta)
        rest = self.delta - self.own
        self.real_excess = mpmath.mpf(0)
        self.excesses: list[Fraction] = []
        if rest:
            self.real_excess, x = default_excess(real(epsilon), real(WEIGHTS[0] * rest))
            self.excesses = [x, 2 * x, 5 * x]
        self.shares = [real(w * rest) for w in WEIGHTS][: len(self.excesses)]
        self.caps = [
            cap(real(epsilon), d, real(x)) for d, x in zip(self.shares, self.excesses, strict=True)
        ]

    def sums(self, parts: Iterable[Part]) -> tuple[Fraction, bool, Fraction, list[mpmath.mpf]]:
        """Epsilon, whether something is not pure, own deltas, and moments."""
        epsilon, is_pure, own = Fraction(0), True, Fraction(0)
        moments = [mpmath.mpf(0) for _ in self.excesses]
        for kind, parameter, count in parts:
            if kind == "own":
                own += count * Fraction(parameter)
                continue
            if kind == "approximate":
                epsilon += count * Fraction(parameter[0])
                own += count * Fraction(parameter[1])
            elif kind in ("zcdp", "gaussian"):
                is_pure = False
            else:
                epsilon += count * Fraction(parameter)
            moments = [
                m + count * log_moment(kind, parameter, real(x))
                for m, x in zip(moments, self.excesses, strict=True)
            ]
        return epsilon, is_pure, own, moments

    def granted(self, first: list[Part], each: list[Part]) -> int:
        """How many of `each` are granted after `first`, one after the other."""
        e0, pure0, own0, at0 = self.sums(first)
        e, pure, own, at = self.sums(each)
        count = 0
        while own0 + (count + 1) * own <= self.own and (
            (pure0 and pure and e0 + (count + 1) * e <= self.epsilon)
            or any(a + (count + 1) * b <= c for a, b, c in zip(at0, at, self.caps, strict=True))
        ):
            count += 1
        return count

    def reading(self, charged: list[Part]) -> mpmath.mpf:
        """The loss that was never exceeded, with probability 1 - delta."""
        epsilon, is_pure, _, moments = self.sums(charged)
        orders = zip(moments, self.shares, self.excesses, strict=True)
        found = [(m - mpmath.log(d)) / real(x) for m, d, x in orders]
        return min([*found, real(epsilon)] if is_pure else found)

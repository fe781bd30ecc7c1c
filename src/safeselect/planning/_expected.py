"""How many of the k best are missed, on average, on made-up scores: k at one level, b below it.

p is the factor by which a candidate of the lower level is less likely, exp(-rate * gap).  All
numbers are enclosures; every sum has positive terms, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable

from safeselect.exact.interval import Interval

__all__ = ["miss_of_exponential", "missed_by_one_shot", "missed_by_peeling", "misses_of_flips"]

Miss = Callable[[int, int], Interval]
"""(good left, bad left) -> P(the next one chosen is bad)."""


def miss_of_exponential(p: Interval) -> Miss:
    """The exponential mechanism: weights 1 and p."""

    def miss(good: int, bad: int) -> Interval:
        weight = Interval.of(bad, p.precision) * p
        return weight / (Interval.of(good, p.precision) + weight)

    return miss


def misses_of_flips(k: int, bad: int, p: Interval) -> Miss:
    """Permute-and-flip: the winner is uniform among those whose coins accept.

    All the good accept, and of the bad J ~ Bin(bad, p), so a bad one wins with probability
    1 - E[g / (g + J)] = E[J / (g + J)] = bad p E[1 / (g + 1 + J')], J' ~ Bin(bad - 1, p).
    """
    precision = p.precision
    one = Interval.of(1, precision)
    fewest = max(0, bad - 1 - k)
    # inverse[b][g]: E[1 / (g + J)] for J ~ Bin(b, p), found from one bad fewer.
    law = _binomial(fewest, p)
    inverse = {fewest: {g: _mean_inverse(law, g) for g in range(1, 2 * k + 3)}}
    for b in range(fewest + 1, bad):
        below = inverse[b - 1]
        inverse[b] = {
            g: (one - p) * below[g] + p * below[g + 1] for g in range(1, 2 * k + 2 - (b - fewest))
        }

    def miss(good: int, left: int) -> Interval:
        if not left:
            return Interval.of(0, precision)
        return Interval.of(left, precision) * p * inverse[left - 1][good + 1]

    return miss


def missed_by_peeling(k: int, bad: int, miss: Miss, precision: int) -> Interval:
    """The expected number of bad ones among k chosen one after the other."""
    one, zero = Interval.of(1, precision), Interval.of(0, precision)
    chances = [one]  # that so many bad ones were chosen
    expected = zero
    for chosen in range(k):
        following = [zero] * (len(chances) + 1)
        for wrong, chance in enumerate(chances):
            if wrong > bad:
                continue
            next_wrong = miss(k - chosen + wrong, bad - wrong)
            step = chance * next_wrong
            expected = expected + step
            following[wrong + 1] = following[wrong + 1] + step
            following[wrong] = following[wrong] + chance * (one - next_wrong)
        chances = following
    return expected


def missed_by_one_shot(k: int, bad: int, p: Interval) -> Interval:
    """The expected number of bad ones among the k largest with exponential noise.

    J ~ Bin(bad, p) of the bad reach the upper level.  From there on nobody remembers where they
    came from, so the k are any of k + J: E[k J / (k + J)].
    """
    terms = [
        chance * Interval.of(k * j, p.precision) / Interval.of(k + j, p.precision)
        for j, chance in enumerate(_binomial(bad, p))
    ]
    return _sum(terms, p.precision)


def _binomial(trials: int, p: Interval) -> list[Interval]:
    """The law of Bin(trials, p)."""
    one = Interval.of(1, p.precision)
    kept, misses = one - p, [one]
    for _ in range(trials):
        misses.append(misses[-1] * kept)
    ways, hits, law = 1, one, []
    for j in range(trials + 1):
        law.append(Interval.of(ways, p.precision) * hits * misses[trials - j])
        ways, hits = ways * (trials - j) // (j + 1), hits * p
    return law


def _mean_inverse(law: list[Interval], g: int) -> Interval:
    """E[1 / (g + J)]."""
    precision = law[0].precision
    return _sum([c / Interval.of(g + j, precision) for j, c in enumerate(law)], precision)


def _sum(terms: list[Interval], precision: int) -> Interval:
    total = Interval.of(0, precision)
    for term in terms:
        total = total + term
    return total

"""Expected number of the k best that are missed, where k scores are equal and b lie below them.

The scores are made up.  The k equal best candidates are called good, the b others bad.
p = exp(-rate * gap) is the weight of a bad candidate relative to a good one.  All numbers are
enclosures.  Every sum has positive terms, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable

from safeselect.exact.interval import Interval

Miss = Callable[[int, int], Interval]
"""(good left, bad left) -> P(the next candidate chosen is bad)."""


def miss_of_exponential(p: Interval) -> Miss:
    """The exponential mechanism: weights 1 and p."""

    def miss(good: int, bad: int) -> Interval:
        weight = Interval.of(bad, p.precision) * p
        return weight / (Interval.of(good, p.precision) + weight)

    return miss


def misses_of_flips(k: int, bad: int, p: Interval) -> Miss:
    """Permute-and-flip: the winner is uniform among the candidates whose coins accept.

    All the good accept, and of the bad J ~ Bin(bad, p), so a bad one wins with probability
    1 - E[g / (g + J)] = E[J / (g + J)] = bad p E[1 / (g + 1 + J')], J' ~ Bin(bad - 1, p).
    """
    precision = p.precision
    one = Interval.of(1, precision)
    fewest = max(0, bad - 1 - k)
    # inverse[b][g] is E[1 / (g + J)] for J ~ Bin(b, p), computed from inverse[b - 1].
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
    """The expected number of bad candidates among k chosen one after the other."""
    one, zero = Interval.of(1, precision), Interval.of(0, precision)
    chances = [one]  # chances[j]: P(j bad candidates were chosen)
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
    """The expected number of bad candidates among the k largest with exponential noise.

    J ~ Bin(bad, p) bad candidates reach the upper level.  Exponential noise has no memory, so the
    k winners are uniform among these k + J: E[k J / (k + J)].
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

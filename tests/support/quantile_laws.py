"""Laws of quantiles: by definition over the points, and as shipped."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import mpmath
import pytest

from safeselect import Budget, Ledger
from safeselect.mechanisms.quantiles import Law, Part, _range, _split

QUANTILES = [Fraction(x) for x in ("0", "1/4", "1/2", "2/3", "1")]
TIES = ("interval", "below")


def distance(data, g, share, ties):
    """By definition, in ranks: how far the wanted rank lies from what is below g, or outside of
    the interval from there to what is up to g; inside, minus the way to the nearer end.
    """
    below, up_to, wanted = sum(x < g for x in data), sum(x <= g for x in data), share * len(data)
    if ties == "below":
        return abs(below - wanted)
    if below <= wanted <= up_to:
        return -min(wanted - below, up_to - wanted)
    return min(abs(wanted - below), abs(wanted - up_to))


def grid_law(data, first, last, share, rate, ties="below"):
    """By definition: every point of the grid, its distance, and the exponential mechanism."""
    with mpmath.workdps(max(40, mpmath.mp.dps)):
        away = [Fraction(distance(data, g, share, ties)) for g in range(first, last + 1)]
        terms = [
            mpmath.exp(
                -mpmath.mpf(rate.numerator * s.numerator) / (rate.denominator * s.denominator)
            )
            for s in away
        ]
        return [term / mpmath.fsum(terms) for term in terms]


def whole(data, first, last, fine=1):
    """All values as a part; fine points and values alike begin at 0."""
    return Part.whole(sorted(x - first for x in data), last - first + 1, fine)


def run_law(part, law):
    """The shipped runs: first points, sizes, and the chance of each point of a run."""
    runs, error = law.powers(part, 200)
    assert 2 * len(runs) < error < 1 << 20  # a step may lose three units
    assert max(power for *_, power in runs) == 1 << 200  # that of the least distance
    total = sum((after - start) * power for start, after, power in runs)
    return [(start, after, Fraction(power, total)) for start, after, power in runs]


def point_law(part, law):
    """The shipped chance of every fine point of a part."""
    chances = [Fraction(0)] * part.points
    for start, after, chance in run_law(part, law):
        chances[start - part.first : after - part.first] = [chance] * (after - start)
    return chances


def joint(part, shares, epsilon, ties):
    """The law of `_split`, by trying each point wherever it draws one; outcomes are points."""
    law: dict[tuple[int, ...], Fraction] = {}
    pending: list[list[int]] = [[]]
    with pytest.MonkeyPatch.context() as patch:
        while pending:
            script = pending.pop()
            trail: list[Part] = []
            taken: list[int] = []
            weight = Fraction(1)

            def draw(part, law, bits, script=script, trail=trail, taken=taken):
                nonlocal weight
                choice = script[len(trail)] if len(trail) < len(script) else part.first
                taken.append(choice)
                trail.append(part)
                weight *= chances(part, law)[choice - part.first]
                return choice

            patch.setattr("safeselect.mechanisms.quantiles.draw_point", draw)
            outcome = _split(
                part, shares, lambda q: Law(q, epsilon / (_range(q, False) * part.fine), ties), None
            )
            key = tuple(point // part.fine for point in outcome)
            law[key] = law.get(key, Fraction(0)) + weight
            for at in range(len(script), len(trail)):
                others = range(trail[at].first + 1, trail[at].last + 1)
                pending += [[*taken[:at], other] for other in others]
    return law


@cache
def _chances(key, law):
    places, below, *rest = key
    return tuple(point_law(Part(list(places), list(below), *rest), law))


def chances(part, law):
    ends = part.fine, part.first, part.last, part.end
    return _chances((tuple(part.places), tuple(part.below), *ends), law)


def ledger(neighbours="add_remove", **budget):
    made = Ledger.create(":memory:", {"main": Budget("person", neighbours, **budget)})
    return made, made.scope("main", unit="person", neighbours=neighbours, purpose="test")

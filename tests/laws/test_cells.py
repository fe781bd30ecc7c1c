"""Enclosed laws against closed forms, and their brackets against each other."""

from fractions import Fraction
from math import lcm

import mpmath
import pytest
from checks.cells import ranking_law

from vectors import vectors

VECTORS = vectors("gap_laws")
HALF = Fraction(1, 2)
SCORES = [3, 1, 0]


def softmax(scores, rate):
    weights = [mpmath.exp(rate * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip(scores, rate):
    """McKenna and Sheldon's law, by its integral."""
    best = max(scores)
    p = [mpmath.exp(-rate * (best - score)) for score in scores]
    return [
        p[r]
        * mpmath.quad(
            lambda t, r=r: mpmath.fprod(1 - p[j] * t for j in range(len(p)) if j != r), [0, 1]
        )
        for r in range(len(p))
    ]


@pytest.mark.parametrize(("noise", "law"), [("exponential", permute_and_flip), ("gumbel", softmax)])
def test_one_winner_by_closed_forms(noise, law):
    enclosed = ranking_law(noise, SCORES, HALF, fineness=7)
    for i, chance in enumerate(law(SCORES, 0.5)):
        low, high = enclosed[(i,)]
        assert low < chance < high
        assert high / low < 1 + Fraction(1, 30)


def survivals(group, case):
    """(noise, winner, least gap in score units) and its chance, of the published numbers."""
    if group == "e_em_gap_conditional":  # gaps in scales of the noise, given the winner
        for winner, entry in case["winners"].items():
            for least, chance in entry["cond_survival"].items():
                away = Fraction(least) / Fraction(case["rate"])
                chance = mpmath.mpf(entry["P_select"]) * mpmath.mpf(chance)
                yield "gumbel", int(winner), away, chance
        return
    for key, chance in case["joint_survival"].items():
        noise, winner, least = key.split(",")
        least = Fraction(least.removeprefix("gap>="))
        yield noise, int(winner.removeprefix("winner=")), least, mpmath.mpf(chance)


@pytest.mark.parametrize("group", ["e3_noisy_max_gap_joint_survival", "e_em_gap_conditional"])
def test_gaps_by_reference_values_of_30_digits(group):
    """Of all that have a gap of this or more; the bounds exclude noise of another rate."""
    case = VECTORS[group]["cases"]["v1@rate=1"]
    known = list(survivals(group, case))
    scores = [Fraction(score) for score in case["scores"]]
    fine = lcm(*(each.denominator for each in (*scores, *(least for _, _, least, _ in known))))
    steps, most = [int(score * fine) for score in scores], max(least for _, _, least, _ in known)
    for noise in {noise for noise, *_ in known}:
        word = {"exp": "exponential", "lap": "laplace"}.get(noise, noise)
        enclosed = ranking_law(
            word, steps, Fraction(case["rate"]) / fine, gaps=int(most * fine) + 1, fineness=5
        )
        for _, winner, least, chance in (each for each in known if each[0] == noise):
            parts = [
                mass
                for (first, gap), mass in enclosed.items()
                if first == winner and gap >= least * fine
            ]
            low, high = (sum(side) for side in zip(*parts, strict=True))
            assert low <= chance <= high, (noise, winner, least)
            assert high < 1.5 * low

"""Rankings: against a brute-force oracle, and at the last place of a ceiling."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import Tape, quantile

from safeselect.engine import rankings
from safeselect.engine.contenders import contenders
from safeselect.engine.draws import Draws, Plan, plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law, enclose
from safeselect.engine.rankings import Ranking
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
TOP = 2**64 - 1
DECAYS = [
    NoiseRate(Fraction(1, 4)),
    NoiseRate(Fraction(2**20)),
    NoiseRate(Fraction(1, 2**40)),
    NoiseRate(Fraction(3), Fraction(2, 3)),
    NoiseRate(Fraction(7, 10**6)),
]
UNITS = [Fraction(1), Fraction(10**9), Fraction(3, 7), Fraction(10, 3), Fraction(1, 997)]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def noise_of(law: Law, v: int, bits: int) -> mpmath.mpf:
    """Q(v / 2**bits), infinite at the ends."""
    if v in (0, 1 << bits):
        edge = 0 if law is EXPONENTIAL else -mpmath.inf
        return mpmath.inf if v == 0 else mpmath.mpf(edge)
    return quantile(law.name, mpmath.ldexp(mpmath.mpf(v), -bits))


def nats(noise_rate: NoiseRate) -> mpmath.mpf:
    rate = mpmath.mpf(noise_rate.rate.numerator) / noise_rate.rate.denominator
    if noise_rate.base is None:
        return rate
    return -rate * mpmath.log(mpmath.mpf(noise_rate.base.numerator) / noise_rate.base.denominator)


def ends(steps: list[int], draws: Draws, public: Plan) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """The least and the largest Y of every candidate, by the digits that it has been given."""
    copy = np.array(steps, dtype=np.uint64)
    candidates, _ = contenders(copy, draws, public, len(draws.slots), ())
    known = dict(zip(candidates, draws.known(candidates, draws.slots), strict=True))
    result = []
    for i, score in enumerate(steps):
        v, bits = known[i] if i in known else (int(draws.words[i]), draws.width)
        base = nats(public.noise_rate) * score
        result.append(
            (base + noise_of(public.law, v + 1, bits), base + noise_of(public.law, v, bits))
        )
    return result


def check(steps: list[int], draws: Draws, public: Plan, result: Ranking) -> None:
    """The ranking holds for every value of the digits that have not been drawn."""
    with mpmath.workdps(150):
        bounds = ends(steps, draws, public)
        order = list(result.indices)
        assert len(order) == public.k
        rest = sorted(set(range(len(steps))) - set(order), key=lambda i: -bounds[i][1])
        if result.gaps is not None:
            order.append(rest.pop(0))
        for place, i in enumerate(order):
            assert all(bounds[i][0] >= bounds[j][1] for j in order[place + 1 :] + rest[:1])
        assert (result.gaps is None) == (public.ranked == public.k)
        for gap, (i, j) in zip(result.gaps or (), pairwise(order), strict=False):
            for difference in (bounds[i][0] - bounds[j][1], bounds[i][1] - bounds[j][0]):
                unit = (
                    nats(public.noise_rate)
                    * public.gap_unit.numerator
                    / public.gap_unit.denominator
                )
                assert mpmath.floor(difference / unit) == gap


def scores(kind: str, n: int, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    values = {
        "equal": np.full(n, 7, dtype=np.uint64),
        "small": rng.integers(0, 30, n, dtype=np.uint64),
        "random": rng.integers(0, TOP, n, dtype=np.uint64, endpoint=True),
        "staircase": np.arange(n, dtype=np.uint64),
        "extremes": rng.choice(np.array([0, 1, TOP - 1, TOP], dtype=np.uint64), n),
        "one": np.array([0] * (n - 1) + [TOP], dtype=np.uint64),
    }
    return [int(s) for s in values[kind]]


KINDS = ["equal", "small", "random", "staircase", "extremes", "one"]


@pytest.mark.claim("C1")
@each_law
@given(st.data())
@settings(deadline=None)
def test_against_brute_force(law: Law, data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([2, 3, 10, 40, 300]))
    k = data.draw(st.integers(1, min(n - 1, 12)))
    steps = scores(data.draw(st.sampled_from(KINDS)), n, data.draw(st.integers(0, 99)))
    gaps, unit = data.draw(st.booleans()), data.draw(st.sampled_from(UNITS))
    public = plan(law, k, data.draw(st.sampled_from(DECAYS)), gaps, unit)
    draws = rankings.draw(n, public, Tape(data.draw(st.integers(0, 10**9))))
    result = rankings.combine(np.array(steps, dtype=np.uint64), draws, public)
    assert result is not None
    check(steps, draws, public, result)


def largest_ceiling(score: int, low: Fraction, noise_rate: NoiseRate) -> int:
    """The largest u for which rate * score + u / 2**32 nats is at most `low` for certain."""
    rate = Fraction(*mpmath.mpf(nats(noise_rate)).as_integer_ratio())
    return int((low - rate * score) * 2**32 // 1)


@each_law
@pytest.mark.parametrize("precision", [64, 80, 144, 208])
@pytest.mark.parametrize("noise_rate", DECAYS, ids=str)
def test_a_ceiling_decides_at_its_last_place(
    law: Law, noise_rate: NoiseRate, precision: int
) -> None:
    """Y of the winner is known to 2**-precision; whoever is left out may be just below, or not."""
    with mpmath.workdps(150):
        public = plan(law, 1, noise_rate, False)
        v, bits = 0x9E3779B97F4A7C15F39CC0605CEDC834, 128
        low = Fraction(enclose(law, v, bits, precision)[0], 2**precision)
        step = Fraction(*mpmath.mpf(nats(noise_rate)).as_integer_ratio())
        for own, score in [(2**40, 2**40 - 3), (7, 7), (2**63, 2**63 - 1), (5, 9), (3, 0)]:
            last = largest_ceiling(score, low + step * own, noise_rate)
            for u, decided in [(last - 1, True), (last + 2, False)]:
                found = rankings.certified_order(
                    [4], [own], [(v, bits)], (score, u), public, precision
                )
                assert (found == Ranking((4,), None)) if decided else (found is None)

"""Laws of the sparse vector sessions: published numbers and enumeration."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from sparse_vector_laws import LAST, Rules, nodes, table

from safeselect import SparseVector
from safeselect.engine.laws import EXPONENTIAL, LAPLACE
from safeselect.engine.single import InvertedNoise
from safeselect.exact.interval import NoiseRate
from safeselect.mechanisms.sessions import BELOW, compare

pytestmark = [
    pytest.mark.claim("C1"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sparse_vector.json").read_text())


def cases(group: str) -> list:
    return [
        (dict(part.split("=") for part in name.split(",")), value)
        for name, value in VECTORS[group]["cases"].items()
    ]


def lemma_3(eps0: str, epsstar: str, threshold: object, **options):
    """A session whose threshold noise has rate eps0 and whose values' noise has rate epsstar."""
    start, answer = Fraction(eps0), Fraction(epsstar)
    return SparseVector(
        threshold=threshold,
        k=1,
        epsilon=start + answer,
        split=start / (start + answer),
        sensitivity=1,
        monotonic=True,
        **{"noise": "laplace", **options},
    )


class Given:
    def __init__(self, word: int) -> None:
        self.word = word

    def take(self, count: int) -> int:
        return self.word


def proved(session, value: int, digits: int = 9) -> tuple[dict, float]:
    """Lower bounds for the law of one answer, by all V of so many digits for both noises; and what
    they leave open.  The bounds of the noises and the decision are the shipped ones."""
    terms, scale = session._terms, 48
    (branch,) = terms.branches
    law = LAPLACE if terms.noise == "laplace" else EXPONENTIAL

    def bounds(noise_rate: NoiseRate) -> list[tuple[int, int]]:
        drawn = (InvertedNoise(law, noise_rate, digits, Given(v)) for v in range(1 << digits))
        return [each.bounds(scale, terms.denominator) for each in drawn]

    distance = terms.denominator * terms.cut(value) - branch.place << scale
    least, cell = branch.least << scale, branch.cell << scale
    found: Counter = Counter()
    threshold = bounds(terms.noise_rate)
    for low, high in bounds(branch.noise_rate):
        for other_low, other_high in threshold:
            low_end, high_end = distance + low - other_high, distance + high - other_low
            found[compare(low_end, high_end, least, cell)] += 1
    total = 1 << 2 * digits
    return {cells: n / total for cells, n in found.items() if cells is not None}, found[
        None
    ] / total


@pytest.mark.parametrize(("case", "chance"), cases("h1_lemma3_tail"))
@pytest.mark.claim("C1")
def test_the_chance_of_above_is_that_of_lemma_3(case, chance):
    """A value t above the threshold, by enumeration; far gaps are one outcome."""
    session = lemma_3(case["eps0"], case["epsstar"], 0, gap_grid=10**9)
    law, unfinished = proved(session, int(case["t"]))
    assert unfinished < 0.03
    assert law[0] <= float(chance) <= law[0] + unfinished
    assert law[BELOW] <= 1 - float(chance) <= law[BELOW] + unfinished


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_gaps_have_the_law_that_the_certificates_use(noise):
    """The quadrature of the privacy tests, against enumeration with the shipped bounds."""
    session = lemma_3("3/4", "1/2", "3/4", noise=noise, gap_grid=2)
    law, unfinished = proved(session, 1)
    rules = Rules.of(session._terms)
    eta, weight = nodes(rules)
    names, _, given = table(rules, eta)
    exact = dict(zip(names, given[1] @ weight, strict=True))
    assert unfinished < 0.06
    assert law[BELOW] <= exact[("below",)] <= law[BELOW] + unfinished
    for cells in range(LAST):
        assert law[cells] <= exact[0, cells] <= law[cells] + unfinished
    far = sum(share for cells, share in law.items() if cells >= LAST)
    assert far <= exact[0, LAST] <= far + unfinished


def test_the_quadrature_agrees_with_lemma_3():
    for case, chance in cases("h1_lemma3_tail"):
        terms = lemma_3(case["eps0"], case["epsstar"], -int(case["t"]))._terms
        rules = Rules.of(terms)
        eta, weight = nodes(rules)
        names, _, given = table(rules, eta)
        below = given[0, names.index(("below",))] @ weight
        assert abs(1 - below - float(chance)) < 1e-12

"""Steps of the proofs of docs/mathematics.md, worked out again from definitions.

Nothing here is the package's: what a proof says of numbers is checked by exact fractions, or to 30
digits by quadrature.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod

import mpmath
import pytest
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT

pytestmark = pytest.mark.nightly("no change of the package can make it fail")

PAGE = (ROOT / "docs" / "mathematics.md").read_text("utf-8")
RATIOS = st.fractions(Fraction(1, 8), 4, max_denominator=12)
ORDERS = ["1.001", "1.5", "2", "3", "10", "100"]
EPSILONS = ["0.001", "0.1", "1", "3", "10"]
each_order = pytest.mark.parametrize("a", list(map(mpmath.mpf, ORDERS)), ids=str)
each_epsilon = pytest.mark.parametrize("e", list(map(mpmath.mpf, EPSILONS)), ids=str)


# ------------------------------------------------------------------- Theorem 5: exact polynomials
Polynomial = list[Fraction]


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for (i, a), (j, b) in product(enumerate(p), enumerate(q)):
        result[i + j] += a * b
    return result


def integral(p: Polynomial, low: Fraction, high: Fraction) -> Fraction:
    return sum(
        (c * (high ** (i + 1) - low ** (i + 1)) / (i + 1) for i, c in enumerate(p)), Fraction(0)
    )


def survives(w: Sequence[Fraction], k: int, own: int | None) -> Fraction:
    """The integral over 0 .. 1 of v**k prod (1 - w_i v)+, over all i but `own`."""
    others = [each for i, each in enumerate(w) if i != own]
    p: Polynomial = [Fraction(0)] * k + [Fraction(1)]
    for each in others:
        p = times(p, [Fraction(1), -each])
    return integral(p, Fraction(0), min([Fraction(1), *(1 / each for each in others)]))


def share(w: Sequence[Fraction], k: int, j: int, *, factor: bool = True) -> Fraction:
    """The integral of v**k B_j, with or without the factor 1{w_j v <= 1}."""
    p: Polynomial = [Fraction(0)] * k + [w[j]]
    others = [each for i, each in enumerate(w) if i != j]
    for each in others:
        p = times(p, [Fraction(1), -each])
    ends = [Fraction(1), *(1 / each for each in (w if factor else others))]
    return integral(p, Fraction(0), min(ends))


def phi(w: Sequence[Fraction], k: int) -> Fraction:
    """E[V**k; V <= 1] by its tail, without any B_j."""
    left = prod((max(1 - each, Fraction(0)) for each in w), start=Fraction(1))
    return k * survives(w, k - 1, None) - left


def at_one(w: Sequence[Fraction], j: int) -> Fraction:
    rest = prod((max(1 - each, Fraction(0)) for i, each in enumerate(w) if i != j), start=w[j])
    return rest if w[j] <= 1 else Fraction(0)


weights = st.lists(RATIOS, min_size=1, max_size=4)


@given(weights, st.integers(1, 4))
@settings(max_examples=200 if LONG else 40, deadline=None)
def test_the_shares_of_theorem_5_add_up(w: list[Fraction], k: int) -> None:
    assert sum(share(w, k, j) for j in range(len(w))) == phi(w, k)


@given(weights, st.integers(1, 4))
@settings(max_examples=200 if LONG else 40, deadline=None)
def test_the_derivative_of_theorem_5(w: list[Fraction], k: int) -> None:
    """By differences of exact numbers, away from w = 1, where there is a kink; and its bounds."""
    for j, each in enumerate(w):
        slope = at_one(w, j) - k * share(w, k, j)
        assert -k * share(w, k, j) <= slope <= share(w, k, j)
        if each != 1:
            step = Fraction(1, 10**9)
            up = [*w[:j], each * (1 + step), *w[j + 1 :]]
            down = [*w[:j], each * (1 - step), *w[j + 1 :]]
            assert abs((phi(up, k) - phi(down, k)) / (2 * step) - slope) < Fraction(1, 10**6)


# ---------------------------------------------------------------- sections 2 and 3: moments


def laplace_moment(e: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    return (a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)) / (2 * a - 1)


def range_moment(e: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    top, bottom = -mpmath.expm1(-a * e), mpmath.exp(-e) - mpmath.exp(-a * e)
    return (a - 1) ** (a - 1) / a**a * top**a / (bottom ** (a - 1) * -mpmath.expm1(-e))


@pytest.fixture(autouse=True)
def digits() -> object:
    with mpmath.workdps(40):
        yield


@each_order
@each_epsilon
def test_lemma_2_1(a: mpmath.mpf, e: mpmath.mpf) -> None:
    rho = e + mpmath.expm1(-e)
    assert mpmath.log(laplace_moment(e, a)) <= a * (a - 1) * rho
    u, t = a - mpmath.mpf(1) / 2, mpmath.tanh((a - mpmath.mpf(1) / 2) * e)
    slope = mpmath.diff(lambda x: mpmath.log(laplace_moment(x, a)), e)
    assert abs(slope / (a * (a - 1) * t / (u + t / 2)) - 1) < 1e-12
    # No smaller rho will do.
    near = 1 + mpmath.mpf(10) ** -12
    assert mpmath.log(laplace_moment(e, near)) > near * (near - 1) * rho * (1 - 1e-6)


@each_order
@each_epsilon
def test_lemma_2_2(a: mpmath.mpf, e: mpmath.mpf) -> None:
    found = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
    u = a - mpmath.mpf(1) / 2
    assert abs(found / (mpmath.cosh(u * e) / mpmath.cosh(e / 2)) - 1) < 1e-25
    assert mpmath.log(found) <= a * (a - 1) * e * mpmath.tanh(e / 2)


@each_order
@each_epsilon
def test_no_law_of_bounded_range_has_a_larger_moment(a: mpmath.mpf, e: mpmath.mpf) -> None:
    """Two values of the ratio, y and y e**-e; its mean is 1.  The best y reaches the bound."""
    small = mpmath.exp(-e)

    def two(y: mpmath.mpf) -> mpmath.mpf:
        p = (1 / y - small) / (1 - small)
        return p * y**a + (1 - p) * (y * small) ** a

    most = range_moment(e, a)
    assert all(
        two(mpmath.exp(e * i / 200)) <= most * (1 + mpmath.mpf(10) ** -30) for i in range(201)
    )
    y = (a - 1) * -mpmath.expm1(-a * e) / (a * (small - mpmath.exp(-a * e)))
    assert 1 < y < mpmath.exp(e)
    assert abs(two(y) / most - 1) < mpmath.mpf(10) ** -25


@each_order
@each_epsilon
def test_theorem_2(a: mpmath.mpf, e: mpmath.mpf) -> None:
    def h(y: mpmath.mpf) -> mpmath.mpf:
        return y**2 / 2 * mpmath.coth(y / 2) - y

    def rho(y: mpmath.mpf) -> mpmath.mpf:
        x = y / mpmath.expm1(y)
        return x - 1 - mpmath.log(x)

    assert mpmath.log(range_moment(e, a)) <= a * (a - 1) * rho(e)
    assert rho(e) <= e**2 / 8
    # (1) and (2): the two derivatives, and (3): the series.
    with mpmath.workdps(60):
        slope = mpmath.diff(lambda x: mpmath.log(range_moment(x, a)), e)
        differences = h(a * e) - h((a - 1) * e) - h(e)
        assert abs(slope * e**2 / differences - 1) < 1e-10
        assert abs(mpmath.diff(rho, e) * e / mpmath.diff(h, e) - 1) < 1e-10
        assert differences <= a * (a - 1) * e * mpmath.diff(h, e)
    with mpmath.workdps(20):
        series = mpmath.nsum(
            lambda n: 2 * e**3 / (e**2 + (2 * mpmath.pi * n) ** 2), [1, mpmath.inf]
        )
        assert abs(series / h(e) - 1) < 1e-8


@given(RATIOS, st.fractions(Fraction(1, 50), 50, max_denominator=50))
def test_each_term_of_theorem_2(b: Fraction, t: Fraction) -> None:
    """(3), in exact fractions: both ends of the inequality and what it comes to."""
    a = 1 + b
    left = 1 / (1 + t) + b / (1 + b**2 * t) - a / (1 + a**2 * t)
    middle = a * b * t * (3 + (1 + b + b**2) * t)
    assert left == middle / ((1 + t) * (1 + b**2 * t) * (1 + a**2 * t))
    assert left <= a * b * t * (3 + t) / (1 + t) ** 2
    rest = (3 + t) * (1 + b**2 * t) * (1 + a**2 * t) - (1 + t) * (3 + (1 + b + b**2) * t)
    assert rest == 5 * a * b * t + (a * b + 3 * a**2 * b**2) * t**2 + a**2 * b**2 * t**3


# ------------------------------------------------------------- Theorem 19.2: exact, e**epsilon = E
def keep_law(e: Fraction, delta: Fraction) -> list[Fraction]:
    """The largest law of Theorem 19.1, with no rounding."""
    law = [Fraction(0)]
    while law[-1] < 1:
        law.append(min(e * law[-1] + delta, 1 - (1 - law[-1] - delta) / e, Fraction(1)))
    return law


def excess(p: dict[object, Fraction], q: dict[object, Fraction], e: Fraction) -> Fraction:
    """The largest p(S) - e q(S) of an event S."""
    return sum((max(p[v] - e * q.get(v, Fraction(0)), Fraction(0)) for v in p), Fraction(0))


@pytest.mark.parametrize("delta", [Fraction(1, 7), Fraction(1, 50), Fraction(1, 997)], ids=str)
@pytest.mark.parametrize("e", [Fraction(11, 10), Fraction(3, 2), Fraction(3)], ids=str)
def test_a_count_of_a_key_costs_nothing_more(e: Fraction, delta: Fraction) -> None:
    """Both sums of Theorem 19.2 are delta, and no two neighbouring numbers of users exceed it."""
    law = keep_law(e, delta)
    g = [b - a for a, b in pairwise(law)] + [Fraction(0)]
    assert g[0] + sum(max(b - e * a, 0) for a, b in pairwise(g)) == delta
    assert sum(max(a - e * b, 0) for a, b in pairwise(g)) == delta

    def released(users: int) -> dict[object, Fraction]:
        kept: dict[object, Fraction] = {
            users - j: g[j - 1] for j in range(1, users + 1) if j <= len(g)
        }
        return kept | {"not kept": 1 - law[min(users, len(law) - 1)]}

    worst = [
        max(excess(released(n + 1), released(n), e), excess(released(n), released(n + 1), e))
        for n in range(len(law) + 1)
    ]
    assert max(worst) == delta


# ------------------------------------------------------------------------- the page's table
NAMED = r"((?:Theorem|Lemma) L?\d+(?:\.\d+)?|Contender lemma|Identity)"
TABLE, _, SOURCES = PAGE.split("## 20.")[1].partition("## Sources")


def test_the_table_lists_every_theorem_with_its_status() -> None:
    stated = re.findall(rf"\*\*{NAMED}", PAGE)
    assert len(stated) == len(set(stated)) > 20
    rows = [line.split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]
    for _, status, _ in rows:
        assert re.match(r"(proved here|(\w+ )?cited: \w)", status), status
    assert sorted(re.findall(rf"^\| {NAMED}", TABLE, re.MULTILINE)) == sorted(stated)


def test_the_table_leaves_out_no_section() -> None:
    """Each has a row: of a theorem that stands in it, or with its number in brackets."""
    rows = [line.split(" | ")[0] for line in TABLE.splitlines() if line.startswith("| ")]
    named = {int(each) for row in rows for each in re.findall(r"\((\d+)\)$", row)}
    theorems = {each: PAGE.index(f"**{each}") for row in rows for each in re.findall(NAMED, row)}
    starts = {int(m[1]): m.start() for m in re.finditer(r"^## (\d+)\.", PAGE, re.MULTILINE)}
    found = named | {max(n for n in starts if starts[n] < at) for at in theorems.values()}
    assert found == set(starts) - {max(starts)}

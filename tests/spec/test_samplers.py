"""Statistical cases, on a fixed stream of bits: a second look at laws proved exactly elsewhere.

Every gate is two-sided.  A count of n draws of chance p passes while n * KL(seen, p) <=
ln(2 * cells / 1e-9); by Chernoff's bound a right sampler fails with probability at most 1e-9 for a
fresh stream, whatever n and p, over all cells of the case together.  Power: at n = 16 000 a shift
of 0.05 at p = 1/2 (0.025 at p = 1/16) fails with probability above 0.999.  Each case runs a mutant
through the same gate, and the mutant must fail.
"""

from fractions import Fraction
from math import exp, gcd, log

import pytest
from gmpy2 import mpq
from sampler_laws import FALSE_ALARM, endless, plausible

from safeselect.exact.interval import Interval
from safeselect.spec.samplers import (
    bernoulli,
    bernoulli_exp,
    discrete_laplace_exp,
    geometric_exp,
    uniform_below,
)

pytestmark = [pytest.mark.claim("C1"), pytest.mark.slow("statistics with power")]

N = 16_000


def count(toss, name, n=N):
    bits = endless(name)
    return sum(toss(bits) for _ in range(n))


def assert_gate(right, wrong, p, n=N):
    assert plausible(right, n, p)
    assert not plausible(wrong, n, p)


# ------------------------------------------------------------------------------- coins
@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 16), Fraction(1, 2), Fraction(15, 16)])
def test_rational_coins(p):
    a, q = p.numerator, max(2, p.denominator)
    right = count(lambda bits: bernoulli(bits, a, q), f"p {p}", 60_000)
    wrong = count(lambda bits: uniform_below(bits, q) <= a, f"p {p}", 60_000)
    assert_gate(right, wrong, float(p), 60_000)


def test_a_sure_coin():
    right = count(lambda bits: bernoulli(bits, 16, 16), "sure")
    wrong = count(lambda bits: uniform_below(bits, 16) < 15, "sure")
    assert_gate(right, wrong, 1.0)


def one_term_short(bits, numerator, denominator):
    """Mutant: the series starts with its second term."""
    whole, rest = divmod(numerator, denominator)
    for a, b in [(1, 1)] * whole + [(rest, denominator)] * (rest > 0):
        k = 2
        while bernoulli(bits, a, b * k):
            k += 1
        if k % 2:
            return False
    return True


X = ["1/8", "1/4", "1/2", "3/4", "1", "3/2", "2", "9/4", "3", "7/2", "5"]


@pytest.mark.parametrize("x", X)
def test_exponential_coins(x):
    a, b = Fraction(x).as_integer_ratio()
    right = count(lambda bits: bernoulli_exp(bits, a, b), f"exp {x}")
    wrong = count(lambda bits: one_term_short(bits, a, b), f"exp {x}")
    assert_gate(right, wrong, exp(-a / b))


def test_exponential_coins_decrease():
    seen = [
        count(lambda bits, x=Fraction(x): bernoulli_exp(bits, *x.as_integer_ratio()), "monotone")
        for x in ["0", *X]
    ]
    assert seen[0] == N
    assert seen == sorted(seen, reverse=True)


PAIRS = [
    ("1/2", "1/2"),
    ("1", "1/4"),
    ("2", "3/4"),
    ("5/2", "1/8"),
    (Fraction(1, 2**30), "1/65537"),
    (Fraction(3, 2**30), "12345/1000003"),
    ("32768/65537", "1/65537"),
    ("65536/65537", Fraction(1, 2**30)),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_exponential_coins_factor(pair):
    """exp(-(x + y)) is one coin, or two that must both succeed."""
    x, y = map(Fraction, pair)
    p = exp(-(x + y))

    def both(bits):
        return [bernoulli_exp(bits, *each.as_integer_ratio()) for each in (x, y)]

    one = count(lambda bits: bernoulli_exp(bits, *(x + y).as_integer_ratio()), f"one {pair}")
    two = count(lambda bits: all(both(bits)), f"two {pair}")
    either = count(lambda bits: sum(both(bits)) == 1, f"two {pair}")
    assert_gate(one, either, p)
    assert plausible(two, N, p)


@pytest.mark.parametrize(("a", "b", "times"), [(1, 65537, 7), (12345, 1000003, 13)])
def test_exponential_coins_scale(a, b, times):
    """`times` coins of exp(-x) that must all succeed are one of exp(-times * x)."""
    p = exp(-times * a / b)
    one = count(lambda bits: bernoulli_exp(bits, times * a, b), "scaled")
    same = count(lambda bits: bernoulli_exp(bits, times * times * a, times * b), "not reduced")
    every = count(lambda bits: all(bernoulli_exp(bits, a, b) for _ in range(times)), "all", 5000)
    wrong = count(lambda bits: bernoulli_exp(bits, times * a, b // 40), "wrong")
    assert_gate(one, wrong, p)
    assert plausible(same, N, p)
    assert plausible(every, 5000, p)


# --------------------------------------------------------------------------- geometric
def mean_gate(total, n, r):
    """Chernoff's bound for the mean of n geometric variables, on both sides."""
    a = total / n
    rate = -log((1 - r) * (1 + a)) + (a * log(a / (r * (1 + a))) if a else 0.0)
    return n * rate <= log(2 / FALSE_ALARM)


def values(draw, name, n=N):
    bits = endless(name)
    return [draw(bits) for _ in range(n)]


@pytest.mark.parametrize("x", ["1/2", "3/4", "1", "3/2", "2", "9/4", "3", "5"])
def test_geometric_mean_and_zero(x):
    s, t = Fraction(x).as_integer_ratio()
    r = exp(-s / t)
    right = values(lambda bits: geometric_exp(bits, s, t), f"geometric {x}")
    wrong = values(lambda bits: geometric_exp(bits, 5 * s, 6 * t), f"geometric {x}")
    assert mean_gate(sum(right), N, r)
    assert not mean_gate(sum(wrong), N, r)
    assert_gate(right.count(0), wrong.count(0), 1 - r)


def cells_gate(seen, masses, n):
    return all(plausible(seen.count(v), n, p, cells=len(masses)) for v, p in masses.items())


def test_geometric_cells_at_rate_one():
    masses = {g: (1 - exp(-1)) * exp(-g) for g in range(9)}
    right = values(lambda bits: geometric_exp(bits, 1, 1), "cells")
    assert cells_gate(right, masses, N)
    assert not cells_gate([max(g, 1) - 1 for g in right], masses, N)
    assert not cells_gate(values(lambda bits: geometric_exp(bits, 9, 10), "cells"), masses, N)


# ---------------------------------------------------------------------- discrete Laplace
def signed_without_restart(bits, s, t):
    """Mutant: zero counts twice."""
    value = geometric_exp(bits, s, t)
    return -value if bits.coin() else value


@pytest.mark.parametrize("scale", ["1/2", "1", "2", "3"])
def test_discrete_laplace(scale):
    t, s = Fraction(scale).as_integer_ratio()
    r = exp(-s / t)
    right = values(lambda bits: discrete_laplace_exp(bits, s, t), f"laplace {scale}")
    wrong = values(lambda bits: signed_without_restart(bits, s, t), f"laplace {scale}")
    zero = (1 - r) / (1 + r)
    assert_gate(right.count(0), wrong.count(0), zero)
    for k in (1, 2, 3, 5, 8):
        tail = 2 * r**k / (1 + r)
        assert plausible(sum(abs(x) >= k for x in right), N, tail, cells=5)
    for k in range(1, 13):  # the slope of the logarithm: the tail from k + 1 on is r of that from k
        here, after = (sum(abs(x) >= m for x in right) for m in (k, k + 1))
        if here:
            assert plausible(after, here, r, cells=12)
    for k in range(1, 9):  # and each magnitude is as often positive as negative
        if both := right.count(k) + right.count(-k):
            assert plausible(right.count(k), both, 0.5, cells=8)


def test_the_slope_and_the_symmetry_gates_see_mutants():
    n, r = N, exp(-1 / 2)
    slow = values(lambda bits: discrete_laplace_exp(bits, 2, 5), "slope")
    here, after = (sum(abs(x) >= m for x in slow) for m in (2, 3))
    assert not plausible(after, here, r, cells=12)
    floors = values(lambda bits: -geometric_exp(bits, 1, 2) - bits.coin(), "one-sided")
    assert not plausible(floors.count(-1), floors.count(-1) + floors.count(1), 0.5, cells=8)
    assert n == len(slow)


# ------------------------------------------------------------------------- uniform below
@pytest.mark.parametrize(("k", "n"), [(64, 8_000), (256, 50_000), (257, 60_000), (1000, 120_000)])
def test_uniform_cells(k, n):
    def seen(draw):
        bits, cells = endless(f"uniform {k}"), [0] * k
        for _ in range(n):
            cells[draw(bits)] += 1
        return all(plausible(cell, n, 1 / k, cells=k) for cell in cells)

    assert seen(lambda bits: uniform_below(bits, k))
    # Mutants: one bit too few or, where k is no power of two, a remainder.
    few = (k - 1).bit_length() - (k & (k - 1) == 0)
    assert not seen(lambda bits: bits.take(few) % k)


# -------------------------------------------------------------------------------- bignum
def test_rational_arithmetic():
    assert mpq(-2, 3) / 4 == mpq(-1, 6) == Fraction(-2, 3) / 4
    assert mpq(10) / 10 == 1
    assert Interval.of(Fraction(-2, 3) / 4, 200).fractions()[0] <= Fraction(-1, 6)
    assert Interval.of(Fraction(10, 10), 2).fractions() == (1, 1)


@pytest.mark.parametrize("shift", [0, 1, 31, 32, 63, 64, 127, 128, 4000])
def test_common_divisors(shift):
    for a in (0, 1, 2, 3, 6, 2**shift, 3 * 2**shift, 2**shift + 1, 2**shift - 1):
        for b in (1, 2, 3, 4, 12, 2**shift, 9 * 2**shift + 3):
            reduced = mpq(a, b)
            assert (int(reduced.numerator), int(reduced.denominator)) == (
                a // gcd(a, b),
                b // gcd(a, b),
            )

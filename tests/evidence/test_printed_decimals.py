"""Every printed decimal of docs/mathematics.md with three digits or more, computed again.

By mpmath from the definitions, and by none of the package's code.  A decimal that nobody computes
fails, and so does a computation of a decimal that is not printed.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from itertools import product
from pathlib import Path

import mpmath
import pytest
from mpmath import e, exp, log, mpf, sqrt, tanh

PAGE = Path(__file__).parents[2] / "docs" / "mathematics.md"
DECIMAL = re.compile(r"(?<![\d.])\d+\.\d{3,}(?:e-?\d+)?(?![\d.]*\d)")
NORMAL = mpmath.ncdf


def lattice_winner() -> mpf:
    """Scores 0 and 1/2, geometric noise of rate 1: the second wins iff X_2 >= X_1."""
    return mpmath.nsum(lambda x: (1 - exp(-1)) * exp(-x) * (1 - exp(-x - 1)), [0, mpmath.inf])


def flip_winner() -> mpf:
    """Permute-and-flip: the first is asked first with chance 1/2, and accepts with e**-1/2."""
    return 1 - exp(-mpf(1) / 2) / 2


def one_shot() -> mpf:
    """Exponential noise on 0, 1, 2: the third is first and the second is second."""

    def at(y: mpf) -> mpf:  # the second's noisy score
        return exp(-(y - 1)) * (1 - exp(-y)) * (exp(-(y - 2)) if y > 2 else 1)

    return mpmath.quad(at, [1, 2, mpmath.inf])


def peeled() -> mpf:
    """By the integral of section 4, twice."""
    first = mpmath.quad(lambda t: (1 - t / e) * (1 - t / e**2), [0, 1])
    return first * mpmath.quad(lambda t: 1 - t / e, [0, 1])


def gap_of_two() -> mpf:
    """Kullback-Leibler divergence of the logistic law from itself moved by 1."""

    def density(x: mpf) -> mpf:
        return exp(-abs(x)) / (1 + exp(-abs(x))) ** 2

    def at(x: mpf) -> mpf:
        return density(x) * log(density(x) / density(x - 1))

    return mpmath.quad(at, [-60, -10, 0, 1, 10, 60])


def ranged() -> mpf:
    x = 1 / (e - 1)
    return x - 1 - log(x)


def session(first: int) -> mpf:
    """Values (first, 0), threshold 0, geometric noises of rate 3: below, then above."""
    ratio = exp(-3)
    # The first lies below iff X_1 < Z - first, the second at or above iff X_2 >= Z.
    return mpmath.nsum(
        lambda z: (1 - ratio) * ratio**z * (1 - ratio ** max(0, int(z) - first)) * ratio**z,
        [0, 200],
        method="direct",
    )


def laplace_bound() -> mpf:
    """Where domination by 6 takes the smaller of the two: F(F^-1(p) + 6), F Laplace's."""
    at = log(2 * session(0)) + 6
    return 1 - exp(-at) / 2 if at > 0 else exp(at) / 2


def profile(epsilon: mpf, x: mpf) -> mpf:
    """One bounded range (section 3)."""
    if x >= exp(epsilon):
        return mpf(0)
    if x <= exp(-epsilon):
        return 1 - x
    return (1 - sqrt(x * exp(-epsilon))) ** 2 / (1 - exp(-epsilon))


def largest(function, low, high) -> mpf:
    """On a grid, and then by thirds around its best."""
    points = [low + (high - low) * mpf(n) / 40 for n in range(41)]
    at = max(range(41), key=lambda n: function(points[n]))
    low, high = points[max(0, at - 1)], points[min(40, at + 1)]
    for _ in range(60):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if function(one) < function(two) else (low, two)
    return function(low)


def before(epsilon: mpf, rest, x: mpf) -> mpf:
    """One more range before what has the profile `rest` (Lemma 14.2)."""

    def at(t: mpf) -> mpf:
        p = (1 - exp(t - epsilon)) / (1 - exp(-epsilon))
        return p * rest(x * exp(-t)) + (1 - p) * rest(x * exp(epsilon - t))

    return largest(at, mpf(0), epsilon)


def in_order(first, second, s) -> mpf:
    return before(mpf(first), lambda x: profile(mpf(second), x), exp(mpf(s)))


def fixed_offsets() -> mpf:
    """Two exponential mechanisms of two candidates, offsets fixed in advance."""

    def law(t: mpf) -> list[tuple[mpf, mpf]]:
        p = (1 - exp(t - 1)) / (1 - exp(mpf(-1)))
        return [(p, t), (1 - p, t - 1)]

    def delta(t: mpf, u: mpf) -> mpf:
        pairs = product(law(t), law(u))
        return sum(p * q * max(0, 1 - exp(-a - b)) for (p, a), (q, b) in pairs)

    return largest(lambda t: largest(lambda u: delta(t, u), mpf(0), mpf(1)), mpf(0), mpf(1))


def twice_the_pair() -> mpf:
    """The pair with a bounded range's profile H has mass x H''(x) dx where its ratio is x."""

    def mass(x: mpf) -> mpf:  # x H''(x), H'' of (1 - sqrt(x/e))**2 / (1 - 1/e)
        return x ** (-mpf(1) / 2) * exp(-mpf(1) / 2) / 2 / (1 - 1 / e)

    return mpmath.quad(lambda x: mass(x) * profile(mpf(1), 1 / x), [1 / e, 1, e])


MU = mpf(4) / 3


def gaussian(x: mpf) -> mpf:
    s = log(x)
    return NORMAL(MU / 2 - s / MU) - x * NORMAL(-MU / 2 - s / MU)


def noise_first() -> mpf:
    def at(z: mpf) -> mpf:
        loss = MU * MU / 2 + MU * z
        return mpmath.npdf(z) * profile(mpf(1), exp(5 - loss))

    edges = [(5 + side - MU * MU / 2) / MU for side in (-1, 1)]
    return mpmath.quad(at, [-12, *edges, 12])


def by_orders(parts) -> mpf:
    """The best moment of pure guarantees at epsilon 1 (section 9 and Lemma 2.2)."""

    def value(a: mpf) -> mpf:
        moments = mpf(1)
        for each, count in parts:
            moments *= ((exp(a * each) + exp((1 - a) * each)) / (1 + exp(each))) ** count
        return -moments * exp(-(a - 1)) * (a - 1) ** (a - 1) / a**a

    return -max(largest(value, mpf("1.5"), mpf(40)), largest(value, mpf(40), mpf(400)))


def true_delta() -> mpf:
    """All outcomes of randomized responses, those asked next by the first one's loss."""
    total = mpf(0)
    for sign, each, count in ((1, mpf("0.3214"), 3), (-1, mpf("0.1363"), 8)):
        for signs in product((1, -1), repeat=count):
            losses = [sign * mpf("0.044"), *(each * one for one in signs)]
            chance = mpf(1)
            for loss in losses:
                chance *= exp(loss) / (exp(loss) + 1)
            total += chance * max(0, 1 - exp(1 - sum(losses)))
    return total


@lru_cache
def computed() -> dict[str, tuple[mpf, str]]:
    """(Value, how it is rounded) by the text that is printed."""
    down = {"0.462": tanh(mpf(1) / 2), "0.606": exp(-mpf(1) / 2)}
    nearest = {
        "0.7311": lattice_winner(),
        "0.6967": flip_winner(),
        "0.6404": one_shot(),
        "0.6243": peeled(),
        "0.1640": gap_of_two(),
        "0.1233": ranged(),
        "0.3679": 1 + exp(-1) - 1,
        "0.905260": session(-1),
        "0.002244": session(0),
        "0.723836": laplace_bound(),
        "0.3034": in_order(1, 1, 0),
        "0.2883": fixed_offsets(),
        "0.3226": twice_the_pair(),
        "8.685e-4": noise_first(),
        "7.246e-4": before(mpf(1), gaussian, exp(5)),
        "0.0965": in_order("0.5", 1, "0.5"),
        "0.0916": in_order(1, "0.5", "0.5"),
        "8.128e-4": by_orders([(mpf("0.044"), 1), (mpf("0.3214"), 3)]),
        "8.379e-4": by_orders([(mpf("0.044"), 1), (mpf("0.1363"), 8)]),
        "9.594e-4": true_delta(),
        "0.4621": tanh(mpf(1) / 2),
        "0.3693": 2 * NORMAL(sqrt(2 * tanh(mpf(1) / 2)) / 2) - 1,
    }
    return {
        **{text: (value, ROUND_DOWN) for text, value in down.items()},
        **{text: (value, ROUND_HALF_EVEN) for text, value in nearest.items()},
    }


GIVEN = Counter({"0.044": 1, "0.3214": 1, "0.1363": 1})
"""Epsilons of the example of section 14: chosen, not computed."""


def rounds_to(text: str, value: mpf, how: str) -> bool:
    printed = Decimal(text)
    with mpmath.workdps(20):
        exact = Decimal(mpmath.nstr(value, 15))
    return exact.quantize(Decimal(1).scaleb(int(printed.as_tuple().exponent)), how) == printed


def test_every_printed_decimal_is_computed_and_every_computed_one_printed():
    printed = Counter(DECIMAL.findall(PAGE.read_text("utf-8")))
    assert set(printed) == set(computed()) | set(GIVEN)
    assert all(printed[text] == times for text, times in GIVEN.items())


@pytest.mark.parametrize("text", sorted(computed()))
def test_a_printed_decimal_is_its_value_rounded(text):
    value, how = computed()[text]
    assert rounds_to(text, value, how)


@pytest.mark.parametrize(
    ("wrong", "right"), [("0.6405", "0.6404"), ("8.379e-4", "8.128e-4"), ("0.463", "0.462")]
)
def test_a_wrong_digit_is_noticed(wrong, right):
    value, how = computed()[right]
    assert not rounds_to(wrong, value, how)


def test_all_forms_of_a_decimal_are_found():
    line = "0.1234, 12.345e-6. 0.12, 1.5; 0.905260 and (0.0044)"
    assert DECIMAL.findall(line) == ["0.1234", "12.345e-6", "0.905260", "0.0044"]

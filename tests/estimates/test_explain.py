"""What a planned release would lose: exact expectations, against laws worked out another way."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import factorial

import mpmath
import pytest
from mpmath import mpmathify as mp

from safeselect import ParameterError, calibrate, explain
from safeselect.estimates import expected_error
from safeselect.mechanisms.table import MECHANISMS, dyadic_rate
from safeselect.promises.guarantees import BoundedRange

OFFERED = [name for name in MECHANISMS if name != "laplace"]


# ------------------------------------------------- once more, by enumerating every ranking


def exponential_winner(weights: list[mpmath.mpf]) -> list[mpmath.mpf]:
    return [weight / mpmath.fsum(weights) for weight in weights]


def flips_winner(weights: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """Every order of the candidates, the first whose coin accepts."""
    law, top = [mpmath.mpf(0)] * len(weights), max(weights)
    for order in itertools.permutations(range(len(weights))):
        left = mpmath.mpf(1)
        for i in order:
            accepts = weights[i] / top
            law[i] += left * accepts
            left *= 1 - accepts
    return [chance / factorial(len(weights)) for chance in law]


def missed_by_rounds(winner, weights, good: int, k: int) -> mpmath.mpf:
    """The expected number of candidates beyond the first `good` among k chosen in rounds."""
    if not k:
        return mpmath.mpf(0)
    total = mpmath.mpf(0)
    for i, chance in enumerate(winner(weights)):
        rest = weights[:i] + weights[i + 1 :]
        wrong = i >= good
        total += chance * (wrong + missed_by_rounds(winner, rest, good - (not wrong), k - 1))
    return total


def missed_in_one_shot(p: mpmath.mpf, good: int, bad: int) -> mpmath.mpf:
    """By integrating over the noisy score of one bad candidate, as everybody's noise is Exp(1).

    With s = e**-noise: below the upper level all good are ahead, above it everybody is alike.
    """
    k, n = good, good + bad

    def beaten_by_few(above_good, above_bad):
        """P(fewer than k of the others are ahead)."""
        total = mpmath.mpf(0)
        for a in range(good + 1):
            for b in range(bad):
                if a + b < k:
                    total += (
                        mpmath.binomial(good, a)
                        * above_good**a
                        * (1 - above_good) ** (good - a)
                        * mpmath.binomial(bad - 1, b)
                        * above_bad**b
                        * (1 - above_bad) ** (bad - 1 - b)
                    )
        return total

    low = mpmath.quad(lambda s: beaten_by_few(mpmath.mpf(1), s), [p, 1])
    high = mpmath.quad(lambda s: beaten_by_few(s / p, s), [0, p])
    assert n > k
    return bad * (low + high)


@pytest.mark.parametrize(
    ("n", "k", "gap"), [(2, 1, 1), (5, 1, 2), (5, 2, "3/2"), (6, 3, 1), (5, 4, 3)]
)
@pytest.mark.parametrize("mechanism", OFFERED)
def test_the_expectation_is_that_of_the_law(mechanism, n, k, gap):
    total, gap = {"epsilon": Fraction(3, 2)}, Fraction(gap)
    ours = expected_error(
        n=n, k=k, gap=gap, **total, sensitivity=1, monotonic=True, mechanism=mechanism
    )
    with mpmath.workdps(30):
        p = mpmath.exp(-mp(total["epsilon"] / k * gap))
        if mechanism == "exponential_base2":
            p = mp(dyadic_rate(total["epsilon"] / k).base) ** mp(gap)
        weights = [mpmath.mpf(1)] * k + [p] * (n - k)
        if mechanism == "one_shot_exponential":
            true = missed_in_one_shot(p, k, n - k)
        else:
            winner = flips_winner if mechanism == "permute_and_flip" else exponential_winner
            true = missed_by_rounds(winner, weights, k, k)
        true *= mp(gap)
        assert true * (1 - mpmath.mpf(10) ** -20) <= mp(ours) <= true * (1 + mpmath.mpf(10) ** -12)


# ---------------------------------------------------------------------------------- the table


def test_the_table_names_every_mechanism_and_its_numbers():
    table = explain(4, "0.2", "1e-6", n=30, gap=50)
    assert list(table.to_dict()) == list(table.rows[0])
    assert "one_shot_exponential" in table._repr_html_()
    table = str(table).splitlines()
    rows = {line.split()[0]: line for line in table if line and line.split()[0] in MECHANISMS}
    assert set(rows) == set(MECHANISMS)
    each = calibrate(BoundedRange, k=4, epsilon="0.2", delta="1e-6")
    up = Fraction(-(-each * 10**5 // 1), 10**5)  # four digits, rounded up
    assert f"4 x BoundedRange({float(up):.4g})" in rows["exponential"]
    assert each < up < each + Fraction(1, 10**5)
    for mechanism in OFFERED:
        error = expected_error(
            n=30,
            k=4,
            gap=50,
            epsilon="0.2",
            delta="1e-6",
            sensitivity=1,
            monotonic=True,
            mechanism=mechanism,
        )
        assert abs(Fraction(rows[mechanism].split()[-1]) - error) <= error / 1000


def test_usual_examples_and_large_ones():
    assert "top 2 of 100 candidates" in str(explain(2, 1))
    assert "too large" in str(explain(1000, 1, n=1200))
    assert {row[3] for row in explain(3, 1, n=3).rows[1:]} <= {"0", "not known"}
    with pytest.raises(ParameterError, match="k must be"):
        explain(0, 1)
    with pytest.raises(ParameterError, match="too large"):
        expected_error(n=5000, k=1000, gap=1, epsilon=1, range_=1, mechanism="exponential")

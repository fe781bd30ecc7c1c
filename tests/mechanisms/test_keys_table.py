"""The table of partition selection: its law, its certificate, and that no row could be larger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest

from safeselect import ParameterError
from safeselect.mechanisms.keys import for_each_key, keep_table
from safeselect.promises.guarantees import ApproximateDP
from vectors import vectors

VECTORS = vectors("partitions")
PAIRS = [
    (Fraction(e), Fraction(d))
    for e, d in (
        *((1, "1e-6"), ("1/5", "1e-9"), ("1/3", "1/3000000"), ("1/2", "1/10"), (100, "1e-9")),
        *(("1/50", "1e-12"), ("1e-9", "1/100"), (1, "1e-300"), (3, "9/10"), (5000, "1e-3")),
    )
]


def closed_form(epsilon: Fraction, delta: Fraction, users: int) -> mpmath.mpf:
    """pi_n of Desfontaines, Voss and Gipson (2022), Theorem 1, in the form of its proof."""
    e, d = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, delta))
    growth = mpmath.exp(e)
    first = 1 + int(mpmath.floor(mpmath.log((growth + 2 * d - 1) / (d * (growth + 1))) / e))
    if users <= first:
        return d * mpmath.expm1(users * e) / mpmath.expm1(e)
    top = d * mpmath.expm1(first * e) / mpmath.expm1(e)
    fall = mpmath.exp(-(users - first) * e)
    return min(1, 1 - fall * (1 - top) + (1 - fall) * d / mpmath.expm1(e))


def vectors(name: str) -> list[dict]:
    return [each for each in VECTORS if each["name"] == name]


def close(value: Fraction, text: str) -> bool:
    """Whether a value agrees with the digits given."""
    return abs(value - Fraction(text)) <= Fraction(text) / 10**27


@pytest.mark.parametrize("vector", vectors("largest_delta_per_partition"))
def test_the_share_of_delta_of_each_key(vector: dict) -> None:
    delta, most = Fraction(vector["inputs"]["delta"]), vector["inputs"]["kappa"]
    each = for_each_key(ApproximateDP(Fraction(1), delta), most)
    assert close(each.delta, vector["output"])
    assert (
        1 - (1 - each.delta) ** most <= delta < 1 - (1 - each.delta - Fraction(1, 2**140)) ** most
    )


@pytest.mark.claim("C2")
@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
@pytest.mark.parametrize("with_counts", [False, True])
def test_a_row_is_the_closed_form_rounded_down(
    epsilon: Fraction, delta: Fraction, with_counts: bool
) -> None:
    table = keep_table(epsilon, delta, with_counts=with_counts)
    with mpmath.workprec(table.bits + 300):
        for users in range(table.certain + 3):
            exact, chance = closed_form(epsilon, delta, users), table.chance(users)
            row = mpmath.mpf(chance.numerator) / chance.denominator
            assert row <= exact
            assert exact - row <= exact * mpmath.mpf(2) ** -115
            if not with_counts:
                assert exact - row <= exact * mpmath.mpf(2) ** -130


@pytest.mark.parametrize("place", [0, 1, 5, -1])
def test_the_certificate_sees_a_wrong_row(place: int) -> None:
    table = keep_table(Fraction(1), Fraction(1, 10**6), with_counts=True)
    rows = list(table.rows)
    rows[place] += -(2**100) if place == -1 else 2**100
    for with_counts in (False, True):
        assert not replace(table, rows=tuple(rows)).keeps_its_promise(with_counts=with_counts)
    assert table.keeps_its_promise(with_counts=True)
    assert not replace(table, growth=table.growth - 2**120).keeps_its_promise(with_counts=False)


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [("1e-8", "1e-9", "half a million"), (20_000, "1e-9", "at most 16384")],
)
def test_a_table_that_is_too_long_is_refused(epsilon: object, delta: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        keep_table(Fraction(epsilon), Fraction(delta), with_counts=False)

"""Lists from unknown domains: published numbers, exact laws, and what is read and refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from held import read_histogram
from unknown_laws import BOTTOM, Teller, law_of_list, list_law

import safeselect
from safeselect import ApproximateDP, BoundedRange, ZeroConcentratedDP
from safeselect.mechanisms import unknown
from safeselect.mechanisms.items import hold_counts
from safeselect.mechanisms.measure import Law
from safeselect.mechanisms.unknown import ListQuery, laplace_failure, laplace_offset
from safeselect.release.call import Call, Charge
from vectors import vectors

pytestmark = pytest.mark.claim("C1")

NOTHING = Charge("a list", ApproximateDP(1, "1/10"), (), {})

VECTORS = vectors("unknown_domain")
DIGITS = mpmath.mpf(10) ** -28


def cases(group: str) -> list[Any]:
    return [pytest.param(case, id=name) for name, case in VECTORS[group]["cases"].items()]


def named(labels: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    """An outcome with its bottom, which is seen where fewer than k labels come out.

    The labels are ranks, which come out as texts.
    """
    ranks = tuple(map(int, labels))
    return ranks if len(ranks) == k else (*ranks, BOTTOM)


def law_of_query(query: ListQuery, histogram: list[int]) -> dict[Any, Any]:
    """The law of the code that draws a list, over all rankings that its engine can return."""

    def run(teller: Teller) -> tuple[Any, ...]:
        read = hold_counts(dict(enumerate(histogram)), None, query.most + 1)
        with Call(NOTHING, read.read, source=None, scope=None) as call, teller.drawing():
            return named(unknown.draw_list(query, read, call)[0], query.k)

    return law_of_list(run)


def published(case: dict[str, Any]) -> dict[Any, Any]:
    return {
        tuple(part if part == BOTTOM else int(part) for part in key.split(",")): mpmath.mpf(value)
        for key, value in case["outcomes"].items()
    }


def parameters(case: dict[str, Any]) -> tuple[int, int, Fraction, Fraction]:
    return case["k"], case["kbar"], Fraction(case["eps"]), Fraction(case["delta"])


def assert_equal(found: dict[Any, Any], wanted: dict[Any, Any], tolerance: Any) -> None:
    assert {key for key, chance in found.items() if chance} == set(wanted)
    for outcome, chance in wanted.items():
        assert abs(found[outcome] - chance) <= tolerance * chance, outcome


@pytest.mark.parametrize("case", cases("g_unknown_domain_gumbel"))
def test_published_laws_with_real_offsets(case: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    k, k_bar, epsilon, delta = parameters(case)
    m = case["threshold_multiplier_m"]
    with mpmath.workdps(50):
        counts = (*case["histogram"],)[: k_bar + 1]
        rate = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        # What the vectors call delta is what is here called odds.
        at = 1 + mpmath.log(m * mpmath.mpf(delta.denominator) / delta.numerator) / rate
        assert abs(counts[k_bar] + at - mpmath.mpf(case["h_bot"])) < DIGITS
        assert_equal(list_law(counts, k, k_bar, rate, at), published(case), DIGITS)
        # The code itself, on a grid of 2**-36: its offset is at most that much larger.
        monkeypatch.setattr(unknown, "_FINEST", 36)
        monkeypatch.setattr(unknown, "_PER_NAT", 2**50)
        query = ListQuery(k, k_bar, k_bar, epsilon, delta, case["l0_bound"])
        drawn = Fraction(query.offset(k_bar), 1 << query.fineness)
        assert 0 <= mpmath.mpf(drawn.numerator) / drawn.denominator - at <= mpmath.mpf(2) ** -36
        assert_equal(law_of_query(query, case["histogram"]), published(case), 1e-10)


@pytest.mark.parametrize(
    ("name", "value"), VECTORS["g4_discrete_laplace_difference_tail"]["cases"].items()
)
def test_published_tails(name: str, value: str) -> None:
    epsilon, t = (part.split("=")[1] for part in name.split(","))
    low, high = laplace_failure(Fraction(epsilon), int(t), 160).fractions()
    with mpmath.workdps(60):
        for end in (low, high):
            exact = mpmath.mpf(end.numerator) / end.denominator
            assert abs(exact / mpmath.mpf(value) - 1) < DIGITS


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 2), Fraction(1, 9999)]
)
@pytest.mark.parametrize("m", [1, 3, 1000])
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 2**300)])
def test_the_laplace_offset_is_the_least_that_is_allowed(
    epsilon: Fraction, m: int, delta: Fraction
) -> None:
    def chance(tau: int) -> Fraction:
        return m * laplace_failure(epsilon, tau + 1, 4000).fractions()[1]

    tau = laplace_offset(epsilon, delta, m)
    assert tau >= 0
    assert chance(tau) <= delta
    assert tau == 0 or chance(tau - 1) > delta


@pytest.mark.claim("C1")
def test_released_counts_are_those_strictly_above_the_noisy_bottom() -> None:
    counts = {"b": 20, "a": 20, "c": 9, "d": 3}
    offset = 1 + laplace_offset(Fraction(1, 2), Fraction(1, 100), 2)
    bottom = 3 + offset
    for noise in product((-1, 0, 1), repeat=4):
        # Rank a at the bottom itself, so that a step up or down decides.
        shifted = (bottom - 20 + noise[0], noise[1] + 100, bottom - 9 + noise[2], noise[3])
        call = {"k_bar": 3, "places": "all", "epsilon": 1, "delta": "0.01", "max_contributions": 2}
        with Teller(noise=shifted).drawing():
            result = safeselect.unknown_domain_top_k(counts, k=3, **call)
            one = safeselect.unknown_domain_top_k(counts, k=1, **call)
        noisy = {"a": bottom + noise[0], "b": 120 + noise[1], "c": bottom + noise[2]}
        passed = {label: n for label, n in noisy.items() if n > bottom + noise[3]}
        order = sorted(passed, key=lambda label: (-passed[label], label))
        assert result.labels == tuple(order)
        assert result.counts == tuple(passed[label] for label in order)
        assert (result.provenance.number("offset"), one.labels) == (offset, result.labels[:1])


@pytest.mark.claim("C1")
def test_counts_without_a_cap_are_those_of_the_labels_and_noise_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def draw(self: Law, count: int, bits: object) -> list[int]:
        asked.append((self.name, self.parameter, count))
        return [5, 100, -3][:count]

    monkeypatch.setattr(Law, "draw", draw)
    call = {"k_bar": 3, "places": "all", "epsilon": 1, "delta": "0.01", "with_counts": True}
    counts = {"b": 20, "a": 20, "c": 9, "d": 3}  # in order: a, b, c, d
    for order, pairs in {
        (0, 1, 2): [("b", 120), ("a", 25), ("c", 6)],
        (2, 0, 1): [("a", 120), ("b", 17), ("c", 14)],
        (1, 3, 0): [("b", 25)],  # place 3 is the bottom
        (3, 0, 1): [],
    }.items():
        with Teller(order=order).drawing():
            found = safeselect.unknown_domain_top_k(counts, k=3, **call)
        assert list(zip(found.labels, found.counts or (), strict=True)) == pairs
        assert (found.ordered, found.k_bar) == (True, 3)
    *draws, counted, bottom = found.parts
    assert (draws, bottom) == ([BoundedRange(draws[0].epsilon)] * 3, ApproximateDP(0, "0.005"))
    # All of it is zCDP, which with the rest of delta is within epsilon; half is for the counts.
    total = sum((each.zcdp.rho for each in draws), counted.rho)
    assert ZeroConcentratedDP(total).approximate("0.005").epsilon <= 1
    assert ZeroConcentratedDP(total * Fraction(1001, 1000)).approximate("0.005").epsilon > 1
    assert abs(2 * counted.rho / total - 1) < Fraction(1, 1000)
    squared = 3 / (2 * counted.rho)
    assert set(asked) == {("discrete Gaussian", squared, 3)}
    assert found.provenance.number("sigma_squared") == squared


@pytest.mark.claim("C2")
def test_equal_noisy_counts_do_not_tell_which_count_was_larger() -> None:
    """Their order follows from the labels alone."""
    counts: dict[Any, int] = {"z": 30, "a": 20, 7: 10, "d": 1}
    for wanted in ({"z": 99, "a": 99, 7: 99}, {"z": 99, "a": 80, 7: 99}):
        noise = [wanted[label] - counts[label] for label in ("z", "a", 7)]
        call = {"k_bar": 3, "places": "all", "epsilon": 1, "delta": "0.01", "max_contributions": 1}
        with Teller(noise=(*noise, 0)).drawing():
            found = safeselect.unknown_domain_top_k(counts, k=3, **call)
        order = sorted(wanted, key=lambda label: (-wanted[label], str(label)))
        assert found.labels == tuple(map(str, order))
        assert (found.counts, found.k_bar) == (tuple(wanted[label] for label in order), 3)


@pytest.mark.parametrize("mapping", [True, False])
def test_the_largest_in_the_fixed_order(mapping: bool) -> None:
    for counts in product(range(3), repeat=4):
        for size in (1, 2, 5):
            labels = ["b", 10, "a", 9]
            if mapping:
                read = read_histogram(dict(zip(labels, counts, strict=True)), None, size)
            else:
                read = read_histogram(np.array(counts, np.int8), labels, size)
            order = [("10", 1), ("9", 3), ("a", 2), ("b", 0)]
            wanted = sorted(
                ((label, counts[place]) for label, place in order if counts[place]),
                key=lambda pair: -pair[1],
            )[:size]
            wanted += [(None, 0)] * (size - len(wanted))
            assert list(zip(read.labels, read.counts.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(
    "epsilon",
    [Fraction(1, 1000), *(Fraction(n, 64) for n in (1, 2, 3, 4, 5, 64, 65, 128, 129)), 10**6],
)
def test_a_nat_has_at_least_64_steps_and_no_more_than_need_be(epsilon: Any) -> None:
    fineness = ListQuery(1, 1, 1, Fraction(epsilon), Fraction(1, 9), None).fineness
    assert fineness == next(bits for bits in range(21) if 2**bits >= 64 * epsilon or bits == 20)


def test_an_offset_is_never_below_zero() -> None:
    grid = Fraction(1, 4)
    assert unknown.gumbel_offset(Fraction(1), Fraction(3), 1, grid) == 0
    assert unknown.gumbel_offset(Fraction(1), Fraction(1), 1, grid) == 0
    assert unknown.gumbel_offset(Fraction(1), Fraction(1), 3, grid) == 5  # ln 3 = 1.0986...
    # P(X - Y > -1) is 1/2 and more: already below delta.
    assert laplace_offset(Fraction(1), Fraction(9, 10), 1) == 0

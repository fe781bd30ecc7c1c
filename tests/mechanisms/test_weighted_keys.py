"""Keys by weights: the weights, the threshold and its own delta, the claim on small tables."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import expm1, fsum, isqrt, log1p, prod
from typing import Any

import numpy as np
import pytest
from ledgers import new, scope

from safeselect import ApproximateDP, ParameterError, ZeroConcentratedDP, from_json
from safeselect.audit.release import audit
from safeselect.audit.theorems import theorem
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.keys import release_keys
from safeselect.mechanisms.weighted_keys import SIGMA_SQUARED, WeightedTerms, weights

SIGMA = isqrt(SIGMA_SQUARED)


@cache
def tails(sigma: int) -> np.ndarray:
    """P(Z >= z) for z = 0, 1, ... by adding up."""
    mass = np.exp(-(np.arange(14 * sigma, dtype=float) ** 2) / (2 * sigma**2))
    return mass[::-1].cumsum()[::-1] / (2 * fsum(mass) - 1)


def delta_of(rho: float, epsilon: float) -> float:
    """That of rho-zCDP: the least over orders (Canonne, Kamath and Steinke 2020, Corollary 13)."""
    excess = np.geomspace(1e-2, 1e4, 20_000)
    order = 1 + excess
    logs = excess * (order * rho - epsilon) + excess * np.log(excess / order) - np.log(order)
    return float(np.exp(np.minimum(logs, 0).min()))


def own_delta(threshold: int, squared: int, most: int, sigma: int = SIGMA) -> float:
    """The largest chance that one of m lone keys passes, over all m, by the definition."""
    tail = tails(sigma)
    passes = (tail[threshold - isqrt(squared // m)] for m in range(1, most + 1))
    return max(-expm1(m * log1p(-chance)) for m, chance in enumerate(passes, 1))


@pytest.mark.parametrize("squared", [1, 2, 9, 100, 4095, 4096])
def test_each_weight_is_the_largest_and_comes_with_its_most_keys(squared: int) -> None:
    for most in {1, min(7, squared), min(squared, 3000)}:
        found = dict(weights(squared, most))
        every = {
            m: max(w for w in range(isqrt(squared) + 1) if m * w * w <= squared)
            for m in range(1, most + 1)
        }
        assert set(every.values()) <= set(found)
        assert all(found[w] >= m for m, w in every.items())
        assert all(keys * w * w <= squared and keys <= most for w, keys in found.items())
        assert max(found.values()) == most


def test_what_sql_finds_in_doubles_is_the_weight() -> None:
    """floor(sqrt(floor(V / m))), at random and where a quotient or a root is nearly whole."""
    random = np.random.default_rng(5)
    hard = [
        (q * q * m + more, m)
        for q, m, more in product((1, 3, 2**12 + 1, 2**24 - 1), (1, 3, 2**20), (-1, 0, 1))
    ]
    drawn = random.integers((2**20, 1), (2**50, 2**20), (9999, 2)).tolist()
    for squared, m in filter(lambda pair: 0 < pair[0] <= 2**50, [*hard, *drawn]):
        assert int(np.floor(np.sqrt(np.floor(float(squared) / m)))) == isqrt(squared // m)


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("epsilon", "delta", "most"),
    [(1, "1e-6", 1), (1, "1e-6", 100), ("1/10", "1e-9", 300), (3, "1e-3", 5000)],
)
def test_weights_and_threshold_take_what_the_cost_allows(
    epsilon: Any, delta: str, most: int
) -> None:
    """The noise costs half of delta, and lone keys the other half: no more, and hardly less."""
    terms = WeightedTerms.read(epsilon, delta, most)
    nats, part = float(terms.total.epsilon), float(terms.total.delta) / 2
    rho = terms.squared / (2 * SIGMA_SQUARED)
    assert delta_of(rho * (1 - 1e-9), nats) <= part * (1 + 1e-6)
    assert delta_of(rho * 1.001 + 1 / SIGMA_SQUARED, nats) > part
    exact = own_delta(terms.threshold, terms.squared, most)
    assert exact <= part < own_delta(terms.threshold - 1, terms.squared, most)
    assert float(terms.own_delta) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("squared", [3, 4, 9, 18])
@pytest.mark.parametrize("sigma", [1, 3])
def test_the_claim_holds_on_small_tables(squared: int, sigma: int) -> None:
    """All ways to hold three keys, beside others' weights, in both directions, at many epsilons."""
    threshold, most, tail = 4 * sigma + isqrt(squared), min(3, squared), tails(sigma)

    def chance(total: int) -> float:
        gap = threshold - total
        return float(tail[gap] if gap > 0 else 1 - tail[1 - gap]) if total else 0.0

    def law(sums: tuple[int, ...]) -> np.ndarray:
        kept = [*map(chance, sums)]
        shown = product((0, 1), repeat=len(kept))
        return np.array(
            [prod(k if s else 1 - k for k, s in zip(kept, one, strict=True)) for one in shown]
        )

    own, epsilons = own_delta(threshold, squared, most, sigma), np.linspace(0, 3, 13)
    allowed = np.array([own + delta_of(squared / (2 * sigma**2), e) for e in epsilons])
    closest, lone = 0.0, 0.0
    others = (0, 1, threshold - 1, threshold, threshold + sigma)
    ways = [held for held in product((0, 1), repeat=3) if 0 < sum(held) <= most]
    for before, held in product(product(others, repeat=3), ways):
        weight, one = isqrt(squared // sum(held)), law(before)
        other = law(tuple(b + weight * h for b, h in zip(before, held, strict=True)))
        lone = max(lone, float(other[one == 0].sum()))
        for p, q in ((one, other), (other, one)):
            found = np.maximum(0, p - np.exp(epsilons)[:, None] * q).sum(axis=1)
            assert (found <= allowed * (1 + 1e-9)).all()
            closest = max(closest, float((found / allowed).max()))
    assert lone == pytest.approx(own, rel=1e-9)  # so a smaller own delta would be wrong
    assert closest > 0.3


def test_the_charge_is_its_parts_and_the_audit_finds_them_again() -> None:
    store = MemoryStore()
    ledger, terms = new(store, epsilon=3, delta="1e-3"), WeightedTerms.read(1, "1e-6", 100)
    kept = release_keys(terms, {"Rome": 10**6, "Oslo": 1, "none": 0}, None, None, scope(ledger))
    shared = ZeroConcentratedDP(f"{terms.squared}/{2 * SIGMA_SQUARED}")
    assert kept.labels == ("Rome",)
    assert kept.guarantee == ApproximateDP(1, "1e-6")
    assert kept.parts == (shared, ApproximateDP(0, terms.own_delta))
    ledger.check()
    lines = {line.what: line.word for line in audit(kept.to_json(), store)}
    assert {lines[each] for each in ("law", "draws", "plan", "output", "price")} == {"holds"}
    assert "19.4" in theorem(kept.mechanism)
    assert from_json(kept.to_json()) == kept


def test_what_cannot_be_promised_is_refused() -> None:
    with pytest.raises(ParameterError, match="max_partitions must be at most 529 with"):
        WeightedTerms.read("1/100", "1e-6", 5000)
    with pytest.raises(ParameterError, match="epsilon is too small"):
        WeightedTerms.read("1e-6", "1e-6", 1)

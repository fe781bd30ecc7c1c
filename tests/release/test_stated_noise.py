"""What a release states of its noise is what was drawn; a set has the order of its labels."""

from __future__ import annotations

from fractions import Fraction

import pytest

import safeselect
from safeselect import (
    AdaptiveSparseVector,
    SparseVector,
    top_k,
    top_k_above,
    top_k_with_gaps,
    unknown_domain_top_k,
)
from safeselect.engine import rankings
from safeselect.mechanisms import table

USERS = {"tea": 50_000, "milk": 20_000, "rum": 9_000}
pytestmark = pytest.mark.filterwarnings("ignore:epsilon=")


def discovered(**more):
    return unknown_domain_top_k(USERS, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all", **more)


def test_a_set_is_iterated_in_the_order_of_its_labels_never_of_its_scores():
    cost = {"epsilon": "0.2", "delta": "0.05", "sensitivity": 1}
    scores = {"zebra": 10**9, "ant": 10**8, "bee": 10**7, "cat": 0}
    found = top_k(scores, k=3, mechanism="laplace", **cost)
    assert list(found) == ["ant", "bee", "zebra"]
    assert "zebra" in found
    assert found.to_dict() == {"label": ["ant", "bee", "zebra"]}


@pytest.fixture
def drawn(monkeypatch):
    """The rates per grid step that the engine was called with."""
    seen = []
    for name in ("noisy_top_k", "peeled_top_k", "noisy_max_rows"):
        original = getattr(table.engine, name)

        def watched(noise, scores, *rest, original=original, **more):
            seen.extend(each.rate for each in rest if hasattr(each, "rate"))
            return original(noise, scores, *rest, **more)

        monkeypatch.setattr(table.engine, name, watched)
    assert rankings is not None
    return seen


@pytest.mark.parametrize("total", [{"epsilon": 1}, {"rho": "0.1"}])
@pytest.mark.parametrize("grid", [None, "1/8"])
@pytest.mark.parametrize(
    "call",
    [
        safeselect.permute_and_flip,
        safeselect.exponential_mechanism,
        safeselect.permute_and_flip_with_gap,
        safeselect.exponential_mechanism_with_gap,
        lambda scores, **more: top_k(scores, k=2, **more),
        lambda scores, **more: top_k(scores, k=2, mechanism="one_shot_exponential", **more),
        lambda scores, **more: top_k(scores, k=2, mechanism="permute_and_flip", **more),
        lambda scores, **more: top_k(scores, k=1, **more),
        lambda scores, **more: top_k_with_gaps(scores, k=3, **more),
        lambda scores, **more: safeselect.select_many([scores] * 3, **more),
        lambda scores, **more: safeselect.select_many([scores] * 3, k=2, **more),
    ],
)
def test_the_noise_rate_of_a_result_is_the_one_that_was_drawn(drawn, call, grid, total):
    found = call([3, 900, 7, 8, 100], sensitivity=2, grid=grid, **total)
    assert {found.noise_rate} == {rate / Fraction(grid or 1) for rate in drawn}


def test_the_noise_rate_above_a_threshold(drawn):
    found = top_k_above([3, 900, 5], threshold=400, k=2, epsilon=1, sensitivity=1)
    assert {found.noise_rate} == {Fraction(1, 4)} == set(drawn)


def test_the_noise_rate_of_an_unknown_domain():
    assert discovered(max_contributions=4).noise_rate == Fraction(1, 4)
    listed = discovered(max_contributions=4, noise="gumbel")
    assert listed.noise_rate == listed.parts[0].epsilon


def test_another_base_has_no_rational_rate():
    assert (
        safeselect.exponential_mechanism_base2([1, 2], epsilon=1, sensitivity=1).noise_rate is None
    )


def test_rates_of_sessions():
    public = {"threshold": 10, "k": 3, "epsilon": 2, "sensitivity": 1, "split": "1/4"}
    with SparseVector(**public) as session:
        # docs/gaps.md: split epsilon / sensitivity, (1 - split) epsilon / (c k sensitivity).
        assert session.threshold_rate == Fraction(1, 2)
        assert session.value_rate == Fraction(3, 2) / 6
    with SparseVector(**public, monotonic=True, grid="1/8", on_grid=True) as session:
        assert session.threshold_rate == Fraction(1, 2)
        assert session.value_rate == Fraction(3, 2) / 3
    with AdaptiveSparseVector(**public) as adaptive:
        assert adaptive.threshold_rate == Fraction(1, 2)
        assert set(adaptive.value_rates) == {"top", "middle"}
        assert adaptive.value_rates["middle"] == 2 * adaptive.value_rates["top"]

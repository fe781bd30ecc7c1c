"""Which ranking each mechanism asks its engine for: what is drawn anew, how often, at which rate.

A law that is drawn once instead of k times differs little from the right one, too little for the
samples that other tests draw.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from safeselect import exponential_mechanism, permute_and_flip, select_many, top_k
from safeselect.mechanisms import select, table
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated

pytestmark = pytest.mark.claim("C2")

SCORES = [5, 3, 2, 1]
COUNTS: dict[str, Any] = {"sensitivity": 1, "monotonic": True}
Asked = tuple[str, str, int, Fraction]


class Spy:
    """An engine that says what it was asked for, and ranks by position."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def __getattr__(self, name: str) -> Any:
        def rank(noise: str, steps: Any, k: int, rate: Any, bits: Any, **more: Any) -> Any:
            self.asked.append((name, noise, k, rate.rate))
            return select.Ranking(tuple(range(k)), None)

        return rank


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    made = Spy()
    for module in (select, table):
        monkeypatch.setattr(module, "engine", made)
    return made


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_permute_and_flip_draws_anew_for_each_of_k(spy: Spy, k: int, delta: Any) -> None:
    found = top_k(SCORES, k=k, mechanism="permute_and_flip", epsilon=1, delta=delta, **COUNTS)
    each = found.parts[0]
    assert found.parts == (LaplaceDominated(each.epsilon),) * k
    assert spy.asked == [("peeled_top_k", "exponential", k, each.epsilon)]
    assert each.epsilon >= Fraction(1, k)
    assert found.guarantee.epsilon == 1


def test_in_rows_too(spy: Spy) -> None:
    found = select_many([SCORES] * 3, k=2, mechanism="permute_and_flip", epsilon=1, **COUNTS)
    assert spy.asked == [("peeled_top_k", "exponential", 2, Fraction(1, 6))] * 3
    assert found.parts == (LaplaceDominated("1/6"),) * 6


def test_what_is_drawn_once(spy: Spy) -> None:
    permute_and_flip(SCORES, epsilon=1, **COUNTS)
    exponential_mechanism(SCORES, epsilon=1, **COUNTS)
    found = top_k(SCORES, k=2, mechanism="exponential", epsilon=1, **COUNTS)
    assert found.parts == (BoundedRange("1/2"),) * 2
    wide = top_k(SCORES, k=2, mechanism="one_shot_exponential", epsilon=1, **COUNTS)
    assert wide.parts == (LaplaceDominated(1),)
    assert spy.asked == [
        ("noisy_top_k", "exponential", 1, 1),
        ("noisy_top_k", "gumbel", 1, 1),
        ("noisy_top_k", "gumbel", 2, Fraction(1, 2)),
        ("noisy_top_k", "exponential", 2, Fraction(1, 2)),
    ]

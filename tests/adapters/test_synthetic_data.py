"""The exponential mechanism as programs for synthetic data call it."""

from __future__ import annotations

from collections import Counter
from math import exp
from typing import Any

import numpy as np
import pytest
from chances import fits
from ledgers import new, scope

from safeselect import BoundedRange, ParameterError, ScoreError
from safeselect.adapters.synthetic_data import exponential_mechanism
from safeselect.testing import DeterministicSource

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning")


def tape(seed: int) -> DeterministicSource:
    return DeterministicSource(seed, i_understand_this_is_not_private=True)


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_law_is_that_of_the_original(monotonic: bool) -> None:
    """P(r) is proportional to exp(coef eps q_r / sensitivity), coef as in the original.

    Reading widens the noise by 2 thousandths at most.  False alarm: 1e-9; power: `chances.fits`.
    """
    q, eps, sensitivity, draws = np.array([0.25, 3.5, 2.0, -1.75]), 1.5, 2.0, 2500
    source = tape(11)
    found = [
        exponential_mechanism(q, eps, sensitivity, np.random, monotonic, source=source)
        for _ in range(draws)
    ]
    coef = (1.0 if monotonic else 0.5) * eps / sensitivity / (1.002 if monotonic else 1.001)
    weights = [exp(coef * each) for each in q]
    law = {place: weight / sum(weights) for place, weight in enumerate(weights)}
    assert fits(Counter(found), law)


def test_a_dict_gives_a_key_and_an_array_a_position() -> None:
    assert exponential_mechanism({(0, 1): 0.5, (1, 2): 1e6}, 1.0, 1.0) == (1, 2)
    assert exponential_mechanism(np.array([0.5, 1e6]), np.float64(1.0), np.float64(1.0)) == 1
    assert type(exponential_mechanism(np.array([0.5, 1e6]), 1.0)) is int


def test_a_choice_costs_eps_and_can_be_charged() -> None:
    ledger = new(":memory:", rho="1/4")
    for _ in range(2):
        exponential_mechanism([1.0, 2.5], 1.0, ledger=scope(ledger))
    left = ledger.balance("a").left["rho"]
    assert left == pytest.approx(0.25 - 2 * float(BoundedRange(1).zcdp.rho), abs=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"base_measure": [1, 2]}, ParameterError, "base_measure must be None"),
        ({"eps": 0.0}, ParameterError, "epsilon must be greater than zero"),
        ({"sensitivity": 0.0}, ParameterError, "sensitivity must be greater than zero"),
        ({"q": [1.0, float("nan")]}, ScoreError, "finite"),
        ({"q": []}, ScoreError, "at least one"),
    ],
)
def test_refusals(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        exponential_mechanism(**{"q": [1.0, 2.0], "eps": 1.0, "sensitivity": 1.0, **given})


def test_mst_of_dpmm_runs_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six columns, of which two pairs are copies: the copies are joined."""
    mst: Any = pytest.importorskip("dpmm.models.mst", reason="dpmm is not installed")
    import pandas as pd

    calls: list[tuple[int, float]] = []

    def chosen(q: Any, eps: float, **more: Any) -> int:
        calls.append((len(q), eps))
        place: int = exponential_mechanism(q, eps, **more)
        return place

    monkeypatch.setattr(mst.MST, "exponential_mechanism", staticmethod(chosen))
    rng = np.random.default_rng(3)
    a, b, c, d = (rng.integers(0, 3, 4000) for _ in range(4))
    table = pd.DataFrame({"a": a, "a2": a, "b": b, "b2": b, "c": c, "d": d})
    model = mst.MST(
        epsilon=5.0, delta=1e-6, n_iters=50, compress=False, domain=dict.fromkeys(table, 3)
    )
    model.fit(table)
    made = model.generate(4000)
    assert len(calls) == 5
    # Three equal parts of rho are one for the edges; eps**2 / 8 of each is a fifth of it.
    assert sum(eps**2 / 8 for _, eps in calls) <= model.rho / 3 * (1 + 1e-9)
    assert (made["a"] == made["a2"]).mean() > 0.8
    assert (made["b"] == made["b2"]).mean() > 0.8

"""diffprivlib's mechanisms of selection with our laws: arguments, law, refusals, its own forest."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
import pytest
from chances import fits

import safeselect.adapters.diffprivlib as ours
from safeselect import ParameterError, ScoreError

BOTH = pytest.mark.parametrize("name", ours.__all__)


def flip(weights: list[float]) -> list[float]:
    """Permute-and-flip of three candidates, by its integral: sum over subsets of 1 / (size + 1)."""
    found = []
    for r, weight in enumerate(weights):
        a, b = (each for place, each in enumerate(weights) if place != r)
        found.append(weight * (1 - (a + b) / 2 + a * b / 3))
    return found


LAWS: dict[str, Callable[[list[float]], list[float]]] = {
    "Exponential": lambda weights: [each / sum(weights) for each in weights],
    "PermuteAndFlip": flip,
}


@BOTH
@pytest.mark.parametrize("monotonic", [False, True])
def test_the_law(name: str, monotonic: bool) -> None:
    """Reading widens the noise by 2 thousandths at most.  False alarm: 1e-9; power: `fits`."""
    utility = [1.5, 0.25, 2.75]
    mechanism = getattr(ours, name)(
        epsilon=1.5, sensitivity=1, utility=utility, monotonic=monotonic, candidates=list("abc")
    )
    rate = 1.5 * (1.0 if monotonic else 0.5) / (1.002 if monotonic else 1.001)
    law = LAWS[name]([exp(rate * (each - max(utility))) for each in utility])
    assert sum(law) == pytest.approx(1)
    found = [mechanism.randomise() for _ in range(1500)]
    assert fits(Counter(found), dict(zip("abc", law, strict=True)))


@BOTH
def test_what_is_shown_and_returned(name: str) -> None:
    mechanism = getattr(ours, name)(
        epsilon=1.0, sensitivity=1.0, utility=[777123.5, 1.0], random_state=5
    )
    assert "777" not in repr(mechanism)
    assert mechanism.randomise() == 0


@BOTH
@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"epsilon": float("inf")}, ParameterError, "epsilon must be a finite number"),
        ({"epsilon": np.float64(0)}, ParameterError, "epsilon must be greater than zero"),
        ({"epsilon": 1e12}, ParameterError, "epsilon must be between 1e-8 and 1e8"),
        ({"sensitivity": 0}, ParameterError, "sensitivity must be greater than zero"),
        ({"utility": [1.0, float("inf")]}, ScoreError, "finite"),
        ({"monotonic": "yes"}, ParameterError, "monotonic must be True or False"),
        ({"candidates": ["a"]}, ParameterError, "as many as the scores"),
        ({"candidates": ["a", "b", "c"]}, ParameterError, "as many as the scores"),
        ({"utility": []}, ScoreError, "at least one"),
        ({"utility": [900.5, None]}, ScoreError, "nulls"),
        ({"utility": (each for each in [900.5])}, ScoreError, "must be a list"),
        ({"utility": {"a": 900.5, "b": 1}, "candidates": [1, 2]}, ParameterError, "labels="),
    ],
)
def test_refusals(name: str, given: dict[str, Any], error: type[Exception], says: str) -> None:
    usual = {"epsilon": 1.0, "sensitivity": 1.0, "utility": [1.0, 2.0]}
    with pytest.raises(error, match=says) as raised:
        getattr(ours, name)(**{**usual, **given}).randomise()
    assert "900" not in str(raised.value)


@BOTH
def test_a_value_is_refused_and_not_quoted(name: str) -> None:
    mechanism = getattr(ours, name)(epsilon=1, sensitivity=1, utility=[1, 2])
    with pytest.raises(ParameterError, match="value must be None, got float"):
        mechanism.randomise(777123.5)


@BOTH
@pytest.mark.parametrize(
    ("candidates", "wanted"),
    [
        (["a", "a", "b"], "a"),
        ([[1], [2], [3]], [2]),
        ([None, None, None], None),
        (np.array([0.5, 0.25, 0.5]), 0.25),
    ],
)
def test_candidates_may_be_equal_and_of_any_type(name: str, candidates: Any, wanted: Any) -> None:
    usual = {"epsilon": 1.0, "sensitivity": 1.0, "candidates": candidates}
    for utility in ([1, 900.5, 2], np.array([1, 900.5, 2]), [np.float32(1), 2**70, np.int8(2)]):
        assert getattr(ours, name)(utility=utility, **usual).randomise() == wanted


@BOTH
def test_copies_and_pickles_draw_anew(name: str) -> None:
    first = getattr(ours, name)(epsilon=1.0, sensitivity=1, utility=[0] * 2**16, random_state=1)
    again = getattr(ours, name)(epsilon=1.0, sensitivity=1, utility=[0] * 2**16, random_state=1)
    found = [
        tuple(each.randomise() for _ in range(4))
        for each in (
            first,
            again,
            first.copy(),
            copy.deepcopy(first),
            pickle.loads(pickle.dumps(first)),  # noqa: S301 - our own
        )
    ]
    assert len(set(found)) == 5  # 2**-60 for a right one


def test_weights_are_refused() -> None:
    with pytest.raises(ParameterError, match="measure must be None"):
        ours.Exponential(epsilon=1, sensitivity=1, utility=[1, 2], measure=[1, 2])


def test_its_forest_runs_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two well separated clouds: the forest tells them apart."""
    forest: Any = pytest.importorskip(
        "diffprivlib.models.forest", reason="diffprivlib is not installed", exc_type=ImportError
    )
    monkeypatch.setattr(forest, "PermuteAndFlip", ours.PermuteAndFlip)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    x = rng.normal(size=(600, 2)) * 0.1 + y[:, None]
    model = forest.RandomForestClassifier(
        n_estimators=5, epsilon=5.0, bounds=(-1, 2), classes=[0, 1], random_state=1
    )
    assert model.fit(x, y).score(x, y) > 0.9

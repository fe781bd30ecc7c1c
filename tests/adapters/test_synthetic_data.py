"""The exponential mechanism as programs for synthetic data call it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from ledgers import new, scope

from safeselect import BoundedRange, ParameterError, ScoreError
from safeselect.adapters import synthetic_data
from safeselect.adapters.synthetic_data import exponential_mechanism


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_noise_is_that_of_the_original(
    monotonic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P(r) is proportional to exp(coef eps q_r / sensitivity), coef as in the original.

    Reading widens the noise by 2 thousandths at most.
    """
    found: list[Any] = []
    real = synthetic_data.select

    def kept(*given: Any, **more: Any) -> Any:
        found.append(real(*given, **more))
        return found[-1]

    monkeypatch.setattr(synthetic_data, "select", kept)
    exponential_mechanism(np.array([0.25, 3.5, 2.0, -1.75]), 1.5, 2.0, np.random, monotonic)
    rate = Fraction(1 if monotonic else "1/2") * Fraction(3, 2) / 2
    assert rate / Fraction("1.002") <= found[0].noise_rate <= rate


def test_a_dict_gives_a_key_and_an_array_a_position() -> None:
    assert exponential_mechanism({(0, 1): 0.5, (1, 2): 1e6}, 1.0, 1.0) == (1, 2)
    assert exponential_mechanism(np.array([0.5, 1e6]), np.float64(1.0), np.float64(1.0)) == 1
    assert type(exponential_mechanism(np.array([0.5, 1e6]), 1.0)) is int


class Scalar:
    """A number as JAX and PyTorch return it: an array without dimensions, and not of NumPy."""

    ndim = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype or np.float32)


@pytest.mark.parametrize(
    "q",
    [
        np.array([0.5, 1e6], dtype=np.float32),
        [np.float32(0.5), np.float64(1e6)],
        [np.int64(3), 2**70],
        np.array([3, 2**63], dtype=np.uint64),
        np.array([1, 2**70], dtype=object),
        [Scalar(0.5), Scalar(1e6)],
        [-1.7e308, 1.7e308],
    ],
)
@pytest.mark.parametrize("one", [1.0, np.float32(1), np.int64(1), np.array(1.0), Scalar(1)])
def test_numbers_of_any_library_are_numbers(q: Any, one: Any) -> None:
    assert exponential_mechanism(q, one, one, monotonic=np.bool_(True)) == 1
    assert exponential_mechanism(dict(zip("ab", q, strict=True)), one, one) == "b"


def test_of_a_labelled_column_the_position_counts() -> None:
    """As in the originals, whose choice is used as a position."""
    pandas = pytest.importorskip("pandas")
    assert exponential_mechanism(pandas.Series([0.5, 1e6], index=["x", "y"]), 1.0) == 1


@pytest.mark.parametrize(
    "prng", [None, np.random, np.random.default_rng(1), np.random.RandomState(1)]
)
def test_a_generator_of_the_caller_is_neither_used_nor_moved(prng: Any) -> None:
    first = [exponential_mechanism([0.0] * 2**16, 1.0, 1.0, prng) for _ in range(4)]
    assert len(set(first)) > 1  # 2**-48 for a right one
    if isinstance(prng, np.random.RandomState):
        assert prng.randint(2**31) == np.random.RandomState(1).randint(2**31)


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
        ({"eps": float("inf")}, ParameterError, "epsilon must be a finite number"),
        ({"eps": 1e-12}, ParameterError, "epsilon must be between 1e-8 and 1e8"),
        ({"sensitivity": np.float64(0)}, ParameterError, "sensitivity must be greater than zero"),
        ({"monotonic": 1}, ParameterError, "monotonic must be True or False"),
        ({"prng": np.array([900.5])}, ParameterError, "prng must be a random number .* ndarray"),
        ({"q": [1.0, float("nan")]}, ScoreError, "finite"),
        ({"q": []}, ScoreError, "at least one"),
        ({"q": np.array([[900.5, 1.0]])}, ScoreError, "must have one dimension"),
        ({"q": [900.5, None]}, ScoreError, "nulls"),
        ({"q": [900.5, 1j]}, ScoreError, "must be numbers, got complex"),
        ({"q": (each for each in [900.5])}, ScoreError, "must be a list"),
    ],
)
def test_refusals(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        exponential_mechanism(**{"q": [1.0, 2.0], "eps": 1.0, "sensitivity": 1.0, **given})
    assert "900" not in str(raised.value)


def test_a_loop_over_models_of_mbi_runs_with_it() -> None:
    """The step of AIM: the worst approximated pair is measured; two columns are copies."""
    mbi: Any = pytest.importorskip("mbi", reason="mbi is not installed")
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 3000), rng.integers(0, 3, 3000)
    domain = mbi.Domain(["a", "copy", "b"], [3, 3, 3])
    data = mbi.Dataset({"a": a, "copy": a, "b": b}, domain)

    def measured(clique: tuple[str, ...]) -> Any:
        counts = data.project(clique).datavector()
        return mbi.LinearMeasurement(counts + rng.normal(0, 2, counts.size), clique, stddev=2.0)

    seen = [measured((each,)) for each in domain]
    model = mbi.estimation.MirrorDescent().estimate(domain, seen, iters=100)
    pairs = [("a", "copy"), ("a", "b"), ("copy", "b")]
    errors = {
        pair: np.linalg.norm(data.project(pair).datavector() - model.project(pair).datavector(), 1)
        for pair in pairs
    }
    assert exponential_mechanism(errors, np.sqrt(0.5), max([1.0, 2.0])) == ("a", "copy")
    import jax.numpy as jnp

    theirs = {pair: jnp.asarray(each) for pair, each in errors.items()}
    assert exponential_mechanism(theirs, jnp.sqrt(0.5), jnp.asarray(1.0)) == ("a", "copy")
    assert exponential_mechanism(jnp.asarray(list(errors.values())), 1.0) == 0


@pytest.mark.filterwarnings("default::DeprecationWarning:scipy")
def test_aim_of_dpmm_costs_what_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its noise and, on a ledger, its choices; two columns that are copies are measured."""
    aim: Any = pytest.importorskip("dpmm.models.aim", reason="dpmm is not installed")
    import pandas as pd

    ledger, noise = new(":memory:", rho=1), [0.0]
    gaussian = aim.gaussian_noise

    def counted(sigma: float, size: Any) -> Any:
        noise[0] += 0.5 / sigma**2
        return gaussian(sigma=sigma, size=size)

    charged = partial(exponential_mechanism, ledger=scope(ledger))
    monkeypatch.setattr(aim.AIM, "exponential_mechanism", staticmethod(charged))
    monkeypatch.setattr(aim, "gaussian_noise", counted)
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(0, 3, 4000) for _ in range(3))
    table = pd.DataFrame({"a": a, "copy": a, "b": b, "c": c})
    model = aim.AIM(
        epsilon=2.0,
        delta=1e-6,
        prng=np.random.RandomState(1),
        rounds=8,
        n_iters=30,
        domain=dict.fromkeys(table, 3),
        n_jobs=1,
    )
    model.fit(table)
    spent = 1 - float(ledger.balance("a").left["rho"])
    assert 0 < spent <= 0.1 * model.rho * (1 + 1e-9)  # a tenth is for the choices
    assert 0.9 * model.rho < spent + noise[0] <= model.rho * (1 + 1e-9)
    made = model.generate(4000)
    assert (made["a"] == made["copy"]).mean() > 0.8

"""Prepared mechanisms: one reading of the parameters, and each call is a release like any other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ledgers import new, scope

import safeselect
from safeselect import Budget, Ledger, ParameterError, ScoreError
from safeselect.mechanisms.select import Asked
from safeselect.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    ReportNoisyMax,
    TopKMechanism,
)
from safeselect.testing import DeterministicSource, RecordingSource

COUNTS: dict[str, Any] = {"sensitivity": 1, "monotonic": True}
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "permute_and_flip": (PermuteAndFlip, safeselect.permute_and_flip, {"epsilon": "1/10"}),
    "exponential": (ExponentialMechanism, safeselect.exponential_mechanism, {"rho": "1/100"}),
    "base2": (ExponentialMechanismBase2, safeselect.exponential_mechanism_base2, {"base": "9/10"}),
    "laplace": (ReportNoisyMax, safeselect.report_noisy_max, {"noise": "laplace", "epsilon": 1}),
    "top_k": (TopKMechanism, safeselect.top_k, {"k": 3, "epsilon": "1/10"}),
    "top_k_peeled": (
        TopKMechanism,
        safeselect.top_k,
        {"k": 2, "epsilon": 1, "delta": "1e-6", "mechanism": "permute_and_flip"},
    ),
}
each_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def tape(seed: int = 1) -> DeterministicSource:
    return DeterministicSource(seed, i_understand_this_is_not_private=True)


@each_pair
def test_it_releases_what_the_function_releases(pair: Any) -> None:
    """The same bytes, call after call, give the same results with all their fields."""
    prepare, function, given = pair
    one, other = tape(), tape()
    options = {**COUNTS, **given}
    mechanism = prepare(**options, source=one)
    for scores, more in (
        ([3, 1, 2, 9], {}),
        ({"a": 5, "b": 5, "c": 4}, {}),
        (np.arange(60.0), {"labels": [f"n{i}" for i in range(60)]}),
        (np.zeros(5000, dtype=np.int64), {}),
    ):
        found = mechanism(scores, **more)
        assert found == function(scores, **options, source=other, **more)
        assert (found.guarantee, found.mechanism) == (mechanism.guarantee, mechanism.mechanism)


@each_pair
def test_parameters_are_read_and_noise_is_calibrated_once(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, function, given = pair
    mechanism = prepare(**COUNTS, **given)

    def again(*_: object, **__: object) -> None:
        raise AssertionError("a parameter was read again")

    for name in ("read", "calibrate"):
        monkeypatch.setattr(Asked, name, again)
    mechanism([3, 1, 2, 9])
    with pytest.raises(AssertionError, match="read again"):
        function([3, 1, 2, 9], **COUNTS, **given)


def test_nothing_is_charged_for_a_call_that_cannot_be() -> None:
    ledger, source = new(":memory:", epsilon=1), RecordingSource(tape())
    choose = TopKMechanism(k=3, epsilon=1, **COUNTS, ledger=scope(ledger), source=source)
    with pytest.raises(ParameterError, match="k must be between 1 and 2, got 3"):
        choose([3, 1])
    with pytest.raises(ScoreError, match="at least one candidate"):
        choose([])
    with pytest.raises(ParameterError, match="labels must contain one label for each score"):
        choose([3, 1, 2, 4], labels=["a"])
    assert not source.requests
    assert ledger.balance("a").left == {"epsilon": Fraction(1)}
    assert len(choose([3, 1, 2, 4], labels=["a", "cd", "x", "y"]).labels) == 3


def test_what_is_forbidden_later_is_refused_later(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = PermuteAndFlip(epsilon=1, **COUNTS, source=tape())
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    with pytest.raises(ParameterError, match="SAFESELECT_REQUIRE_PRODUCTION"):
        choose([3, 1, 2])


@pytest.mark.parametrize(
    ("prepare", "given", "error", "says"),
    [
        (PermuteAndFlip, {"epsilom": 1}, TypeError, "Prepared.__init__.* 'epsilom'"),
        (PermuteAndFlip, {"sensitivity": 1}, ParameterError, "exactly one of epsilon and rho"),
        (TopKMechanism, {"k": 0, "epsilon": 1, **COUNTS}, ParameterError, "k must be between 1"),
        (
            TopKMechanism,
            {"k": 1, "epsilon": 1, **COUNTS, "mechanism": "laplace"},
            ParameterError,
            "depends on how many candidates",
        ),
        (ReportNoisyMax, {"noise": "cauchy", "epsilon": 1}, ParameterError, "noise must be"),
    ],
)
def test_a_wrong_parameter_is_refused_at_once(
    prepare: Any, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        prepare(**given)


# ------------------------------------------------------------------------------- on a ledger


def two_scopes() -> tuple[Ledger, Any, Any]:
    kinds = {"unit": "person", "neighbours": "add_remove"}
    budgets = {
        name: Budget(**kinds, epsilon=5, delta="1/100", own_delta="1/100") for name in ("a", "b")
    }
    ledger = Ledger.create(":memory:", budgets)
    one, other = (ledger.scope(name, **kinds, purpose="a test") for name in budgets)
    return ledger, one, other


PAID = {name: pair for name, pair in PAIRS.items() if {"epsilon", "base"} & pair[2].keys()}


@pytest.mark.parametrize("name", PAID)
def test_on_two_scopes_every_call_charges_both(name: str) -> None:
    prepare, _, given = PAID[name]
    ledger, one, other = two_scopes()
    choose = prepare(**COUNTS, **given, ledger=one & other)
    assert not any(ledger.balance(each).spent["epsilon"] for each in "ab")
    receipts = set()
    for calls in (1, 2, 3):
        found = choose([3, 900, 5, 7])
        receipts.add(found.receipt.record)
        sums = Budget("person", "add_remove", epsilon=1, delta="1/2", own_delta="1/2")
        price = sums.price(found.guarantee)
        for name_of_scope in "ab":
            spent = ledger.balance(name_of_scope).spent
            assert spent == {name: calls * amount for name, amount in price.items()}
    assert len(receipts) == 3
    ledger.check()

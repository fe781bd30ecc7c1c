"""Budgets, what a release costs in them, and where a scope stands."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from ledgers import TERMS, new, pure, scope

from safeselect import Budget, PureDP, ZeroConcentratedDP

pytestmark = pytest.mark.claim("C8")

LEAST = Fraction(1, 2**1024)


@pytest.mark.parametrize(
    ("budget", "guarantee", "name"),
    [
        ({"epsilon": 1}, PureDP(0), "epsilon"),
        ({"epsilon": 1, "delta": "1e-6"}, PureDP(0), "epsilon"),
        ({"epsilon": 1, "delta": "1e-6"}, PureDP(0), "moment_3"),
        ({"epsilon": 1, "delta": "1e-6"}, ZeroConcentratedDP(0), "moment_1"),
        ({"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"}, PureDP(0), "epsilon"),
        ({"rho": 1}, ZeroConcentratedDP(0), "rho"),
        ({"rho": 1, "delta": "1e-6"}, PureDP(0), "rho"),
    ],
)
def test_nothing_is_free(budget: dict[str, Any], guarantee: Any, name: str) -> None:
    """A free release could be repeated without end: the least price is the least that adds up."""
    assert Budget(**TERMS, **budget).price(guarantee)[name] == LEAST
    ledger = new(":memory:", **budget)
    for _ in range(2):
        scope(ledger).pay(pure(guarantee=guarantee))
    assert ledger.balance("a").spent[name] == 2 * LEAST

"""A6: budgets that drift, and budgets that grow."""

from __future__ import annotations

import math

import pytest
from ledgers import new, scope

from safeselect import ParameterError, permute_and_flip


class FloatBudget:
    """The obvious way: a number that gets smaller."""

    def __init__(self, cap: float) -> None:
        self.cap, self.spent = cap, 0.0

    def charge(self, price: float) -> bool:
        if self.spent + price > self.cap:
            return False
        self.spent += price
        return True


def test_a6_naive_budgets_refuse_what_fits_and_allow_what_does_not():
    tight = FloatBudget(0.3)
    assert tight.charge(0.1)
    assert not tight.charge(0.2)
    used_up = FloatBudget(1.0)
    assert all(used_up.charge(0.1) for _ in range(10))
    assert used_up.charge(1e-16)  # ten tenths were a little less than one
    full = FloatBudget(1.0)
    assert full.charge(1.0)
    # What is too small to be added costs nothing, however often it is charged.
    assert all(full.charge(2.0**-54) for _ in range(10**4))


def test_a6_naive_budgets_take_refunds_and_nonsense():
    budget = FloatBudget(1.0)
    assert budget.charge(1.0)
    assert budget.charge(-5.0)
    assert budget.charge(5.0)  # bought with the refund
    assert budget.charge(math.nan)
    assert budget.charge(100.0)  # a total of NaN exceeds no cap


@pytest.mark.parametrize("price", [-5, -0.0, 0, math.nan, math.inf, -math.inf, True, "-1/10"])
def test_a6_ours_takes_no_refund_and_no_nonsense(price):
    ledger = new(":memory:", epsilon=1)
    with pytest.raises(ParameterError, match="epsilon must be"):
        permute_and_flip([3, 1], epsilon=price, sensitivity=1, ledger=scope(ledger))
    with pytest.raises(ParameterError, match="epsilon must be"):
        new(":memory:", epsilon=price)
    assert ledger.balance("a").spent == {"epsilon": 0}

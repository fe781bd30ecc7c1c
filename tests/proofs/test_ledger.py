"""A ledger grants and refuses as the proved program does (proofs/Ledger.v)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from ledgers import new, pure, scope
from proved_tables import CAPS, read

from safeselect import BudgetError, PureDP, ZeroConcentratedDP

pytestmark = pytest.mark.claim("C8")

UNIT = Fraction(1, 7)
PRICES = list(product(range(1, 6), repeat=4))
KINDS: dict[str, Any] = {"epsilon": PureDP, "rho": ZeroConcentratedDP}


def spent(cap: int, prices: Sequence[int], kind: str) -> str:
    """What a ledger has spent after each request, in units; `-` where it was refused."""
    ledger, told = new(":memory:", **{kind: cap * UNIT}), []
    for price in prices:
        refused = ""
        try:
            scope(ledger).pay(pure(guarantee=KINDS[kind](price * UNIT)))
        except BudgetError:
            refused = "-"
        told.append(f"{ledger.balance('a').spent[kind] / UNIT}{refused}")
    return ",".join(told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cap", CAPS)
def test_a_ledger_spends_as_proved(cap: int, kind: str) -> None:
    """Every fifth of the 5625 lists of four charges; each cap and kind begins elsewhere."""
    (answers,) = (row[1:] for row in read("spend")[1] if row[0] == str(cap))
    first = (cap + (kind == "rho") * 2) % 5
    for prices, answer in list(zip(PRICES, answers, strict=True))[first::5]:
        assert spent(cap, prices, kind) == answer, prices

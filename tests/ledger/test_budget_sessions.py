"""Sessions that are open at the same time, beside releases in one scope: what is charged."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, pure, scope

import safeselect
from safeselect import AdaptiveSparseVector, BudgetError, PureDP, SparseVector
from safeselect.ledger.budget import add, caps, price, ways

pytestmark = pytest.mark.claim("C8")


@pytest.mark.parametrize("seed", range(6))
def test_sessions_and_releases_in_any_order_never_exceed_a_scope(seed: int) -> None:
    """On a ledger: a session is charged once, when it opens, and answers whatever happens."""
    rng, ledger = random.Random(seed), new(":memory:", epsilon=1, delta="1e-6")
    there, opened = scope(ledger), list[Any]()
    terms = ledger.balance("a").budget.terms
    total, refused = dict.fromkeys(terms.names, Fraction(0)), 0
    for _ in range(2000):
        if refused == 12:
            break
        action, size = rng.choice("sapqr"), Fraction(1, rng.choice([12, 30, 70]))
        before = ledger.balance("a").spent
        assert before == total
        asked: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": size, "sensitivity": 1}
        if action == "q":
            for each in rng.sample(opened, min(2, len(opened))):
                if isinstance(each, safeselect.PayWhatYouGet):
                    with suppress(BudgetError):
                        each.query({"a": 9, "b": 4}, k=1, k_bar=1, places="all")
                elif each.remaining:
                    each.query(rng.randint(0, 9))
            assert ledger.balance("a").spent == before
            continue
        try:
            if action == "r":
                there.pay(pure(size)).released("x", b"s" * 32)
                guarantee, parts = PureDP(size), ()
            else:
                if action == "p":
                    each = safeselect.PayWhatYouGet(
                        outcomes=4, queries=2, epsilon=size, delta="1e-9", ledger=there
                    )
                    parts = each._charge.parts
                else:
                    kind = SparseVector if action == "s" else AdaptiveSparseVector
                    each, parts = kind(**asked, ledger=there), ()
                opened.append(each)
                guarantee = each.guarantee
        except BudgetError:
            refused += 1
            assert ledger.balance("a").spent == before
            continue
        total = add(total, price(terms, guarantee, parts) or {})
        assert ways(caps(terms), total)
    assert refused == 12
    assert total["epsilon"] > 1
    assert len(opened) > 5
    for each in opened:
        each.close()
    assert ledger.check().scopes["a"].spent == total

"""Sessions that ship, open at the same time, beside releases in one scope (Theorem 20.5).

Their exact laws by quadrature over the threshold's noise; the best way to interleave questions and
to stop, by enumeration.  The charge of the scope is what the shipped session states.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import exp, prod
from typing import Any

import pytest
from ledgers import new, pure, scope
from sparse_vector_laws import Rules, nodes, outcomes

import safeselect
from safeselect import AdaptiveSparseVector, BudgetError, PureDP, SparseVector
from safeselect.ledger.budget import Terms, add, caps, price, ways
from safeselect.promises.guarantees import Guarantee

pytestmark = pytest.mark.claim("C8")

Told = tuple[tuple[int, Any], ...]
"""The number of each question, and its answer."""


@dataclass(frozen=True, eq=False)
class Open:
    """Something that answers questions: under both data sets, the chance of what was told.

    Args:
        guarantee: what it is charged.
        chances: of P and of Q.
        answers: to one more question; none once it has ended.
    """

    guarantee: Guarantee
    chances: Callable[[Told], tuple[float, float]]
    answers: Callable[[Told], Sequence[tuple[int, Any]]]


ROUNDS = 2


def session(kind: Any, rng: random.Random) -> Open:
    """A session with small epsilon; two questions whose values move by up to 1, up or down."""
    made = kind(
        threshold=2,
        k=1,
        epsilon=Fraction(rng.randint(5, 20), 10),
        sensitivity=1,
        noise=rng.choice(["geometric", "exponential"]),
        gap_grid=1,
    )
    rules = replace(Rules.of(made._terms), released="answer")
    eta, weight = nodes(rules)
    laws = [outcomes(rules, value, eta) for value in range(4)]
    pairs = rng.sample([(0, 1), (1, 2), (2, 3), (1, 0), (2, 1), (3, 2)], 2)
    names = list(laws[0])

    @lru_cache(None)
    def chances(told: Told) -> tuple[float, float]:
        found = []
        for side in (0, 1):
            each = [laws[pairs[question][side]][answer][0] for question, answer in told]
            found.append(float(sum(prod(each, start=weight))))
        return found[0], found[1]

    def answers(told: Told) -> list[tuple[int, Any]]:
        spent = sum(laws[0][answer][1] for _, answer in told)
        if len(told) == ROUNDS or rules.budget - spent < rules.stop - 1e-9:
            return []
        return [(question, name) for question in (0, 1) for name in names]

    return Open(made.guarantee, chances, answers)


def response(epsilon: Fraction) -> Open:
    """A release: randomized response, whose moments are those that are charged."""
    yes = 1 / (1 + exp(-epsilon))

    def chances(told: Told) -> tuple[float, float]:
        return (1.0, 1.0) if not told else (yes, 1 - yes) if told[0][1] else (1 - yes, yes)

    return Open(PureDP(epsilon), chances, lambda told: [] if told else [(0, True), (0, False)])


def best(listed: Sequence[Open], gain: Callable[[float, float], float]) -> float:
    """The largest mean gain over all interleavings of all questions, and all ways to stop."""

    @lru_cache(None)
    def value(told: tuple[Told, ...]) -> float:
        both = [each.chances(history) for each, history in zip(listed, told, strict=True)]
        found = gain(prod(p for p, _ in both), prod(q for _, q in both))
        for place, (each, history) in enumerate(zip(listed, told, strict=True)):
            after: dict[int, float] = {}
            for question, answer in each.answers(history):
                more = (*told[:place], (*history, (question, answer)), *told[place + 1 :])
                after[question] = after.get(question, 0.0) + value(more)
            found = max(found, *after.values()) if after else found
        return found

    return value(tuple(() for _ in listed))


def charged(terms: Terms, listed: Sequence[Open]) -> float:
    """The sum of the moments that a scope is charged."""
    return float(sum((price(terms, each.guarantee) or {})["moment_1"] for each in listed))


CLOSE = 1 + 1e-9
PLANS = [
    (SparseVector, SparseVector),
    (SparseVector, AdaptiveSparseVector),
    (AdaptiveSparseVector, AdaptiveSparseVector),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", PLANS)
def test_interleaved_sessions_and_releases_stay_within_their_charges(
    kinds: tuple[Any, Any], seed: int
) -> None:
    rng = random.Random(f"{kinds} {seed}")
    listed = [session(kind, rng) for kind in kinds]
    listed.append(response(Fraction(rng.randint(2, 8), 10)))
    excess = rng.choice([1, 2, 4])
    terms = Terms(
        Fraction(1), None, Fraction(1, 10), Fraction(0), (Fraction(excess),), (Fraction(1),)
    )

    def moment(p: float, q: float) -> float:
        return p * (p / q) ** excess if p else 0.0

    whole, found = charged(terms, listed), best(listed, moment)
    # No interleaving gains more than one after the other, and that no more than was charged.
    assert found <= prod(best([each], moment) for each in listed) * CLOSE
    assert found <= exp(whole) * CLOSE
    for left_out in range(3):  # all of them count
        rest = [each for place, each in enumerate(listed) if place != left_out]
        assert best(rest, moment) * (1 + 1e-6) < found
    # The release is charged what it costs: without its charge the sum would be too small.
    alone = [listed[2]]
    assert best(alone, moment) * CLOSE > exp(charged(terms, alone))
    assert best(listed, lambda p, q: max(0.0, p - exp(0.1) * q)) > 0
    for epsilon in (0.1, 0.4, 0.8):
        # The delta of a budget whose cap this sum just fills.
        a = 1 + excess
        delta = exp(whole - excess * epsilon) * excess**excess / a**a

        def stick(p: float, q: float, epsilon: float = epsilon) -> float:
            return max(0.0, p - exp(epsilon) * q)

        assert best(listed, stick) <= delta * CLOSE
    # Way (i): no transcript has a loss above the sum of epsilons.
    total = float(sum(each.guarantee.pure.epsilon for each in listed))
    assert best(listed, lambda p, q: max(0.0, p - exp(total) * q)) <= 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_sessions_and_releases_in_any_order_never_exceed_a_scope(seed: int) -> None:
    """On a ledger: a session is charged once, when it opens, and answers whatever happens."""
    rng = random.Random(seed)
    ledger = new(":memory:", epsilon=1, delta="1e-6")
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
                    parts = each._parts
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

"""The ledger is charged once, before the first bit, what the result states."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from safeselect.audit.finding import Refuted
from safeselect.audit.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS
from safeselect.audit.tables import KEYS, MEASURES
from safeselect.audit.trials import OpenSSLSource, refused, release
from safeselect.errors import BudgetError, ParameterError, SafeSelectError
from safeselect.ledger import Budget, Ledger
from safeselect.promises.records import guarantee_record

_UNIT = "person"


def check_charge(name: str, every: int) -> str:
    """A ledger is charged once, before the first bit, what the result states; failures keep it.

    Raises:
        Refuted: a bit was drawn before, or another amount, or another number of charges.
    """
    _charged_first(name)
    _refused_draws_nothing(name)
    _a_failure_keeps_the_charge(name)
    _replaced_neighbours(name)
    return "one charge, before the first bit, of what the result states; kept when the source fails"


class _Witness(OpenSSLSource):
    """Notes what was charged at each request; fails from a request on, if it is told to."""

    name = "witness"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(os.urandom(16))
        self._ledger = ledger
        self.seen: list[Fraction] = []
        self.failing = False

    def fill(self, buffer: Any, /) -> None:
        self.seen.append(next(iter(self._ledger.balance("a").spent.values())))
        if self.failing:
            raise OSError
        super().fill(buffer)


def _ledger(name: str, most: object = 10, neighbours: str = "add_remove") -> tuple[Ledger, Any]:
    paid, _ = _whole_cost(name)
    caps: dict[str, Any] = {paid: most} | ({"delta": "1/5"} if paid == "epsilon" else {})
    budget = Budget(_UNIT, neighbours, **caps)
    ledger = Ledger.create(":memory:", {"a": budget})
    return ledger, ledger.scope("a", unit=_UNIT, neighbours=neighbours, purpose="verification")


def _outcomes(ledger: Ledger) -> list[str]:
    kinds = [str(record.content["kind"]) for record in ledger.records()]
    return [kind for kind in kinds if kind in ("charged", "released", "settled", "aborted")]


def _charged_first(name: str) -> None:
    ledger, scope = _ledger(name)
    source = _Witness(ledger)
    with _tested(source, name):
        result = release(name, source=source, ledger=scope)
    spent = ledger.balance("a").spent
    guarantee = result.guarantee
    paid, cost = _whole_cost(name)
    if not source.seen or set(source.seen) != {spent[paid]}:
        raise Refuted("bits were drawn before the ledger was charged")
    stated = guarantee.pure.epsilon if name in OTHERS else _stated(guarantee, paid)
    if spent[paid] != cost or cost != stated:
        raise Refuted("what was charged is not what was asked for")
    if name in {**LISTS, **KEYS} and spent["delta"] != guarantee.delta:
        raise Refuted("the delta that was charged is not what was asked for")
    if _outcomes(ledger) not in (["charged", "released"], ["charged", "settled"]):
        raise Refuted("there is not one charge with one outcome")
    record = next(each.content for each in ledger.records() if each.content["kind"] == "charged")
    if record["mechanism"] != name or record["guarantee"] != guarantee_record(guarantee):
        raise Refuted("the record of the charge names another mechanism or guarantee")
    if name not in LISTS and getattr(result, "receipt", None) is None:
        raise Refuted("a release on a ledger has no receipt")
    ledger.check()


def _stated(guarantee: Any, paid: str) -> Fraction:
    found: Fraction = guarantee.epsilon if paid == "epsilon" else guarantee.zcdp.rho
    return found


def _whole_cost(name: str) -> tuple[str, Fraction]:
    """What budgets add up for it, and how much of that a release costs."""
    if name in OTHERS:
        return "epsilon", OTHERS[name].cost
    if name in ONE_SHOT:
        return "epsilon", Fraction(ONE_SHOT[name].cost["epsilon"])
    if name in MEASURES and "Gaussian" in MEASURES[name].noise:
        return "rho", Fraction(1, 8)  # mu = 1/2 has rho = mu**2 / 2
    return "epsilon", Fraction(1)


def _refused_draws_nothing(name: str) -> None:
    ledger, scope = _ledger(name, "1/9")
    source = _Witness(ledger)
    with _tested(source, name):
        refused(BudgetError, name, source=source, ledger=scope)
    if source.seen or _outcomes(ledger):
        raise Refuted("a release that the budget does not allow draws bits")


def _a_failure_keeps_the_charge(name: str) -> None:
    ledger, scope = _ledger(name)
    source = _Witness(ledger)
    with _tested(source, name):
        source.failing = True
        refused(SafeSelectError, name, source=source, ledger=scope)
    paid, cost = _whole_cost(name)
    if ledger.balance("a").spent[paid] != cost:
        raise Refuted("a release that failed gave its charge back")
    if set(_outcomes(ledger)) & {"released"}:
        raise Refuted("a release that failed is recorded as released")


def _replaced_neighbours(name: str) -> None:
    """Where neighbours replace, scores move both ways: `monotonic` must be refused, uncharged."""
    ledger, scope = _ledger(name, neighbours="replace_one")
    if name in MEASURES or (name in OTHERS and OTHERS[name].neighbours_free):
        # Whose sensitivity, or whose cost of one run, is declared for either.
        release(name, ledger=scope)
        return
    more = {"monotonic": True} if name in SESSIONS else {}
    refused(ParameterError, name, ledger=scope, **more)
    if _outcomes(ledger):
        raise Refuted("a release that is refused was charged")


@contextmanager
def _tested(source: _Witness, name: str) -> Iterator[None]:
    """Let the guard test the source first, which draws bytes that go into no release."""
    release(name, source=source)
    source.seen.clear()
    yield

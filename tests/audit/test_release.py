"""`safeselect audit`: each comparison once, in order; releases of every kind hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, UP_TO, Case, Forgery, Json, certificate, record
from written import EVERY, RHO

from safeselect.cli import main
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.record import read_numbers

pytestmark = pytest.mark.claim("C8")

Run = pytest.CaptureFixture[bytes]
COMPARED = [
    *("release", "log", "signatures", "head", "commitment", "record", "law", "draws", "plan"),
    *("output", "price", "source", "certified code", "certificate", "libraries"),
]
SOURCE = {"name": "DeterministicSource", "production": "no", "health": "not tested"}


def cheaper(charged: Json) -> None:
    (amount,) = charged["charges"]
    assert amount["charge"] == {"epsilon": "1"}
    amount["charge"], amount["after"] = {"epsilon": "1/2"}, {"epsilon": "3/2"}


OTHERS = {
    "a charge below the price": ("price", record(CHARGED, cheaper), "scope 'a' less epsilon than"),
    "a source for tests": (
        "source",
        record(CHARGED, lambda each: each.update(source=SOURCE), source="DeterministicSource"),
        "a source for tests: NOT PRIVATE",
    ),
    "a source that failed its tests": (
        "source",
        record(CHARGED, lambda each: each["source"].update(health="failed")),
        "with test results: failed",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_charge_and_a_source_that_will_not_do(refuse: Any, name: str) -> None:
    refuse(*OTHERS[name])


def restated(change: Callable[[dict[str, Fraction]], Fraction], name: str) -> Forgery:
    """A charge of another amount, whose sum is right."""

    def forge(charged: Json) -> None:
        (charge,) = charged["charges"]
        paid, after = (read_numbers(charge[each], "") for each in ("charge", "after"))
        amount = change(paid)
        after[name] += amount - paid[name]
        charge["charge"], charge["after"] = exact_texts({**paid, name: amount}), exact_texts(after)

    return record(CHARGED, forge)


def a_hair_less(name: str) -> Callable[[dict[str, Fraction]], Fraction]:
    return lambda paid: paid[name] * (1 - Fraction(1, 2**50))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("a selection", f"moment_{number}") for number in (1, 2, 3)),
        ("a selection", "epsilon"),
        *(("discovered", name) for name in ("moment_1", "own_delta", "epsilon")),
    ],
)
def test_a_charge_a_hair_below_the_price_will_not_do(
    refuse: Any, tmp_path: Path, capfdbinary: Run, kind: str, name: str
) -> None:
    """In a budget of epsilon and delta, of each amount by itself; the whole ledger, too."""
    said = f"charges scope 'a' less {name} than the guarantee costs"
    refuse("price", restated(a_hair_less(name), name), said, kind=kind)
    assert main(["ledger", "verify", str(tmp_path / "log")]) == 3
    assert said in capfdbinary.readouterr().err.decode()
    assert main(["ledger", "show", str(tmp_path / "log")]) == 0


@pytest.mark.parametrize("name", ["epsilon", "moment_1", "moment_3", "own_delta"])
def test_a_charge_above_the_price_will_do(tmp_path: Path, capfdbinary: Run, name: str) -> None:
    """Another version's logarithm, or one before a sharper theorem."""
    case = Case(tmp_path, certificate(), call=EVERY["discovered"])
    restated(lambda paid: paid[name] + Fraction(1, 2**60), name)(case)
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (0, UP_TO), lines
    assert lines["price"].startswith("holds: The charge equals its price. Scope a: For each")


@pytest.mark.parametrize("name", EVERY)
def test_a_release_of_every_kind_holds(tmp_path: Path, capfdbinary: Run, name: str) -> None:
    case = Case(tmp_path, certificate(), call=EVERY[name], of_rho=name in RHO)
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (0, UP_TO), lines
    assert list(lines) == COMPARED

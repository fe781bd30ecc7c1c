"""`safeselect audit`: each comparison once, in order; releases of every kind hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, UP_TO, Case, Json, certificate, record
from written import EVERY, RHO

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
    "a charge below the price": (
        "price",
        record(CHARGED, cheaper),
        "was charged less epsilon than its guarantee costs",
    ),
    "a source for tests": (
        "source",
        record(CHARGED, lambda each: each.update(source=SOURCE), source="DeterministicSource"),
        "a source for tests: NOT PRIVATE",
    ),
    "a source that failed its tests": (
        "source",
        record(CHARGED, lambda each: each["source"].update(health="failed")),
        "and its tests were: failed",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_charge_and_a_source_that_will_not_do(refuse: Any, name: str) -> None:
    refuse(*OTHERS[name])


@pytest.mark.parametrize("name", EVERY)
def test_a_release_of_every_kind_holds(tmp_path: Path, capfdbinary: Run, name: str) -> None:
    case = Case(tmp_path, certificate(), call=EVERY[name], of_rho=name in RHO)
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (0, UP_TO), lines
    assert list(lines) == COMPARED

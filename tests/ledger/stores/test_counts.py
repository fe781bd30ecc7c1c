"""What ledgers grant: as many releases as a second implementation, by mpmath alone, grants.

On a file and on a PostgreSQL server, each release charged as mechanisms and other libraries charge
it.  The rows are those of `tests/vectors/budget.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, pure, scope
from postgres import Server, needs_postgres

import safeselect
from safeselect import ApproximateDP, BoundedRange, Budget, BudgetError, Ledger, ZeroConcentratedDP
from safeselect.accounting.gaussian import GaussianDP
from safeselect.ledger.stores.postgres import PostgresStore
from vectors import vectors

pytestmark = [pytest.mark.claim("C8"), pytest.mark.slow("hundreds of charges of a ledger")]

KINDS: dict[str, Callable[[Any], Any]] = {
    "pure": safeselect.PureDP,
    "laplace": safeselect.LaplaceDominated,
    "range": BoundedRange,
    "zcdp": ZeroConcentratedDP,
    "gaussian": GaussianDP,
    "approximate": lambda both: ApproximateDP(*both),
    "own": lambda delta: ApproximateDP(0, delta),
}
CASES = [
    pytest.param(case["given"], case["value"], id=case["id"])
    for case in vectors("budget")["cases"]
    if case["kind"] == "granted" and case["value"] < 130
]
"""The longer ones are counted without a ledger, by `tests/ledger/test_budget.py`."""


def charge(there: Any, parts: Sequence[tuple[str, Any, int]]) -> None:
    """One release, with its outcome: alone as other libraries charge it, else with its parts."""
    view = tuple((KINDS[kind](parameter), count) for kind, parameter, count in parts)
    if len(view) == 1 and view[0][1] == 1:
        there.charge(view[0][0], mechanism="other/law")
        return
    # A whole that bounds less than the parts do: the parts pay.
    has_delta = any(isinstance(each, ApproximateDP) for each, _ in view)
    whole = ApproximateDP(10**6, "1/2") if has_delta else ZeroConcentratedDP(10**9)
    there.pay(pure(guarantee=whole, parts=view))


@pytest.fixture(params=["file", pytest.param("server", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "file":
        return tmp_path / "l"
    server: Server = request.getfixturevalue("server")
    return PostgresStore(server.conninfo, schema=f"n{abs(hash(request.node.name))}")


@pytest.mark.parametrize(("given", "count"), CASES)
def test_a_ledger_grants_as_many_as_the_second_implementation(
    store: Any, given: dict[str, Any], count: int
) -> None:
    terms = {name: given[name] for name in ("epsilon", "delta", "own_delta")}
    ledger = Ledger.create(store, {"a": Budget(**TERMS, **terms)})
    there = scope(ledger)
    for part in given["first"]:
        charge(there, [part])
    for _ in range(count):
        charge(there, given["each"])
    with pytest.raises(BudgetError, match="does not allow this release"):
        charge(there, given["each"])
    assert ledger.check().scopes["a"] == Ledger.open(store).balance("a")

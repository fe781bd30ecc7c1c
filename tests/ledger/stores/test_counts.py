"""What ledgers grant: as many releases as a second implementation, by mpmath alone, grants.

On a file and on a PostgreSQL server, each release charged as mechanisms and other libraries charge
it.  The rows are workloads of `docs/budgets.md` and those of `tests/vectors/budget.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import budget_oracle as oracle
import mpmath
import pytest
from ledgers import TERMS, pure, scope
from postgres import Server, needs_postgres

from safeselect import (
    ApproximateDP,
    BoundedRange,
    Budget,
    BudgetError,
    LaplaceDominated,
    Ledger,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.moments import epsilon_by_orders
from safeselect.ledger.stores.postgres import PostgresStore
from vectors import vectors

pytestmark = [pytest.mark.claim("C8"), pytest.mark.slow("hundreds of charges of a ledger")]

VECTORS = vectors("budget")["cases"]
KINDS: dict[str, Callable[[Any], Any]] = {
    "pure": PureDP,
    "laplace": LaplaceDominated,
    "range": BoundedRange,
    "zcdp": ZeroConcentratedDP,
    "gaussian": GaussianDP,
    "approximate": lambda both: ApproximateDP(*both),
    "own": lambda delta: ApproximateDP(0, delta),
}
COLUMNS = [("1", "1e-6"), ("3", "1e-6"), ("10", "1e-6"), ("1", "1e-9")]
TABLE: dict[str, tuple[Sequence[Any], Sequence[Any], tuple[int, ...]]] = {
    "list of 5": ((), [("range", "1/50", 5), ("own", "1/10000", 1)], (93, 79, 60, 58)),
    "list of 10": ((), [("range", "1/100", 10), ("own", "1/10000", 1)], (186, 158, 119, 116)),
    "list of 50": ((), [("range", "1/250", 50), ("own", "1/10000", 1)], (232, 197, 149, 145)),
    "sparse vector": ((), [("pure", "1/20", 1)], (22, 20, 20, 20)),
    "gaps": ((), [("laplace", "1/30", 1)], (46, 41, 34, 31)),
    "pure": ((), [("pure", "1/100", 1)], (469, 400, 304, 297)),
    "large": ((), [("pure", "1/4", 1)], (4, 4, 4, 4)),
    "mixed": ((), [(kind, "1/60", 1) for kind in ("pure", "laplace", "range")], (76, 65, 51, 49)),
    "half at once": ([("pure", "1/2", 1)], [("pure", "1/200", 1)], (442, 385, 318, 286)),
    "gaussian": ((), [("zcdp", "1/50", 1)], (47, 48, 48, 48)),
    "list and gaussian": (
        (),
        [("range", "1/100", 5), ("own", "1/10000", 1), ("zcdp", "1/100", 1)],
        (76, 73, 69, 68),
    ),
    "keys and gaussian": (
        (),
        [("approximate", ("1/25", "1/10000"), 1), ("zcdp", "1/100", 1)],
        (24, 22, 19, 18),
    ),
}
"""First, then each; the count in each column.

Shares of epsilon, of delta for own deltas, and of the zCDP that FULL has.
"""
FULL = ["0.0243555", "0.185048", "1.53923", "0.0149721"]
"""For each column the zCDP that one order, with all of delta, turns into epsilon and delta."""
ALWAYS = {
    "list of 5 (1, 1e-6)",
    "keys and gaussian (10, 1e-6)",
    "mixed (10, 1e-6)",
    "half at once (1, 1e-9)",
    "b33",
    "b37",
}


def rows() -> list[Any]:
    found = []
    for name, (first, each, counts) in TABLE.items():
        for (epsilon, delta), full, count in zip(COLUMNS, FULL, counts, strict=True):
            sizes = {"own": delta, "zcdp": full, "approximate": epsilon}

            def share(kind: str, of: Any, own: str = delta, sizes: Any = sizes) -> Any:
                if kind == "approximate":
                    return [share("pure", of[0]), share("own", of[1], own)]
                return str(Fraction(of) * Fraction(sizes.get(kind, sizes["approximate"])))

            def whole(parts: Sequence[Any], share: Any = share) -> list[Any]:
                return [(kind, share(kind, of), number) for kind, of, number in parts]

            terms = {"epsilon": epsilon, "delta": delta}
            label = f"{name} ({epsilon}, {delta})"
            found.append((label, terms, [[each] for each in whole(first)], whole(each), count))
    for case in VECTORS:
        if case["kind"] == "granted":
            given, terms = case["given"], ("epsilon", "delta", "own_delta")
            first = [[tuple(part)] for part in given["first"]]
            each = [tuple(part) for part in given["each"]]
            row = {name: given[name] for name in terms}
            found.append((case["id"], row, first, each, case["value"]))
    nightly = pytest.mark.nightly("tests/ledger/test_budget.py counts without a ledger")
    return [
        pytest.param(*rest, id=label, marks=() if label in ALWAYS else nightly)
        for label, *rest in found
    ]


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


def test_a_full_budget_of_zcdp_is_what_one_order_turns_into_it() -> None:
    for (epsilon, delta), full in zip(COLUMNS, FULL, strict=True):
        for more, fits in ((Fraction(1), True), (Fraction(1001, 1000), False)):
            parts = [(ZeroConcentratedDP(Fraction(full) * more), 1)]
            assert (epsilon_by_orders(parts, Fraction(delta))[0] <= Fraction(epsilon)) is fits


@pytest.mark.parametrize(("terms", "first", "each", "count"), rows())
def test_a_ledger_grants_as_many_as_the_second_implementation(
    store: Any, terms: dict[str, str], first: Any, each: Any, count: int
) -> None:
    with mpmath.workdps(oracle.DIGITS):
        second = oracle.Filter(terms["epsilon"], terms["delta"], terms.get("own_delta"))
        flat = [part for parts in first for part in parts]
        assert second.granted(flat, each) == count
    ledger = Ledger.create(store, {"a": Budget(**TERMS, **terms)})
    there = scope(ledger)
    for parts in first:
        charge(there, parts)
    for _ in range(count):
        charge(there, each)
    with pytest.raises(BudgetError, match="does not allow this release"):
        charge(there, each)
    assert ledger.check().scopes["a"] == Ledger.open(store).balance("a")

"""What a charge costs beyond the disk's own work: `python benchmarks/ledger.py [FOLDER]`.

Charges a ledger in FOLDER (a temporary folder by default) as it is, and with SQLite told not to
wait for the disk; the second figure is what safeselect, Python and SQLite take themselves.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safeselect import Budget, LaplaceDominated, Ledger
from safeselect.accounting import Charge, Scope
from safeselect.accounting._ledger_sqlite import SQLiteStore

CHARGES = 200
BUDGETS = {
    "epsilon": {"epsilon": 10**6},
    "epsilon and delta": {"epsilon": 10**6, "delta": "1e-6"},
    "rho": {"rho": 10**6},
    "one order": {"epsilon": 10**6, "delta": "1e-6", "order": 20},
}


def charge() -> Charge:
    guarantee = LaplaceDominated("1/10")
    parameters = {"candidates": "1000", "sensitivity": "1", "monotonic": "yes"}
    parts = ((guarantee, 1),)
    return Charge("bench/1", guarantee, parts, parameters, "OpenSSLSource", True, os.urandom(16))


@contextmanager
def without_waiting_for_the_disk() -> Iterator[None]:
    configure = SQLiteStore._configure

    def quick(self: SQLiteStore, connection: sqlite3.Connection, *, create: bool) -> None:
        configure(self, connection, create=create)
        connection.execute("PRAGMA synchronous=OFF")

    SQLiteStore._configure = quick  # type: ignore[method-assign]
    try:
        yield
    finally:
        SQLiteStore._configure = configure  # type: ignore[method-assign]


def measured(scope: Scope) -> tuple[float, float]:
    """Milliseconds of a charge: the least and the median."""
    taken = []
    for _ in range(CHARGES):
        ready = charge()
        start = time.perf_counter()
        scope.charge(ready)
        taken.append(1000 * (time.perf_counter() - start))
    return min(taken), statistics.median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        for name, terms in BUDGETS.items():
            path = Path(folder) / f"{name}.db"
            budget = Budget("person", "add_remove", **terms)
            scope = Ledger.create(path, {"a": budget}).scope(
                "a", unit="person", neighbours="add_remove", purpose="benchmark"
            )
            waiting = measured(scope)
            with without_waiting_for_the_disk():
                beyond = measured(scope)
            print(
                f"{name:18} a charge: {waiting[1]:6.2f} ms; beyond the disk: "
                f"least {beyond[0]:.2f}, median {beyond[1]:.2f} ms"
            )


if __name__ == "__main__":
    main()

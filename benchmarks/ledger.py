"""What a ledger costs: `python benchmarks/ledger.py [FOLDER]`.

In FOLDER (a temporary folder by default): milliseconds of a charge, as it is and with nothing
waiting for the disk, which leaves what safeselect and Python take themselves; microseconds a
record of opening; and how many bytes a record are kept in memory.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safeselect import Budget, LaplaceDominated, Ledger
from safeselect.ledger import Scope
from safeselect.ledger.scope import Payment
from safeselect.release.call import Charge
from safeselect.sources import Observed

CHARGES = 200
LONG = 6000
BUDGETS = {
    "epsilon": {"epsilon": 10**6},
    "epsilon and delta": {"epsilon": 10**6, "delta": "1e-6"},
    "rho": {"rho": 10**6},
}


def charge() -> Payment:
    guarantee = LaplaceDominated("1/10")
    parameters = {"candidates": "1000", "sensitivity": "1", "monotonic": "yes"}
    charge = Charge("bench/1", guarantee, ((guarantee, 1),), parameters)
    return Payment(charge, Observed("OpenSSLSource", "yes", "passed"), os.urandom(16))


def made(path: Path, **terms: object) -> Scope:
    budget = Budget("person", "add_remove", **terms)  # type: ignore[arg-type]
    words = {"unit": "person", "neighbours": "add_remove", "purpose": "benchmark"}
    return Ledger.create(path, {"a": budget}).scope("a", **words)


@contextmanager
def without_waiting_for_the_disk() -> Iterator[None]:
    synced = os.fdatasync
    os.fdatasync = lambda _: None
    try:
        yield
    finally:
        os.fdatasync = synced


def measured(scope: Scope) -> tuple[float, float]:
    """Milliseconds of a charge: the least and the median."""
    taken = []
    for _ in range(CHARGES):
        ready = charge()
        start = time.perf_counter()
        scope.pay(ready)
        taken.append(1000 * (time.perf_counter() - start))
    return min(taken), statistics.median(taken)


def opening(path: Path) -> tuple[float, float]:
    """Microseconds and kept bytes of an opening."""

    def once() -> float:
        start = time.process_time()
        Ledger.open(path)
        return 1e6 * (time.process_time() - start)

    least = min(once() for _ in range(5))
    tracemalloc.start()
    kept = Ledger.open(path)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return least, size if kept.id else 0


def long_ledger(path: Path) -> None:
    with without_waiting_for_the_disk():
        scope = made(path, epsilon=10**6)
        for _ in range(LONG // 2):
            scope.pay(charge()).released("x", b"s" * 32)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        for name, terms in BUDGETS.items():
            scope = made(Path(folder) / f"{name}.ledger", **terms)
            least, median = measured(scope)
            print(f"{name:18} charge {least:6.2f} ms at least, {median:6.2f} ms median")
            with without_waiting_for_the_disk():
                least, median = measured(scope)
            print(f"{'no waiting':>18} charge {least:6.2f} ms at least, {median:6.2f} ms median")
        path = Path(folder) / "long.ledger"
        long_ledger(path)
        took, size = opening(path)
        print(f"opening: {took / LONG:.1f} us a record, {size / LONG:.0f} bytes kept of each")


if __name__ == "__main__":
    main()

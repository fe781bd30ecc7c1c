"""What `safeselect.testing.simulate` costs beside a loop over NumPy, and the memory that it takes.

The loop is what experiments usually do: argmax(scores + rng.gumbel(size=n)), once a repetition.
Both take turns in one process; figures are medians of processor time.

    python benchmarks/simulations.py [rounds]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np

from safeselect.testing import simulate

REPETITIONS = 10_000
SIZES = (20, 200, 2000)
MECHANISMS = ("exponential", "permute_and_flip")


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def peak(work: Callable[[], object]) -> float:
    """The most memory at once, in MiB."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def row(n: int, rounds: int) -> str:
    rng = np.random.default_rng(n)
    scores = rng.integers(0, 1000, n)
    floats = scores.astype(float)

    def loop() -> None:
        for _ in range(REPETITIONS):
            np.argmax(floats + rng.gumbel(size=n))

    def ours(mechanism: str) -> Callable[[], object]:
        return lambda: simulate(mechanism, scores, epsilon=1, sensitivity=1, seed=n)

    works = {"loop": loop, **{name: ours(name) for name in MECHANISMS}}
    for work in works.values():
        work()  # tables are built
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    base = median(times["loop"])
    cells = [f"{n:5} candidates  loop {base:6.3f} s"]
    for name in MECHANISMS:
        took, most = median(times[name]), peak(works[name])
        cells.append(f"{name} {took:6.3f} s, {took / base:4.2f} times, {most:4.1f} MiB")
    return "   ".join(cells)


if __name__ == "__main__":
    for size in SIZES:
        print(row(size, int(sys.argv[1]) if len(sys.argv) > 1 else 5))

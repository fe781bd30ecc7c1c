"""Synthetic data: choose a query with a large error, measure it, update the table, and repeat.

Each plane is one record: its most frequent airline, its most frequent month, and the number of its
destinations. The queries are the 304 counts in the three tables of two attributes each. The method
is MWEM (Hardt, Ligett and McSherry 2012): multiplicative weights with the exponential mechanism.

Neighbours: data sets that differ only in whether they contain the flights of one plane, which form
one record.
Guarantee: that of the list PLAN below, which is fixed in advance: about (2.3, 1e-9)-differential
privacy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from flights import CARRIERS, MONTHS, Flight, by_plane

from safeselect import BoundedRange, Budget, Ledger, PureDP, compose, measure
from safeselect import exponential_mechanism as choose

ROUNDS = 15
EACH = Fraction(1, 10)  # epsilon of each draw
REACH = 1, 2, 6, 16  # smallest number of destinations in each group
SHAPE = len(CARRIERS), len(MONTHS), len(REACH)
# The first entry is for the number of planes. Each round adds one choice and one measurement.
PLAN = [PureDP(EACH), *(ROUNDS * [BoundedRange(EACH), PureDP(EACH)])]
TERMS = {"unit": "plane", "neighbours": "add_remove"}


def most(values: Iterable[object]) -> object:
    """Return the most frequent value, or the smallest one if several are equally frequent."""
    return min(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))[0]


def cell(plane: list[Flight]) -> tuple[int, int, int]:
    """Return the record of a plane as a position in the table; it depends on this plane alone."""
    reach = len({flight.destination for flight in plane})
    return (
        CARRIERS.index(most(flight.carrier for flight in plane)),
        MONTHS.index(most(flight.month for flight in plane)),
        sum(reach >= least for least in REACH) - 1,
    )


def histogram(planes: Iterable[list[Flight]]) -> np.ndarray:
    counts = np.zeros(SHAPE, dtype=np.int64)
    for plane in planes:
        counts[cell(plane)] += 1
    return counts


def answers(table: np.ndarray) -> np.ndarray:
    """Return the answers to all queries, one table of two attributes after another."""
    return np.concatenate([table.sum(axis=axis).ravel() for axis in range(3)])


# Column q is 1 for the cells that query q counts.
QUERIES = np.stack([answers(row.reshape(SHAPE)) for row in np.eye(np.prod(SHAPE), dtype=int)])


def scores(truth: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    """Return the error of the synthetic table for each query.

    Sensitivity: one more plane adds 1 to one cell, so it adds 0 or 1 to each true answer. The
    synthetic answers are computed from releases and rounded to integers. Therefore each error
    changes by at most 1, and some increase while others decrease: sensitivity 1, not monotonic.
    """
    return np.abs(answers(truth) - np.rint(answers(synthetic)).astype(np.int64))


def measured(value: int, scope: Any) -> int:
    """Return a noisy number; one plane changes the true number by at most 1: PureDP(EACH)."""
    return measure([value], epsilon=EACH, sensitivity_l1=1, ledger=scope).values[0]


def mend(synthetic: np.ndarray, seen: list[tuple[int, int]], total: int) -> np.ndarray:
    """Update the table by multiplicative weights, at no cost, because only releases are used."""
    for query, value in 20 * seen:
        counted = QUERIES[:, query].reshape(SHAPE)
        wrong = value - (synthetic * counted).sum()
        synthetic = synthetic * np.exp(counted * wrong / (2 * total))
        synthetic *= total / synthetic.sum()
    return synthetic


def main() -> None:
    with TemporaryDirectory() as folder:  # in production, keep the ledger
        budget = Budget(**TERMS, epsilon=EACH * len(PLAN))
        ledger = Ledger.create(Path(folder, "budget.log"), {"planes": budget})
        release(ledger.scope("planes", **TERMS, purpose="synthetic planes"))
        print(f"spent of the budget: epsilon = {ledger.balance('planes').spent['epsilon']}")
    print(f"guarantee: {compose(PLAN).guarantee}")
    whole = compose(PLAN, delta="1e-9")
    print(f"or, at delta = 1e-9: epsilon = {float(whole.guarantee.epsilon):.3f}, {whole.theorem}")


def release(scope: Any) -> None:
    truth = histogram(by_plane().values())
    # The number of planes is private, too.
    total = max(1, measured(int(truth.sum()), scope))
    synthetic, seen = np.full(SHAPE, total / truth.size), []
    # The true error may be printed only because these data are public.
    print(f"mean error before: {scores(truth, synthetic).mean():.1f} planes")
    for _ in range(ROUNDS):
        wrong = scores(truth, synthetic)
        worst = choose(wrong, epsilon=EACH, sensitivity=1, ledger=scope)
        seen.append((worst.index, measured(int(answers(truth)[worst.index]), scope)))
        synthetic = mend(synthetic, seen, total)
    print(f"mean error after {ROUNDS} rounds: {scores(truth, synthetic).mean():.1f} planes")


if __name__ == "__main__":
    main()

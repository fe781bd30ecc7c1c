"""Weights: how much longer the exponential mechanism takes with them than without.

    python benchmarks/weights.py [N...]

The least processor time of nine calls each, in turns, over that of the same call without weights:
a first call, which reads the weights, and a call of a prepared mechanism.  The scores are an array
of integers, or a list of them where the weights are a list.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

SIZES, TURNS = (1_000, 100_000), 9
COST: dict[str, Any] = {"epsilon": "0.5", "sensitivity": 1}


def weights(n: int) -> dict[str, Any]:
    """The same kinds of weights each time."""
    random = np.random.default_rng(1)
    whole, real = random.integers(1, 100, n), random.random(n) + 0.01
    mixed = [each if place % 2 else float(each) for place, each in enumerate(whole.tolist())]
    return {
        "integers": whole,
        "floats": real,
        "float32": real.astype(np.float32),
        "float16": real.astype(np.float16),
        "list of integers": whole.tolist(),
        "list of floats": real.tolist(),
        "list of both": mixed,
        "list of fractions": [Fraction(each, 7) for each in whole.tolist()],
    }


def _least(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    spent = dict.fromkeys(ways, float("inf"))
    for name, way in [*ways.items()] * TURNS:
        start = time.process_time()
        way()
        spent[name] = min(spent[name], time.process_time() - start)
    return spent


def main(sizes: list[int]) -> None:
    from safeselect import exponential_mechanism
    from safeselect.prepared import ExponentialMechanism

    for n in sizes:
        column = np.random.default_rng(2).integers(0, 1000, n)
        without = ExponentialMechanism(**COST)
        for name, given in weights(n).items():
            scores: Any = column.tolist() if isinstance(given, list) else column

            def first(scores: Any = scores, **more: Any) -> object:
                return exponential_mechanism(scores, **COST, **more)

            ready = ExponentialMechanism(**COST, weights=given)
            ways: dict[str, Callable[[], object]] = {
                "none": first,
                "first": lambda first=first, given=given: first(weights=given),
                "ready, none": lambda scores=scores, without=without: without(scores),
                "ready": lambda ready=ready, scores=scores: ready(scores),
            }
            spent = _least(ways)
            print(
                f"{n:9} {name:18} first {spent['first'] / spent['none']:6.2f}, "
                f"prepared {spent['ready'] / spent['ready, none']:5.2f} of {spent['none']:.6f} s",
                flush=True,
            )


if __name__ == "__main__":
    main([*map(int, sys.argv[1:])] or [*SIZES])

"""Keys for people who hold many: how many are found by a cap and by weights, at the same cost.

    python benchmarks/weighted_keys.py [EPSILON [DELTA]]

20 000 people with a lognormal number of rows (median 30, up to 5 000) hold keys of 200 000, whose
shares fall like 1 / rank**1.1: 1.1 million pairs, of a median of 24 keys a person and of 1 900 at
most.  Of each law and cap the mean number of keys of five releases by `select_keys`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

PEOPLE, KEYS = 20_000, 200_000
CAPS = (1, 3, 10, 30, 100, 300, 1000)
TIMES = 5


def pairs() -> Any:
    """The table, the same each time."""
    import pyarrow

    random = np.random.default_rng(1)
    rows = np.minimum(np.maximum(1, random.lognormal(np.log(30), 1.5, PEOPLE)), 5_000).astype(int)
    shares = (1 / np.arange(1, KEYS + 1) ** 1.1).cumsum()
    keys = np.searchsorted(shares, random.random(rows.sum()) * shares[-1])
    return pyarrow.table({"key": keys, "person": np.repeat(np.arange(PEOPLE), rows)})


def main(epsilon: str, delta: str) -> None:
    from safeselect.tables import select_keys

    table = pairs()
    cost: dict[str, Any] = {"item": "key", "user": "person", "epsilon": epsilon, "delta": delta}
    print(f"epsilon = {epsilon}, delta = {delta}: keys found, mean of {TIMES}")
    print("max_partitions " + " ".join(f"{cap:6}" for cap in CAPS))
    for noise in ("table", "gaussian"):
        found = [
            np.mean(
                [
                    len(select_keys(table, **cost, max_partitions=cap, noise=noise))
                    for _ in range(TIMES)
                ]
            )
            for cap in CAPS
        ]
        print(f"{noise:14} " + " ".join(f"{each:6.1f}" for each in found), flush=True)


if __name__ == "__main__":
    main(*(sys.argv[1:3] + ["1", "1e-6"][len(sys.argv) - 1 :]))

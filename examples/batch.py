"""Twelve selections in one call: the airport to which the most planes flew in each month.

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: (1, 1e-9)-differential privacy for each plane, for all twelve answers together.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flights import DESTINATIONS, MONTHS, Flight, by_plane

from safeselect import select_many

PLACES = {name: place for place, name in enumerate(DESTINATIONS)}


def scores(planes: Iterable[list[Flight]]) -> np.ndarray:
    """Return the number of planes that flew to each airport (column) in each month (row).

    Sensitivity: a plane counts at most once for each month and airport, however often it flew.
    One more plane adds 0 or 1 to every score, in any number of rows: sensitivity 1, monotonic.
    """
    counts = np.zeros((len(MONTHS), len(DESTINATIONS)), dtype=np.int64)
    for plane in planes:
        for month, destination in {(flight.month, flight.destination) for flight in plane}:
            counts[month - 1, PLACES[destination]] += 1
    return counts


def main() -> None:
    best = select_many(
        scores(by_plane().values()),
        labels=DESTINATIONS,
        epsilon=1,
        delta="1e-9",
        sensitivity=1,
        monotonic=True,
    )
    for month, airport in zip(MONTHS, best.labels, strict=True):
        print(f"month {month:2}: {airport}")
    print(f"guarantee: {best.guarantee}")
    print(f"each of {len(best.parts)} draws: epsilon = {float(best.parts[0].epsilon):.3f}")


if __name__ == "__main__":
    main()

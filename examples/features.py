"""Feature selection: which airports best predict whether a plane is busy?

Each plane is one record. The label states whether it left New York at least 50 times. The features
state, for each of 104 airports, whether the plane ever flew there.

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: LaplaceDominated(1), hence 1-differential privacy, for each plane.
"""

from __future__ import annotations

from collections.abc import Iterable

from flights import DESTINATIONS, Flight, by_plane

from safeselect import top_k

BUSY = 50  # fixed in advance, because the median of the data would be private


def scores(planes: Iterable[list[Flight]]) -> dict[str, int]:
    """Return, for each airport, the number of planes that its feature classifies correctly.

    Sensitivity: a feature classifies a plane correctly or not, so one more plane adds 0 or 1 to
    every score: sensitivity 1, monotonic.
    """
    right = dict.fromkeys(DESTINATIONS, 0)
    for plane in planes:
        busy = len(plane) >= BUSY
        seen = {flight.destination for flight in plane}
        for airport in DESTINATIONS:
            right[airport] += (airport in seen) == busy
    return right


def main() -> None:
    best = top_k(scores(by_plane().values()), k=5, epsilon=1, sensitivity=1, monotonic=True)
    print(f"most predictive: {', '.join(best.labels)}")
    print(f"guarantee: {best.guarantee}")


if __name__ == "__main__":
    main()

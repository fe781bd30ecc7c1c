"""Feature selection: which airports tell the busy planes of the year from the others?

One record a plane.  Label: did it leave New York at least 50 times?  Features: for each of 104
airports, did it ever fly there?

Neighbours: all flights of one plane are added or removed.
Guarantee: LaplaceDominated(1), hence 1-differential privacy, for each plane.
"""

from __future__ import annotations

from collections.abc import Iterable

from flights import DESTINATIONS, Flight, by_plane

from safeselect import top_k

BUSY = 50  # fixed beforehand; the median of the data would be private


def scores(planes: Iterable[list[Flight]]) -> dict[str, int]:
    """For each airport the number of planes of which it tells rightly whether they are busy.

    Sensitivity: about each plane a feature is right or wrong, so one plane more adds 0 or 1 to
    every score and takes nothing from any: sensitivity 1, monotonic.
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
    print(f"most telling: {', '.join(best.labels)}")
    print(f"guarantee: {best.guarantee}")


if __name__ == "__main__":
    main()

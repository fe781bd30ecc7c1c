"""The example data: flights from New York in 2013, with plane, destination, carrier and month."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

# Public knowledge, compiled without looking at the flights of any plane: timetables are public.
DESTINATIONS = (HERE / "destinations.txt").read_text("utf-8").split()
CARRIERS = [
    *("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL"),
    *("HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"),
]
MONTHS = range(1, 13)


class Flight(NamedTuple):
    """One flight; `plane` is the tail number."""

    plane: str
    destination: str
    carrier: str
    month: int


def flights() -> Iterator[Flight]:
    """Yield the flights in the order of the file."""
    with gzip.open(HERE / "flights.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for plane, destination, carrier, month in rows:
            yield Flight(plane, destination, carrier, int(month))


def by_plane() -> dict[str, list[Flight]]:
    """Return the flights of each plane, which are all that the plane contributes to the data."""
    planes: dict[str, list[Flight]] = {}
    for flight in flights():
        planes.setdefault(flight.plane, []).append(flight)
    return planes

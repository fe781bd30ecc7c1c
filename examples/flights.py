"""The example data: which plane flew from New York to which airport in 2013, for whom and when."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

# Public knowledge, made without looking at the flights of any one plane: timetables are public.
DESTINATIONS = (HERE / "destinations.txt").read_text("utf-8").split()
CARRIERS = [
    *("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL"),
    *("HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"),
]
MONTHS = range(1, 13)


class Flight(NamedTuple):
    """One flight; the plane is its tail number."""

    plane: str
    destination: str
    carrier: str
    month: int


def flights() -> Iterator[Flight]:
    """Read them, in the order of the file."""
    with gzip.open(HERE / "flights.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for plane, destination, carrier, month in rows:
            yield Flight(plane, destination, carrier, int(month))


def by_plane() -> dict[str, list[Flight]]:
    """The flights of each plane: all that one plane adds to the data or takes from them."""
    planes: dict[str, list[Flight]] = {}
    for flight in flights():
        planes.setdefault(flight.plane, []).append(flight)
    return planes

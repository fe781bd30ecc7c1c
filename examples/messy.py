"""The busiest destinations of each airline, with intervals and a plot, from an untidy export.

    python examples/messy.py

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: ApproximateDP(epsilon, delta), for all lists and counts together.

The file has the problems of a spreadsheet export: semicolons, a byte order mark, a comma in the
name of a column, names in capitals or with extra spaces, two forms of an accent, quoted text that
spans several lines, and plane numbers that became floats because some numbers were missing. The
program reads the file as it is.
"""

from __future__ import annotations

import csv
import tempfile
import unicodedata
from pathlib import Path

from flights import flights

from safeselect import ParameterError
from safeselect.release.results import Groups
from safeselect.tables import TableAs, top_items_by_group

AIRLINES = {"AA": "Amérique", "DL": "Deltair", "UA": "United", "WN": "Southwest"}  # fictitious


def export(file: Path) -> None:
    """Write the flights of four airlines as a spreadsheet would export them."""
    numbers: dict[str, int] = {}
    with file.open("w", encoding="utf-8-sig", newline="") as out:
        rows = csv.writer(out, delimiter=";")
        rows.writerow(["No", "Plane ID", "Airline", "Destination, airport", "Remark"])
        for place, flight in enumerate(flights()):
            airline, airport = AIRLINES.get(flight.carrier, "Other"), flight.destination
            number = numbers.setdefault(flight.plane, len(numbers) + 1000)
            decomposed = unicodedata.normalize("NFD", airline)
            rows.writerow(
                [
                    place,
                    ("", number, f"{number}.0")[min(place % 97, 1) + place % 2],
                    (airline.upper(), f" {airline} ", decomposed)[place % 3],
                    (airport, airport.lower(), f"{airport}\t")[place % 5 % 3],
                    ("", 'said "late"', "wind; rain", "two\nlines")[place % 4],
                ]
            )


def lists(file: Path) -> Groups[str]:
    """Return the three busiest destinations of each airline, with counts.

    Sensitivity: a plane counts for only one airline, at no more than five of its destinations. One
    more plane adds 1 to at most five counts.
    """
    read = TableAs(file, delimiter=";", trim=True, casefold=True, nfc=True, whole_numbers=True)
    return top_items_by_group(
        read,
        group="Airline",
        groups=[*AIRLINES.values()],  # public: the set of airlines is known without the file
        item="Destination, airport",
        user="Plane ID",
        k=3,
        max_contributions=5,
        epsilon=2,
        delta="1e-6",
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "Export (final) 2.csv")
        export(file)
        found = lists(file)
        try:
            found.plot().savefig(Path(folder, "lists.png"))
        except ParameterError as missing:
            print(f"no plot: {missing}")
    columns = found.to_dict()  # or found.to_pandas()
    for group, rank, label, count, low, high in zip(*columns.values(), strict=True):
        print(f"{group} {rank}: {label} {count} ({low} to {high})")
    noise = found.noise
    print(f"noise: within ±{noise.high_95} with probability 0.95, standard deviation", end=" ")
    print(float(noise.deviation))
    print(f"guarantee: {found.guarantee}")


if __name__ == "__main__":
    main()

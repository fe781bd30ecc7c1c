"""Write a file like the exports of clinics' programs: code page 1252, semicolons, decimal commas.

    python examples/clinic_export.py export.csv 150000

Each patient has two rows.  The first row has the patient's id in one of four spellings.  All data
are fictitious.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def write(file: Path, patients: int, more: Sequence[str] = ()) -> None:
    """Write an export with this many patients, followed by the rows in `more`."""
    rows = ["PatID;Diagnose;Betrag;Datum"]
    for number in range(1, patients + 1):
        first = (str(number), f"{number:06}", f"{number}.0", f" {number} ")[number % 4]
        rows.append(f"{first};M\u00fcdigkeit;1.{number % 1000:03},50;24.12.2023")
        rows.append(f"{number};{('Husten', 'k. A.')[number % 9 == 0]};k. A.;k. A.")
    file.write_bytes("\r\n".join([*rows, *more, ""]).encode("cp1252", "replace"))


def main() -> None:
    """Write the file named on the command line, with 150 000 patients or the given number."""
    name, *patients = sys.argv[1:] or ["export.csv"]
    write(Path(name), int(patients[0]) if patients else 150_000)


if __name__ == "__main__":
    main()

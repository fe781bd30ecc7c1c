"""Write an export as clinics' programs do: code page 1252, semicolons, decimal commas, odd ids.

    python examples/clinic_export.py export.csv 150000

Each patient has two rows, the first with the id in one of four spellings.  All of it is made up.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def write(file: Path, patients: int, more: Sequence[str] = ()) -> None:
    """Write the export of so many patients, and further rows."""
    rows = ["PatID;Diagnose;Betrag;Datum"]
    for number in range(1, patients + 1):
        first = (str(number), f"{number:06}", f"{number}.0", f" {number} ")[number % 4]
        rows.append(f"{first};M\u00fcdigkeit;1.{number % 1000:03},50;24.12.2023")
        rows.append(f"{number};{('Husten', 'k. A.')[number % 9 == 0]};k. A.;k. A.")
    file.write_bytes("\r\n".join([*rows, *more, ""]).encode("cp1252", "replace"))


def main() -> None:
    """Write the file that is named, for 150 000 patients or as many as are asked for."""
    name, *patients = sys.argv[1:] or ["export.csv"]
    write(Path(name), int(patients[0]) if patients else 150_000)


if __name__ == "__main__":
    main()

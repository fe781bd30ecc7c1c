"""A clinic's Windows export: from a look to a list with counts, a median and a statement."""

from __future__ import annotations

import shlex
from fractions import Fraction
from pathlib import Path

import pytest

from safeselect.cli import main

pytest.importorskip("duckdb")
FORM = (
    "--delimiter ';' --encoding cp1252 --ids numbers --missing 'k. A.' --decimal , --thousands . "
    "--dates %d.%m.%Y"
)
LIST = "--item Diagnose --user PatID -k 2 --epsilon 8 --delta 1e-6 --max-contributions 2"
ODD = ["9001;\x93Gicht\x94;1.234,56;24.12.2023", " 09001 ;k. A.;12.34;k. A."]


def export(file: Path, patients: int, more: list[str]) -> None:
    """Each patient in two spellings of four, with two diagnoses."""
    rows = ["PatID;Diagnose;Betrag;Datum"]
    for number in range(1, patients + 1):
        first = (str(number), f"{number:06}", f"{number}.0", f" {number} ")[number % 4]
        amount = f"1.{number % 1000:03},50"
        rows.append(f"{first};M\u00fcdigkeit;{amount};24.12.2023")
        rows.append(f"{number};{('Husten', 'k. A.')[number % 9 == 0]};k. A.;k. A.")
    file.write_bytes("\r\n".join([*rows, *more, ""]).encode("cp1252", "replace"))


def test_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> tuple[str, str]:
        capfdbinary.readouterr()
        assert main(shlex.split(command)) == 0
        out, said = capfdbinary.readouterr()
        return out.decode(), said.decode()

    export(Path("export.csv"), 3000, [])
    found, _ = run("look export.csv --user PatID --item Diagnose")
    assert "2250 users are the same as others" in found
    assert set(shlex.split(FORM)) <= set(shlex.split(found.partition("options: ")[2]))
    assert "3000 as written" in run(f"look export.csv --user PatID {FORM}")[0]
    said = {}
    for name, more in (("export.csv", []), ("neighbour.csv", ODD)):
        export(Path(name), 3000, more)
        for form in (FORM, FORM.replace("--ids numbers", "")):
            out, notes = run(f"top-k {name} {LIST} {form} --csv")
            said.setdefault(form, set()).add(notes)
            assert "k. A." not in out
            assert [row.split(",")[1] for row in out.splitlines()[1:]] == [
                "M\u00fcdigkeit",
                "Husten",
            ]
    for form, notes in said.items():
        assert len(notes) == 1  # whatever the rows are
        assert ("ids are compared as written" in notes.pop()) is ("--ids" not in form)
    points = "--value Betrag --user PatID --of largest --lowest 0 --highest 3000 --step 1/2"
    out, _ = run(f"quantiles export.csv {points} --quantiles 1/2 --epsilon 4 {FORM} --csv")
    assert abs(Fraction(out.splitlines()[1].split(",")[-1]) - 1500) < 50
    Path("release.json").write_text(run(f"top-k export.csv {LIST} {FORM} --json")[0])
    assert "What was asked" in run("statement release.json")[0]

"""A clinic's Windows export: from a look to a list with counts, a median and a statement."""

from __future__ import annotations

import runpy
import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from typed import typed

pytest.importorskip("duckdb")
ROOT = Path(__file__).parents[2]
export = runpy.run_path(str(ROOT / "examples" / "clinic_export.py"))["write"]
FORM = (
    "--delimiter ';' --encoding cp1252 --ids numbers --missing 'k. A.' --decimal , --thousands . "
    "--dates %d.%m.%Y"
)
LIST = "--item Diagnose --user PatID -k 2 --epsilon 8 --delta 1e-6 --max-contributions 2"
ODD = ["9001;\x93Gicht\x94;1.234,56;24.12.2023", " 09001 ;k. A.;12.34;k. A."]


def test_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> tuple[str, str]:
        code, *shown = typed(command, capfdbinary)
        assert code == 0
        return shown[0], shown[1]

    export(Path("export.csv"), 3000, [])
    found, _ = run("look export.csv --user PatID --item Diagnose")
    assert "2250 users equal others" in found
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
        (said_of_it,) = notes
        assert ("ids are compared as written" in said_of_it) is ("--ids" not in form)
        assert "the table was read with --delimiter ';' --encoding cp1252" in said_of_it
        assert ("--ids numbers" in said_of_it) is ("--ids" in form)
    points = "--value Betrag --user PatID --of largest --lowest 0 --highest 3000 --step 1/2"
    out, _ = run(f"quantiles export.csv {points} --quantiles 1/2 --epsilon 4 {FORM} --csv")
    assert abs(Fraction(out.splitlines()[1].split(",")[-1]) - 1500) < 50
    Path("release.json").write_text(run(f"top-k export.csv {LIST} {FORM} --json")[0])
    assert "What was asked" in run("statement release.json --plot release.png")[0]
    assert Path("release.png").read_bytes().startswith(b"\x89PNG")
    code, out, refused = typed("statement release.json --plot nowhere/release.png", capfdbinary)
    assert (code, out, "cannot be written" in refused) == (2, "", True)

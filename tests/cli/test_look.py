"""`safeselect look`: its options can be typed as they are printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from safeselect.cli import main
from safeselect.tables import TableAs

pytest.importorskip("duckdb")


def test_what_is_printed_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_bytes(
        "id;x\n07;a\nA 7;k. A.\na 7;1,5\n7;24.12.2023\n\u20ac;-\n".encode("cp1252")
    )
    assert main(["look", "a.csv", "--user", "id"]) == 0
    out, said = (stream.decode() for stream in capfdbinary.readouterr())
    assert out.startswith("NOT FOR PUBLICATION")
    assert said == ""
    (line,) = (line for line in out.splitlines() if line.startswith("options: "))
    again = ["look", "a.csv", "--user", "id", "--item", "x", *shlex.split(line)[1:], "--json"]
    assert main(again) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert ["items per user", "half have 1 or fewer, 95 % 2 or fewer, one 2", {}] in found[
        "findings"
    ]
    assert "NOT FOR PUBLICATION" in found["not_for_publication"]
    assert ["users", "3 as written", {}] in found["findings"]
    assert TableAs("a.csv").check(user="id").options["missing"] == ["-", "k. A."]

"""`safeselect audit`: the page of HTML, and how it is not called."""

from __future__ import annotations

from pathlib import Path

import pytest
from audited import CHARGED, Case, certificate

from safeselect.cli import main

Run = pytest.CaptureFixture[bytes]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path, certificate())


def test_a_page_of_html(case: Case, capfdbinary: Run) -> None:
    case.rewrite(lambda records: records[CHARGED].update(mechanism="<script>alert(1)</script>"))
    case.audit(capfdbinary)
    release, log = case.folder / "r.json", case.folder / "log"
    assert main(["audit", str(release), "--log", str(log), "--html"]) == 3
    html = capfdbinary.readouterr().out.decode()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "DOES NOT HOLD" in html
    assert html.count("<dt>") >= 8
    assert all(said in html for said in ("<dt>by<dd>not stated", "<dt>head<dd>none"))


def test_a_statement_and_its_figure(case: Case, capfdbinary: Run) -> None:
    pytest.importorskip("matplotlib")
    case.audit(capfdbinary)
    release, figure = str(case.folder / "r.json"), case.folder / "r.png"
    assert main(["statement", release]) == 0
    assert main(["statement", release, "--plot", str(figure)]) == 0
    assert figure.read_bytes()[:4] == b"\x89PNG"


def test_how_it_is_not_called(case: Case, capfdbinary: Run) -> None:
    case.audit(capfdbinary)
    release, log = str(case.folder / "r.json"), str(case.folder / "log")
    for arguments, said in (
        ([release, "--log", "nothing"], "cannot be read"),
        (["nothing", "--log", log], "cannot be read"),
        ([str(case.folder), "--log", log], "cannot be read"),
        ([release, "--log", log, "--certificate", "nothing"], "cannot be read"),
        ([release, "--log", log, "--head", "12"], "head must be a string such as"),
    ):
        assert main(["audit", *arguments]) == 2
        out, err = (part.decode() for part in capfdbinary.readouterr())
        assert (out, said in err) == ("", True)
    for arguments in ([release], [release, "--log", log, "--public-key", "no hex"]):
        with pytest.raises(SystemExit, match="2"):
            main(["audit", *arguments])
    (case.folder / "r.json").write_bytes(b"\xff\xfe")
    assert main(["audit", release, "--log", log]) == 2

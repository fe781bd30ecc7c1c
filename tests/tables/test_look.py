"""A look at a table: what it finds, which options settle it, and that no release looks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from safeselect import InputError
from safeselect.tables import TableAs, count_distinct_users

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")
ROWS = """\
PatID;Diag;Wert;Datum
007;M\u00fcller \u20ac;1.234,56;24.12.2023
7.0;M\u00fcller \u20ac;-3,5;01.02.2024
 7 ;k. A.;k. A.;k. A.
k. A.;X;1,0;01.01.2020
Ab;Y;2;02.01.2020
ab;Y;2;02.01.2020
;Y;2;02.01.2020
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    return path


def test_each_finding_has_the_option_that_settles_it(export: Path) -> None:
    found = TableAs(export).check(user="PatID", item="Diag")
    assert found.options == {
        "encoding": "cp1252",
        "delimiter": ";",
        "ids": "numbers",
        "casefold": True,
        "missing": ["k. A."],
        "decimal": ",",
        "thousands": ".",
        "dates": "%d.%m.%Y",
    }
    said = {what: text for what, text, _ in found.findings}
    assert said["rows"] == "7; 1 have no user in 'PatID' and are dropped"
    assert said["users"] == "6 as written"
    assert said["ignoring zeros and blanks"] == "2 users would be merged with others"
    assert said["ignoring capital letters"] == "1 users would be merged with others"
    assert (said["ignoring both"], said["missing in 'PatID'"]) == ("3 users, 3 fewer", "'k. A.' 1")
    assert said["items per user"] == "half have 1 or fewer, 95 % 1 or fewer, one 1"
    text = str(found)
    assert text.startswith("NOT FOR PUBLICATION")
    assert "publish the options with the release" in text
    assert "ids='numbers'" in text


def test_with_the_options_nothing_is_split(export: Path) -> None:
    first = TableAs(export).check(user="PatID")
    settled: Any = {**first.options}
    said = {what: text for what, text, _ in TableAs(export, **settled).check(user="PatID").findings}
    assert said["rows"] == "7; 2 have no user in 'PatID' and are dropped"
    assert (said["users"], said["ignoring both"]) == ("2 as written", "2 users, 0 fewer")
    assert not any(what.startswith("missing") for what in said)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_encodings_are_told(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "rows.csv").write_bytes("a,b\n\u20ac,1\n".encode(encoding))
    found = TableAs(tmp_path / "rows.csv").check(user="a").options
    assert found == ({} if encoding == "utf-8" else {"encoding": encoding})


def test_frames() -> None:
    table = pa.table({"user": [1, 2, None], "item": ["x", "-", "x"]})
    assert TableAs(table).check(user="user", item="item").options == {"missing": ["-"]}


@pytest.mark.parametrize("word", [" n/a", "K. A.\t", "-"])
def test_a_missing_word_is_named_as_it_is_written(word: str, tmp_path: Path) -> None:
    table = pa.table({"city": [word, "Rome"], "user": [1, 2]})
    path = tmp_path / "UP.PARQUET"
    pq.write_table(table, path)
    form = TableAs(path, **TableAs(table).check(user="user", item="city").options)
    assert dict(count_distinct_users(form, item="city", user="user")) == {"Rome": 1}
    assert form.check(user="user", item="city").options == {}


def test_mistakes(export: Path) -> None:
    with pytest.raises(InputError, match=r"with delimiter ';' .*; did you mean 'PatID'"):
        TableAs(export).check(user="Pat ID")


def test_standard_input_is_looked_at(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with export.open() as rows:
        monkeypatch.setattr(sys, "stdin", rows)
        found = TableAs("-").check(user="PatID", item="Diag")
    assert found == TableAs(export).check(user="PatID", item="Diag")


def test_no_release_loads_it() -> None:
    code = """
import sys, pyarrow, safeselect.tables as tables
rows = pyarrow.table({"a": ["x"], "b": [1]})
tables.top_items(tables.TableAs(rows), item="a", user="b", k=1, epsilon=1, delta="1e-9")
tables.select_keys(tables.TableAs(rows), item="a", user="b", epsilon=1, delta="1e-9")
grid = {"lowest": 0, "highest": 9, "step": 1, "quantiles": ["1/2"], "of": "largest"}
tables.table_quantiles(tables.TableAs(rows), value="b", user="a", epsilon=1, **grid)
assert "safeselect.tables.look" not in sys.modules
tables.TableAs(rows).check(user="b")
assert "safeselect.tables.look" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)

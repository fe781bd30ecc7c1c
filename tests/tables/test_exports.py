"""Tables as Windows and spreadsheets export them."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safeselect import Budget, InputError, Ledger, ScoreError
from safeselect.tables import TableAs, count_distinct_users, top_items
from safeselect.tables.duckdb import open_table

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")

KEYS = {"item": "Diagnose", "user": "PatID"}
ROWS = """\
PatID;Diagnose;Wert;Datum
007;M\u00fcller \u20ac;1.234,56;24.12.2023
7.0;M\u00fcller \u20ac;-3,5;01.02.2024
 7\u00a0;k. A.;k. A.;k. A.
k. A.;X;1,0;01.01.2020
8;Y;2;02.01.2020
"""
FORM: dict[str, Any] = {"delimiter": ";", "encoding": "cp1252", "ids": "numbers"}
FORM |= {"missing": ["-", "k. A."], "decimal": ",", "thousands": ".", "dates": "%d.%m.%Y"}


@pytest.fixture(params=["rows.csv", "rows.csv.gz", "frame", "-"])
def export(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> Any:
    """The same rows as files, on standard input and in memory."""
    data = ROWS.encode("cp1252")
    if request.param == "frame":
        head, *rows = (line.split(";") for line in ROWS.splitlines())
        return pa.table(dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)))
    if request.param == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return "-"
    path = tmp_path / request.param
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_one_user_in_three_spellings_counts_once_and_missing_words_never(export: Any) -> None:
    found = count_distinct_users(TableAs(export, **FORM), **KEYS)
    assert dict(found) == {"M\u00fcller \u20ac": 1, "Y": 1}


def test_as_written_they_are_three_users(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(ROWS.encode("cp1252"))
    for ids in (None, "text"):
        form = TableAs(tmp_path / "rows.csv", delimiter=";", encoding="cp1252", ids=ids)
        found = dict(count_distinct_users(form, **KEYS))
        assert found == {"M\u00fcller \u20ac": 2, "X": 1, "Y": 1, "k. A.": 1}


def values(table: Any, column: str, *, dated: bool = False, **form: Any) -> list[str | None]:
    columns = {"value": column, "person": "PatID"}
    with open_table(TableAs(table, **{**FORM, **form}), columns, dated=dated) as rows:
        rows.load("value", "person")
        return sorted(row[0] or "" for row in rows.fetch("SELECT value FROM safeselect_rows"))


def test_numbers_and_dates_of_spreadsheets(export: Any) -> None:
    assert values(export, "Wert") == ["", "-3.5", "1.0", "1234.56", "2"]


def test_dates_of_spreadsheets(export: Any) -> None:
    days = ["", "2020-01-01", "2020-01-02", "2023-12-24", "2024-02-01"]
    assert values(export, "Datum", dated=True) == days


def test_a_number_with_its_marks_elsewhere_is_none() -> None:
    others = ["12.34", "1.234.56", "1,234.5", "7,2,5", "1'000", "abc"]
    table = pa.table({"Wert": ["1.234.567,5", " +7 ", ",5", *others], "PatID": range(9)})
    assert values(table, "Wert") == [*[""] * 6, " +7 ", ".5", "1234567.5"]


def test_quotes_and_letters_as_marks_are_no_sql() -> None:
    table = pa.table({"Wert": ["1'234.5"], "PatID": [1]})
    assert values(table, "Wert", decimal=".", thousands="'") == ["1234.5"]
    table = pa.table({"Wert": ["24'12'2023"], "PatID": [1]})
    assert values(table, "Wert", dated=True, dates="%d'%m'%Y") == ["2023-12-24"]
    table = pa.table({"Diagnose": ["o'hara", "x"], "PatID": [1, 2]})
    assert dict(count_distinct_users(TableAs(table, missing=["o'hara"]), **KEYS)) == {"x": 1}


def test_a_cell_in_another_form_of_date_is_none() -> None:
    table = pa.table({"Datum": ["2023-12-24", "24.12.2023", "31.02.2023"], "PatID": [1, 2, 3]})
    assert values(table, "Datum", dated=True) == ["", "", "2023-12-24"]


IDS = {
    "2628": ["2628", "0002628", "2628.0", "2628,00", "\t2628\u00a0", "\u3000\x0b\x852628\u2003"],
    "2.000": ["2.000"],
    "-7.0": ["-7.0"],
    "P007": ["P007", "\u2028P007\x0c"],
    None: [" ", ""],
}


@pytest.mark.parametrize("read", IDS)
@pytest.mark.parametrize("whole", [{}, {"2.000": "2", "-7.0": "-7"}])
def test_ids_that_are_numbers(read: str | None, whole: dict[str | None, str]) -> None:
    written, form = IDS[read], {"ids": "numbers", "whole_numbers": np.bool_(whole)}
    table = pa.table({"Diagnose": [f"{each}x" for each in written], "PatID": written})
    with open_table(TableAs(table, **form), {"item": "Diagnose", "person": "PatID"}) as rows:
        rows.load("item", "person")
        found = rows.fetch("SELECT item, person FROM safeselect_rows")
        assert sorted(found) == sorted((f"{each}x", whole.get(read, read)) for each in written)


def test_missing_words_are_tidied_as_cells_are() -> None:
    table = pa.table({"Diagnose": [" K. A.", "k. a. ", "x"], "PatID": [1, 2, 3]})
    form = TableAs(table, missing=["k. A."], trim=True, casefold=True)
    assert dict(count_distinct_users(form, **KEYS)) == {"x": 1}
    with pytest.raises(InputError, match=r"candidate 2 .* or is a word for a missing value"):
        count_distinct_users(form, **KEYS, candidates=["x", "K. A. "])


KINDS = [pa.string(), pa.int8(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.date32()]
KINDS += [pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_word_is_missing_in_a_column_of_any_type(kind: Any, tmp_path: Path) -> None:
    days = ["1970-01-01", "2024-02-29"]
    cells = pa.array(days if kind in KINDS[5:] else ["-1", "7"]).cast(kind)
    table = pa.table({"Diagnose": ["a", "b"], "PatID": cells})
    pq.write_table(table, tmp_path / "t.parquet")
    for each in (table, tmp_path / "t.parquet", table.to_pandas(), pl.from_arrow(table)):
        form = TableAs(each, missing=["-1", days[0]], ids="numbers")
        if kind in KINDS[:4]:
            assert dict(count_distinct_users(form, **KEYS)) == {"b": 1}
        if kind in KINDS[:5]:
            assert dict(count_distinct_users(form, item="PatID", user="Diagnose")) == {"7": 1}
        with open_table(form, {"value": "PatID", "person": "Diagnose"}) as rows:
            rows.load("value")
            assert len(rows.fetch("SELECT value FROM safeselect_rows WHERE value IS NOT NULL")) == 1


def test_items_are_shown_as_a_public_list_has_them_or_as_folded() -> None:
    # The commonest spelling, "ROME", would depend on private rows.
    table = pa.table({"Diagnose": ["ROME"] * 900 + ["Rome"], "PatID": range(901)})
    form = TableAs(table, casefold=True)
    public = top_items(form, **KEYS, k=1, epsilon=9, candidates=["rOme", "x"])
    found = top_items(form, **KEYS, k=1, epsilon=9, delta="1e-9")
    assert (public.labels, found.labels) == (("rOme",), ("rome",))


@pytest.mark.parametrize("name", ["rows.tsv", "ROWS.TSV", "rows.tsv.gz"])
def test_tabs_part_the_cells_of_a_tsv(tmp_path: Path, name: str) -> None:
    data = b"PatID\tDiagnose\n1\ta,b\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert dict(count_distinct_users(tmp_path / name, **KEYS)) == {"a,b": 1}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "rows.csv").write_bytes("PatID;Diagnose\r\n1;\u20ac\r\n".encode(encoding))
    form = TableAs(tmp_path / "rows.csv", delimiter=";", encoding=encoding.removesuffix("-sig"))
    assert dict(count_distinct_users(form, **KEYS)) == {"\u20ac": 1}


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.XLS", "rows.ods"])
def test_workbooks_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(InputError, match="is a workbook; save it as 'CSV UTF-8'"):
        count_distinct_users(tmp_path / name, **KEYS)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16"])
def test_one_odd_cell_in_another_encoding_is_no_error(tmp_path: Path, encoding: str) -> None:
    odd = b"\x00\xd8" if encoding == "utf-16" else b"\x81"  # half of a pair; no character
    rows = "\n2;X\n".encode(encoding.replace("16", "16-le"))
    (tmp_path / "rows.csv").write_bytes("PatID;Diagnose\n1;".encode(encoding) + odd + rows)
    form = TableAs(tmp_path / "rows.csv", encoding=encoding, delimiter=";")
    assert [*count_distinct_users(form, **KEYS).values()] == [1, 1]


def test_bytes_that_are_no_utf_8_are_found_after_the_charge(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"PatID,Diagnose\n1,\x81\n")
    ledger = Ledger.create(":memory:", {"a": Budget("patient", "add_remove", epsilon=2)})
    scope = ledger.scope("a", unit="patient", neighbours="add_remove", purpose="a list")
    form = TableAs(tmp_path / "rows.csv")
    given: dict[str, Any] = {"k": 1, "epsilon": 1, "candidates": ["x"], **KEYS}
    with pytest.raises(InputError, match="not a complete CSV table of 2 columns in UTF-8"):
        top_items(form, **given)
    with pytest.raises(ScoreError, match="do not fit the arguments"):
        top_items(form, **given, ledger=scope)
    assert ledger.balance("a").left == {"epsilon": 1}


def test_a_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input cannot be read or copied; use a file"):
        count_distinct_users("-", **KEYS)

"""Wrong inputs: no traceback, nothing on standard output, and what to write instead."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from typed import typed

from safeselect import Budget, Ledger

pytest.importorskip("duckdb")
TOP = "-k 1 --epsilon 1 --delta 1e-9"
KEYS = "--item city --user rider"
GRID = "--lowest 0 --highest 9 --step 1 --epsilon 1"
FARES = "quantiles trips.csv --value fare --user rider --of largest --quantiles 1/2"
WRONG = {
    # commands and actions
    "--": "the following arguments are required: COMMAND",
    "topk trips.csv": "did you mean 'top-k'?",
    "explain-item -k 1": "did you mean 'explain-items'?",
    "ledger shwo budget.db": "did you mean 'show'?",
    "frobnicate": "choose from",
    # options
    f"top-k trips.csv --itm city --user rider {TOP}": "did you mean '--item'?",
    f"top-k trips.csv {KEYS} -k 1 --epsilom 1 --delta 1e-9": "did you mean '--epsilon'?",
    f"top-k trips.csv {KEYS} {TOP} --kbar 3": "did you mean '--k-bar'?",
    f"top-k trips.csv {KEYS} {TOP} --candidate-are-public": "--candidates-are-public",
    f"{FARES} {GRID} --neighbors add_remove": "did you mean '--neighbours'?",
    "ledger show budget.db --htlm": "did you mean '--html'?",
    # columns
    f"top-k trips.csv --item citty --user rider {TOP}": "did you mean 'city'?",
    f"top-k trips.csv --item city --user riders {TOP}": "did you mean 'rider'?",
    "keys trips.csv --item city --user ridr --epsilon 1 --delta 1e-9": "did you mean 'rider'?",
    f"quantiles trips.csv --value fares --user rider --of sum --quantiles 1 {GRID}": "'fare'?",
    "select trips.csv --label citi --score fare --epsilon 1 --sensitivity 1": "mean 'city'?",
    "look trips.csv --user rder": "did you mean 'rider'?",
    f"top-k trips.csv --item town --user rider {TOP}": "has no column named 'town'",
    # files and how they are read
    f"top-k missing.csv {KEYS} {TOP}": "does not exist",
    f"top-k . {KEYS} {TOP}": "is a directory; pass a .csv, .tsv",
    f"top-k none*.csv {KEYS} {TOP}": "no file matches",
    f"top-k trips.txt {KEYS} {TOP}": "must end in .csv, .tsv",
    f"top-k book.xlsx {KEYS} {TOP}": "save it as 'CSV UTF-8'",
    "look book.xlsx --user rider": "save it as 'CSV UTF-8'",
    f"top-k empty.csv {KEYS} {TOP}": "its first line must name the columns",
    f"top-k windows.csv {KEYS} {TOP}": "such as 'cp1252'",
    f"top-k trips.csv {KEYS} {TOP} --encoding ansi": "choose from",
    f"top-k trips.csv {KEYS} {TOP} --encoding utf-16": "cannot be read as a CSV file in UTF-16",
    f"top-k trips.csv {KEYS} {TOP} --delimiter ;;": "one character such as ';'",
    f"top-k trips.csv {KEYS} {TOP} --thousands .": "not the decimal mark",
    f"top-k trips.csv {KEYS} {TOP} --decimal ;": "decimal must be",
    f"top-k trips.csv {KEYS} {TOP} --dates %Q": "such as '%d.%m.%Y'",
    f"top-k - {KEYS} {TOP}": "its first line must name the columns",
    "look - --user rider": "its first line must name the columns",
    "look halves.csv --user rider": "pass that encoding, such as 'cp1252' or 'utf-16'",
    f"top-k trips.csv {KEYS} {TOP} --candidates none.txt": "does not exist; pass a file with one",
    # numbers and scopes
    f"top-k trips.csv {KEYS} -k 1 --epsilon 0,5 --delta 1e-9": "use a decimal point",
    f"top-k trips.csv {KEYS} {TOP} --rho 1": "not allowed with argument --epsilon",
    f"{FARES} --lowest 0 --highest 9 --step 0 --epsilon 1": "step must be",
    f"top-k trips.csv {KEYS} {TOP} --ledger budget.db": "use --ledger and --scope together",
    f"top-k trips.csv {KEYS} {TOP} --ledger budget.db --scope trisp": "did you mean 'trips'?",
}


@pytest.mark.parametrize("command", WRONG)
def test_each_says_what_to_write_instead(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    Path("trips.csv").write_text("city,rider,fare\nOslo,ann,3\n")
    Path("trips.txt").write_text("city,rider,fare\nOslo,ann,3\n")
    Path("windows.csv").write_bytes("city,rider,größe\nOslo,ann,3\n".encode("cp1252"))
    Path("book.xlsx").write_bytes(b"PK")
    Path("halves.csv").write_bytes("city,rider\n".encode("utf-16-be"))
    Path("empty.csv").write_bytes(b"")
    Ledger.create("budget.db", {"trips": Budget("rider", "add_remove", epsilon=1)})
    code, out, said = typed(command, capfdbinary)
    assert (code, out) == (2, ""), said
    assert WRONG[command] in said
    assert "Traceback" not in said
    assert said.count("\n") == 1


def test_no_argument_prints_the_help(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, said = typed("", capfdbinary)
    assert (code, out, "top-k" in said) == (2, "", True)


def test_quantiles_and_columns_as_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'Oslo'},{n},{n % 7}\n" for n in range(900))
    Path("trips.csv").write_text(f"city,rider,fare\n{rows}")
    code, out, said = typed(f"{FARES} {GRID} --csv --quiet", capfdbinary)
    head, row = csv.reader(out.splitlines())
    assert (code, said) == (0, "")
    assert abs(int(dict(zip(head, row, strict=True))["value"]) - 3) <= 1
    counts = f"top-k trips.csv {KEYS} {TOP} --max-contributions 1 --csv"
    head, row = csv.reader(typed(counts, capfdbinary)[1].splitlines())
    assert head == ["rank", "label", "count", "low", "high"]
    assert int(row[3]) <= int(row[2]) <= int(row[4])


@pytest.mark.parametrize("ends", [(20200101, 20241231), ("2020-01-01", "2024-12-31")])
def test_eight_digits_are_a_number_and_every_option_is_named(
    ends: tuple[object, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    day = "20220301" if isinstance(ends[0], int) else "2022-03-01"
    Path("trips.csv").write_text("fare;rider\n" + "".join(f"{day};{n}\n" for n in range(900)))
    grid = f"--lowest {ends[0]} --highest {ends[1]} --step 1 --epsilon 9"
    form = "--delimiter ';' --ids text --decimal , --thousands ."
    code, out, said = typed(f"{FARES} {grid} {form}", capfdbinary)
    assert (code, out.split()[-1]) == (0, day)
    assert f"the table was read with {form}\n" in said


def test_values_are_measured_and_shown_in_each_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.csv").write_text("ward,patients\near,120\neye,-80\n<heart>,300\n")
    usual = "measure wards.csv --label ward --value patients --sensitivity-l1 2 --epsilon 4"
    shown = {}
    for form in ("", "--table", "--csv", "--json"):
        code, out, said = typed(f"{usual} {form}", capfdbinary)
        assert code == 0
        shown[form] = out.splitlines()
        assert "guarantee epsilon = 4 in total (PureDP)" in said
        assert "standard deviation of the noise: 0.6" in said
        assert "effective range" not in said
        assert "users" not in said
    assert [line.split("\t")[0] for line in shown[""]] == ["<heart>", "ear", "eye"]
    head, *rows = (line.split() for line in shown["--table"])
    assert head == next(csv.reader(shown["--csv"])) == ["label", "value", "low", "high"]
    assert [row[0] for row in rows] == ["<heart>", "ear", "eye"]
    assert all(int(low) < int(value) < int(high) for _, value, low, high in rows)
    assert abs(int(rows[2][1]) + 80) < 30
    assert json.loads(shown["--json"][0])["values"]
    for wrong, instead in {
        usual.replace("--epsilon", "--rho"): "sensitivity_l2_squared",
        usual.replace("--sensitivity-l1 2", ""): "--sensitivity-l1",
        usual.replace("--value patients", "--value ward"): "integers",
    }.items():
        code, out, said = typed(wrong, capfdbinary)
        assert (code, out, instead in said) == (2, "", True)


def test_an_odd_cell_changes_no_sentence_of_quantiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """One user more, whose value is no number, none at all, or none that the grid has."""
    monkeypatch.chdir(tmp_path)
    rows, told = "".join(f"Oslo,{n},{n % 7}\n" for n in range(900)), set()
    for more in (
        "",
        "Oslo,x1,k. A.\n",
        "Oslo,x1,\n",
        "Oslo, 07 ,1e99\n",
        "Oslo,,3\n",
        "Oslo,x,nan\n",
    ):
        Path("trips.csv").write_text(f"city,rider,fare\n{rows}{more}")
        code, out, said = typed(f"{FARES} {GRID}", capfdbinary)
        told.add((code, len(out.splitlines()), said))
    assert len(told) == 1

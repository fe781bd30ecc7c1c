"""Tables and a ledger: columns are looked at before the charge, rows after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from table_sources import SOURCES

from safeselect import Budget, InputError, Ledger, SafeSelectError, ScoreError
from safeselect.cli import main
from safeselect.release.call import UNREADABLE
from safeselect.sources import CallbackSource
from safeselect.tables import duckdb as engine
from safeselect.tables import top_items

pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GOOD = "city,rider\n" + "".join(f"{city},{rider}\n" for city in "abc" for rider in range(9))
MODES: dict[str, dict[str, Any]] = {
    "unknown": {"delta": "1e-9"},
    "counts": {"delta": "1e-9", "max_contributions": 2},
    "list": {"candidates": ["a", "b"]},
    "public": {"candidates_are_public": True},
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    budget = Budget(unit="rider", neighbours="add_remove", epsilon=99, delta="1e-6")
    return Ledger.create(tmp_path / "ledger", {"trips": budget})


def ask(ledger: Ledger, table: Any, **mode: Any) -> tuple[Fraction, BaseException | None]:
    """What one question costs, and how it ends."""
    scope = ledger.scope("trips", unit="rider", neighbours="add_remove", purpose="cities")
    before = ledger.balance("trips").spent["epsilon"]
    failed: BaseException | None = None
    try:
        top_items(table, item="city", user="rider", k=1, epsilon=1, ledger=scope, **mode)
    except SafeSelectError as error:
        failed = error
    return ledger.balance("trips").spent["epsilon"] - before, failed


def outcome(ledger: Ledger) -> tuple[str, object]:
    content = [*ledger.records()][-1].content
    return content["kind"], content.get("reason")


def csv(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# What is wrong with a row, in files and frames.  Each would be told for nothing without the order.
ROWS: dict[str, Callable[[Path], Any]] = {
    "a cell missing": lambda home: csv(home / "t.csv", GOOD + "a\n"),
    "a cell too many": lambda home: csv(home / "t.csv", GOOD + "a,1,2\n"),
    "an open quote": lambda home: csv(home / "t.csv", GOOD + '"a,1\n'),
    "not UTF-8": lambda home: csv(home / "t.csv", GOOD.encode() + b"a,\xff\n"),
    "no integers": lambda home: pd.DataFrame({"city": ["a", "b"], "rider": [1.5, None]}),
    "floats that pandas wrote": lambda home: parquet(
        home / "t.parquet", city=["a", "b"], rider=[1.5, None]
    ),
}
# What its columns are, or are called.
COLUMNS: dict[str, Callable[[Path], Any]] = {
    "no file": lambda home: home / "none.csv",
    "no header": lambda home: csv(home / "t.csv", ""),
    "no column": lambda home: csv(home / "t.csv", "town,rider\na,1\n"),
    "two columns": lambda home: csv(home / "t.csv", "city,rider,city\na,1,b\n"),
    "a header that is no text": lambda home: csv(home / "t.csv", b"city,rider,\xff\na,1,2\n"),
    "lists": lambda home: pl.DataFrame({"city": ["a"], "rider": [[1]]}),
    "no Parquet": lambda home: csv(home / "t.parquet", GOOD),
}


def each_with_a_mode(names: Iterable[str]) -> pytest.MarkDecorator:
    """Each name with two modes, each mode with every other name."""
    modes = [*MODES]
    pairs = [(name, modes[(at + more) % 4]) for at, name in enumerate(names) for more in (0, 1)]
    return pytest.mark.parametrize(("name", "mode"), pairs)


@pytest.mark.claim("C8")
@each_with_a_mode(ROWS)
def test_what_is_wrong_with_rows_is_one_sentence_and_paid_for(
    name: str, mode: str, tmp_path: Path, ledger: Ledger
) -> None:
    table = ROWS[name](tmp_path)
    cost, error = ask(ledger, table, **MODES[mode])
    if mode == "public" and isinstance(error, InputError):
        # The set of items is public, and it cannot be read.
        assert (name, cost) in [
            (each, 0) for each in ("a cell missing", "a cell too many", "an open quote")
        ]
        return
    assert isinstance(error, ScoreError)
    assert str(error) == UNREADABLE
    assert (error.__cause__, error.__context__) == (None, None)
    assert cost == 1
    assert outcome(ledger) == ("aborted", "input")
    # Without a ledger the message helps.
    with pytest.raises(InputError, match=r"^(?!.*do not fit the arguments)"):
        top_items(table, item="city", user="rider", k=1, epsilon=1, **MODES[mode])


@each_with_a_mode(COLUMNS)
def test_what_is_wrong_with_columns_costs_nothing(
    name: str, mode: str, tmp_path: Path, ledger: Ledger
) -> None:
    head = ledger.head
    cost, error = ask(ledger, COLUMNS[name](tmp_path), **MODES[mode])
    assert isinstance(error, InputError)
    assert (cost, ledger.head) == (0, head)


@pytest.mark.parametrize("mode", MODES)
def test_wrong_parameters_cost_nothing(mode: str, tmp_path: Path, ledger: Ledger) -> None:
    head, table = ledger.head, csv(tmp_path / "t.csv", GOOD)
    wrong = {"k": 2**20} if mode in ("list", "public") else {"k_bar": 0}
    scope = ledger.scope("trips", unit="rider", neighbours="add_remove", purpose="cities")
    call: dict[str, Any] = {"k": 1, "epsilon": 1, "ledger": scope, **MODES[mode], **wrong}
    with pytest.raises(SafeSelectError, match="must be between"):
        top_items(table, item="city", user="rider", **call)
    if mode == "list":
        # As floats of a neighbour, which a missing value makes of integers, they are told the same.
        for cells in ([1, 2], [1.0, None]):
            numbers = parquet(tmp_path / "n.parquet", city=cells, rider=[1, 2])
            assert ask(ledger, numbers, **MODES[mode])[0] == 0
    assert ledger.head == head


@each_with_a_mode(SOURCES)
def test_no_user_is_looked_at_before_the_charge(
    name: str, mode: str, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DuckDB is asked, and which columns are brought in, and how much was charged then."""
    cells = [line.split(",") for line in GOOD.splitlines()[1:]]
    columns = {"city": [city for city, _ in cells], "rider": [rider for _, rider in cells]}
    table, told = SOURCES[name](tmp_path, columns), []
    real_run, real_arrow = engine._run, engine.as_arrow

    def run(connection: Any, sql: str, *rest: Any) -> Any:
        told.append((ledger.balance("trips").spent["epsilon"], sql))
        return real_run(connection, sql, *rest)

    def as_arrow(given: Any, names: list[str], *, empty: bool = False) -> Any:
        if not empty:
            told.append((ledger.balance("trips").spent["epsilon"], f"brought {names}"))
        return real_arrow(given, names, empty=empty)

    real_columns = engine.Table.columns

    def counted(opened: engine.Table, sql: str) -> Any:
        told.append((ledger.balance("trips").spent["epsilon"], sql))
        return real_columns(opened, sql)

    monkeypatch.setattr(engine, "_run", run)
    monkeypatch.setattr(engine, "as_arrow", as_arrow)
    monkeypatch.setattr(engine.Table, "columns", counted)
    cost, error = ask(ledger, table, **MODES[mode])
    assert (cost, error) == (1, None)
    before = [sql for spent, sql in told if spent == 0]
    after = [sql for spent, sql in told if spent == 1]
    assert not any("COUNT" in sql or "'rider'" in sql for sql in before)
    assert any("COUNT" in sql for sql in after)
    read = [
        sql
        for sql in before
        if not sql.startswith(("DESCRIBE", "CREATE OR REPLACE TEMP VIEW", "DROP VIEW"))
        and "FROM parquet_schema(" not in sql
    ]
    assert all("DISTINCT" in sql or sql == "brought ['city']" for sql in read)
    assert bool(read) == (mode == "public")


def test_the_table_is_closed_before_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DuckDB had on disk is gone when the first random bit is asked for."""
    open_then: list[bool] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def draw(size: int) -> bytes:
        open_then.append(any(tmp_path.glob("safeselect-*")))
        return os.urandom(size)

    source = CallbackSource(draw, exclusive=True, name="watched")
    table = csv(tmp_path / "t.csv", GOOD)
    for mode in MODES.values():
        asked = len(open_then)
        top_items(table, item="city", user="rider", k=1, epsilon=1, source=source, **mode)
        assert set(open_then[asked:]) == {False}


SCORES: dict[str, str | bytes] = {
    "not a number": "item,n\na,1\nb,x\n",
    "a null": "item,n\na,1\nb,\n",
    "no UTF-8": b"item,n\na,1\nb,\xff\n",
}


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", SCORES)
def test_ready_scores_are_read_after_the_charge(
    name: str, tmp_path: Path, ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    path = csv(tmp_path / "s.csv", SCORES[name])
    words = ["select", str(path), "--label", "item", "--score", "n", "--epsilon", "1"]
    words += ["--sensitivity", "1"]
    assert main([*words, *["--ledger", str(tmp_path / "ledger"), "--scope", "trips"]]) == 2
    out, error = capfd.readouterr()
    assert (out, UNREADABLE in error) == ("", True)
    assert ledger.balance("trips").spent["epsilon"] == 1
    assert outcome(ledger) == ("aborted", "input")
    assert main(words) == 2
    assert UNREADABLE not in capfd.readouterr().err


def test_scores_of_no_numeric_type_are_told_after_the_charge(
    tmp_path: Path, ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    path = parquet(tmp_path / "s.parquet", item=["a", "b"], n=[b"1", b"2"])
    words = ["select", str(path), "--label", "item", "--epsilon", "1", "--sensitivity", "1"]
    words += ["--ledger", str(tmp_path / "ledger"), "--scope", "trips"]
    for wrong in (["--score", "m"], ["--score", "n", "-k", "3"]):
        assert main([*words, *wrong]) == 2
    assert ledger.balance("trips").spent["epsilon"] == 0
    assert main([*words, "--score", "n"]) == 2
    assert ledger.balance("trips").spent["epsilon"] == 1
    assert UNREADABLE in capfd.readouterr().err

"""DuckDB is locked to one file, and none of its words reaches the user."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from safeselect import InputError, ParameterError
from safeselect.tables import TableAs, count_distinct_users
from safeselect.tables.duckdb import _LARGE, open_table
from safeselect.tables.sql import counts_of_items

duckdb = pytest.importorskip("duckdb")

PRIVATE = "Zebedee-4711"
TRIPS = "city,rider\nOslo,ann\nOslo,bob\n"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def trips(path: Path) -> dict[str, int]:
    return count_distinct_users(path, item="city", user="rider")


COLUMNS = "not a complete CSV table of 2 columns"
BROKEN: list[tuple[str, str | bytes, str]] = [
    ("t.csv", "Zebedee-4711,ann\nRome,bob\n", "no column named 'city'"),
    ("t.csv", "city,rider,rider\nOslo,ann,Zebedee-4711\n", "more than one column named 'rider'"),
    ("t.csv", "city,rider\nOslo,ann,Zebedee-4711\n", COLUMNS),
    ("t.csv", "city,rider\nZebedee-4711\n", COLUMNS),
    ("t.csv", 'city,rider\n"Zebedee-4711,ann\n', COLUMNS),
    ("t.csv", b"city,rider\n" + b"Zebedee-4711,ann\n" * 99_999 + b"\xff,x\n", "in UTF-8"),
    ("t.csv", b"city,rider,\xff\nZebedee-4711,a,b\n", "cannot be read as a CSV file in UTF-8"),
    ("t.csv", 'city,"rider\nZebedee-4711,' + "a" * 2**18, "no valid header"),
    ("t.csv", "\ncity,rider\nZebedee-4711,ann\n", "no valid header"),
    ("t.parquet", "Zebedee-4711", "cannot be read as Parquet"),
    ("t.txt", "city,rider\nZebedee-4711\n", "must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BROKEN)
def test_broken_input_is_one_sentence_without_data(
    tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        trips(write(tmp_path / name, content))
    assert_says_nothing(caught.value)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = f"SELECT '{PRIVATE}' AS city, 'ann' AS rider FROM range(999)"  # noqa: S608 - ours
    duckdb.connect().execute(f"COPY ({rows}) TO '{path}'")
    assert trips(path) == {PRIVATE: 1}
    whole = path.read_bytes()
    for kept in (10, len(whole) // 2, -9, -4):
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"gzip|complete CSV|as a CSV|as Parquet") as caught:
            trips(path)
        assert_says_nothing(caught.value)


def assert_says_nothing(error: BaseException) -> None:
    """Neither the message nor anything that hangs on the exception quotes a cell."""
    text = str(error) + repr(error.args)
    assert "\n" not in str(error)
    assert PRIVATE not in text
    assert "DuckDB" not in text
    assert error.__cause__ is None
    assert error.__context__ is None


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        trips(tmp_path)
    for path in (tmp_path / "missing.csv", tmp_path / "a\0b.csv"):
        with pytest.raises(InputError, match="does not exist or is not a regular file"):
            trips(path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="does not exist or is not a regular file"):
        trips(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="does not exist"):
        trips(Path("https://example.org/t.csv"))
    with pytest.raises(ParameterError, match=r"a table must be a file path, .* got int"):
        trips(7)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a column's name must be a string"):
        count_distinct_users(write(tmp_path / "t.csv", TRIPS), item=0, user="x")  # type: ignore[arg-type]


def test_without_duckdb_one_sentence_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match=r"pip install '\.\[tables\]' in a checkout"):
        trips(write(tmp_path / "t.csv", TRIPS))


class Spy:
    """DuckDB with a hook that runs before every statement."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        self.Error, self.OutOfMemoryException = duckdb.Error, duckdb.OutOfMemoryException

    def connect(self, *arguments: Any, **options: Any) -> Any:
        inner, hook = duckdb.connect(*arguments, **options), self.hook

        class Connection:
            def execute(self, sql: str, *parameters: Any) -> Any:
                hook(inner, sql)
                return inner.execute(sql, *parameters)

            def sql(self, sql: str) -> Any:
                hook(inner, sql)
                return inner.sql(sql)

            def close(self) -> None:
                inner.close()

        return Connection()


def test_a_notebook_without_widgets_can_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There DuckDB refuses to be asked for its progress."""

    def hook(connection: Any, sql: str) -> None:
        if "progress_bar" in sql:
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")

    monkeypatch.setitem(sys.modules, "duckdb", Spy(hook))
    table = write(tmp_path / "t.csv", "item,user\na,1\na,2\n")
    assert count_distinct_users(table, item="item", user="user", candidates=["a"]) == {"a": 2}


def test_the_engine_is_locked_to_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write(tmp_path / "other.csv", f"a\n{PRIVATE}\n")
    attempts = [
        f"SELECT * FROM read_csv('{other}')",  # noqa: S608 - a path of ours
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET temp_directory = '/tmp'",
        "SELECT * FROM attempts",  # a variable of this Python function
    ]
    refused, modes, places = [], [], []

    def hook(connection: Any, sql: str) -> None:
        if "COUNT(DISTINCT" not in sql:
            return
        place = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        places.append(Path(place))
        modes.append(stat.S_IMODE(places[0].parent.stat().st_mode))
        for attempt in attempts:
            with pytest.raises(duckdb.Error, match=r"disabled|locked|does not exist"):
                connection.execute(attempt).fetchall()
            refused.append(attempt)

    monkeypatch.setitem(sys.modules, "duckdb", Spy(hook))
    old = os.umask(0)
    try:
        assert trips(write(tmp_path / "t.csv", TRIPS))["Oslo"] == 2
    finally:
        os.umask(old)
    assert (refused, modes) == (attempts, [0o700])
    assert not places[0].parent.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.csv", "t.csv"]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (duckdb.ConversionException(PRIVATE), InputError),
        (UnicodeDecodeError("utf-8", PRIVATE.encode(), 0, 1, PRIVATE), InputError),
        (duckdb.OutOfMemoryException(PRIVATE), InputError),
        (MemoryError(), InputError),
        (RuntimeError("Query interrupted"), KeyboardInterrupt),
    ],
)
def test_whatever_the_engine_raises_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: Any
) -> None:
    def hook(_: Any, sql: str) -> None:
        if "COUNT(DISTINCT" in sql:
            raise raised

    monkeypatch.setitem(sys.modules, "duckdb", Spy(hook))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with pytest.raises(expected) as caught:
        trips(write(tmp_path / "t.csv", TRIPS))
    assert PRIVATE not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert list(scratch.iterdir()) == []


def test_a_quote_in_the_place_for_scratch_files_is_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "it's"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert trips(write(tmp_path / "t.csv", TRIPS)) == {"Oslo": 2}


@pytest.mark.parametrize("call", ["mkdtemp", "gettempdir", "symlink_to", "touch"])
@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EROFS, errno.ENOENT])
def test_a_folder_that_cannot_be_written_is_one_sentence(
    call: str, kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(kind, PRIVATE)

    path = write(tmp_path / "t.csv", TRIPS)
    monkeypatch.setattr(Path if hasattr(Path, call) else tempfile, call, failing)
    with pytest.raises(InputError, match="set TMPDIR to a writable directory") as caught:
        trips(path)
    assert_says_nothing(caught.value)


def test_the_engine_may_be_kept_small(tmp_path: Path) -> None:
    path, columns = write(tmp_path / "t.csv", TRIPS), {"item": "city", "person": "rider"}
    ask, little = "SELECT current_setting('memory_limit')", TableAs(path, memory="100MB")
    with open_table(little, columns) as small, open_table(path, columns) as usual:
        assert small.fetch(ask)[0][0] in ("95.3 MiB", "100.0 MB")
        ((own,),) = duckdb.connect().execute(ask).fetchall()
        assert usual.fetch(ask) == [("3.7 GiB" if _LARGE.fullmatch(own) else own,)]
        largest = counts_of_items(places=3)
        assert small.fetch(largest) == usual.fetch(largest)
    assert all(map(_LARGE.fullmatch, ("4.0 GiB", "18.8 GiB", "1.0 TiB")))
    assert not any(map(_LARGE.fullmatch, ("3.9 GiB", "900.5 MiB", "0 bytes")))
    for memory in ("0GB", "1", "1TB", "1 GB", "", 7, "1GB'"):
        with pytest.raises(ParameterError, match="memory must be a size such as '500MB' or '2GB'"):
            TableAs(path, memory=memory)  # type: ignore[arg-type]

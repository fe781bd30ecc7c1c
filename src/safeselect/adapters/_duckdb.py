"""DuckDB, embedded and locked to one file.

The rules, which `tables` relies on:

- The engine may read the one file that was named, and nothing else; it writes only into a fresh
  directory of mode 0700, removed afterwards; it loads no extension and reaches no network.
- Types come from the declaration (a CSV column is text), never from looking at values.
- DuckDB's messages quote cells.  None of them leaves this file, not even as an exception's
  context: our own sentence is raised after the handler has ended.
- The file is opened under a name of ours, so that brackets, stars and quotes in its path mean
  nothing to SQL.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from safeselect.errors import InputError, ParameterError

__all__ = ["Table", "open_table", "shown"]

_LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
}
_LOCKED_IN_ORDER = (
    # Implied by the lock below, and said anyway: SQL cannot name the caller's variables.
    "SET python_enable_replacements = false",
    "SET enable_progress_bar = false",
    "SET allowed_paths = [{file}]",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_CSV = (
    "read_csv({file}, auto_detect = false, header = true, delim = ',', quote = '\"', "
    "escape = '\"', comment = '', nullstr = '', compression = {compression}, "
    "hive_partitioning = false, columns = {{{columns}}})"
)
_PARQUET = "read_parquet({file}, hive_partitioning = false)"
_HEADER_LIMIT = 1 << 20  # characters; a header line is far shorter, and is never searched further


@dataclass(frozen=True, slots=True)
class Table:
    """An open file: its wanted columns, by the names given to `open_table`, in the view
    `safeselect_rows`.

    Attributes:
        types: the declared SQL type of each wanted column.
    """

    types: Mapping[str, str]
    _connection: Any
    _failure: str

    def fetch(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return all rows.

        Raises:
            InputError: the file cannot be read; never with a word of the engine's own message.
        """
        return _run(self._connection, sql, parameters, self._failure)


@contextmanager
def open_table(path: str | os.PathLike[str], columns: Mapping[str, str]) -> Iterator[Table]:
    """Open a CSV (also .csv.gz) or Parquet file for the length of a `with` block.

    Args:
        path: a regular file whose name ends in .csv, .csv.gz or .parquet.
        columns: our name -> the column's name in the file.

    Raises:
        InputError: no DuckDB, no such file or column, or a file that cannot be read.
        ParameterError: the path or a column is not text.
    """
    file = _regular_file(path)
    for column in columns.values():
        if not isinstance(column, str):
            raise ParameterError(f"a column's name must be a string, got {type(column).__name__}")
    duckdb = _import_duckdb()
    with tempfile.TemporaryDirectory(prefix="safeselect-") as private:  # mode 0700
        spill = Path(private, "spill")
        spill.mkdir(mode=0o700)
        alias = Path(private, "input")
        alias.symlink_to(file.resolve())
        reader, failure, header = _reader(file, alias)
        connection = duckdb.connect(":memory:", config={"temp_directory": str(spill), **_LOCKED})
        try:
            for statement in _LOCKED_IN_ORDER:
                connection.execute(statement.format(file=_literal(str(alias))))
            # Every name and path below is quoted by _identifier and _literal.
            describe = f"DESCRIBE SELECT * FROM {reader}"  # noqa: S608 - quoted
            described = _run(connection, describe, (), failure)
            names = [row[0] for row in described] if header is None else header
            at = {ours: _position(names, name, file) for ours, name in columns.items()}
            wanted = ", ".join(
                f"{_identifier(described[place][0])} AS {_identifier(ours)}"
                for ours, place in at.items()
            )
            select = f"SELECT {wanted} FROM {reader}"  # noqa: S608 - quoted
            _run(connection, f"CREATE TEMP VIEW safeselect_rows AS {select}", (), failure)
            types = {ours: str(described[place][1]) for ours, place in at.items()}
            yield Table(types, connection, failure)
        finally:
            connection.close()


def shown(text: object) -> str:
    """A parameter, such as a path, quoted for a message of one line."""
    return repr(os.fspath(text) if isinstance(text, os.PathLike) else text)


def _run(
    connection: Any, sql: str, parameters: tuple[object, ...], failure: str
) -> list[tuple[Any, ...]]:
    duckdb = _import_duckdb()
    rows: list[tuple[Any, ...]] | None = None
    interrupted = exhausted = False
    try:
        rows = connection.execute(sql, list(parameters)).fetchall()
    except Exception as error:  # noqa: BLE001 - whatever it is, it may hold cells
        interrupted = str(error) == "Query interrupted"  # how DuckDB reports Ctrl-C
        exhausted = isinstance(error, (duckdb.OutOfMemoryException, MemoryError))
    if interrupted:
        raise KeyboardInterrupt
    if exhausted:
        raise InputError("DuckDB ran out of memory or of disk space while reading the file")
    if rows is None:
        raise InputError(failure)
    return rows


def _import_duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "reading tables needs DuckDB: install it with pip install 'safeselect[tables]'"
        ) from None
    module: ModuleType = duckdb
    return module


def _regular_file(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"a path must be a string or a Path, got {type(path).__name__}")
    file = Path(path)
    try:
        kind = "a directory" if file.is_dir() else "" if file.is_file() else "missing"
        if not kind:
            file.open("rb").close()
    except (OSError, ValueError):  # no permission; a name with a NUL
        kind = "not readable"
    if kind == "missing":
        raise InputError(f"{shown(path)} does not exist or is not a regular file")
    if kind:
        raise InputError(f"{shown(path)} is {kind}; name a .csv, .csv.gz or .parquet file")
    return file


def _reader(file: Path, alias: Path) -> tuple[str, str, list[str] | None]:
    """The table function for a file, the sentence for its failures, and a CSV file's header."""
    name, literal = file.name.lower(), _literal(str(alias))
    if name.endswith(".parquet"):
        return (
            _PARQUET.format(file=literal),
            f"{shown(file)} cannot be read as Parquet: it is truncated, damaged or something else",
            None,
        )
    if not name.endswith((".csv", ".csv.gz")):
        raise InputError(f"{shown(file)} must be named .csv, .csv.gz or .parquet")
    compressed = name.endswith(".gz")
    header = _header(file, compressed)
    # Our own names, so that empty, repeated or odd names in the header never reach SQL.
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header)))
    compression = "'gzip'" if compressed else "'none'"
    failure = (
        f"{shown(file)} is not a whole CSV table of {len(header)} columns in UTF-8: it is "
        "truncated or damaged, a row has more or fewer cells than the header, or a quote is not "
        "closed"
    )
    return _CSV.format(file=literal, compression=compression, columns=columns), failure, header


def _header(file: Path, compressed: bool) -> list[str]:
    # Read here, because DuckDB would guess delimiter and quotes from the values below it.
    text: str | None = None
    try:
        with open(file, "rb") as raw:
            plain: Any = gzip.GzipFile(fileobj=raw) if compressed else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as lines:
                text = lines.read(_HEADER_LIMIT)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        pass  # a UnicodeDecodeError holds the bytes; the sentence is raised outside the handler
    if text is None:
        kind = "a gzip-compressed CSV" if compressed else "a CSV"
        raise InputError(f"{shown(file)} cannot be read as {kind} file in UTF-8")
    try:
        header = next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error:
        header = []
    if not header:
        raise InputError(f"{shown(file)} has no header line; its first line must name the columns")
    return header


def _position(names: list[str], wanted: str, file: Path) -> int:
    # The message does not list the names: in a file without a header they are someone's row.
    if names.count(wanted) != 1:
        found = "no column" if wanted not in names else "more than one column"
        raise InputError(f"{shown(file)} has {found} named {shown(wanted)}")
    return names.index(wanted)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

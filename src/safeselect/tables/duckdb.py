"""DuckDB, embedded and locked to one table.

`tables` relies on these rules:

- The engine may read the one file or frame that was named, and nothing else.  It writes only into a
  fresh directory of mode 0700, which is removed afterwards.  It loads no extension and
  uses no network.
- Types come from the declaration (a CSV column is text), never from values.  Opening a table reads
  its columns and no row; `Table.load` brings frames in.
- DuckDB's messages quote cells.  None of them leaves `ask`, not even as an exception's context: our
  own sentence is raised after the handler ends.
- The file is opened under a name of ours, so that brackets, stars and quotes in its path mean
  nothing to SQL.
- A table of another connection is read through Arrow, so that connection's settings, such as a
  collation in which two keys are equal, have no effect here.
- How long a count takes depends on private data.

What the engine spills is clear text of the rows, and a process that is killed cannot remove it.  So
each private directory is locked by its owner, by `flock`, for as long as the owner lives, and
whoever makes one first removes those that nobody holds.

- A lock, and not a process id, says who lives: containers that share a folder have the same ids.
- Only directories of this user, of mode 0700 and of our name are touched; a link is never followed,
  neither to a directory nor in it.  Contents are removed through the descriptor that was locked,
  whatever the name has come to mean.
- An owner that was swept between making its directory and locking it makes another one.
- A child that was forked holds the lock too; it removes nothing, and nothing is swept until both
  have ended.
- Where a file system has no such locks nobody gets one, and nothing is swept.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from safeselect.errors import InputError
from safeselect.release.display import library
from safeselect.release.progress import watched
from safeselect.tables.files import (
    STANDARD_INPUT,
    Source,
    TableAs,
    identifier,
    literal,
    paths_of,
    require_key,
    shown,
    source_of,
)
from safeselect.tables.frames import CELLS, as_arrow, is_stream
from safeselect.tables.sql import DATES, INTEGERS, KEYS, LABELS, NAN, TEXT, spelled

try:
    import fcntl
except ImportError:  # pragma: no cover - not on this platform
    fcntl = None  # type: ignore[assignment]

_Answer = TypeVar("_Answer")
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
    # The answer is sorted, so rows may be read in any order; keeping their order takes memory.
    "preserve_insertion_order": "false",
}
_LOCKED_IN_ORDER = (
    # Implied by the lock below, and stated anyway: SQL cannot name the caller's variables.
    "SET python_enable_replacements = false",
    "SET allowed_paths = [{files}]",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_LARGE = re.compile("([4-9]|[0-9]{2,})[.][0-9] GiB|.* [TP]iB", re.ASCII)  # above 4 GB
_FRAME = Source("safeselect_frame")
_ONE_OF = (
    "one of the {} files is not a complete table: it is truncated or damaged, or its encoding or "
    "delimiter differs from the stated one"
)
_BROKEN = "safeselect: not whole"
_NOT_WHOLE = (
    "a column of keys contains floating-point numbers that are not whole; keys must be integers "
    'or strings, for example df["rider"].astype("Int64"), or astype(str) for other numbers'
)
# Integers up to these are different floats, so that no two of them become one.
_EXACT_UP_TO = {"DOUBLE": 2**53, "FLOAT": 2**24}
_WHOLE = (
    f"CASE WHEN {{cell}} IS NULL OR {NAN} THEN NULL "
    "WHEN abs({cell}) <= {most} AND {cell} = floor({cell}) THEN TRY_CAST({cell} AS BIGINT) "
    f"ELSE CAST(error('{_BROKEN}') AS BIGINT) END"
)
_NO_FOLDER = "cannot write temporary files; set TMPDIR to a writable directory with free space"
_PREFIX = "safeselect-rows-"
_PRIVATE = re.compile(f"{_PREFIX}[a-z0-9_]{{8}}", re.ASCII)  # as `mkdtemp` makes them
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Table:
    """An open table of which no row was read yet.

    Attributes:
        types: the declared SQL type of each wanted column; None if it depends on the values, as in
            a pandas DataFrame.
        is_quick: whether a second scan is cheap and possible: of Parquet, and of tables in memory.
    """

    types: Mapping[str, str | None]
    is_quick: bool
    _connection: Any
    _failure: str
    _form: TableAs
    _bring: Callable[[Sequence[str]], Mapping[str, str]]

    def load(self, *columns: str) -> Mapping[str, str]:
        """Bring these columns, by our names, into the view `safeselect_rows`, for one statement.

        Returns:
            Their SQL types.

        Raises:
            InputError: the table cannot be read.
        """
        return self._bring(columns)

    def fetch(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return all rows.

        Raises:
            InputError: the table cannot be read; the message has no word of the engine's own.
        """
        return _run(self._connection, sql, self._failure, parameters)

    def columns(self, sql: str) -> Any:
        """Run one statement and return its result as an Arrow table.

        Raises:
            InputError: as for `fetch`.
        """

        def question() -> Any:
            answer = self._connection.sql(sql)
            # The second is the older name of the first.
            return (getattr(answer, "to_arrow_table", None) or answer.fetch_arrow_table)()

        return _watched(self._connection, question, self._failure)

    def tidied(self, labels: list[str]) -> list[str | None]:
        """Return public labels as the same text in a cell would be read; None where missing."""
        cell = self._form.tidied("label")
        if cell == "label":  # cells are taken as they stand
            return [*labels]
        # `tidied` adds nothing of the caller's to the SQL.
        sql = (
            f"SELECT {cell} FROM "  # noqa: S608 - see above
            "(SELECT unnest($1) AS label, unnest(range(len($1))) AS place) ORDER BY place"
        )
        return [label for (label,) in self.fetch(sql, labels)]

    def store(self, name: str, labels: list[str]) -> None:
        """Put public labels into the table of this name, for a statement of `sql`."""
        self.fetch(f"CREATE TEMP TABLE {name} AS SELECT unnest($1) AS label", labels)


@contextmanager
def open_table(
    table: object, columns: Mapping[str, str], *, dated: bool = False
) -> Iterator[Table]:
    """Open a table for the length of a `with` block.

    Args:
        table: the path of a regular file whose name ends in .csv, .tsv, .csv.gz, .tsv.gz or
            .parquet; "-", standard input; or a frame, see `frames`; several paths; or a `TableAs`.
        columns: our name -> the column's name in the table; "item", "grp" and "person" are keys.
        dated: whether values are dates.

    Raises:
        InputError: there is no such file or no such column, or the table is unreadable.
        ParameterError: there is no DuckDB, or an argument has the wrong type.
    """
    form = table if isinstance(table, TableAs) else TableAs(table)
    table, files = form.table, paths_of(form.table)
    duckdb = library("duckdb", "tables")
    empty = as_arrow(table, [*columns.values()], empty=True) if files is None else None
    with private_directory() as private:
        paths = [(file, private / f"input{place or ''}") for place, file in enumerate(files or ())]
        for file, alias in paths:
            bring(file, alias)
        sources = [source_of(*each, form) for each in paths] or [_FRAME]
        failure = sources[0].failure if len(sources) == 1 else _ONE_OF.format(len(sources))
        limit = {} if form.memory is None else {"memory_limit": form.memory}
        config = {"temp_directory": str(private / "spill"), **_CONFIG, **limit}
        with closing(duckdb.connect(":memory:", config=config)) as connection:
            ((own,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
            if form.memory is None and _LARGE.fullmatch(own):
                connection.execute("SET memory_limit = '4GB'")
            allowed = ", ".join(literal(str(each.path)) for each in sources if each.path)
            with suppress(duckdb.Error):  # in a notebook it needs ipywidgets
                # It is asked for its progress; its bar would go where the release goes.
                connection.execute("SET enable_progress_bar_print = false")
                connection.execute("SET enable_progress_bar = true")
            for statement in _LOCKED_IN_ORDER:
                connection.execute(statement.format(files=allowed))

            def view(wanted: Sequence[str]) -> Mapping[str, str]:
                named = {ours: columns[ours] for ours in wanted}
                return _view(connection, sources, named, form, dated=dated)

            def load(wanted: Sequence[str]) -> Mapping[str, str]:
                for source in sources:
                    ask(source.bring, source.failure)
                if files is None:
                    values = [columns[ours] for ours in wanted if ours not in KEYS]
                    frame = as_arrow(table, [columns[ours] for ours in wanted], *values)
                    ask(partial(connection.register, _FRAME.rows, frame), failure)
                return view(wanted)

            types: Mapping[str, str | None] = dict.fromkeys(columns)
            if empty is not None:
                ask(partial(connection.register, _FRAME.rows, empty), failure)
            if files is not None or empty is not None:
                types = dict(view([*columns]))
            if empty is not None:
                # So that no statement can read the frame without rows instead of the table.
                _run(connection, "DROP VIEW safeselect_rows", failure)
            is_quick = all(file.name.lower().endswith(".parquet") for file in files or ())
            yield Table(types, is_quick and not is_stream(table), connection, failure, form, load)


def _view(
    connection: Any,
    sources: Sequence[Source],
    columns: Mapping[str, str],
    form: TableAs,
    *,
    dated: bool,
) -> Mapping[str, str]:
    """Make the view of these columns and return their types.  No row is read."""
    selects, found = [], []
    for source in sources:
        # `identifier` and `literal` quote every name and path below.
        sql = f"DESCRIBE SELECT * FROM {source.rows}"  # noqa: S608 - quoted
        known = _run(connection, sql, source.failure)
        names = source.header or _names(connection, source, columns)
        at = {ours: source.position(names, name) for ours, name in columns.items()}
        types = {ours: str(known[place][1]) for ours, place in at.items()}
        cells = {ours: identifier(known[place][0]) for ours, place in at.items()}
        for ours, kind in types.items():
            is_key, user, cell = ours in KEYS or ours == "label", ours == "person", cells[ours]
            if kind in _EXACT_UP_TO and user:
                cell, kind = _WHOLE.format(cell=cell, most=_EXACT_UP_TO[kind]), "BIGINT"
            text = f"TRY_CAST({cell} AS DATE)" if kind in DATES else spelled(cell, kind, "HUGEINT")
            read = partial(form.tidied, user=user) if is_key else partial(form.value, dated=dated)
            if kind == TEXT:
                # DuckDB reads UTF-8 in files, and anything in frames.
                cell = read(text if source is _FRAME else cell)
            elif kind == CELLS:
                text = f"CAST({spelled(f'{cell}.number', 'DOUBLE', 'HUGEINT')} AS VARCHAR)"
                # A score is the number that the float is, and a value its shortest decimal.
                number = "CAST({} AS VARCHAR)" if ours != "score" else "format('{{:.1074f}}', {})"
                number = form.present(number.format("NULL" if dated else f"{cell}.number"), text)
                other = form.present(f"{cell}.other")
                cell, kind = f"COALESCE({read(f'{cell}.written')}, {number}, {other})", TEXT
            else:
                cell = text if ours in LABELS else cell
                cell = form.present(cell, f"CAST({text} AS VARCHAR)", user=user)
            cells[ours], types[ours] = cell, kind
            if is_key:
                require_key(types[ours], columns[ours], item=ours in LABELS)
        wanted = ", ".join(f"{cell} AS {identifier(ours)}" for ours, cell in cells.items())
        selects.append(f"SELECT {wanted} FROM {source.rows}")  # noqa: S608 - quoted
        found.append(types)
    for ours, name in columns.items():
        # Items are texts in every file, whatever their types.
        if ours not in LABELS and len({types[ours] for types in found}) > 1:
            raise InputError(f"column {shown(name)} has different types in different files")
    sql = f"CREATE OR REPLACE TEMP VIEW safeselect_rows AS {' UNION ALL '.join(selects)}"
    _run(connection, sql, sources[0].failure)
    # Of several types of items: integers if all are, and text, the last by name, if any is.
    widest = partial(max, key=lambda kind: (kind not in INTEGERS, kind))
    return {ours: widest(types[ours] for types in found) for ours in columns}


def _names(connection: Any, source: Source, columns: Mapping[str, str]) -> list[str]:
    """The columns of a frame or of a Parquet file by their own names: DuckDB renames some.

    To DuckDB, `ID` and `id` are one.
    """
    if source.path is None:
        return [*dict.fromkeys(columns.values())]  # as `as_arrow` picks them
    names, below = list[str](), 0  # how many nodes are still to come inside of a column
    file = literal(str(source.path))
    footer = f"SELECT name, num_children FROM parquet_schema({file})"  # noqa: S608 - quoted
    for name, children in _run(connection, footer, source.failure)[1:]:
        names += [] if below else [name]
        below += (children or 0) - bool(below)
    return names


def bring(file: Path, alias: Path) -> None:
    """Give a file a name of ours; standard input is copied as it is, and not looked at.

    Raises:
        InputError: the private directory cannot be written, or standard input not be read.
    """
    wrong = _NO_FOLDER
    with suppress(AttributeError, OSError, ValueError):  # none, closed, or no space is left
        alias.with_suffix(".utf-8").touch()  # for a file in another encoding
        if file != STANDARD_INPUT:
            alias.symlink_to(file.resolve())
            return
        wrong = "standard input cannot be read or copied; use a file instead of -"
        with alias.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return
    raise InputError(wrong)


# ------------------------------------------------------------------------------- questions


def _run(
    connection: Any, sql: str, failure: str, parameters: tuple[object, ...] = ()
) -> list[tuple[Any, ...]]:
    """Run one statement and return all rows, or raise one sentence of ours."""
    return _watched(
        connection, lambda: connection.execute(sql, list(parameters)).fetchall(), failure
    )


def _watched(connection: Any, question: Callable[[], _Answer], failure: str) -> _Answer:
    with watched("counting", lambda: connection.query_progress() / 100):
        return ask(question, failure)


def ask(question: Callable[[], _Answer], failure: str) -> _Answer:
    """Return DuckDB's answer, or raise one sentence of ours."""
    duckdb = library("duckdb", "tables")
    answer = None
    interrupted = exhausted = broken = False
    try:
        answer = question()
    except Exception as error:  # noqa: BLE001 - any error may quote cells
        interrupted = str(error) == "Query interrupted"  # how DuckDB reports Ctrl-C
        broken = _BROKEN in str(error) and _BROKEN not in failure
        exhausted = isinstance(error, (duckdb.OutOfMemoryException, MemoryError))
    if interrupted:
        raise KeyboardInterrupt
    if exhausted:
        raise InputError("DuckDB ran out of memory or disk space while reading the table")
    if broken:
        raise InputError(_NOT_WHOLE)
    if answer is None:
        raise InputError(failure)
    return answer


# ------------------------------------------------------------------------- the directory


@contextmanager
def private_directory() -> Iterator[Path]:
    """Make a directory of mode 0700 for the length of a `with` block, and sweep what was left."""
    if fcntl is None:  # pragma: no cover - not on this platform
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as plain:  # type: ignore[unreachable]
            yield Path(plain)
        return
    path, held = _made()
    owner = os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:  # not in a child that was forked inside the block
            _remove(path, held)
        os.close(held)


def _made() -> tuple[Path, int]:
    """Sweep, make a directory and lock it; return it with the descriptor that holds the lock."""
    with suppress(OSError):  # no folder, no permission, or no space is left
        _sweep(Path(tempfile.gettempdir()))
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with suppress(FileNotFoundError):  # swept before it was opened
                held = os.open(path, _OPEN)
                if _is_locked(held, unknown=True) and _is_at(path, held):
                    return path, held
                os.close(held)
    raise InputError(_NO_FOLDER)


def _sweep(folder: Path) -> None:
    """Remove the directories of dead owners; whatever cannot be removed stays."""
    with suppress(OSError):
        for name in filter(_PRIVATE.fullmatch, os.listdir(folder)):
            with suppress(OSError):  # gone meanwhile, a link, or another user's
                held = os.open(folder / name, _OPEN)
                try:
                    found = os.fstat(held)
                    is_ours = found.st_uid == os.geteuid() and found.st_mode & 0o777 == 0o700
                    if is_ours and _is_locked(held, unknown=False):
                        _remove(folder / name, held)
                finally:
                    os.close(held)


def _is_locked(held: int, *, unknown: bool) -> bool:
    """Whether the lock was free and is ours now; `unknown` where there are no such locks."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


def _is_at(path: Path, held: int) -> bool:
    """Whether the name still means the directory that was opened."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(held))
    return False


def _remove(path: Path, held: int) -> None:
    """Remove what a directory holds, and then itself, if its name still means it."""
    for name in os.listdir(held):
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=held)
            else:
                os.unlink(name, dir_fd=held)
    with suppress(OSError):
        if _is_at(path, held):
            os.rmdir(path)

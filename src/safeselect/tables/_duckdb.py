"""DuckDB, embedded and locked to one table.

`tables` relies on these rules:

- The engine may read the one file or frame that was named, and nothing else.  It writes only into a
  fresh directory of mode 0700, which is removed afterwards (`_private`).  It loads no extension and
  uses no network.
- Types come from the declaration (a CSV column is text), never from values.  Opening a table reads
  its columns and no row; `Table.load` brings frames in.
- DuckDB's messages quote cells.  None of them leaves `_asking`, not even as an exception's
  context: our own sentence is raised after the handler ends.
- The file is opened under a name of ours, so that brackets, stars and quotes in its path mean
  nothing to SQL.
- A table of another connection is read through Arrow, so that connection's settings, such as a
  collation in which two keys are equal, have no effect here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.tables._asking import BROKEN, ask, import_duckdb, run
from safeselect.tables._described import TableAs, paths_of
from safeselect.tables._files import (
    delimiter_with,
    identifier,
    literal,
    memory_size,
    position,
    reader,
    regular_file,
    shown,
)
from safeselect.tables._frames import as_arrow, without_rows
from safeselect.tables._keys import KEYS, LABELS, spelled
from safeselect.tables._private import private_directory
from safeselect.tables._progress import reported

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
    # DuckDB would draw its bar on standard output, where the release goes; see `_progress`.
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET allowed_paths = [{files}]",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_FRAME = "safeselect_frame"
_ONE_OF = (
    "one of the {} files is not a whole table: it is truncated or damaged, or has another encoding "
    "or delimiter than was stated for all"
)
# Integers up to these are different floats, so that no two of them become one.
_EXACT_UP_TO = {"DOUBLE": 2**53, "FLOAT": 2**24}
_WHOLE = (
    "CASE WHEN {cell} IS NULL OR isnan({cell}) THEN NULL "
    "WHEN abs({cell}) <= {most} AND {cell} = floor({cell}) THEN CAST({cell} AS BIGINT) "
    f"ELSE CAST(error('{BROKEN}') AS BIGINT) END"
)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file or a frame: the SQL that reads it, what to say if it fails, its header, its name."""

    rows: str
    failure: str
    header: list[str] | None
    place: str
    file: Path | None = None

    def position(self, names: list[str], wanted: str, encoding: str) -> int:
        """Return the position of a column; if a CSV file lacks it, try other delimiters."""
        if self.file is not None and self.header is not None and wanted not in names:
            mark = delimiter_with(self.file, encoding, wanted)
            if mark is not None:
                raise InputError(
                    f"{self.place} has no column named {shown(wanted)} between delimiters as "
                    f"stated, but with {mark!r}: state delimiter={mark!r}, as an option "
                    f"--delimiter {mark!r}"
                )
        return position(names, wanted, self.place)


@dataclass(frozen=True, slots=True)
class Table:
    """An open table of which no row was read yet.

    Attributes:
        types: the declared SQL type of each wanted column; None if it depends on the values, as in
            a pandas DataFrame.
    """

    types: Mapping[str, str | None]
    _connection: Any
    _failure: str
    _progress: bool
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

    def fetch(
        self, sql: str, *parameters: object, unfit: str | None = None
    ) -> list[tuple[Any, ...]]:
        """Run one statement and return all rows.

        Args:
            unfit: what to say if the statement reads a cell as another type, and cannot.

        Raises:
            InputError: the table cannot be read; the message has no word of the engine's own.
        """
        with reported(self._connection.query_progress if self._progress else None):
            return run(self._connection, sql, parameters, self._failure, unfit)

    def tidied(self, labels: list[str]) -> list[str | None]:
        """Return public labels as the same text in a cell would be read; None where missing."""
        if self._form.is_plain:
            return [*labels]
        # `tidied` adds nothing of the caller's to the SQL.
        sql = (
            f"SELECT {self._form.tidied('label')} FROM "  # noqa: S608 - see above
            "(SELECT unnest($1) AS label, unnest(range(len($1))) AS place) ORDER BY place"
        )
        return [label for (label,) in self.fetch(sql, labels)]

    def store_candidates(self, labels: list[str]) -> None:
        """Put the labels into the table `safeselect_candidates`."""
        self.fetch("CREATE TEMP TABLE safeselect_candidates AS SELECT unnest($1) AS label", labels)

    def store_groups(self, labels: list[str]) -> None:
        """Put the labels into the table `safeselect_groups`."""
        self.fetch("CREATE TEMP TABLE safeselect_groups AS SELECT unnest($1) AS label", labels)


@contextmanager
def open_table(
    table: object, columns: Mapping[str, str], *, memory: str | None = None, progress: bool = False
) -> Iterator[Table]:
    """Open a table for the length of a `with` block.

    Args:
        table: the path of a regular file whose name ends in .csv, .csv.gz or .parquet; or a frame,
            see `_frames`; several paths; or a `TableAs`.
        columns: our name -> the column's name in the table; "item", "grp" and "person" are keys.
        memory: the most memory that the engine may use, such as "2GB"; beyond it, it uses disk.
        progress: report on standard error how far a long statement is.

    Raises:
        InputError: there is no DuckDB, no such file or no such column, or the table is unreadable.
        ParameterError: an argument has the wrong type.
    """
    described = table if isinstance(table, TableAs) else TableAs(table)
    table, files = described.table, paths_of(described.table)
    files = None if files is None else [regular_file(path) for path in files]
    for column in columns.values():
        if not isinstance(column, str):
            raise ParameterError(f"a column's name must be a string, got {type(column).__name__}")
    config = _CONFIG
    if memory is not None:
        config = {**_CONFIG, "memory_limit": f"{memory_size(memory) // 1000}KB"}
    duckdb = import_duckdb()
    empty = without_rows(table, list(columns.values())) if files is None else None
    with private_directory() as private:
        spill = Path(private, "spill")
        spill.mkdir(mode=0o700)
        sources = [_Source(_FRAME, "the table cannot be read", None, "the table")]
        if files is not None:
            aliases = [Path(private, f"input{place or ''}") for place in range(len(files))]
            for file, alias in zip(files, aliases, strict=True):
                alias.symlink_to(file.resolve())
            form = described.delimiter, described.encoding
            sources = [
                _Source(*reader(file, alias, *form), shown(file), file)
                for file, alias in zip(files, aliases, strict=True)
            ]
        failure = sources[0].failure if len(sources) == 1 else _ONE_OF.format(len(sources))
        allowed = (
            ", ".join(literal(str(alias)) for alias in aliases)
            if files
            else literal(str(Path(private, "input")))
        )
        connection = duckdb.connect(":memory:", config={"temp_directory": str(spill), **config})
        try:
            for statement in _LOCKED_IN_ORDER:
                connection.execute(statement.format(files=allowed))

            def bring(wanted: Sequence[str]) -> Mapping[str, str]:
                if files is None:
                    values = [columns[ours] for ours in wanted if ours not in KEYS]
                    frame = as_arrow(table, [columns[ours] for ours in wanted], *values)
                    ask(lambda: connection.register(_FRAME, frame), failure)
                return view(wanted)

            def view(wanted: Sequence[str]) -> Mapping[str, str]:
                named = {ours: columns[ours] for ours in wanted}
                return _view(connection, sources, named, described)

            types: Mapping[str, str | None] = dict.fromkeys(columns)
            if empty is not None:
                ask(lambda: connection.register(_FRAME, empty), failure)
            if files is not None or empty is not None:
                types = dict(view(list(columns)))
            if empty is not None:
                # So that no statement can read the frame without rows instead of the table.
                run(connection, "DROP VIEW safeselect_rows", (), failure)
            yield Table(types, connection, failure, progress, described, bring)
        finally:
            connection.close()


def _view(
    connection: Any, sources: Sequence[_Source], columns: Mapping[str, str], described: TableAs
) -> Mapping[str, str]:
    """Make the view of these columns and return their types.  No row is read."""
    selects, found = [], []
    for source in sources:
        # `identifier` and `literal` quote every name and path below.
        sql = f"DESCRIBE SELECT * FROM {source.rows}"  # noqa: S608 - quoted
        known = run(connection, sql, (), source.failure)
        names = [row[0] for row in known] if source.header is None else source.header
        at = {
            ours: source.position(names, name, described.encoding) for ours, name in columns.items()
        }
        types = {ours: str(known[place][1]) for ours, place in at.items()}
        cells = {ours: identifier(known[place][0]) for ours, place in at.items()}
        for ours, kind in types.items():
            if kind in _EXACT_UP_TO and ours == "person":
                cells[ours] = _WHOLE.format(cell=cells[ours], most=_EXACT_UP_TO[kind])
                types[ours] = "BIGINT"
            elif kind == "VARCHAR" and not described.is_plain:
                cells[ours] = described.tidied(cells[ours])
            elif ours in LABELS:
                cells[ours] = spelled(cells[ours], kind, "HUGEINT")
        wanted = ", ".join(f"{cell} AS {identifier(ours)}" for ours, cell in cells.items())
        selects.append(f"SELECT {wanted} FROM {source.rows}")  # noqa: S608 - quoted
        found.append(types)
    for ours, name in columns.items():
        # Items are texts in every file, whatever their types.
        if ours not in LABELS and len({types[ours] for types in found}) > 1:
            raise InputError(f"column {shown(name)} holds different types in different files")
    select = " UNION ALL ".join(selects)
    sql = f"CREATE OR REPLACE TEMP VIEW safeselect_rows AS {select}"
    run(connection, sql, (), sources[0].failure)
    return found[0]

"""Files that hold tables: how they are to be read, their headers, and the SQL that reads them.

How a table is read is a public parameter.  Two cells that are made equal are one item, or one user,
in every table alike, so neighbouring tables stay neighbours.

Messages name the file and the columns that were asked for.  They never list the columns that were
found: in a file without a header these are someone's row.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import describe, read_choice
from safeselect.scores.reading import flag

_CSV = (
    "read_csv({file}, auto_detect = false, header = true, delim = {delimiter}, quote = '\"', "
    "escape = '\"', comment = '', nullstr = '', compression = {compression}, "
    "encoding = {encoding}, "
    "hive_partitioning = false, columns = {{{columns}}})"
)
_PARQUET = "read_parquet({file}, hive_partitioning = false)"
_CODECS = {"utf-8": "utf-8-sig", "latin-1": "latin-1", "utf-16": "utf-16"}
_MEMORY = re.compile(r"[1-9][0-9]{0,5}(MB|GB)", re.ASCII)
_HEADER_LIMIT = 1 << 20  # characters; a header is far shorter, and no more is searched
_SURROGATE = re.compile("[\\udc80-\\udcff]")  # these stand for bytes that are not UTF-8
_MOST_COLUMNS = 10_000  # ten times as many take DuckDB gigabytes, even if empty
_BLANK = " \t\r\n\u00a0"
_WHOLE = r"^(-?[0-9]+)\.0*$"


@dataclass(frozen=True, slots=True)
class TableAs:
    """A table together with how it is to be read; goes wherever a table goes.

        top_items(TableAs(["may.csv", "june.csv"], delimiter=";", trim=True), item="city", ...)

    Args:
        table: as for `count_distinct_users`; or several paths of files with these columns, whose
            rows are taken together.  A path with a star, of which there is no file, stands for all
            files that match.
        delimiter: between the cells of a CSV file, one character.
        encoding: of a CSV file: "utf-8", "latin-1" or "utf-16".
        trim: drop blanks at both ends of text; what is empty then is missing.
        casefold: make letters small, by DuckDB's `lower`; "ß" stays "ß".
        nfc: compose letters and their accents (Unicode's form NFC), so that both ways to write "é"
            are one.
        whole_numbers: read text such as "7.0" as "7": programs write integers so where one is
            missing. Without it, "7.0" in one file and "7" in another are two users.
        memory: the most memory that DuckDB may use, such as "2GB"; beyond it DuckDB writes to a
            private directory, which is removed afterwards.

    A public list of items or groups is tidied like the cells, and released as it was stated.

    Raises:
        ParameterError: an argument is wrong.

    Example:
        >>> import pyarrow
        >>> from safeselect.tables import TableAs, count_distinct_users
        >>> trips = pyarrow.table({"city": ["Rome ", " rome", "ROME"], "rider": [1, 2, 3]})
        >>> tidy = TableAs(trips, trim=True, casefold=True)
        >>> dict(count_distinct_users(tidy, item="city", user="rider"))  # made-up data
        {'rome': 3}
    """

    table: object
    delimiter: str = ","
    encoding: str = "utf-8"
    trim: bool = False
    casefold: bool = False
    nfc: bool = False
    whole_numbers: bool = False
    memory: str | None = None

    def __post_init__(self) -> None:
        mark: object = self.delimiter
        if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n\0':
            raise ParameterError(
                f"delimiter must be one character such as ';' or '\\t', got {describe(mark)}"
            )
        read_choice(self.encoding, "encoding", tuple(_CODECS))
        for name in ("trim", "casefold", "nfc", "whole_numbers"):
            flag(getattr(self, name), name)
        if self.memory is not None and not (
            isinstance(self.memory, str) and _MEMORY.fullmatch(self.memory)
        ):
            raise ParameterError(
                f"memory must be a size such as '500MB' or '2GB', got {describe(self.memory)}"
            )
        if isinstance(self.table, TableAs):
            raise ParameterError("a TableAs goes around a table, not around another TableAs")

    def tidied(self, column: str) -> str:
        """The SQL of a column of text, its cells tidied."""
        if self.nfc:
            column = f"nfc_normalize({column})"
        if self.trim:
            column = f"NULLIF(trim({column}, '{_BLANK}'), '')"
        if self.casefold:
            column = f"lower({column})"
        if self.whole_numbers:
            column = f"regexp_replace({column}, '{_WHOLE}', '\\1')"
        # Small letters may need composing again.
        return f"nfc_normalize({column})" if self.nfc and self.casefold else column


def shown(text: object) -> str:
    """Return a parameter, such as a path, quoted for a message of one line."""
    return repr(os.fspath(text) if isinstance(text, os.PathLike) else text)


def paths_of(table: object) -> list[Path] | None:
    """The files that a table names, or None if it is no file.

    Raises:
        InputError: a star that matches no file, no file at all, or one that cannot be read.
        ParameterError: a list that holds something else than paths.
    """
    parts: object = [table] if isinstance(table, (str, os.PathLike)) else table
    if not isinstance(parts, (list, tuple)):
        return None
    found: list[Path] = []
    for each in parts:
        if not isinstance(each, (str, os.PathLike)):
            raise ParameterError(
                "a table must be the path of a file, several paths, or a frame, got a list with "
                f"{type(each).__name__}"
            )
        text = os.fspath(each)
        is_pattern = "*" in text and not os.path.lexists(text)
        matching = sorted(glob(text)) if is_pattern else [text]
        if not matching:
            raise InputError(f"no file matches {text!r}")
        found += map(Path, matching)
    if not found:
        raise InputError("the list of files is empty")
    if len({str(path.absolute()) for path in found}) < len(found):
        raise InputError("a file is named twice")
    return [_regular(path) for path in found]


def _regular(file: Path) -> Path:
    """The same file; it must exist, be regular and be readable."""
    try:
        kind = "a directory" if file.is_dir() else "" if file.is_file() else "missing"
        if not kind:
            file.open("rb").close()
    except (OSError, ValueError):  # no permission; a name with a NUL
        kind = "not readable"
    if kind == "missing":
        raise InputError(f"{shown(file)} does not exist or is not a regular file")
    if kind:
        raise InputError(f"{shown(file)} is {kind}; name a .csv, .csv.gz or .parquet file")
    return file


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a frame of the name that `rows` has: the SQL that reads it, and what to say of it.

    Attributes:
        failure: what to say if it cannot be read.
        place: what it is called.
        header: of a CSV file, whose columns are c0, c1, ...; otherwise DuckDB knows them.
    """

    rows: str
    failure: str = "the table cannot be read"
    place: str = "the table"
    header: list[str] | None = None

    def position(self, names: list[str], wanted: str) -> int:
        """The position of a column."""
        return position(names, wanted, self.place)


def source_of(file: Path, alias: Path, form: TableAs) -> Source:
    """How to read a file, under a name of ours."""
    name, quoted = file.name.lower(), literal(str(alias))
    if name.endswith(".parquet"):
        failure = "cannot be read as Parquet: it is truncated, damaged or something else"
        return Source(_PARQUET.format(file=quoted), f"{shown(file)} {failure}", shown(file))
    if not name.endswith((".csv", ".csv.gz")):
        raise InputError(f"{shown(file)} must be named .csv, .csv.gz or .parquet")
    header = _header(file, form.encoding, form.delimiter)
    # Names of ours, so that empty, repeated or odd names in the header never reach SQL.
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header)))
    failure = (
        f"{shown(file)} is not a whole CSV table of {len(header)} columns in "
        f"{form.encoding.upper()}: it is truncated or damaged, a row has more or fewer cells than "
        "the header, a quote is not closed, or the text is in another encoding, which must be "
        "stated, such as 'latin-1'"
    )
    rows = _CSV.format(
        file=quoted,
        compression="'gzip'" if name.endswith(".gz") else "'none'",
        columns=columns,
        delimiter=literal(form.delimiter),
        encoding=literal(form.encoding),
    )
    return Source(rows, failure, f"{shown(file)} with delimiter {form.delimiter!r}", header)


def _header(file: Path, encoding: str, delimiter: str) -> list[str]:
    # Read here, because DuckDB would guess delimiter and quotes from the values below it.  Only the
    # header is looked at: if the rows are not text, reading them says so later.
    header: list[str] | None = None
    compressed = file.name.lower().endswith(".gz")
    try:
        with open(file, "rb") as raw:
            plain: Any = gzip.GzipFile(fileobj=raw) if compressed else raw
            with io.TextIOWrapper(
                plain, encoding=_CODECS[encoding], errors="surrogateescape", newline=""
            ) as text:
                header = next(csv.reader(_lines(text), delimiter=delimiter), [])
    except csv.Error:
        header = []
    except (OSError, EOFError, UnicodeError, zlib.error):
        pass
    if header is None or any(_SURROGATE.search(name) for name in header):
        kind = "a gzip-compressed CSV" if compressed else "a CSV"
        raise InputError(
            f"{shown(file)} cannot be read as {kind} file in {encoding.upper()}; if it is in "
            "another encoding, state it, such as 'latin-1' or 'utf-16'"
        )
    if not header:
        raise InputError(f"{shown(file)} has no header line; its first line must name the columns")
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"{shown(file)} has more than {_MOST_COLUMNS} columns")
    return header


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the first lines, up to a limit; a header may have several."""
    left = _HEADER_LIMIT
    while left > 0 and (line := text.readline(left)):
        left -= len(line)
        yield line


def position(names: list[str], wanted: object, place: str) -> int:
    """Return the position of a column among the names found; it must be there once."""
    if not isinstance(wanted, str):
        raise ParameterError(f"a column's name must be a string, got {type(wanted).__name__}")
    if names.count(wanted) != 1:
        found = "no column" if wanted not in names else "more than one column"
        near = wanted not in names and _folded(wanted) in map(_folded, names)
        raise InputError(
            f"{place} has {found} named {shown(wanted)}"
            + "; there is one whose name differs in capital letters or blanks only" * near
        )
    return names.index(wanted)


def _folded(name: object) -> object:
    return " ".join(name.split()).casefold() if isinstance(name, str) else name


def identifier(name: str) -> str:
    """Return a name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"

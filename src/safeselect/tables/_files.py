"""Files that hold tables: their kinds, their headers, and the SQL that reads them.

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
from contextlib import suppress
from pathlib import Path
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import describe

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
_DELIMITERS = ",;\t|"
_MOST_COLUMNS = 10_000  # ten times as many take DuckDB gigabytes, even if empty


def shown(text: object) -> str:
    """Return a parameter, such as a path, quoted for a message of one line."""
    return repr(os.fspath(text) if isinstance(text, os.PathLike) else text)


def regular_file(path: str | os.PathLike[str]) -> Path:
    """Return the file at a path; it must exist, be regular and be readable."""
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


def reader(
    file: Path, alias: Path, delimiter: str = ",", encoding: str = "utf-8"
) -> tuple[str, str, list[str] | None]:
    """Return a file's table function, the message for its failures, and its CSV header."""
    name, quoted = file.name.lower(), literal(str(alias))
    if name.endswith(".parquet"):
        return (
            _PARQUET.format(file=quoted),
            f"{shown(file)} cannot be read as Parquet: it is truncated, damaged or something else",
            None,
        )
    if not name.endswith((".csv", ".csv.gz")):
        raise InputError(f"{shown(file)} must be named .csv, .csv.gz or .parquet")
    compressed = name.endswith(".gz")
    header = _header(file, compressed, delimiter, encoding)
    # Names of ours, so that empty, repeated or odd names in the header never reach SQL.
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header)))
    compression = "'gzip'" if compressed else "'none'"
    failure = (
        f"{shown(file)} is not a whole CSV table of {len(header)} columns in {encoding.upper()}: "
        "it is truncated or damaged, a row has more or fewer cells than the header, a quote is not "
        "closed, or the text is in another encoding, which must be stated, such as 'latin-1'"
    )
    rows = _CSV.format(
        file=quoted,
        compression=compression,
        columns=columns,
        delimiter=literal(delimiter),
        encoding=literal(encoding),
    )
    return rows, failure, header


def _header(file: Path, compressed: bool, delimiter: str, encoding: str) -> list[str]:
    # Read here, because DuckDB would guess delimiter and quotes from the values below it.  Only the
    # header is looked at: if the rows are not text, reading them says so later.
    header: list[str] | None = None
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


def position(names: list[str], wanted: str, place: str) -> int:
    """Return the position of a column among the names found; it must be there once."""
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


def delimiter_with(file: Path, encoding: str, wanted: str) -> str | None:
    """Return a usual delimiter with which a CSV file's header has a column of this name."""
    compressed = file.name.lower().endswith(".gz")
    for mark in _DELIMITERS:
        with suppress(InputError):
            if wanted in _header(file, compressed, mark, encoding):
                return mark
    return None


def memory_size(memory: object) -> int:
    """Return the number of bytes of a size such as "500MB" or "2GB"."""
    if not isinstance(memory, str) or not _MEMORY.fullmatch(memory):
        raise ParameterError(
            f"memory must be a size such as '500MB' or '2GB', got {describe(memory)}"
        )
    return int(memory[:-2]) * (10**6 if memory.endswith("MB") else 10**9)


def identifier(name: str) -> str:
    """Return a name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"

"""Files that hold tables: which they are, their header, and the SQL that reads them.

Messages name the file and the columns that were asked for; they never list what was found, because
in a file without a header that is someone's row.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import describe

__all__ = [
    "identifier",
    "literal",
    "memory_size",
    "position",
    "reader",
    "regular_file",
    "shown",
]

_CSV = (
    "read_csv({file}, auto_detect = false, header = true, delim = ',', quote = '\"', "
    "escape = '\"', comment = '', nullstr = '', compression = {compression}, "
    "hive_partitioning = false, columns = {{{columns}}})"
)
_PARQUET = "read_parquet({file}, hive_partitioning = false)"
_MEMORY = re.compile(r"[1-9][0-9]{0,5}(MB|GB)", re.ASCII)
_HEADER_LIMIT = 1 << 20  # characters; a header line is far shorter, and is never searched further
_SURROGATE = re.compile("[\\udc80-\\udcff]")  # what stands for a byte that is no UTF-8
_MOST_COLUMNS = 10_000  # ten times as many take DuckDB gigabytes, whatever is in them


def shown(text: object) -> str:
    """A parameter, such as a path, quoted for a message of one line."""
    return repr(os.fspath(text) if isinstance(text, os.PathLike) else text)


def regular_file(path: str | os.PathLike[str]) -> Path:
    """The file at a path, which must be there, be regular and be readable."""
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


def reader(file: Path, alias: Path) -> tuple[str, str, list[str] | None]:
    """The table function for a file, the sentence for its failures, and a CSV file's header."""
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
    header = _header(file, compressed)
    # Our own names, so that empty, repeated or odd names in the header never reach SQL.
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header)))
    compression = "'gzip'" if compressed else "'none'"
    failure = (
        f"{shown(file)} is not a whole CSV table of {len(header)} columns in UTF-8: it is "
        "truncated or damaged, a row has more or fewer cells than the header, or a quote is not "
        "closed"
    )
    return _CSV.format(file=quoted, compression=compression, columns=columns), failure, header


def _header(file: Path, compressed: bool) -> list[str]:
    # Read here, because DuckDB would guess delimiter and quotes from the values below it.  No more
    # is looked at than the header: what is below it may be no text, which is told when it is read.
    header: list[str] | None = None
    try:
        with open(file, "rb") as raw:
            plain: Any = gzip.GzipFile(fileobj=raw) if compressed else raw
            with io.TextIOWrapper(
                plain, encoding="utf-8-sig", errors="surrogateescape", newline=""
            ) as text:
                header = next(csv.reader(_lines(text)), [])
    except csv.Error:
        header = []
    except (OSError, EOFError, zlib.error):
        pass
    if header is None or any(_SURROGATE.search(name) for name in header):
        kind = "a gzip-compressed CSV" if compressed else "a CSV"
        raise InputError(f"{shown(file)} cannot be read as {kind} file in UTF-8")
    if not header:
        raise InputError(f"{shown(file)} has no header line; its first line must name the columns")
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"{shown(file)} has more than {_MOST_COLUMNS} columns")
    return header


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """The first lines, of which a header may be several; up to a limit."""
    left = _HEADER_LIMIT
    while left > 0 and (line := text.readline(left)):
        left -= len(line)
        yield line


def position(names: list[str], wanted: str, place: str) -> int:
    """Where a column is among the names found in a place; it must be there once."""
    if names.count(wanted) != 1:
        found = "no column" if wanted not in names else "more than one column"
        raise InputError(f"{place} has {found} named {shown(wanted)}")
    return names.index(wanted)


def memory_size(memory: object) -> int:
    """The bytes of a size such as "500MB" or "2GB"."""
    if not isinstance(memory, str) or not _MEMORY.fullmatch(memory):
        raise ParameterError(
            f"memory must be a size such as '500MB' or '2GB', got {describe(memory)}"
        )
    return int(memory[:-2]) * (10**6 if memory.endswith("MB") else 10**9)


def identifier(name: str) -> str:
    """A name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"

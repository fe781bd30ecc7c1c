"""Files that hold tables: how they are to be read, their headers, and the SQL that reads them.

How a table is read is a public parameter.  Two cells that are made equal are one item, or one user,
in every table alike, so neighbouring tables stay neighbours.

Messages name the file and the columns that were asked for.  Of the columns that were found they
name the one that is nearly the one asked for: the header is public.

DuckDB reads UTF-8.  Text in another encoding is written as UTF-8 into the private directory when
the rows are read; what is no character there is U+FFFD, so that one odd cell is no error.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import shutil
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from safeselect.errors import InputError, ParameterError
from safeselect.estimates.explain import aligned
from safeselect.exact.parameters import describe, read_choice
from safeselect.release.page import did_you_mean
from safeselect.scores.reading import flag
from safeselect.tables.sql import INTEGERS, NUMBERS, TEXT

# By one thread: where several of DuckDB's read a file, they guess where a row begins.  One quoted
# cell can then make them drop the rows behind it without an error, or refuse the file.  One thread
# drops what follows a quote that is not closed; so `_closed` looks for one.
_CSV = (
    "read_csv({}, auto_detect = false, header = true, delim = {}, quote = '\"', escape = '\"', "
    "comment = '', nullstr = '', compression = {}, parallel = false, buffer_size = 32000000, "
    "hive_partitioning = false, max_line_size = 16000000, columns = {{{}}})"
)
_PARQUET = "read_parquet({file}, hive_partitioning = false)"
_CODECS = {"utf-8": "utf-8-sig", "latin-1": "latin-1", "cp1252": "cp1252", "utf-16": "utf-16"}
_MEMORY = "[1-9][0-9]{0,5}(MB|GB)"
_HEADER_LIMIT = 1 << 20  # characters; a header is far shorter, and no more is searched
_NO_TEXT = re.compile("[\0\\udc80-\\udcff]")  # bytes that are not UTF-8, or are UTF-16
_MOST_COLUMNS = 10_000  # ten times as many take DuckDB gigabytes, even if empty
BLANK = "".join(filter(str.isspace, map(chr, range(0x3001))))  # none is beyond U+3000
_WHOLE = r"^(-?[0-9]+)\.0*$"
ID = r"^0*([0-9]+)([.,]0{1,2})?$"  # three zeros may be thousands
_DATES = "(?:[^%]|%[dmyYHMSfpIbBj])+"
_NO_MARK = "that is not the decimal mark, such as '.' with decimal=','"
_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
STANDARD_INPUT = Path("-")


TITLE = "NOT FOR PUBLICATION: exact and unprotected, only for readers with access to the table"
LAST = (
    "publish the options with the release, because they state how the table was read; an option "
    "chosen because of this page reveals something about the table, an option that follows from "
    "the program that wrote it does not"
)
Finding = tuple[str, str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a table found: exact and unprotected, NOT FOR PUBLICATION.

    Attributes:
        findings: what was looked at, what was found, and the arguments of `TableAs` that settle it.
    """

    findings: tuple[Finding, ...]

    @property
    def options(self) -> dict[str, object]:
        """The arguments of `TableAs` that settle all that was found."""
        found: dict[str, Any] = {}
        words: dict[str, None] = {}
        for _, _, options in self.findings:
            found |= options
            words |= dict.fromkeys(found.pop("missing", ()))
        return found | ({"missing": [*words]} if words else {})

    def __str__(self) -> str:
        rows = [
            (what, found, ", ".join(f"{name}={value!r}" for name, value in options.items()))
            for what, found, options in self.findings
        ]
        return "\n".join([TITLE, *aligned(rows), LAST])


@dataclass(frozen=True, slots=True)
class TableAs:
    """A table, together with options that determine how the table is read.

    You can pass it wherever a table is accepted.

        top_items(TableAs(["may.csv", "june.csv"], delimiter=";", trim=True), item="city", ...)

    Args:
        table: as for `count_distinct_users`; or paths of several files with the columns used, whose
            rows are combined. A path with a star stands for all matching files, unless a file has
            exactly this name. "-" is standard input, which must be a CSV file.
        delimiter: character between the cells of a CSV file (default: a comma, or a tab if the name
            ends in .tsv).
        encoding: encoding of a CSV file: "utf-8", "latin-1", "cp1252" (Windows in Western Europe
            and America) or "utf-16".
        ids: comparison of users: "text" compares them as written. "numbers" ignores surrounding
            whitespace and, of an integer without a sign, zeros before it and up to two after it, so
            that "002628", "2628.0" and " 2628" are one user; other ids are compared as written,
            without surrounding whitespace. Without `ids`, users are compared as written, and the
            command prints a note.
        missing: words that stand for a missing value in any column, such as ["-", "n/a"]. Such a
            cell is neither an item nor a user nor a value. Of a cell that is not text,
            the plain decimal or the date counts, such as "-1" or "2024-02-29".
        decimal: decimal mark of numbers in text, "." or ",".
        thousands: thousands separator of numbers in text, such as ".". A number with a separator in
            another place is a missing value.
        dates: format of dates in text, as for `strptime`, such as "%d.%m.%Y" (default: as in
            2024-02-29).
        trim: strip leading and trailing whitespace, as `str.strip` does; empty text is then
            missing.
        casefold: convert text to lower case, by DuckDB's `lower`; "ß" remains "ß".
        nfc: normalize text to Unicode NFC, so that both forms of "é" are equal.
        whole_numbers: read text such as "7.0" as "7", because some programs write integers in this
            way if one is missing. Without this option, "7.0" in one file and "7" in another are two
            users.
        memory: memory limit for DuckDB, such as "2GB" (default: "4GB", or four fifths of a smaller
            machine). Beyond the limit, DuckDB writes to a private directory, which is removed
            afterwards.

        Items or groups of a public list are normalized like the cells, and released as they were
        stated.

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
    delimiter: str | None = None
    encoding: str = "utf-8"
    trim: bool = False
    casefold: bool = False
    nfc: bool = False
    whole_numbers: bool = False
    memory: str | None = None
    ids: Literal["text", "numbers"] | None = None
    missing: Sequence[str] = ()
    decimal: Literal[".", ","] = "."
    thousands: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        read_choice(self.encoding, "encoding", tuple(_CODECS))
        read_choice(self.decimal, "decimal", (".", ","))
        if self.ids is not None:
            read_choice(self.ids, "ids", ("text", "numbers"))
        words = self.missing if isinstance(self.missing, (list, tuple)) else [None]
        if not all(isinstance(word, str) for word in words):
            raise ParameterError("missing must be a list of words, such as ['-', 'n/a']")
        for name in ("trim", "casefold", "nfc", "whole_numbers"):
            flag(getattr(self, name), name)
        for name, form, such in (
            ("delimiter", '[^"\r\n\0]', "one character such as ';' or '\\t'"),
            ("thousands", f"[^0-9{self.decimal}]", f"one character {_NO_MARK}"),
            ("dates", _DATES, "a format such as '%d.%m.%Y'"),
            ("memory", _MEMORY, "a size such as '500MB' or '2GB'"),
        ):
            text: object = getattr(self, name)
            if text is not None and not (isinstance(text, str) and re.fullmatch(form, text)):
                raise ParameterError(f"{name} must be {such}, got {describe(text)}")
        if isinstance(self.table, TableAs):
            raise ParameterError("a TableAs must contain a table, not another TableAs")

    def check(self, *, user: str, item: str | None = None) -> Look:
        """Inspect how values are written in the table, as the command `safeselect look` does.

        Do this before a release.

        The result is exact and unprotected: NOT FOR PUBLICATION. Publish the chosen options with
        the release. An option that you choose because of this result reveals something about the
        table.

        Args:
            user: column that identifies the user of each row.
            item: column of the items, to count items for each user, too.

        Returns:
            Look: encoding, delimiter, rows without a user, spellings of users (and how many are
                equal without zeros, blanks and capital letters), words for missing values, and
                forms of numbers and dates. For each it names the option to pass. `str` shows it as
                text.

        Raises:
            InputError, ParameterError: the table or a column cannot be used.

        Example:
            >>> import pyarrow
            >>> from safeselect.tables import TableAs
            >>> visits = pyarrow.table({"patient": ["0007", "7", "7.0"], "ward": ["A", "A", "B"]})
            >>> TableAs(visits).check(user="patient").options
            {'ids': 'numbers'}
        """
        look = import_module("safeselect.tables.look").look
        found: Look = look(self, user=user, item=item)
        return found

    def tidied(self, column: str, *, user: bool = False) -> str:
        """Return the SQL expression that normalizes a column of text.

        `ids` applies to the column of users.
        """
        return self.present(self._tidied(column, user=user), user=user)

    def present(self, cell: str, text: str = "", *, user: bool = False) -> str:
        """Return the SQL of a cell that is NULL if its text is a word for a missing value."""
        if not self.missing:
            return cell
        words = ", ".join(self._tidied(literal(word), user=user) for word in self.missing)
        return f"CASE WHEN {text or cell} IN ({words}) THEN NULL ELSE {cell} END"

    def _tidied(self, column: str, *, user: bool) -> str:
        as_number = user and self.ids == "numbers"
        if self.nfc:
            column = f"nfc_normalize({column})"
        if self.trim or as_number:
            column = f"NULLIF(trim({column}, '{BLANK}'), '')"
        if self.casefold:
            column = f"lower({column})"
        for form in [_WHOLE] * bool(self.whole_numbers) + [ID] * as_number:
            column = f"regexp_replace({column}, '{form}', '\\1')"
        # Small letters may need composing again.
        return f"nfc_normalize({column})" if self.nfc and self.casefold else column

    def value(self, column: str, *, dated: bool) -> str:
        """Return the SQL expression that reads numbers or dates from a column of text.

        The value of other cells is NULL.
        """
        column = self.tidied(column)
        if dated and self.dates is not None:
            day = f"CAST(try_strptime({column}, {literal(self.dates)}) AS DATE)"
            return f"CAST({day} AS VARCHAR)"
        if dated or (self.decimal, self.thousands) == (".", None):
            return column
        mark, groups = f"\\{self.decimal}", ""
        plain = column
        if self.thousands is not None:
            between = literal(self.thousands)
            groups = f"[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|".replace("'", "''")
            plain = f"replace({column}, {between}, '')"
        form = f" *[-+]?(?:{groups}[0-9]*)(?:{mark}[0-9]*)?(?:[eE][-+]?[0-9]+)? *"
        return (
            f"CASE WHEN regexp_full_match({column}, '{form}') "
            f"THEN replace({plain}, '{self.decimal}', '.') END"
        )


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
                "a table must be a file path, a list of paths or a data frame, got a list that "
                f"contains {type(each).__name__}"
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
        raise InputError("a file is listed twice")
    return [path if path == STANDARD_INPUT else _regular(path) for path in found]


def _regular(file: Path) -> Path:
    """The same file; it must exist, be regular and be readable."""
    wrong = "cannot be opened; check its name and permissions"
    with suppress(OSError, ValueError):  # no permission; a name with a NUL
        if file.is_file():
            file.open("rb").close()
            return file
        wrong = "does not exist or is not a regular file"
        if file.is_dir():
            wrong = "is a directory; pass a .csv, .tsv, .csv.gz, .tsv.gz or .parquet file"
    raise InputError(f"{shown(file)} {wrong}")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a frame of the name that `rows` has: the SQL that reads it, and what to say of it.

    Attributes:
        failure: what to say if it cannot be read.
        place: what it is called.
        header: of a CSV file, whose columns are c0, c1, ...; otherwise it is not known yet.
        path: what DuckDB opens.
        bring: writes `path`, where it is not the file itself, and looks for an open quote, before a
            row is read.
    """

    rows: str
    failure: str = "the table cannot be read; cast unusual types to integers, floats or strings"
    place: str = "the table"
    header: list[str] | None = None
    path: Path | None = None
    bring: Callable[[], object] = bool

    def position(self, names: list[str], wanted: str) -> int:
        """The position of a column."""
        return position(names, wanted, self.place)


def source_of(file: Path, alias: Path, form: TableAs) -> Source:
    """How to read a file, under a name of ours."""
    name = file.name.lower()
    if name.endswith(".parquet"):
        failure = "cannot be read as Parquet: it is truncated, damaged or in another format"
        rows = _PARQUET.format(file=literal(str(alias)))
        return Source(rows, f"{shown(file)} {failure}", shown(file), path=alias)
    if name.endswith(_WORKBOOKS):
        raise InputError(f"{shown(file)} is a workbook; save it as 'CSV UTF-8' and pass that file")
    if not name.endswith(_TABLES) and file != STANDARD_INPUT:
        raise InputError(f"{shown(file)} must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet")
    delimiter = form.delimiter or ("\t" if ".tsv" in name else ",")
    compressed = name.endswith(".gz")
    header = header_of(file, alias, form.encoding, delimiter)
    # Names of ours, so that empty, repeated or odd names in the header never reach SQL.
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header)))
    failure = (
        f"{shown(file)} is not a complete CSV table of {len(header)} columns in "
        f"{form.encoding.upper()}: it is truncated or damaged, a row has more or fewer cells than "
        "the header, a quote is open or in an unquoted cell, the ends of lines differ, a line is "
        "longer than 16 MB, or the encoding differs and must be stated, such as 'cp1252'"
    )
    path = alias if form.encoding == "utf-8" else alias.with_suffix(".utf-8")
    bring = partial(_brought, alias, path, form.encoding, delimiter, compressed=compressed)
    packing = "'gzip'" if compressed and path == alias else "'none'"
    rows = _CSV.format(literal(str(path)), literal(delimiter), packing, columns)
    return Source(rows, failure, f"{shown(file)} with delimiter {delimiter!r}", header, path, bring)


def _brought(file: Path, path: Path, encoding: str, delimiter: str, *, compressed: bool) -> object:
    """Copy a file in another encoding as UTF-8, once; return what `_closed` says."""
    if path != file and not path.stat().st_size:
        with (
            text_of(file, encoding, "replace", compressed=compressed) as text,
            path.open("w", encoding="utf-8", newline="") as out,
        ):
            shutil.copyfileobj(text, out, 1 << 20)
    with text_of(path, "utf-8", "strict", compressed=compressed and path == file) as text:
        return _closed(text.buffer, delimiter)


def _closed(text: Any, delimiter: str) -> bool | None:
    """Return True, or None if a quote is not closed, or stands in a cell without quotes.

    Otherwise every second quote begins a cell, or is the second of two that stand for one.  DuckDB
    also reads cells with a space before the quote.
    """
    before, is_open, begins = b"\n\n", 0, np.zeros(256, bool)
    begins[[*b'\r\n"', delimiter.encode()[-1]]] = True
    part = text.read(1 << 20).removeprefix(BOM_UTF8)
    while part:
        cells = np.frombuffer(before + part, np.uint8)
        quotes = np.flatnonzero(cells[2:] == ord('"'))
        at = quotes[is_open::2]
        if not (begins[cells[at + 1]] | begins[cells[at]] & (cells[at + 1] == ord(" "))).all():
            return None
        before, is_open, part = cells[-2:].tobytes(), is_open ^ len(quotes) & 1, text.read(1 << 20)
    return is_open == 0 or None


@contextmanager
def text_of(
    file: Path, encoding: str, errors: str, *, compressed: bool
) -> Iterator[io.TextIOWrapper]:
    """The text of a file, its line ends as they are."""
    with open(file, "rb") as raw:
        plain: Any = gzip.GzipFile(fileobj=raw) if compressed else raw
        with io.TextIOWrapper(plain, _CODECS[encoding], errors, newline="") as text:
            yield text


def header_of(file: Path, alias: Path, encoding: str, delimiter: str) -> list[str]:
    compressed = file.suffix.lower() == ".gz"
    # Read here, because DuckDB would guess delimiter and quotes from the values below it.  Only the
    # header is looked at: if the rows are not text, reading them says so later.
    header: list[str] | None = None
    try:
        odd = "surrogatepass" if encoding == "utf-16" else "surrogateescape"
        with text_of(alias, encoding, odd, compressed=compressed) as text:
            header = next(csv.reader(_lines(text), delimiter=delimiter), [])
    except csv.Error:
        header = []
    except (OSError, EOFError, UnicodeError, zlib.error):
        pass
    if header is None or any(_NO_TEXT.search(name) for name in header):
        kind = "a gzip-compressed CSV" if compressed else "a CSV"
        raise InputError(
            f"{shown(file)} cannot be read as {kind} file in {encoding.upper()}; if the file has "
            "another encoding, pass that encoding, such as 'cp1252' or 'utf-16'"
        )
    if not header:
        raise InputError(f"{shown(file)} has no valid header; its first line must name the columns")
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
        found = "more than one column" if wanted in names else "no column"
        raise InputError(f"{place} has {found} named {shown(wanted)}{did_you_mean(wanted, names)}")
    return names.index(wanted)


def require_key(kind: str, column: str, *, item: bool = False) -> None:
    """Refuse a column whose type is neither integer nor string; of items, also numbers pass."""
    # Without the text in brackets: for some types that is a list of values.  A column without a
    # single value is of type "NULL".
    kind = kind.partition("(")[0]
    if kind not in (TEXT, '"NULL"') and kind not in INTEGERS and not (item and kind in NUMBERS):
        raise InputError(
            f"column {shown(column)} must contain integers or strings, but contains {kind}; "
            f'convert it, for example in pandas with df[{shown(column)}].astype("string")'
        )


def identifier(name: str) -> str:
    """Return a name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"

"""A table and how to read it: several files, the form of CSV, cells that mean the same.

Everything here is a public parameter.  Two cells that are made equal are one item, or one user, in
every table alike, so neighbouring tables stay neighbours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.scores.reading import flag

ENCODINGS = ("utf-8", "latin-1", "utf-16")
_BLANK = " \t\r\n\u00a0"
_WHOLE = r"^(-?[0-9]+)\.0*$"
_TIDIED = ("trim", "casefold", "nfc", "whole_numbers")


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

    def __post_init__(self) -> None:
        mark: object = self.delimiter
        if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n\0':
            raise ParameterError(
                f"delimiter must be one character such as ';' or '\\t', got {describe(mark)}"
            )
        if self.encoding not in ENCODINGS:
            names = ", ".join(map(repr, ENCODINGS))
            raise ParameterError(f"encoding must be one of {names}, got {describe(self.encoding)}")
        for name in _TIDIED:
            flag(getattr(self, name), name)
        if isinstance(self.table, TableAs):
            raise ParameterError("a TableAs goes around a table, not around another TableAs")

    @property
    def is_plain(self) -> bool:
        """Whether cells are taken as they stand."""
        return not any(getattr(self, name) for name in _TIDIED)

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


def paths_of(table: object) -> list[Path] | None:
    """The files that a table names, or None if it is no file.

    Raises:
        InputError: a star that matches no file, or no file at all.
        ParameterError: a list that holds something else than paths.
    """
    if isinstance(table, (str, os.PathLike)):
        return _matching(table)
    if not isinstance(table, (list, tuple)):
        return None
    found: list[Path] = []
    parts: Iterable[object] = table
    for each in parts:
        if not isinstance(each, (str, os.PathLike)):
            raise ParameterError(
                "a table must be the path of a file, several paths, or a frame, got a list with "
                f"{type(each).__name__}"
            )
        found += _matching(each)
    if not found:
        raise InputError("the list of files is empty")
    if len({str(path.absolute()) for path in found}) < len(found):
        raise InputError("a file is named twice")
    return found


def _matching(path: str | os.PathLike[str]) -> list[Path]:
    text = os.fspath(path)
    if "*" in text and not os.path.lexists(text):
        found = sorted(glob(text))
        if not found:
            raise InputError(f"no file matches {text!r}")
        return [Path(each) for each in found]
    return [Path(path)]

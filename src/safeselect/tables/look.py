"""A look at a table before a release: how it is written, and which options settle that.

What is returned is exact and unprotected: NOT FOR PUBLICATION.  No release imports this file, so
what a release does and says never follows from a look, but for the options that somebody then
states.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from safeselect.tables.duckdb import Table, bring, open_table, private_directory
from safeselect.tables.files import (
    BLANK,
    ID,
    STANDARD_INPUT,
    Finding,
    Look,
    TableAs,
    header_of,
    paths_of,
    text_of,
)

_MARKS = (",", ";", "\t", "|")
_MOST_COLUMNS = 100
_MISSING = (
    *("-", "--", ".", "?", "na", "n/a", "n.a.", "#n/a", "nan", "null", "(null)", "none", "nil"),
    *("missing", "unknown", "k. a.", "k.a.", "keine angabe", "unbekannt", "leer", "n.d.", "s/o"),
)
_FORMS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("1234,56", "[-+]?[0-9]+,[0-9]+", {"decimal": ","}),
    ("1.234,56", "[-+]?[0-9]{1,3}([.][0-9]{3})+,[0-9]+", {"decimal": ",", "thousands": "."}),
    ("1,234.56", "[-+]?[0-9]{1,3}(,[0-9]{3})+[.][0-9]+", {"thousands": ","}),
    ("24.12.2023", "[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}", {"dates": "%d.%m.%Y"}),
    ("24.12.23", "[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{2}", {"dates": "%d.%m.%y"}),
    ("24/12/2023", "(1[3-9]|2[0-9]|3[01])/[0-9]{1,2}/[0-9]{4}", {"dates": "%d/%m/%Y"}),
    ("12/24/2023", "[0-9]{1,2}/(1[3-9]|2[0-9]|3[01])/[0-9]{4}", {"dates": "%m/%d/%Y"}),
)
_CELLS = "SELECT CAST({column} AS VARCHAR) AS cell FROM safeselect_rows"
_NUMBERED = f"regexp_replace(trim(cell, '{BLANK}'), '{ID}', '\\1')"
_USERS = f"""
SELECT COUNT(*), COUNT(*) - COUNT(cell), COUNT(DISTINCT cell), COUNT(DISTINCT {_NUMBERED}),
  COUNT(DISTINCT lower(cell)), COUNT(DISTINCT lower({_NUMBERED}))
FROM (CELLS)
"""  # noqa: S608 - constants
_SHAPES = """
SELECT regexp_replace(regexp_replace(regexp_replace(cell, '^([^0-9]*)0+([0-9])', '\\1o\\2'),
  '[0-9]+', '9', 'g'), '[A-Za-np-z]+', 'A', 'g') AS shape, COUNT(DISTINCT cell) AS users
FROM (CELLS) WHERE cell IS NOT NULL GROUP BY shape ORDER BY users DESC, shape LIMIT 8
"""
_WORDS = f"""
SELECT cell, COUNT(*) FROM (CELLS)
WHERE lower(trim(cell, '{BLANK}')) IN (SELECT unnest($1)) GROUP BY cell ORDER BY cell
"""  # noqa: S608 - constants
_ITEMS = """
SELECT quantile_disc(items, 0.5), quantile_disc(items, 0.95), MAX(items) FROM (
  SELECT COUNT(DISTINCT item) AS items FROM safeselect_rows
  WHERE item IS NOT NULL AND person IS NOT NULL GROUP BY person)
"""


def look(stated: TableAs, *, user: str, item: str | None = None) -> Look:
    """Look at a table as `TableAs.check` says."""
    form, files = stated, paths_of(stated.table)
    findings, names = list[Finding](), list[str]()
    if files and STANDARD_INPUT in files:  # is read once, and looked at several times
        with private_directory() as private:
            copy = private / "input.csv"
            bring(STANDARD_INPUT, copy)
            kept = [copy if file == STANDARD_INPUT else file for file in files]
            return look(replace(stated, table=kept), user=user, item=item)
    if files and not files[0].name.lower().endswith(".parquet"):
        form, names = _as_written(files[0], stated, user)
        for name in ("encoding", "delimiter"):
            value = getattr(form, name)
            settled = value == getattr(stated, name)
            findings.append((name, repr(value), {} if settled else {name: value}))
    others = [name for name in names[:_MOST_COLUMNS] if name and names.count(name) == 1]
    asked = {"person": user} | ({} if item is None else {"item": item})
    asked |= {f"cell{place}": name for place, name in enumerate(others) if name not in (user, item)}
    # Numbers and dates are looked at as they are written.
    with open_table(replace(form, decimal=".", thousands=None, dates=None), asked) as rows:
        rows.load(*asked)
        findings += _users(rows, user)
        for ours, name in asked.items():
            findings += _cells(rows, ours, name)
        if item is not None and (found := rows.fetch(_ITEMS))[0][0] is not None:
            median, most, largest = found[0]
            said = f"half have {median} or fewer, 95 % {most} or fewer, one {largest}"
            findings.append(("items per user", said, {}))
    return Look(tuple(findings))


def _as_written(file: Path, form: TableAs, user: str) -> tuple[TableAs, list[str]]:
    """How a CSV file is written, beginning with what was stated, and its columns."""
    is_zipped = file.suffix.lower() == ".gz"
    for encoding in dict.fromkeys((form.encoding, "utf-8", "utf-16", "cp1252", "latin-1")):
        with (
            suppress(OSError, EOFError, UnicodeError, zlib.error),
            text_of(file, encoding, "strict", compressed=is_zipped) as text,
        ):
            while text.read(1 << 20):
                pass
            break
    own = "\t" if ".tsv" in file.name.lower() else ","
    marks = (form.delimiter,) if form.delimiter else dict.fromkeys((own, *_MARKS))
    headers = {mark: header_of(file, file, encoding, mark) for mark in marks}
    best = max(headers, key=lambda mark: (user in headers[mark], len(headers[mark])))
    delimiter = None if best == own and form.delimiter is None else best
    return replace(form, encoding=encoding, delimiter=delimiter), headers[best]


def _users(rows: Table, user: str) -> Iterator[Finding]:
    """How users are spelled, and how many of them are others in another spelling."""
    cells = _CELLS.format(column="person")
    ((size, without, users, numbers, folded, both),) = rows.fetch(_USERS.replace("CELLS", cells))
    yield "rows", f"{size}; {without} have no user in {user!r} and are dropped", {}
    yield "users", f"{users} as written", {}
    found = rows.fetch(_SHAPES.replace("CELLS", cells))
    shapes = ", ".join(f"{shape!r} {count}" for shape, count in found)
    yield "spelled", f"{shapes} (9 digits, A letters, o leading zeros)", {}
    for what, left, options in (
        ("zeros and blanks", numbers, {"ids": "numbers"}),
        ("capital letters", folded, {"casefold": True}),
    ):
        said = f"{users - left} users would be merged with others"
        yield f"ignoring {what}", said, options if left < users else {}
    yield "ignoring both", f"{both} users, {users - both} fewer", {}


def _cells(rows: Table, ours: str, name: str) -> Iterator[Finding]:
    """Words for missing values in a column, and how its numbers and dates are written."""
    cells = _CELLS.format(column=ours)
    if words := rows.fetch(_WORDS.replace("CELLS", cells), [*_MISSING]):
        said = ", ".join(f"{word!r} {count}" for word, count in words)
        yield f"missing in {name!r}", said, {"missing": [word for word, _ in words]}
    if ours == "person":
        return
    counted = ", ".join(
        f"COUNT(*) FILTER (regexp_full_match(trim(cell, '{BLANK}'), '{form}'))"
        for _, form, _ in _FORMS
    )
    (found,) = rows.fetch(f"SELECT {counted} FROM ({cells})")  # noqa: S608 - constants
    for (shown, _, options), count in zip(_FORMS, found, strict=True):
        if count:
            yield f"as {shown} in {name!r}", f"{count} cells", options

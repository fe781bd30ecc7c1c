"""Statements with which another engine counts users, and one that shows that it compares bytes.

A statement turns users and items, integers or text, into the bytes of their UTF-8, and compares,
groups and orders only these: under a collation that ignores case, a group would show how one person
writes the item.  DISTINCT is exact in every engine; COUNT(DISTINCT) is not.  The cap is that of
`sql`, so all engines cap alike.  Nothing is tidied.

ClickHouse prefers the names that a statement makes to those of columns, and others prefer them to
those of tables.  So where the caller's names are read, ours begin with `safeselect_`, and the
caller's do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer, read_choice


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes what a statement needs.

    Attributes:
        as_bytes: the UTF-8 of integers or text.
        as_text: text of such bytes.
        item: items as text that is UTF-8, where the engine's text can be any bytes: two of them
            would be one label to whoever reads it.
        literal: text, from the hexadecimal digits of its UTF-8.
        hashed: the md5 of bytes, in small hexadecimal digits.
        quote: goes around names.
        settings: the end of a statement, where settings of a session could change the counts.
        tested: whether the tests run it on the engine.
        null: whether text may hold the character of code 0.
    """

    as_bytes: str
    as_text: str
    literal: str
    hashed: str = "md5({0})"
    quote: str = '"'
    settings: str = ""
    tested: bool = True
    null: bool = True
    item: str = "{0}"


# Where a limit is exceeded, the engine must not count a part of the rows instead: then one user's
# rows take the place of others'.
_CLICKHOUSE_SETTINGS = """\
SETTINGS limit = 0, offset = 0, extremes = 0, partial_result_on_first_cancel = 0,
  distributed_group_by_no_merge = 0, skip_unavailable_shards = 0,
  read_overflow_mode = 'throw', read_overflow_mode_leaf = 'throw', distinct_overflow_mode = 'throw',
  group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', join_overflow_mode = 'throw',
  set_overflow_mode = 'throw', transfer_overflow_mode = 'throw', result_overflow_mode = 'throw',
  timeout_overflow_mode = 'throw', timeout_overflow_mode_leaf = 'throw'
"""

DIALECTS = {
    "duckdb": Dialect(
        as_bytes="encode(CAST({0} AS VARCHAR))",
        as_text="decode({0})",
        literal="decode(unhex('{0}'))",
    ),
    "postgres": Dialect(
        as_bytes="convert_to(CAST({0} AS text), 'UTF8')",
        as_text="convert_from({0}, 'UTF8')",
        literal="convert_from(decode('{0}', 'hex'), 'UTF8')",
        null=False,
    ),
    "spark": Dialect(
        quote="`",
        as_bytes="CAST(CAST({0} AS STRING) AS BINARY)",
        as_text="CAST({0} AS STRING)",
        literal="CAST(unhex('{0}') AS STRING)",
        item="decode(encode(CAST({0} AS STRING), 'UTF-16BE'), 'UTF-16BE')",
    ),
    "clickhouse": Dialect(
        as_bytes="toString({0})",
        as_text="{0}",
        hashed="lower(hex(MD5({0})))",
        literal="unhex('{0}')",
        item="toValidUTF8(toString({0}))",
        settings=_CLICKHOUSE_SETTINGS,
    ),
    "bigquery": Dialect(
        quote="`",
        as_bytes="CAST(CAST({0} AS STRING) AS BYTES)",
        as_text="SAFE_CONVERT_BYTES_TO_STRING({0})",
        hashed="TO_HEX(MD5({0}))",
        literal="SAFE_CONVERT_BYTES_TO_STRING(FROM_HEX('{0}'))",
        tested=False,
    ),
    "snowflake": Dialect(
        as_bytes="TO_BINARY(TO_VARCHAR({0}), 'UTF-8')",
        as_text="TO_VARCHAR({0}, 'UTF-8')",
        hashed="MD5({0})",
        literal="TO_VARCHAR(TO_BINARY('{0}', 'HEX'), 'UTF-8')",
        tested=False,
    ),
}

_COUNTED = """\
WITH safeselect_keys AS (
  SELECT {item} AS safeselect_item, {user} AS safeselect_user
  FROM {table} AS safeselect_rows
), safeselect_pairs AS (
  SELECT DISTINCT safeselect_item, safeselect_user
  FROM safeselect_keys
  WHERE safeselect_item IS NOT NULL AND safeselect_user IS NOT NULL
), {capped}safeselect_counted AS (
  SELECT safeselect_item, COUNT(*) AS users
  FROM {kept}
  GROUP BY safeselect_item
)
SELECT {label} AS label, users
FROM safeselect_counted
ORDER BY users DESC, safeselect_item
{end}"""
_CAPPED = """\
safeselect_placed AS (
  SELECT safeselect_item, ROW_NUMBER() OVER (
    PARTITION BY safeselect_user ORDER BY SUBSTR({}, 1, 12), safeselect_item
  ) AS place
  FROM safeselect_pairs
), """
_CHECKED = """\
WITH literals AS (
  {rows}
), {q}checked{q} AS (
  SELECT CASE WHEN a.place <> 2 THEN a.cell END AS {q}item{q},
    CASE WHEN b.place <> 1 THEN b.cell END AS {q}user{q}
  FROM literals AS a CROSS JOIN literals AS b
  WHERE b.place <= a.place
), """
_NAME = re.compile(r"(?!safeselect_)[^\"`\\\0-\x1f]+", re.IGNORECASE)


_CAP = 7  # items a user in the check
_HARD = (
    *("no user", "no item", "a", "A", "a ", " a", "a\t", "a\0", "a\0b", "\xe1", "a\u0301", "\xc1"),
    *("\xe4", "ae", "\xdf", "ss", "\u1e9e", "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
    *("\u03bf\u03b4\u03bf\u03c3", "\u0130", "i\u0307", "I", "\u0131", "1", "1.0", "01", "-1"),
    *("null", "\ufb01", "fi", "\u200b", "\ufeffa", "\U0001f600", "\U0001d41a", "\xff", "z"),
)


def hard_texts(*, null: bool) -> list[str]:
    """The texts of the check; the first is NULL as a user, and the second as an item.

    Args:
        null: with those that hold the character of code 0, which some engines cannot store.
    """
    return [text for text in _HARD if null or "\0" not in text]


def statement(
    dialect: str,
    *,
    table: str,
    item: str,
    user: str,
    places: int | None = None,
    max_contributions: int | None = None,
) -> str:
    """Write the statement that counts the users of each item on another engine.

    Args:
        dialect: one of `DIALECTS`.
        table: its name; dots separate the names of a database or schema before it.
        item, user: columns of integers or text.
        places: how many of the largest counts; None all.
        max_contributions: for how many items a user is counted; None all.

    Raises:
        ParameterError: an argument is wrong, or a name begins with `safeselect_`, or has a
            quotation mark or a backslash.
    """
    form = _dialect(dialect)
    key, text = form.as_bytes.format, form.as_text.format
    capped, kept, limit = "", "safeselect_pairs", ""
    if max_contributions is not None:
        most = integer(max_contributions, "max_contributions", minimum=1, maximum=2**31 - 1)
        pair = " || ".join(("safeselect_user", key("' '"), "safeselect_item"))
        capped = _CAPPED.format(form.hashed.format(pair))
        kept = f"safeselect_placed\n  WHERE place <= {most}"
    if places is not None:
        limit = f"LIMIT {integer(places, 'places', minimum=1, maximum=2**31 - 1)}\n"
    return _COUNTED.format(
        item=key(form.item.format(f"safeselect_rows.{_quoted(form, item)}")),
        user=key(f"safeselect_rows.{_quoted(form, user)}"),
        table=".".join(_quoted(form, part) for part in table.split(".")),
        capped=capped,
        kept=kept,
        label=text("safeselect_item"),
        end=limit + form.settings,
    )


def check_statement(dialect: str) -> str:
    """Write the statement whose rows show how the engine compares; see `Counts.from_rows`.

    Raises:
        ParameterError: there is no such dialect.
    """
    form = _dialect(dialect)
    texts = hard_texts(null=form.null) + ["\udcfe", "\udcff"] * (form.item != "{0}")  # no UTF-8
    cells = (form.literal.format(each.encode("utf-8", "surrogateescape").hex()) for each in texts)
    rows = (f"SELECT {place} AS place, {cell} AS cell" for place, cell in enumerate(cells, 1))
    counted = statement(dialect, table="checked", item="item", user="user", max_contributions=_CAP)
    table = _CHECKED.format(rows=" UNION ALL\n  ".join(rows), q=form.quote)
    return f"{table}{counted.removeprefix('WITH ')}"


def _dialect(name: str) -> Dialect:
    read_choice(name, "dialect", tuple(DIALECTS))
    return DIALECTS[name]


def _quoted(form: Dialect, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ParameterError(
            'a name must be text without ", `, \\ or control characters, and must not begin with '
            f"safeselect_, got {describe(name)}; create a view with plain names"
        )
    return f"{form.quote}{name}{form.quote}"

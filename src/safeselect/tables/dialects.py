"""Statements with which another engine counts users, and one that shows that it compares bytes.

A statement turns users and items, integers or text, into the bytes of their UTF-8, and compares,
groups and orders only these: under a collation that ignores case, a group would show how one person
writes the item.  DISTINCT is exact in every engine; COUNT(DISTINCT) is not.  The cap is that of
`sql`, so all engines cap alike.  Nothing is tidied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer, read_choice
from safeselect.scores.rows import CAP, hard_texts


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes what a statement needs.

    Attributes:
        quote: goes around names.
        as_bytes: the UTF-8 of a column of integers or text.
        as_text: text of such bytes.
        joined: a person, a blank, an item, as bytes.
        hashed: the md5 of bytes, in small hexadecimal digits.
        literal: text, from the hexadecimal digits of its UTF-8.
        settings: the end of a statement, where the engine could approximate otherwise.
        tested: whether the tests run it on the engine.
        null: whether text may hold the character of code 0.
    """

    quote: str
    as_bytes: str
    as_text: str
    joined: str
    hashed: str
    literal: str
    settings: str = ""
    tested: bool = True
    null: bool = True


DIALECTS = {
    "duckdb": Dialect(
        quote='"',
        as_bytes="encode(CAST({0} AS VARCHAR))",
        as_text="decode({0})",
        joined="user_key || encode(' ') || item_key",
        hashed="md5({0})",
        literal="decode(unhex('{0}'))",
    ),
    "postgres": Dialect(
        quote='"',
        as_bytes="convert_to(CAST({0} AS text), 'UTF8')",
        as_text="convert_from({0}, 'UTF8')",
        joined="user_key || convert_to(' ', 'UTF8') || item_key",
        hashed="md5({0})",
        literal="convert_from(decode('{0}', 'hex'), 'UTF8')",
        null=False,
    ),
    "spark": Dialect(
        quote="`",
        as_bytes="CAST(CAST({0} AS STRING) AS BINARY)",
        as_text="CAST({0} AS STRING)",
        joined="concat(user_key, CAST(' ' AS BINARY), item_key)",
        hashed="md5({0})",
        literal="CAST(unhex('{0}') AS STRING)",
    ),
    "clickhouse": Dialect(
        quote='"',
        as_bytes="toString({0})",
        as_text="{0}",
        joined="concat(user_key, ' ', item_key)",
        hashed="lower(hex(MD5({0})))",
        literal="unhex('{0}')",
        settings="SETTINGS max_rows_to_group_by = 0, max_rows_in_distinct = 0\n",
    ),
    "bigquery": Dialect(
        quote="`",
        as_bytes="CAST(CAST({0} AS STRING) AS BYTES)",
        as_text="SAFE_CONVERT_BYTES_TO_STRING({0})",
        joined="CONCAT(user_key, b' ', item_key)",
        hashed="TO_HEX(MD5({0}))",
        literal="SAFE_CONVERT_BYTES_TO_STRING(FROM_HEX('{0}'))",
        tested=False,
    ),
    "snowflake": Dialect(
        quote='"',
        as_bytes="TO_BINARY(TO_VARCHAR({0}), 'UTF-8')",
        as_text="TO_VARCHAR({0}, 'UTF-8')",
        joined="user_key || TO_BINARY(' ', 'UTF-8') || item_key",
        hashed="MD5({0})",
        literal="TO_VARCHAR(TO_BINARY('{0}', 'HEX'), 'UTF-8')",
        tested=False,
    ),
}

_COUNTED = """\
WITH {first}all_keys AS (
  SELECT {item} AS item_key, {user} AS user_key
  FROM {table}
), pairs AS (
  SELECT DISTINCT item_key, user_key
  FROM all_keys
  WHERE item_key IS NOT NULL AND user_key IS NOT NULL
), {capped}counted AS (
  SELECT item_key, COUNT(*) AS users
  FROM {kept}
  GROUP BY item_key
)
SELECT {label} AS label, users
FROM counted
ORDER BY users DESC, item_key
{limit}{settings}"""
_CAPPED = """\
placed AS (
  SELECT item_key, ROW_NUMBER() OVER (
    PARTITION BY user_key ORDER BY SUBSTR({hashed}, 1, 12), item_key
  ) AS place
  FROM pairs
), """
_CHECKED = """\
literals AS (
  {literals}
), checked AS (
  SELECT CASE WHEN a.place <> 2 THEN a.cell END AS item,
    CASE WHEN b.place <> 1 THEN b.cell END AS person
  FROM literals AS a CROSS JOIN literals AS b
  WHERE b.place <= a.place
), """
_NAME = re.compile(r"[^\"`\\\0-\x1f]+")


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
        ParameterError: an argument is wrong, or a name has a quotation mark or a backslash.
    """
    form = _dialect(dialect)
    names = [_quoted(form, part) for part in table.split(".")]
    item, user = _quoted(form, item), _quoted(form, user)
    return _counted(form, "", ".".join(names), item, user, places, max_contributions)


def check_statement(dialect: str) -> str:
    """Write the statement whose rows show how the engine compares; see `Counts.from_rows`.

    Raises:
        ParameterError: there is no such dialect.
    """
    form = _dialect(dialect)
    cells = (form.literal.format(cell.encode().hex()) for cell in hard_texts(null=form.null))
    selected = (f"SELECT {place} AS place, {cell} AS cell" for place, cell in enumerate(cells, 1))
    first = _CHECKED.format(literals=" UNION ALL\n  ".join(selected))
    return _counted(form, first, "checked", "item", "person", None, CAP)


def _dialect(name: str) -> Dialect:
    read_choice(name, "dialect", tuple(DIALECTS))
    return DIALECTS[name]


def _counted(
    form: Dialect,
    first: str,
    table: str,
    item: str,
    user: str,
    places: int | None,
    max_contributions: int | None,
) -> str:
    capped, kept = "", "pairs"
    if max_contributions is not None:
        most = integer(max_contributions, "max_contributions", minimum=1, maximum=2**31 - 1)
        capped = _CAPPED.format(hashed=form.hashed.format(form.joined))
        kept = f"placed\n  WHERE place <= {most}"
    limit = ""
    if places is not None:
        limit = f"LIMIT {integer(places, 'places', minimum=1, maximum=2**31 - 1)}\n"
    return _COUNTED.format(
        first=first,
        item=form.as_bytes.format(item),
        user=form.as_bytes.format(user),
        table=table,
        capped=capped,
        kept=kept,
        label=form.as_text.format("item_key"),
        limit=limit,
        settings=form.settings,
    )


def _quoted(form: Dialect, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"a name may have no quotation mark and no backslash, got {describe(name)}; "
            "make a view with plain names"
        )
    return f"{form.quote}{name}{form.quote}"

"""Every query on the data, in SQL; no other file has one.

Each statement runs unchanged on DuckDB and on Apache Spark.  `safeselect_rows` has two columns:
`item`, a candidate, and `person`, the protected user.  Both are integers or strings; either way an
item is a text (`spelled`).  Where values are read, `value` stands for `item`, a number or a
date.

- A row whose item or person is NULL is dropped by the WHERE clauses here and nowhere else.
- Neighbours are tables that differ by all rows of one person.  In each statement a person counts at
  most once for an item, so each count moves by at most 1, and all in the same direction.
- `HINT` and `USERS_OR_ROWS` are DuckDB's alone.
- A statement scans `safeselect_rows` once: a table in memory may be a stream that ends.
- `grp` is a third column where the largest items of each group are asked for.
- Labels are text, and text is compared by its bytes.  So equal counts have the same order
  everywhere, and that order depends on the labels only.
"""

from __future__ import annotations

from typing import Literal

VALUES_OF_USERS = """
SELECT {rule}(found) AS value
FROM (SELECT {cell} AS found, person FROM safeselect_rows) AS cells
WHERE found IS NOT NULL AND person IS NOT NULL
GROUP BY person
"""
"""One value for each person, by a public rule; a person's rows move that value alone."""

ADDED = """
CASE
  WHEN abs({cut}) = 1000000000000000000 OR {number} = trunc({number})
  THEN CAST({cut} AS DECIMAL(38, 10))
  ELSE CAST({text} AS DECIMAL(38, 10))
END
"""
"""What a number adds to a sum: its place among all numbers (`reals.place_of`), to ten decimals.

`cut` is its integer part, at most 10**18 in size; so 28 digits before the point hold any sum.  A
cast of a double to a decimal is not exact, but those of its integer part and of its text are.
"""

SHORTEST = "CASE WHEN abs({near}) < 5e-11 THEN '0' ELSE CAST({near} AS VARCHAR) END"
"""The shortest decimal of a double; some versions of DuckDB would read 1e-12 as 1e-10."""

NEAR_DECIMAL = """
CASE
  WHEN {units} % {fives} = 0
    AND CAST(CAST(CAST({units} // {fives} AS VARCHAR) AS DOUBLE) AS HUGEINT) = {units} // {fives}
  THEN CAST(CAST({units} // {fives} AS VARCHAR) AS DOUBLE) / {twos}
END
"""
"""The double that a decimal of s places is equal to, if there is one; `units` are 10**s times it.

There is one if `units` / 5**s is an integer that a double holds.  Of a negative HUGEINT the text
becomes the nearest double, and the number itself does not.
"""

WHOLE_TEXT = "CASE WHEN regexp_full_match(value, '[-+ 0-9]+') THEN TRY_CAST(value AS HUGEINT) END"
"""The integer that a cell of text is, if it is one of up to 38 digits; NULL for any other cell."""

DIFFERENT = """
SELECT DISTINCT CAST({column} AS STRING) AS label
FROM safeselect_rows
WHERE {column} IS NOT NULL
ORDER BY label
"""
"""The set of items, or of groups, that the caller asserts to be public; of no person."""

_AMONG_CANDIDATES = "AND CAST(item AS STRING) IN (SELECT label FROM safeselect_candidates)"
"""The condition where there is a public list of items."""

_BY_HASH = {
    name: f"LEFT(md5(CONCAT(CAST(person AS STRING), ' ', CAST({column} AS STRING))), 12), "
    f"CAST({column} AS STRING)"
    for name, column in (("items_by_hash", "item"), ("groups_by_hash", "grp"))
}
"""The order in which a person's items, or groups, count: that of a fixed hash of the two keys.

No other person's rows change it.  The hash is not secret and need not be.  Equal hashes are in the
order of the text by its bytes: a type would be all persons'.
"""

_COUNTED = """
SELECT CAST(item AS STRING) AS label, COUNT(DISTINCT person) AS users
FROM safeselect_rows
WHERE item IS NOT NULL AND person IS NOT NULL {known}
"""

_CAPPED = """
WITH pairs AS (
  SELECT DISTINCT item, person
  FROM safeselect_rows
  WHERE item IS NOT NULL AND person IS NOT NULL {known}
), placed AS (
  SELECT item, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {items_by_hash}) AS place{held}
  FROM pairs
)
SELECT CAST(item AS STRING) AS label, {users} AS users
FROM placed
WHERE place <= {contributions}
"""

_ONE_EACH = {"held": "", "users": "COUNT(*)"}
_BY_WEIGHT = {
    "held": ", COUNT(*) OVER (PARTITION BY person) AS held",
    "users": "CAST(SUM(CAST(FLOOR(SQRT(FLOOR(CAST({squared} AS DOUBLE) / "
    "LEAST(held, {contributions})))) AS BIGINT)) AS BIGINT)",
}
"""What a person adds to each of its items: 1, or an integer weight, of which the squares add up to
`squared` at most.  Doubles hold it exactly (`docs/mathematics.md`, section 19).
"""


def counts_of_items(
    *,
    among: bool = False,
    contributions: int | None = None,
    least: int = 1,
    places: int | None = None,
    squared: int | None = None,
) -> str:
    """The statement of counts: the text of each item, and its distinct users or their weights.

    Args:
        among: count the items on a public list alone.
        contributions: for how many items a person counts at most, and so moves so many counts; None
            counts all.
        least: leave out items of fewer persons: that depends on an item's own count alone.
        places: so many of the largest counts; None all, in the order of the labels; 0 all, in any
            order.
        squared: with a cap, what the squares of a person's weights add up to at most.
    """
    known, capped = _AMONG_CANDIDATES if among else "", contributions is not None
    counted, added = _CAPPED if capped else _COUNTED, _BY_WEIGHT if squared else _ONE_EACH
    public = {"known": known, "contributions": contributions, "squared": squared}
    added = {name: form.format_map(public) for name, form in added.items()}
    counted = counted.format(**public, **added, **_BY_HASH)
    order = "ORDER BY label" if places is None else f"ORDER BY users DESC, label LIMIT {places}"
    return f"{counted}GROUP BY item HAVING users >= {least} {order if places != 0 else ''}"


HINT = """
CREATE OR REPLACE TEMP TABLE safeselect_hint AS
SELECT item
FROM (SELECT item, person FROM safeselect_rows USING SAMPLE 2% (system)) AS part
WHERE item IS NOT NULL AND person IS NOT NULL
GROUP BY item
ORDER BY COUNT(*) DESC
LIMIT {items}
"""
"""The items with the most rows in a part of the table: a guess, on which no answer depends."""

USERS_OR_ROWS = """
WITH people AS (
  SELECT item,
    CASE WHEN item IN (SELECT item FROM safeselect_hint) THEN person END AS who,
    COUNT(*) AS n
  FROM safeselect_rows
  WHERE item IS NOT NULL AND person IS NOT NULL
  GROUP BY 1, 2
), items AS (
  SELECT item, COUNT(who) AS users, SUM(n) AS n
  FROM people
  GROUP BY item
), bounded AS (
  SELECT CASE WHEN users > 0 THEN CAST(item AS STRING) END AS label, users, n
  FROM items
)
SELECT label, MAX(users) AS users, MAX(n) AS n
FROM bounded
GROUP BY label
"""
"""The users of each hinted item and, where the label is NULL, the most rows of any other item.

Both come from one scan, and no item has more users than rows.  So if the places-th largest count of
hinted items is above the rows of all others, these are the largest counts of the rows of this scan.
"""

_GROUPED = """
WITH triples AS (
  SELECT DISTINCT grp, item, person
  FROM safeselect_rows
  WHERE grp IS NOT NULL AND item IS NOT NULL AND person IS NOT NULL
    AND CAST(grp AS STRING) IN (SELECT label FROM safeselect_groups)
), placed AS (
  SELECT grp, item, person, {group_place} AS place
  FROM triples
), pairs AS (
  SELECT grp, item, person
  FROM placed
  WHERE place <= {groups} {known}
), capped AS (
  SELECT grp, item, {item_place} AS place
  FROM pairs
), counted AS (
  SELECT CAST(grp AS STRING) AS grp, CAST(item AS STRING) AS label, COUNT(*) AS users
  FROM capped
  WHERE place <= {contributions}
  GROUP BY grp, item
), ranked AS (
  SELECT grp, label, users, ROW_NUMBER() OVER (
    PARTITION BY grp ORDER BY users DESC, label
  ) AS place
  FROM counted
)
SELECT grp, label, users
FROM ranked
WHERE place <= {places}
ORDER BY grp, place
"""


def counts_of_groups(
    *, groups: int | None, contributions: int | None, places: int, among: bool = False
) -> str:
    """The statement of the largest counts of each public group: group, item, distinct users.

    A person counts in `groups` groups at most.  The hash decides which; groups outside the list
    take no place.  All triples of a person in one group have the same place, so a person moves
    counts in at most `groups` groups, and in each of them at most `contributions` counts.

    Args:
        groups: None counts a person in all groups.
        among, contributions, places: as of `counts_of_items`, in each group.
    """
    by_group = "DENSE_RANK() OVER (PARTITION BY person ORDER BY {groups_by_hash})"
    by_item = "ROW_NUMBER() OVER (PARTITION BY grp, person ORDER BY {items_by_hash})"
    return _GROUPED.format(
        group_place="1" if groups is None else by_group.format(**_BY_HASH),
        groups=groups or 1,
        known=_AMONG_CANDIDATES if among else "",
        item_place="1" if contributions is None else by_item.format(**_BY_HASH),
        contributions=contributions or 1,
        places=places,
    )


LABELS_OF_SCORES = "SELECT CAST(label AS STRING) AS label FROM safeselect_rows ORDER BY label"
"""The candidates of ready scores, which are public."""

LABELS_AND_SCORES = """
SELECT CAST(label AS STRING) AS label, score
FROM safeselect_rows
ORDER BY label
"""
"""Ready scores, one a row."""

ITEMS_PER_USER = """
WITH users AS (
  SELECT person, LEAST(COUNT(DISTINCT item), {most}) AS items
  FROM safeselect_rows
  WHERE item IS NOT NULL AND person IS NOT NULL
  GROUP BY person
)
SELECT items, COUNT(*) AS users
FROM users
GROUP BY items
ORDER BY items
"""
"""How many persons have so many items, `most` standing for more; a person moves one number by 1."""

# --------------------------------------------------------------------- types and cells of keys

INTEGERS = frozenset(
    sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
TEXT = "VARCHAR"
# By our names: what is chosen, and who is protected.
LABELS = frozenset(("item", "grp"))
KEYS = LABELS | {"person"}
FLOATS = frozenset(("FLOAT", "DOUBLE"))
NUMBERS = FLOATS | {"BOOLEAN", "DECIMAL"}
DATES = frozenset(("DATE", *(f"TIMESTAMP{unit}" for unit in ("", "_S", "_MS", "_NS"))))

# The size of a number as a plain decimal: from its digits and exponent if it is written with one,
# as in 1.25E-7, and without zeros at its end.
_TEXT = "upper(CAST(abs({cell}) AS STRING))"
_SHIFT = f"TRY_CAST(split_part({_TEXT}, 'E', 2) AS INT)"
_DIGITS = f"replace(regexp_replace(split_part({_TEXT}, 'E', 1), '[.]?0*$', ''), '.', '')"
_SIZE = (
    f"CASE WHEN {_SHIFT} < 0 THEN CONCAT('0.', repeat('0', -{_SHIFT} - 1), {_DIGITS}) "
    f"WHEN {_SHIFT} >= 0 THEN CONCAT(left({_DIGITS}, {_SHIFT} + 1), '.', "
    f"substr({_DIGITS}, {_SHIFT} + 2)) "
    f"WHEN instr({_TEXT}, '.') > 0 THEN regexp_replace({_TEXT}, '[.]?0*$', '') ELSE {_TEXT} END"
)
# Each condition is false or NULL for NULL, of which DuckDB's CONCAT would make an empty text.
_EXACT = (
    f"CASE WHEN {{cell}} > 0 THEN {_SIZE} WHEN {{cell}} < 0 THEN CONCAT('-', {_SIZE}) "
    "WHEN {cell} = 0 THEN '0' END"
)
NAN = "lower(CAST({cell} AS STRING)) LIKE '%nan'"
"""Whether a float is NaN, by its text.

DuckDB answers comparisons, and isnan too, by the bounds of numbers in a Parquet file.  They leave
NaN out, so that the answer for one user's cell would depend on other users' cells.
"""

# An engine may take a cast out of its CASE: then one user's NaN must not fail for all.
_FLOAT = (
    f"CASE WHEN {NAN} OR NOT abs({{cell}}) < power(2, {{places}}) THEN NULL "
    f"WHEN {{cell}} = floor({{cell}}) THEN CAST(TRY_CAST({{cell}} AS {{whole}}) AS STRING) "
    f"ELSE {_EXACT} END"
)
_PLACES = {"HUGEINT": 127, "BIGINT": 63}
# Of text that is no UTF-8, two cells would be one label once they are read.  It is missing on
# DuckDB; on Spark what is no character is U+FFFD, as Java reads it.
_READ = {
    "HUGEINT": "CASE WHEN regexp_full_match({0}, '[^\\x{{d800}}-\\x{{dfff}}]*') THEN {0} END",
    "BIGINT": "decode(encode({0}, 'UTF-16BE'), 'UTF-16BE')",
}


def spelled(cell: str, kind: str, whole: Literal["HUGEINT", "BIGINT"]) -> str:
    """Return the SQL of an item or a group as a text or an integer; NULL where it can be none.

    Items are texts by the rule of `unknown_domain._items`: cells that are equal have one spelling,
    whatever the column's type.  Text is itself, if it is UTF-8, and integers need no change.

    Args:
        cell: the column.
        kind: its declared type.
        whole: the engine's widest type of integers; a float beyond it can be no item.
    """
    kind = kind.partition("(")[0]
    if kind == TEXT:
        return _READ[whole].format(cell)
    if kind == "BOOLEAN":
        return f"CAST(CAST({cell} AS INT) AS STRING)"
    if kind == "DECIMAL":
        return _EXACT.format(cell=cell)
    if kind in FLOATS:
        wide = f"CAST({cell} AS DOUBLE)"
        return _FLOAT.format(cell=wide, whole=whole, places=_PLACES[whole])
    return cell

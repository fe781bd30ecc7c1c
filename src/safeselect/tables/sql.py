"""Every query on the data, in SQL; no other file has one.

Each statement runs unchanged on DuckDB and on Apache Spark.  `safeselect_rows` has two columns:
`item`, a candidate, and `person`, the protected user.  Both are integers or strings; either way an
item is a text (`spelled`).  Where values are read, `value` stands for `item`, a number or a
date.

- A row whose item or person is NULL is dropped by the WHERE clauses here and nowhere else.
- Neighbours are tables that differ by all rows of one person.  In each statement a person counts at
  most once for an item, so each count moves by at most 1, and all in the same direction.
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

AMONG_CANDIDATES = "AND CAST(item AS STRING) IN (SELECT label FROM safeselect_candidates)"
"""The condition where there is a public list of items; `known` in `GROUPED_COUNTS`."""

_COUNTED = """
SELECT CAST(item AS STRING) AS label, COUNT(DISTINCT person) AS users
FROM safeselect_rows
WHERE item IS NOT NULL AND person IS NOT NULL
"""
"""Distinct users; each statement below says of which items."""

COUNT_DISTINCT_USERS = f"""{_COUNTED}GROUP BY item
ORDER BY label
"""
"""All counts; a person may move any number of them."""

COUNT_CANDIDATES = f"""{_COUNTED}  {AMONG_CANDIDATES}
GROUP BY item
ORDER BY label
"""
"""The counts of the items on a public list."""

LARGEST_COUNTS = f"""{_COUNTED}GROUP BY item
ORDER BY users DESC, label
LIMIT {{places}}
"""
"""The largest counts."""

_PLACED = """
WITH pairs AS (
  SELECT DISTINCT item, person
  FROM safeselect_rows
  WHERE item IS NOT NULL AND person IS NOT NULL
), placed AS (
  SELECT item, ROW_NUMBER() OVER (
    PARTITION BY person
    ORDER BY LEFT(md5(CONCAT(CAST(person AS STRING), ' ', CAST(item AS STRING))), 12),
      CAST(item AS STRING)
  ) AS place
  FROM pairs
)
SELECT CAST(item AS STRING) AS label, COUNT(*) AS users
FROM placed
WHERE place <= {contributions}
GROUP BY item
"""
"""Counts where a person counts for `contributions` items at most.

A fixed hash of the two keys decides which of a person's items count.  No other person's rows change
that choice, so a person moves at most `contributions` counts.  The hash is not secret and need not
be.  Equal hashes are in the order of the items' text by its bytes: a type would be all persons'.
"""

LARGEST_CAPPED_COUNTS = f"""{_PLACED}ORDER BY users DESC, label
LIMIT {{places}}
"""
"""The largest of these counts."""

CAPPED_COUNTS = f"""{_PLACED}HAVING COUNT(*) >= {{least}}
ORDER BY label
"""
"""All of these counts, but for items of fewer than `least` persons.

Whether an item is left out depends on its own count alone.
"""
GROUPED_COUNTS = """
WITH triples AS (
  SELECT DISTINCT grp, item, person
  FROM safeselect_rows
  WHERE grp IS NOT NULL AND item IS NOT NULL AND person IS NOT NULL
    AND CAST(grp AS STRING) IN (SELECT label FROM safeselect_groups)
), placed AS (
  SELECT grp, item, person, DENSE_RANK() OVER (
    PARTITION BY person
    ORDER BY LEFT(md5(CONCAT(CAST(person AS STRING), ' ', CAST(grp AS STRING))), 12),
      CAST(grp AS STRING)
  ) AS place
  FROM triples
), pairs AS (
  SELECT grp, item, person
  FROM placed
  WHERE place <= {groups} {known}
), capped AS (
  SELECT grp, item, ROW_NUMBER() OVER (
    PARTITION BY grp, person
    ORDER BY LEFT(md5(CONCAT(CAST(person AS STRING), ' ', CAST(item AS STRING))), 12),
      CAST(item AS STRING)
  ) AS place
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
"""The largest counts of each public group, where a person counts in `groups` groups at most.

The same kind of hash as above decides which groups; groups outside the list take no place.  All
triples of a person in one group have the same place, so a person moves counts in at most `groups`
groups, and in each of them at most `contributions` counts.
"""

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
_FLOAT = (
    "CASE WHEN NOT abs({cell}) < power(2, {places}) THEN NULL "  # NaN is above every number
    f"WHEN {{cell}} = floor({{cell}}) THEN CAST(CAST({{cell}} AS {{whole}}) AS STRING) "
    f"ELSE {_EXACT} END"
)
_PLACES = {"HUGEINT": 127, "BIGINT": 63}


def spelled(cell: str, kind: str, whole: Literal["HUGEINT", "BIGINT"]) -> str:
    """Return the SQL of an item or a group as a text or an integer; NULL where it can be none.

    Items are texts by the rule of `unknown_domain._items`: cells that are equal have one spelling,
    whatever the column's type.  Text is itself, and integers need no change.

    Args:
        cell: the column.
        kind: its declared type.
        whole: the engine's widest type of integers; a float beyond it can be no item.
    """
    kind = kind.partition("(")[0]
    if kind == "BOOLEAN":
        return f"CAST(CAST({cell} AS INT) AS STRING)"
    if kind == "DECIMAL":
        return _EXACT.format(cell=cell)
    if kind in FLOATS:
        wide = f"CAST({cell} AS DOUBLE)"
        return _FLOAT.format(cell=wide, whole=whole, places=_PLACES[whole])
    return cell

"""Counts and scores from files, frames, DuckDB and Spark; `sql` has every query on the data.

An engine counts, and safeselect randomises.  The results of this module are exact and
*unprotected*, except for the releases of `top_items`, `select_keys` and `table_quantiles`.  Pass
them to a mechanism; do not print them.

- A row whose item or user is NULL is dropped.  In a CSV file an empty cell is NULL and everything
  else is text: "7", "07" and " 7" are three users.
- An item, and a group, is a text: a number of any type is its shortest plain decimal, so that 1,
  1.0 and True are "1".  What a reader made of `007` or `1.50` cannot be seen: read items as text.
- Two items never become one text when they are read: in a frame, text that is not UTF-8 is missing;
  of an item on Spark or ClickHouse, the engine itself makes U+FFFD of what is no character.
- Users are integers or strings by their declared type.  Floats are read as the integers they are;
  one that is not whole is refused, and so are floats on Spark.  Dates and nested types are refused
  for all keys, because the equality of their values depends on their representation.
- The result is in the order of the candidates, or of the labels, never of the rows: a file may be
  sorted by private values.
- A file that is not a table (a row with missing cells, a quote that is open or in a cell without
  quotes, text that is not UTF-8) is refused as a whole, in one sentence that quotes nothing.  The
  program that wrote it is at fault: a correctly written cell cannot cause it, up to 16 MB a line.
  DuckDB skips a last line of more than 32 MB without an error.
- A CSV file has at most 10 000 columns.
- A call with a ledger is charged after the columns and before the rows are read.  Errors about the
  table's name and declared columns cost nothing.  All errors about its rows have one sentence, and
  the charge stands.  Labels of ready scores, and items declared public, are read before the charge.
"""

from safeselect.tables.files import TableAs
from safeselect.tables.items import (
    choose_cap,
    count_distinct_users,
    select_keys,
    top_items,
    top_items_by_group,
)
from safeselect.tables.keys import read_candidates
from safeselect.tables.values import open_scores, table_quantiles

__all__ = [
    "TableAs",
    "choose_cap",
    "count_distinct_users",
    "open_scores",
    "read_candidates",
    "select_keys",
    "table_quantiles",
    "top_items",
    "top_items_by_group",
]

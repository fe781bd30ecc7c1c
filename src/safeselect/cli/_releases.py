"""The commands that read a table: `safeselect look`, and those that release."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import date
from functools import partial
from typing import Any

from safeselect import measure, top_k
from safeselect.accounting.cost import PrivacyCost, rounded_text
from safeselect.adapters.notebook import rows as rows_of
from safeselect.cli._ledger import CHARGED, open_scope
from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import say, write
from safeselect.cli._page import columns as columns_of
from safeselect.errors import ParameterError
from safeselect.exact.parameters import exact_text
from safeselect.mechanisms.table import MECHANISMS
from safeselect.release.page import escaped
from safeselect.release.progress import SWITCH
from safeselect.release.results import Groups, Numbers, TopK
from safeselect.scores.reading import Reading
from safeselect.tables import TableAs, read_candidates, select_keys, top_items, top_items_by_group
from safeselect.tables.files import LAST, TITLE
from safeselect.tables.values import open_scores, table_quantiles

Release = Groups[str] | TopK[Any] | Numbers[Any, Any]

FILE = declare("""
FILE several  .csv, .tsv, .csv.gz, .tsv.gz or .parquet files, or - for CSV from standard input
""")
EPSILON = declare("--epsilon E required  total privacy cost, such as 1, 0.1 or 1/3")
TOTAL = declare("""
--epsilon E required  total privacy cost, such as 1, 0.1 or 1/3
| --rho R  total privacy cost in zero-concentrated differential privacy (zCDP)
--delta D  total delta, such as 1e-9; requires --epsilon and can reduce the noise
""")
GRID = declare("""
--grid G  public step for rounding scores, such as a thousandth of the sensitivity
--on-grid  assert that true scores are multiples of G, less than G/2 away from the given scores
--score-error E  upper bound on the difference between a score and its true value (default: G/2)
""")
MECHANISM = declare(f"""
--mechanism NAME {{{",".join(MECHANISMS)}}}  {", ".join(MECHANISMS)}
    (default: depends on whether --delta or --rho is passed)
""")
COUNTER = declare("--rows N integer  warn if --delta exceeds 1/N; N is the public number of rows")
FORM = declare("""
input format
--delimiter C  CSV delimiter (default: a comma, or a tab for .tsv and .tsv.gz files)
--encoding {utf-8,latin-1,cp1252,utf-16} =utf-8  CSV encoding; Windows programs often write cp1252
--ids {text,numbers}  compare user ids as text, or as integers (ignoring blanks, leading 0s and .0)
--missing WORD repeated  treat WORD, such as n/a, as missing; repeat the option for each word
--decimal MARK =.  decimal mark: . or , (default: .)
--thousands MARK  thousands separator, such as "." (default: none)
--dates FORM  format of dates in text, such as %%d.%%m.%%Y
--trim  strip leading and trailing whitespace
--casefold  convert text to lower case; compare public lists in lower case, but print them unchanged
--nfc  normalize text to Unicode NFC
--whole-numbers  read text such as 7.0 as the integer 7
--memory SIZE  memory limit for DuckDB, such as 2GB (default: 4GB, or less on a small machine)
""")
COLUMNS = declare("""
--item COL required  column that contains the items, such as cities
--user COL required  column that identifies the user of each row
""")
HOW_MANY = declare("-k K integer required  release K items, or at most K in an unknown domain")
_PRIVATE = declare("""
unknown domain (the set of candidates is private)
--k-bar N integer  consider only the N items with the most users (default: 10 times K)
--max-contributions D integer  count each user for at most D items (with groups: in each group), and
    release noisy counts; choose D without looking at the data
--with-counts  release noisy counts; without --max-contributions, every item of a user is counted
""")
UNKNOWN, WITH_COUNTS = _PRIVATE[:2], _PRIVATE[2:]
COUNTED = (*COLUMNS, *HOW_MANY, *TOTAL, *MECHANISM, *UNKNOWN)
PUBLIC = declare("""
known candidates
--candidates FILE  list of candidates, one per line, made without looking at the data
| --candidates-are-public  assert that the set of items is public and depends on no single user
""")
GROUPED = declare("""
groups
--group-by COL  release one list for each group in COL; requires --groups or --groups-are-public
--groups FILE  public list of groups, one per line
| --groups-are-public  assert that the set of groups is public and depends on no single user
--groups-per-user M integer  public number of groups that a typical user belongs to; determines
    --max-groups
| --max-groups C integer  count each user in at most C groups (default: 1), or in all of the
    user's groups if C is 'all'; a larger C leaves less of the budget for each group
""")
RANKED = declare("""
--label COL required  column that contains the candidates
--score COL required  column that contains the scores
""")
SENSITIVITY = declare("""
--sensitivity S required  largest change in any one score between neighbouring data sets
--monotonic  assert that no score rises while another falls between neighbours; can halve the noise
--minimize  prefer small scores
""")
ONE = declare("-k K integer =1  number of candidates to release (default: 1)")
CHOSEN = (*ONE, *TOTAL, *MECHANISM, *SENSITIVITY, *GRID)
DELTA = declare("--delta D required  total delta, such as 1e-9")
CAPPED = declare("""
--max-partitions D integer =1  count each user for at most D items (default: 1); the decisions
    about these items share epsilon and delta; choose D without looking at the data
--pre-threshold T integer =1  never release an item with fewer than T users (default: 1)
--with-counts  add a noisy number of users to each released item, at no extra cost
""")
WEIGHED = declare("""
--noise LAW {table,gaussian} =table  law of the noise: table (default), or gaussian, for data in
    which users have many items; to compare the two, use explain-keys --keys-per-user
""")
KEPT = (*COLUMNS, *EPSILON, *DELTA, *CAPPED, *WEIGHED, *COUNTER)
POINTS = declare("""
--value COL required  column that contains the values, which are numbers or dates
--user COL required  column that identifies the user of each row
--of {smallest,largest,sum} required  value that counts for each user; sum requires numbers
--quantiles Q several required  one or more quantiles, such as 1/4 1/2 3/4
--lowest V required  lowest possible result: a public number or date, such as 0 or 2024-02-29
--highest V required  highest possible result, also public
--step S required  distance between adjacent possible results; for dates, a number of days
--neighbours {add_remove,replace_one} =add_remove  how neighbouring data sets differ: all rows of
    one user are added or removed (default), or replaced
""")
MEASURED = declare("""
--epsilon E required  total privacy cost, such as 1, 0.1 or 1/3
| --rho R  total privacy cost in zero-concentrated differential privacy (zCDP)
| --mu M  total privacy cost in Gaussian differential privacy
--sensitivity-l1 S required  with --epsilon: largest sum of the absolute changes in all values
    between neighbouring data sets
| --sensitivity-l2-squared S  with --rho or --mu: largest sum of the squared changes in all values
    between neighbouring data sets
""")
VALUES = declare("""
--label COL required  column that contains the names of the values; these names must be public
--value COL required  column that contains the values, which must be integers
""")
JSON = declare("--json  print the result in JSON format")
PRINTED = declare("""
--json  print the release in JSON format
| --csv  print all columns as CSV, including the 95 %% interval of each noisy number
| --table  print all columns as a readable table
--quiet  print errors and warnings, but no notes or progress
""")

LOOKED = COLUMNS[1:] + declare("""
--item COL  column that contains the items; the output then includes the number of items per user
""")


def table_of(options: argparse.Namespace) -> TableAs:
    """The files and how they are read."""
    files = options.file if len(options.file) > 1 else options.file[0]
    form = given(options, FORM)
    form["delimiter"] = "\t" if options.delimiter == "\\t" else options.delimiter
    form["missing"] = options.missing or ()
    return TableAs(files, **form)


def flags(options: Mapping[str, object]) -> Iterator[str]:
    """The options of the command that say the same as arguments of `TableAs`."""
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            yield flag
        else:
            words = value if isinstance(value, list) else [value]
            yield from (f"{flag} {shlex.quote(str(word))}" for word in words)


def _look(options: argparse.Namespace) -> int:
    look = table_of(options).check(user=options.user, item=options.item)
    if options.json:
        kept = {"not_for_publication": TITLE, "findings": look.findings, "options": look.options}
        write(f"{json.dumps(kept)}\n")
        return 0
    rows = [(what, found, " ".join(flags(settled))) for what, found, settled in look.findings]
    every = " ".join(flags(look.options)) or "none"
    write("".join(f"{line}\n" for line in [TITLE, *columns_of(rows), f"options: {every}", LAST]))
    return 0


def _count_items(options: argparse.Namespace) -> Release:
    _check_options(options)
    call = given(options, COUNTED)
    call["ledger"] = open_scope(options, neighbours="add_remove")
    candidates, groups = options.candidates, options.groups
    call["candidates"] = None if candidates is None else read_candidates(candidates)
    if options.group_by is None:
        call["candidates_are_public"] = options.candidates_are_public
        return top_items(table_of(options), **call, **given(options, (*WITH_COUNTS, *COUNTER)))
    call |= given(options, GROUPED)
    call["group"] = call.pop("group_by")
    call["groups"] = None if groups is None else read_candidates(groups, what="group")
    return top_items_by_group(table_of(options), **call)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse options of which the other function of `tables` knows nothing."""
    grouped = options.group_by is not None
    others = given(options, (*PUBLIC[1:], *WITH_COUNTS, *COUNTER) if grouped else GROUPED[1:])
    stated = (name for name, value in others.items() if value is not None and value is not False)
    if wrong := [f"--{name.replace('_', '-')}" for name in stated]:
        rule = "cannot be used with" if grouped else "requires"
        raise ParameterError(f"{wrong[0]} {rule} --group-by")


def _ready(
    release: Callable[..., Release], own: tuple[Option, ...], options: argparse.Namespace
) -> Release:
    """Release what was counted or summed before: one number a row."""
    call = given(options, own) | {"ledger": open_scope(options)}
    column = options.score if "score" in options else options.value
    if "score" in options:  # refused before the labels are read, of which there may be many
        PrivacyCost.read(epsilon=options.epsilon, rho=options.rho, delta=options.delta)
        Reading.read(**given(options, GRID))
    with open_scores(table_of(options), label=options.label, score=column) as (labels, numbers):
        return release(numbers, labels=labels, **call)


def _keep(options: argparse.Namespace) -> Release:
    ledger = open_scope(options, neighbours="add_remove")
    return select_keys(table_of(options), **given(options, KEPT), ledger=ledger)


def _points(options: argparse.Namespace) -> Release:
    call = given(options, (*POINTS, *TOTAL))
    for name in ("lowest", "highest"):
        with suppress(ValueError):
            day = date.fromisoformat(call[name])
            # Python reads 20240229 as a date, too; it is a number.
            call[name] = day if str(day) == call[name] else call[name]
    ledger = open_scope(options, neighbours=options.neighbours)
    return table_quantiles(table_of(options), **call, ledger=ledger)


def _run(make: Callable[[argparse.Namespace], Release], options: argparse.Namespace) -> int:
    """Make a release, print it, and say how to read it."""
    if options.quiet:
        os.environ[SWITCH] = "off"
    result = make(options)
    write("".join(f"{line}\n" for line in _lines(result, options)))
    if options.quiet:
        return 0
    users = f"; {_AS_WRITTEN}" if "user" in options and options.ids is None else ""
    stated = [(each.name, getattr(options, each.name), each.told.get("default")) for each in FORM]
    own = {name: value for name, value, usual in stated if value not in (None, False, usual)}
    read = [*flags({name: value for name, value in own.items() if name != "memory"})]
    how = [f"the table was read with {' '.join(read)}"] if read else []
    say("\n".join([*_facts(result, users), *how, *how_to_read(result)]))
    return 0


def _lines(result: Release, options: argparse.Namespace) -> list[str]:
    if options.json:
        return [result.to_json()]
    if options.table:
        return columns_of(rows_of(result))
    columns = result.to_dict()
    if options.csv:
        table = io.StringIO()
        rows = zip(*columns.values(), strict=True)
        csv.writer(table, lineterminator="\n").writerows([[*columns], *rows])
        return [table.getvalue().removesuffix("\n")]
    names = [name for name in ("group", "label", "count", "value") if name in columns]
    # An escaped label has no tab.
    rows = zip(*(columns[name] for name in names), strict=True)
    return ["\t".join(escaped(cell) for cell in row) for row in rows]


def _facts(result: Release, users: str) -> Iterator[str]:
    """What every release says of itself, and how its users were told apart."""
    guarantee, said, receipt = result.guarantee, result.provenance, result.receipt
    numbers = [f"{field.name} = {getattr(guarantee, field.name)}" for field in fields(guarantee)]
    yield f"guarantee {', '.join(numbers)} in total ({type(guarantee).__name__})"
    yield f"neighbours: {said.neighbours}; unit: {said.unit}{users}"
    size = result.provenance.number(
        "effective_range"
    )  # what reading adds to the declared range is included
    ranged = "" if size is None else f"effective range {exact_text(size)}, "
    yield f"mechanism {result.mechanism}, {ranged}{result.source}"
    if receipt is not None:
        yield f"record {receipt.record} of ledger {receipt.ledger}; salt {receipt.salt.hex()}"


_AS_WRITTEN = "ids are compared as written (see safeselect look)"
_NOTHING = "this is not an error; with a larger epsilon or delta, rarer items can appear"


def how_to_read(result: Release) -> Iterator[str]:
    """Say what the counts are and how sure they are, and why a list may be empty."""
    stated = dict(result.provenance.parameters)
    cap = stated.get("max_contributions", stated.get("max_partitions"))
    if isinstance(result, Groups):
        asked = stated.get("groups_per_user")
        most = f"at most {stated['max_groups']} of them"
        chosen = f" (chosen for {asked} groups)" if asked else ""
        yield f"groups: {len(result)}; each user counts in {most}{chosen}"
    if result.labels and result.noise is not None:
        what = "value" if isinstance(result, Numbers) else "count"
        if what == "count":
            most = "" if cap is None else f"; cap on a user's items in a list: {cap}"
            yield f"a count is a noisy number of distinct users{most}"
        deviation = f"standard deviation of the noise: {rounded_text(result.noise.deviation)}"
        low, high = -result.noise.high_95, -result.noise.low_95
        yield f"{deviation}; 95 % interval: the {what} {low:+} to {high:+}"
    if result.labels and result.noise is not None and cap is not None:
        yield (
            "the cap lowers counts if users have more items than it allows; noise decides which "
            "counts are shown, so counts near the threshold tend to be too large"
        )
    if isinstance(result, Groups):
        if empty := sum(not labels for labels in result.labels):
            yield f"nothing was found in {empty} of {len(result)} groups; {_NOTHING}"
    elif not result.labels:
        plans = "explain-keys" if "max_partitions" in stated else "explain-items"
        yield f"nothing was found; {_NOTHING}; safeselect {plans} computes what an item needs"


def _command(
    name: str,
    purpose: str,
    about: str,
    own: tuple[Option, ...],
    make: Callable[[argparse.Namespace], Release],
) -> Command:
    every = (*FILE, *own, *PRINTED, *FORM, *CHARGED)
    return Command(name, purpose, every, partial(_run, make), about)


LOOK = Command(
    "look",
    "inspect a file before a release; the output shows unprotected data: NOT FOR PUBLICATION",
    (*FILE, *LOOKED, *JSON, *FORM),
    _look,
    """\
Prints how user ids, numbers, dates and missing values are written, and suggests options for reading
them. Other commands do not set these options for you: without --ids, they compare ids as written.

For example: safeselect look trips.csv --user rider
""",
)
TOP_K = _command(
    "top-k",
    "release items with many distinct users",
    """\
By default, the candidates are the items in the data, and the set of these items is private (an
unknown domain). Then --epsilon and --delta are required, and --mechanism cannot be used. For each
user, --delta bounds the probability of showing an item that no other user has. The default output
has columns separated by tabs, and no line for a group without released items.

For example: safeselect top-k trips.csv --item city --user rider -k 5 --epsilon 1 --delta 1e-9
""",
    (*COUNTED, *WITH_COUNTS, *PUBLIC, *GROUPED, *COUNTER),
    _count_items,
)
SELECT = _command(
    "select",
    "release candidates chosen by their private scores, which are read from a file",
    """\
The labels are the candidates and must be public. Only the scores are protected. Rows are sorted
by label, so the order of the file is not released.

For example:
safeselect select scores.csv --label city --score trips -k 3 --sensitivity 1 --monotonic --epsilon 1
""",
    (*RANKED, *CHOSEN),
    partial(_ready, top_k, CHOSEN),
)
KEYS = _command(
    "keys",
    "release the items that have enough distinct users",
    """\
Without --noise and --pre-threshold, an item is kept with the largest probability that its share of
the cost allows. The output is sorted by item. For the k items with the most users, use top-k.

For example: safeselect keys trips.csv --item city --user rider --epsilon 1 --delta 1e-9
""",
    KEPT,
    _keep,
)
QUANTILES = _command(
    "quantiles",
    "release quantiles of a column; each user counts at most once",
    """\
A row is dropped if its value is not a number (or, if --lowest is a date, not a date). To see how
values are written, run safeselect look.

For example: safeselect quantiles trips.csv --value fare --user rider --of largest --quantiles 1/2
--lowest 0 --highest 500 --step 1/2 --epsilon 1
""",
    (*POINTS, *TOTAL),
    _points,
)
MEASURE = _command(
    "measure",
    "add noise to values in a file, such as counts or sums, and release them",
    """\
The names and the number of the values must be public. The noise is discrete Laplace with --epsilon,
discrete Gaussian with --rho, and rounded Gaussian with --mu.

For example, if adding or removing a patient changes the counts of at most 2 wards by 1:
safeselect measure wards.csv --label ward --value patients --sensitivity-l1 2 --epsilon 1
""",
    (*VALUES, *MEASURED),
    partial(_ready, measure, MEASURED),
)

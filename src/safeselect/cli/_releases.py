"""The commands that release: `safeselect top-k`, `select` and `keys`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from safeselect import top_k
from safeselect.accounting.cost import rounded_text
from safeselect.adapters.plots import plot, plot_path, save_plot
from safeselect.cli._ledger import CHARGED, open_scope
from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import escaped, say, write
from safeselect.errors import ParameterError
from safeselect.estimates.users import plan_keys
from safeselect.exact.parameters import exact_text
from safeselect.mechanisms.keys import Terms
from safeselect.mechanisms.measure import noise_of
from safeselect.mechanisms.table import MECHANISMS
from safeselect.release import results
from safeselect.release.results import Groups, Noise, TopK
from safeselect.tables import TableAs, read_candidates, select_keys, top_items, top_items_by_group
from safeselect.tables.values import open_scores

Release = results.Groups[str] | results.TopK[Any]

_EXIT_CODES = """
exit codes: 0 done, 2 command line or input file, 3 budget, 4 source of randomness, 5 the ledger
cannot be used, 6 it is busy: try again, 1 unforeseen
"""
_USERS = "files that differ by all rows of one user"

FILE = declare("FILE several  a .csv, .csv.gz or .parquet file; or several, taken together")
TOTAL = declare("""
--epsilon E number required  total cost, such as 1, 0.1 or 1/3
| --rho R number  total cost as zero-concentrated privacy
--delta D part  with --epsilon: allow this much slack, such as 1e-9, for less noise
""")
GRID = declare("""
--grid G number  public step for scores that are not integers, such as a thousandth of the
    sensitivity; scores go to the nearest step, and what that adds to their change is counted;
    without it every score must be an integer
--on-grid  the true scores are multiples of G, and those in the file lie less than half a step from
    them, as k/n computed in floats does from the nearest multiple of 1/n: nothing is added
--score-error E number-or-0  how far a score in the file may lie from the one whose change was
    declared (default: half of G); 0 where they are exact
""")
MECHANISM = declare(f"""
--mechanism NAME {{{",".join(MECHANISMS)}}}  {", ".join(MECHANISMS)}; by default
    one_shot_exponential, or exponential with --delta or --rho
""")
COUNTER = declare("""
--rows N count  how many rows FILE has, as far as that is public: warn if --delta is above 1/N
""")
FORM = declare("""
how FILE is read
--delimiter C =,  of a CSV file (default: ,)
--encoding {utf-8,latin-1,utf-16} =utf-8  of a CSV file
--trim  drop blanks around text
--casefold  make letters small; lists of names too
--nfc  compose letters and accents, so that both forms are one
--whole-numbers  read text such as 7.0 as 7, as programs write ids where one is missing
--memory SIZE  the most that DuckDB may use, such as 2GB
""")
COUNTED = (
    *declare("""
--item COL required  column of the candidates
--user COL required  column that says whose row it is
-k K count required  how many items to release
"""),
    *TOTAL,
    *MECHANISM,
    *declare("""
unknown domain
--k-bar N count  so many items compete (default: 10 times k). More of them find rarer items; fewer
    need less of a lead
--max-contributions D count  count each user for D items at most, chosen by a fixed hash, and print
    noisy counts too: item, tab, count. D must not follow from the data
"""),
)
PUBLIC = declare("""
known candidates
--candidates FILE  a list made without looking at the data, one item a line. Items outside the list
    are dropped; an item of the list without rows counts 0
| --candidates-are-public  the items found in FILE are the list. Saying so asserts that this set of
    items is public knowledge, so that it would be the same without any one user
""")
GROUPED = declare("""
groups
--group-by COL  release a list for each value of COL
--groups FILE  public list of groups, one a line
| --groups-are-public  assert that the set of groups in the file is public knowledge
--groups-per-user M count  in how many groups a usual user is, as a public fact; it chooses
    --max-groups
| --max-groups C count-or-all  count a user in C groups at most, chosen by a fixed hash
    (default: 1), or 'all'; the budget is shared by C groups
""")
PLOT = declare("--plot FILE  draw the release too, in a .png, .svg or .pdf file")
RANKED = declare("""
--label COL required  column of the candidates
--score COL required  column of the scores
""")
CHOSEN = (
    *declare("-k K count =1  how many to release (default: 1)"),
    *TOTAL,
    *MECHANISM,
    *declare("""
--sensitivity S number required  largest change of any one candidate's score when one unit, a person
    say, is added or removed
--monotonic  adding a unit never moves two scores in opposite directions: half the noise
--minimize  prefer small scores
"""),
    *GRID,
)
KEPT = (
    *declare("""
--item COL required  column of the items
--user COL required  column that says whose row it is
--epsilon E number required  total cost, with --delta, such as 1, 0.1 or 1/3
--delta D part required  total cost, with --epsilon, such as 1e-9
--max-partitions D count =1  count each user for D items at most, chosen by a fixed hash
    (default: 1). D must not follow from the data. More lets each item keep more of its users, but
    each decision gets a smaller share of epsilon
--pre-threshold T count =1  never show an item of fewer than T users
--with-counts  print noisy numbers of users too, for the same cost: item, tab, count. They are of
    users counted so, and have a small mean error, which --json tells
"""),
    *COUNTER,
)
JSON = declare("--json  print the release as JSON")


def table_of(options: argparse.Namespace) -> TableAs:
    """The files and how they are read."""
    files = options.file if len(options.file) > 1 else options.file[0]
    form = given(options, FORM)
    form["delimiter"] = "\t" if options.delimiter == "\\t" else options.delimiter
    return TableAs(files, **form, progress=True)


def _count_items(options: argparse.Namespace) -> Release:
    _check_options(options)
    call = given(options, COUNTED)
    call["ledger"] = open_scope(options, neighbours="add_remove")
    candidates, groups = options.candidates, options.groups
    call["candidates"] = None if candidates is None else read_candidates(candidates)
    if options.group_by is None:
        call["candidates_are_public"] = options.candidates_are_public
        return top_items(table_of(options), **call, **given(options, COUNTER))
    call |= given(options, GROUPED)
    call["group"] = call.pop("group_by")
    call["groups"] = None if groups is None else read_candidates(groups, what="group")
    return top_items_by_group(table_of(options), **call)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse, in the command line's terms, what `top_items` would refuse in Python's."""
    named = options.groups is not None or options.groups_are_public
    many = options.max_groups, options.groups_per_user
    if options.group_by is None and (named or many != (None, None)):
        raise ParameterError(
            "--groups, --groups-are-public, --max-groups and --groups-per-user go with --group-by"
        )
    if options.group_by is not None:
        if not named:
            raise ParameterError(
                "--group-by needs the groups: --groups FILE with a list made without looking at "
                "the data, or --groups-are-public if the set of groups in the file is public "
                "knowledge"
            )
        if options.candidates_are_public or options.rows is not None:
            raise ParameterError("--candidates-are-public and --rows do not go with --group-by")
    if options.candidates is not None or options.candidates_are_public:
        if (options.k_bar, options.max_contributions) != (None, None):
            raise ParameterError("--k-bar and --max-contributions go with an unknown domain")
    elif options.epsilon is None or options.delta is None:
        raise ParameterError(
            "the domain is unknown, which needs --epsilon and --delta; or pass --candidates FILE "
            "with a list made without looking at the data, or --candidates-are-public if the set "
            "of items in the file is public knowledge"
        )
    elif options.mechanism is not None:
        raise ParameterError("--mechanism goes with known candidates")


def _select(options: argparse.Namespace) -> Release:
    ledger = open_scope(options)
    opened = open_scores(table_of(options), label=options.label, score=options.score)
    with opened as (labels, scores):
        private: Any = scores
        released: Release = top_k(private, labels=labels, ledger=ledger, **given(options, CHOSEN))
        return released


def _keep(options: argparse.Namespace) -> Release:
    ledger = open_scope(options, neighbours="add_remove")
    return select_keys(table_of(options), **given(options, KEPT), ledger=ledger)


def _run(
    make: Callable[[argparse.Namespace], Release], neighbours: str, options: argparse.Namespace
) -> int:
    """Make a release, print it, and say how to read it."""
    asked = getattr(options, "plot", None)
    picture = plot_path(asked) if asked else None
    result = make(options)
    write("".join(f"{line}\n" for line in _lines(result, as_json=options.json)))
    what = "the labels, no score" if make is _select else _content(result)
    unit = f"neighbours: {neighbours}; released: {what}"
    say("\n".join([_promise(result), unit, _noise(result), *how_to_read(result)]))
    if result.receipt is not None:
        receipt = result.receipt
        say(f"record {receipt.record} of ledger {receipt.ledger}; salt {receipt.salt.hex()}")
    if picture is not None and (trouble := save_plot(plot(result), picture)):
        say(f"safeselect: warning: {trouble}")
    return 0


def _lines(result: Release, *, as_json: bool) -> list[str]:
    if as_json:
        return [result.to_json()]
    columns = result.to_dict()
    names = [name for name in ("group", "label", "count") if name in columns]
    # An escaped label has no tab.
    rows = zip(*(columns[name] for name in names), strict=True)
    return ["\t".join(escaped(cell) for cell in row) for row in rows]


def _content(result: Release) -> str:
    """Describe what was released."""
    if isinstance(result, results.Groups):
        return "for each group " + ("items" if result.counts is None else "items and noisy counts")
    if result.k_bar is None and "max_partitions" not in dict(result.statement.parameters):
        return "the items, no count"
    return "items found, no count" if result.counts is None else "items found and noisy counts"


def _promise(result: Release) -> str:
    guarantee = result.guarantee
    numbers = [f"{field.name} = {getattr(guarantee, field.name)}" for field in fields(guarantee)]
    return f"guarantee {', '.join(numbers)} in total ({type(guarantee).__name__})"


def _noise(result: Release) -> str:
    """Describe the mechanism, the effective range that its noise covers, and the source."""
    most = dict(result.statement.parameters).get("max_partitions")
    if most is not None:
        most = f"max_partitions {most}"
        return f"mechanism {result.mechanism}, {most}, {result.source}"
    # The result of a call always has one; it includes what reading adds to the declared range.
    effective = "" if result.effective_range is None else exact_text(result.effective_range)
    return f"mechanism {result.mechanism}, effective range {effective}, {result.source}"


_NAMED = 10  # so many groups without items are named
_STATED_GROUPS = "; groups must be named as in the table: --trim and --casefold read both alike"


def how_to_read(result: Any) -> list[str]:
    """Return what the counts are and how sure they are, or why a list may be empty."""
    if result.mechanism.startswith("select_partitions"):
        return _keys(result)
    grouped, number = isinstance(result, Groups), result.statement.number
    if not grouped and not result.mechanism.startswith("unknown_domain_"):
        return []
    said = [_groups(result)] if grouped else []
    found = any(result.labels) if grouped else bool(result.labels)
    if found and result.counts is not None:
        cap = int(number("max_contributions"))
        said += [_counts(noise_of("discrete Laplace", result.noise_rate), cap), _bias(cap)]
    if found and grouped and (empty := _empty_groups(result)):
        said.append(empty)
    k_bar, offset = (getattr(result, name, number(name)) for name in ("k_bar", "offset"))
    if not found and k_bar is not None and offset is not None:
        said.append(
            "nothing was found, which is no error: an item shows if its users, with noise, exceed "
            f"those of the item in place {k_bar + 1} by {rounded_text(offset)}; a larger epsilon "
            "or delta, or a smaller -k, shows rarer items" + _STATED_GROUPS * grouped
        )
    return said


def _keys(result: TopK[str]) -> list[str]:
    terms = Terms.of(result)
    if not result.labels:
        users, cap = plan_keys(terms).users, _items(terms.max_partitions)
        needed = f"{users} users to show, each counted for {cap} at most"
        wider = "a larger epsilon or delta shows rarer items"
        return [f"nothing was found, which is no error: an item needs about {needed}; {wider}"]
    if result.noise is None:
        return []
    bias = (
        "the cap makes counts too small where users have more items, never too large; counts that "
        "are shown are larger on average, because noise helps a count to be shown"
    )
    return [_counts(result.noise, terms.max_partitions), bias]


def _counts(noise: Noise, cap: int) -> str:
    return (
        f"counts: distinct users, each counted for {_items(cap)} at most, with noise of standard "
        f"deviation {rounded_text(noise.deviation)}; 95 % interval: the count "
        f"{-noise.high_95:+} to {-noise.low_95:+}"
    )


def _bias(cap: int) -> str:
    return (
        f"the cap makes counts too small where users have more than {_items(cap)}, never too "
        f"large; if none has more than M, the true number is on average at most M/{cap} times as "
        "large"
    )


def _groups(result: Groups[str]) -> str:
    stated, every = dict(result.statement.parameters), len(result)
    some, facts = int(stated["max_groups"]), stated.get("groups_per_user")
    chosen = f"; so chosen for {facts} groups, as stated" if facts else ""
    if some == every:
        return (
            f"groups: {every}; users count in all of theirs, and all groups share the budget"
            f"{chosen}"
        )
    share = "each group has the whole budget" if some == 1 else f"{some} groups share the budget"
    return (
        f"groups: {every}; a user counts in {some} of them at most, chosen by a hash, so that "
        f"{share}; users of more groups are missing in the others{chosen}"
    )


def _empty_groups(result: Groups[str]) -> str:
    """Which groups print no line: what the release says, for a reader who looks for them."""
    names = [escaped(name) for name in result if not result[name]]
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"nothing was found in {len(names)} of {len(result)} groups, which is no error: "
        f"{', '.join(names[:_NAMED])}{more}"
    )


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def _command(
    name: str,
    purpose: str,
    does: str,
    about: str,
    own: tuple[Option, ...],
    run: Callable[[argparse.Namespace], int],
) -> Command:
    every = (*FILE, *own, *JSON, *FORM, *CHARGED)
    return Command(name, purpose, does, every, run, about + _EXIT_CODES)


TOP_K = _command(
    "top-k",
    "the items with the most distinct users",
    "Release the items with the most distinct users, with differential privacy.",
    """\
where the candidates come from:
  A list of items that was found in the data is itself private: if one person's row can put a new
  item on the list, then seeing that item printed tells about that person. By default the domain is
  unknown: the items are found in FILE, and --delta bounds the probability that an item shows which
  only one user has. At most k items come out, best first; fewer, perhaps none, where the counts are
  too small to be shown.

in groups, with --group-by COL:
  Printed is one release, a line an item: group, tab, item. The groups are public: they are on a
  list made without the data, or their set is public knowledge. All groups of the list are in the
  release, those without rows too; of a group without items no line is printed.
""",
    (*COUNTED, *PUBLIC, *GROUPED, *COUNTER, *PLOT),
    partial(_run, _count_items, _USERS),
)
SELECT = _command(
    "select",
    "the candidates with the largest ready scores",
    "Release the candidates with the largest ready scores, with differential privacy.",
    """\
The labels are the candidates and must be public: only the scores are protected. Rows are taken in
the order of their labels, so that the order of the file is not released.
""",
    (*RANKED, *CHOSEN),
    partial(_run, _select, "as your --sensitivity defines them"),
)
KEYS = _command(
    "keys",
    "the items that may be shown, however many",
    "Release the items that may be shown, with differential privacy; which items the file holds is "
    "private too.",
    """\
Each item is kept with the largest probability that privacy allows: never for an item without users,
always for one with enough of them. Items come out in alphabetical order, as many as are kept. For
the k best in the order of their counts use: safeselect top-k
""",
    KEPT,
    partial(_run, _keep, _USERS),
)

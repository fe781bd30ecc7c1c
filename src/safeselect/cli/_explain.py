"""The commands `safeselect explain...`: what a release would cost and how good it would be."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial

from safeselect import Budget, Counts, explain, top_k, unknown_domain_top_k
from safeselect.cli._ledger import HEAD, opened
from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import write
from safeselect.cli._releases import (
    CAPPED,
    DELTA,
    GRID,
    HOW_MANY,
    JSON,
    MECHANISM,
    TOTAL,
    UNKNOWN,
    WITH_COUNTS,
)
from safeselect.errors import ParameterError
from safeselect.estimates import Plans, explain_groups, explain_items, explain_keys
from safeselect.exact.parameters import exact_text, integer
from safeselect.ledger import Balance

EXAMPLE = declare("""
-k K integer required  number of candidates to release
-n N integer  number of synthetic candidates (default: 10 times K, but at least 100, at most 10000)
--gap G  lead in score of the K best candidates over all others (default: depends on the noise)
--sensitivity S  largest change in any one score between neighbouring data sets (default: 1 with
    --monotonic, unless --range is passed)
| --range R  largest difference between the changes in two scores; replaces --sensitivity
--monotonic  assert that no score rises while another falls between neighbours; can halve the noise
""")
ASKED = (*EXAMPLE[:1], *TOTAL, *EXAMPLE[1:], *GRID)
COMPARED = declare("--epsilon E several required  one or more total privacy costs, such as 0.5 1 2")
IN_GROUPS = declare("--max-groups C integer =1  count each user in at most C groups (default: 1)")
GROUPS = declare("""
--delta D  total delta, such as 1e-9; required unless --known is passed
--groups N integer required  number of groups
--groups-per-user M integer required  public number of groups that a typical user belongs to
--known  assume that the set of candidates is public
--mechanism NAME {permute_and_flip,exponential}  permute_and_flip or exponential; requires --known
""")
EACH = declare("--keys-per-user M integer  compare --noise table and gaussian for M items per user")
BUDGETED = (
    declare("""
FILE optional  ledger: a file or a PostgreSQL URL; omit FILE if you pass --budget
--scope NAME  name of the scope in FILE; the plan uses the scope's remaining budget
--budget NUMBER several  use a new budget instead of FILE and --scope: EPSILON [DELTA [OWN_DELTA]]
--k-bar N integer  assume an unknown domain, and consider only the N items with the most users
""")
    + HOW_MANY
    + TOTAL
    + MECHANISM
)


def _explain(options: argparse.Namespace) -> int:
    asked = given(options, ASKED)
    asked |= {"range_": asked.pop("range"), "monotonic": options.monotonic or None}
    said = explain(**asked)
    write(f"{json.dumps(said.to_dict()) if options.json else said}\n")
    return 0


def _plan(plan: Callable[..., Plans], own: tuple[Option, ...], options: argparse.Namespace) -> int:
    """Print the table of a function of `estimates`."""
    asked = given(options, own)
    plans = plan(epsilons=asked.pop("epsilon"), **asked)
    text = json.dumps(plans.to_dict(), default=exact_text) if options.json else str(plans)
    write(f"{text}\n")
    return 0


def _fits(options: argparse.Namespace) -> int:
    """Print how many releases of one kind fit, before the first of them."""
    is_wrong = options.budget and (options.scope or len(options.budget) > 3)
    if (options.budget is None) == (options.file is None) or is_wrong:
        raise ParameterError("pass either FILE and --scope, or --budget with one to three numbers")
    if options.budget is None:
        balance = opened(options).balance(options.scope or "")
    else:
        named = dict(zip(("epsilon", "delta", "own_delta"), options.budget, strict=False))
        balance = Balance.fresh(Budget("person", "add_remove", **named))
    asked = given(options, (*HOW_MANY, *TOTAL, *MECHANISM))
    if options.k_bar is None:
        size = integer(options.k, "k", minimum=1, maximum=10**6) + 1
        call = partial(top_k, [*range(size)], sensitivity=1, **asked)
    elif {asked.pop("rho"), asked.pop("mechanism")} == {None}:
        call = partial(unknown_domain_top_k, Counts({}, places="all"), k_bar=options.k_bar, **asked)
    else:
        raise ParameterError("--k-bar requires --epsilon and --delta; omit --rho and --mechanism")
    write(f"{balance}\n{balance.forecast(lambda scope: call(ledger=scope))}\n")
    return 0


def _planning(
    plan: Callable[..., Plans], purpose: str, own: tuple[Option, ...], asked: str, note: str
) -> Command:
    every = (*COMPARED, *own)
    name = plan.__name__.replace("_", "-")
    about = f"{note}\n\nFor example: safeselect {name} {asked}\n"
    return Command(name, purpose, (*every, *JSON), partial(_plan, plan, every), about)


EXPLAIN = Command(
    "explain",
    "compare the mechanisms of safeselect select by expected error, without reading data",
    (*ASKED, *JSON),
    _explain,
    "For example: safeselect explain -k 5 --epsilon 1\n",
)
EXPLAIN_ITEMS = _planning(
    explain_items,
    "compute the lead in users that an item needs for top-k to release it with probability 0.95",
    (*HOW_MANY, *DELTA, *UNKNOWN, *WITH_COUNTS, *IN_GROUPS),
    "-k 5 --epsilon 1/2 1 --delta 1e-9",
    "The lead is over the item in place N + 1 (see --k-bar), or over 0 users if there is none.",
)
EXPLAIN_GROUPS = _planning(
    explain_groups,
    "compute the lead in users that an item needs, for several values of --max-groups (see top-k)",
    (*HOW_MANY, *UNKNOWN, *GROUPS),
    "-k 5 --epsilon 1 --groups 17 --groups-per-user 3 --delta 1e-9",
    "The lead is over the item in place N + 1 (see --k-bar) or, with --known, over another item.",
)
EXPLAIN_KEYS = _planning(
    explain_keys,
    "compute how many users an item needs for safeselect keys to release it with probability 0.95",
    (*DELTA, *CAPPED, *EACH),
    "--epsilon 1 --delta 1e-9 --max-partitions 3",
    "To choose --noise for safeselect keys, pass only --epsilon, --delta and --keys-per-user.",
)
PLAN = Command(
    "plan",
    "compute how many top-k releases of one kind fit into a budget",
    (*BUDGETED, *HEAD),
    _fits,
    about="""\
Charges nothing and reads no data. In an unknown domain, the set of candidates is private, and
--epsilon and --delta are required. For OWN_DELTA, see safeselect ledger create --help.

For example: safeselect ledger plan --budget 1 1e-6 -k 5 --epsilon 1/10 --mechanism exponential
""",
)

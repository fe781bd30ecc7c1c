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
-n N integer  number of candidates in the example (default: 10 times K, but at least 100)
--gap G  lead in score of each of the K best candidates over each of the others
--sensitivity S  largest change in any one score (if neither this option nor --range is passed: 1,
    and --monotonic is assumed)
| --range R  largest difference between the changes of two scores; replaces --sensitivity
--monotonic  assume that no two scores move in opposite directions between neighbouring data sets
""")
ASKED = (*HOW_MANY, *TOTAL, *EXAMPLE, *GRID)
COMPARED = declare("--epsilon E several required  one or more total costs, such as 0.5 1 2")
IN_GROUPS = declare("--max-groups C integer =1  count each user in at most C groups (default: 1)")
GROUPS = declare("""
--delta D  total delta; required unless --known is passed
--groups N integer required  number of groups
--groups-per-user M integer required  number of groups that a typical user belongs to
--known  assume that the set of candidates is public
--mechanism NAME {permute_and_flip,exponential}  permute_and_flip or exponential; requires --known
""")
EACH = declare("--keys-per-user M integer  compare table and gaussian noise for M items per user")
BUDGETED = (
    declare("""
FILE optional  ledger; omit FILE if you pass --budget
--scope NAME  name of the scope in FILE; the plan uses the scope's remaining budget
--budget NUMBER several  plan for a new budget, not for a scope: EPSILON [DELTA [OWN_DELTA]]
each release
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
    if (options.budget is None) == (options.file is None) or (options.budget and options.scope):
        raise ParameterError("pass either FILE and --scope, or --budget")
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
    plan: Callable[..., Plans], purpose: str, own: tuple[Option, ...], asked: str
) -> Command:
    every = (*COMPARED, *own)
    name = plan.__name__.replace("_", "-")
    about = f"For example: safeselect {name} {asked}\n"
    return Command(name, purpose, (*every, *JSON), partial(_plan, plan, every), about)


EXPLAIN = Command(
    "explain",
    "estimate the cost and the accuracy of a release without reading data",
    (*ASKED, *JSON),
    _explain,
    "For example: safeselect explain -k 5 --epsilon 1\n",
)
EXPLAIN_ITEMS = _planning(
    explain_items,
    "compute by how many users an item must lead so that top-k releases it with probability 0.95",
    (*HOW_MANY, *DELTA, *UNKNOWN, *WITH_COUNTS, *IN_GROUPS),
    "-k 5 --epsilon 1/2 1 --delta 1e-9",
)
EXPLAIN_GROUPS = _planning(
    explain_groups,
    "for each number of groups per user, compute the lead that an item needs to be released",
    (*HOW_MANY, *UNKNOWN, *GROUPS),
    "-k 5 --epsilon 1 --groups 17 --groups-per-user 3 --delta 1e-9",
)
EXPLAIN_KEYS = _planning(
    explain_keys,
    "compute how many users an item needs for safeselect keys to release it with probability 0.95",
    (*DELTA, *CAPPED, *EACH),
    "--epsilon 1 --delta 1e-9 --max-partitions 3",
)
PLAN = Command(
    "plan",
    "compute how many releases of one kind fit into a budget",
    (*BUDGETED, *HEAD),
    _fits,
    about="""\
Charges nothing and reads no data.

For example: safeselect ledger plan --budget 1 1e-6 -k 5 --epsilon 1/10 --mechanism exponential
""",
)

"""The commands `safeselect explain...`: what a release would cost and how good it would be."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from safeselect import explain
from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import write
from safeselect.cli._releases import CAPPED, DELTA, GRID, HOW_MANY, TOTAL, UNKNOWN, WITH_COUNTS
from safeselect.estimates import Plans, explain_groups, explain_items, explain_keys
from safeselect.exact.parameters import exact_text

EXAMPLE = declare("""
-n N integer  candidates of the example (default: 10 k)
--gap G  by how much its k best are ahead
--sensitivity S  largest change of any one score (default: 1, and --monotonic)
| --range R  instead, the largest difference between the changes of two scores
--monotonic  no two scores move in opposite directions
""")
ASKED = (*HOW_MANY, *TOTAL, *EXAMPLE, *GRID)
COMPARED = declare("--epsilon E several required  total cost, such as 1; or several, to compare")
IN_GROUPS = declare("--max-groups C integer =1  each user counts in C groups at most (default: 1)")
GROUPS = declare("""
--delta D  with --epsilon; needed where the domain is unknown
--groups N integer required  how many groups there are
--groups-per-user M integer required  in how many of them a usual user is
--known  the candidates are public
--mechanism NAME {permute_and_flip,exponential}  with --known
""")
JSON = declare("--json  print columns as JSON; fractions are text")


def _explain(options: argparse.Namespace) -> int:
    asked = given(options, ASKED)
    asked |= {"range_": asked.pop("range"), "monotonic": options.monotonic or None}
    write(f"{explain(**asked)}\n")
    return 0


def _plan(
    plan: Callable[..., Plans[Any]], own: tuple[Option, ...], options: argparse.Namespace
) -> int:
    """Print the table of a function of `estimates`."""
    asked = given(options, own)
    plans = plan(epsilons=asked.pop("epsilon"), **asked)
    text = json.dumps(plans.to_dict(), default=exact_text) if options.json else str(plans)
    write(f"{text}\n")
    return 0


def _planning(plan: Callable[..., Plans[Any]], purpose: str, own: tuple[Option, ...]) -> Command:
    every = (*COMPARED, *own)
    name = plan.__name__.replace("_", "-")
    return Command(name, purpose, (*every, *JSON), partial(_plan, plan, every))


EXPLAIN = Command(
    "explain",
    "what a release would cost and how good it would be; touches no data",
    ASKED,
    _explain,
)
EXPLAIN_ITEMS = _planning(
    explain_items,
    "how many users an item needs to show in top-k, where the items are private too",
    (*HOW_MANY, *DELTA, *UNKNOWN, *WITH_COUNTS, *IN_GROUPS),
)
EXPLAIN_GROUPS = _planning(
    explain_groups,
    "how many users an item of a group needs, for each --max-groups",
    (*HOW_MANY, *UNKNOWN, *GROUPS),
)
EXPLAIN_KEYS = _planning(
    explain_keys, "how many users an item needs to be kept by keys", (*DELTA, *CAPPED)
)

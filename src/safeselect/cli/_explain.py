"""The command `safeselect explain`: what a release would cost and how good it would be."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from typing import Any

from safeselect import explain
from safeselect.adapters.plots import plot_path, save_plot
from safeselect.cli._options import Command, declare, given
from safeselect.cli._output import write
from safeselect.cli._releases import GRID
from safeselect.errors import InputError, ParameterError
from safeselect.estimates import Plans, explain_groups, explain_items, explain_keys
from safeselect.exact.parameters import exact_text

TOTALS = declare("""
--epsilon E number several required  total cost, such as 1, 0.1 or 1/3; or several, to compare
| --rho R number  total cost as zero-concentrated privacy
--delta D part  with --epsilon: allow this much slack, such as 1e-9, for less noise
-k K count  how many items to release
""")
EXAMPLE = declare("""
-n N count  candidates of the example (default: 10 k)
--gap G number  by how much its k best are ahead
--sensitivity S number  largest change of any one score (default: 1, and --monotonic)
| --range R number  instead, the largest difference between the changes of two scores
--monotonic  no two scores move in opposite directions
""")
NEEDED = declare("""
how many users an item needs
--unknown  to show in a release by top-k, where the items are private too
| --keys  to be kept by the command keys; -k is not needed
--k-bar N count  with --unknown: items compete
--max-contributions D count  with --unknown: as for top-k
--max-groups C count  with --unknown: as for top-k --group-by
--groups N count  how many groups there are: an item's users in each of them, for each number of
    groups in which users may be counted; with --unknown, or for known candidates
--groups-per-user M count  in how many of them a usual user is
--max-partitions D count  with --keys: as for keys
--pre-threshold T count  with --keys: as for keys
--with-counts  with --keys: as for keys
--plot FILE  draw it too, in a .png, .svg or .pdf file
--json  print columns as JSON
""")


def _run(options: argparse.Namespace) -> int:
    """Print what the options ask for.

    Raises:
        InputError, ParameterError: an option is wrong or missing, or the plot cannot be written.
    """
    _check(options)
    if not (options.unknown or options.keys or options.groups):
        text = "\n\n".join(_explained(options, each) for each in options.epsilon or [None])
    else:
        file = None if options.plot is None else plot_path(options.plot)
        plans = _plans(options)
        if file is not None and save_plot(plans.plot(), file) is not None:
            raise InputError(f"the plot could not be written to {str(file)!r}")
        text = _json(plans) if options.json else str(plans)
    write(f"{text}\n")
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    unknown, keys, groups = options.unknown, options.keys, options.groups
    if options.k is None and not keys:
        raise ParameterError("-k is needed: how many items to release")
    if keys and (options.k or groups):
        raise ParameterError("--keys goes without -k and without --groups")
    if (unknown or keys) and (options.epsilon is None or options.delta is None):
        kind = "--unknown" if unknown else "--keys"
        raise ParameterError(f"{kind} needs --epsilon and --delta")
    if groups and options.epsilon is None:
        raise ParameterError("--groups needs --epsilon")
    if (groups is None) is not (options.groups_per_user is None):
        raise ParameterError("--groups and --groups-per-user go together")
    if groups and options.max_groups:
        raise ParameterError("--max-groups is what --groups-per-user chooses")
    if not unknown and (options.k_bar or options.max_contributions or options.max_groups):
        raise ParameterError("--k-bar, --max-contributions and --max-groups go with --unknown")
    if not keys and (options.max_partitions or options.pre_threshold or options.with_counts):
        raise ParameterError("--max-partitions, --pre-threshold and --with-counts go with --keys")
    if not (unknown or keys or groups) and (options.plot or options.json):
        raise ParameterError("--plot and --json go with --unknown, --keys or --groups")


def _plans(options: argparse.Namespace) -> Plans[Any]:
    if options.keys:
        return explain_keys(
            options.epsilon,
            options.delta,
            max_partitions=options.max_partitions or 1,
            pre_threshold=options.pre_threshold or 1,
            with_counts=options.with_counts,
        )
    total = options.k, options.epsilon, options.delta
    competing = {"k_bar": options.k_bar, "max_contributions": options.max_contributions}
    if options.groups is None:
        return explain_items(*total, **competing, max_groups=options.max_groups or 1)
    return explain_groups(
        *total,
        groups=options.groups,
        groups_per_user=options.groups_per_user,
        known=not options.unknown,
        **competing,
    )


def _json(plans: Plans[Any]) -> str:
    """One line; numbers are strings, as in releases."""
    return json.dumps(
        {
            name: [None if cell is None else exact_text(Fraction(cell)) for cell in column]
            for name, column in plans.to_dict().items()
        }
    )


def _explained(options: argparse.Namespace, epsilon: Any) -> str:
    told = given(options, (*EXAMPLE, *GRID))
    told |= {"range_": told.pop("range"), "monotonic": options.monotonic or None}
    return explain(options.k, epsilon, options.delta, rho=options.rho, **told)


EXPLAIN = Command(
    "explain",
    "what a release would cost and how good it would be; touches no data",
    "Print what each mechanism would cost and how much it would lose on a public example, before "
    "any data is touched.",
    (*TOTALS, *EXAMPLE, *GRID, *NEEDED),
    _run,
    """\
The example is made up: n candidates, k of which score more than all others by the gap. If nothing
is said of the scores they are counts: one user moves each by at most 1, and all the same way. The
effective range is what the noise is calibrated to; a coarse grid makes it larger than declared.

For how many users an item needs, with one --epsilon or several: --unknown --delta D, or
--keys --delta D, or --groups N --groups-per-user M; these go with --plot FILE and --json.

exit codes: 0 done, 2 command line, 1 unforeseen
""",
)

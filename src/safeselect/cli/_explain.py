"""The command `safeselect explain`: what a release would cost and how good it would be."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from typing import Any

from safeselect import explain
from safeselect.adapters.plots import plot_path, save_plot
from safeselect.cli._numbers import add_command, add_grid, add_total, count, number
from safeselect.errors import InputError, ParameterError
from safeselect.planning import (
    GroupPlans,
    ItemPlans,
    KeyPlans,
    explain_groups,
    explain_items,
    explain_keys,
)
from safeselect.promises.records import exact_text

Plans = GroupPlans | ItemPlans | KeyPlans

_ABOUT = """\
The example is made up: n candidates, k of which score more than all others by the gap. If nothing
is said of the scores they are counts: one user moves each by at most 1, and all the same way. The
effective range is what the noise is calibrated to; a coarse grid makes it larger than declared.

how many users an item needs, for one --epsilon or several:
  --unknown --delta D   to show in a release by top-k, where the items are private too
  --keys --delta D      to be kept by keys; -k is not needed
  --groups N --groups-per-user M
                        in each of N groups of which a usual user is in M, for each number of groups
                        in which users may be counted; with --unknown, or for known candidates
These go with --plot FILE and --json.

exit codes: 0 done, 2 command line, 1 unforeseen
"""


def add_explain(commands: Any) -> None:
    """Add `safeselect explain`."""
    planned = add_command(
        commands,
        "explain",
        "what a release would cost and how good it would be; touches no data",
        "Print what each mechanism would cost and how much it would lose on a public "
        "example, before any data is touched.",
        _ABOUT,
    )
    add_total(planned, several=True)
    planned.add_argument("-k", type=count, help="how many items to release")
    planned.add_argument("-n", type=count, help="candidates of the example (default: 10 k)")
    planned.add_argument(
        "--gap", type=number("gap"), metavar="G", help="by how much its k best are ahead"
    )
    change = planned.add_mutually_exclusive_group()
    change.add_argument(
        "--sensitivity",
        type=number("sensitivity"),
        metavar="S",
        help="largest change of any one score (default: 1, and --monotonic)",
    )
    change.add_argument(
        "--range",
        type=number("range"),
        metavar="R",
        help="instead, the largest difference between the changes of two scores",
    )
    planned.add_argument(
        "--monotonic", action="store_true", help="no two scores move in opposite directions"
    )
    add_grid(planned)
    _add_items(planned.add_argument_group("how many users an item needs"))
    planned.set_defaults(command="explain")


def _add_items(items: argparse._ArgumentGroup) -> None:
    kind = items.add_mutually_exclusive_group()
    kind.add_argument("--unknown", action="store_true", help="in an unknown domain, to show")
    kind.add_argument("--keys", action="store_true", help="to be kept by the command keys")
    items.add_argument("--k-bar", type=count, metavar="N", help="with --unknown: items compete")
    items.add_argument(
        "--max-contributions", type=count, metavar="D", help="with --unknown: as for top-k"
    )
    items.add_argument(
        "--max-groups", type=count, metavar="C", help="with --unknown: as for top-k --group-by"
    )
    items.add_argument("--groups", type=count, metavar="N", help="how many groups there are")
    items.add_argument(
        "--groups-per-user", type=count, metavar="M", help="in how many a usual user is"
    )
    items.add_argument("--max-partitions", type=count, metavar="D", help="with --keys: as for keys")
    items.add_argument("--pre-threshold", type=count, metavar="T", help="with --keys: as for keys")
    items.add_argument("--with-counts", action="store_true", help="with --keys: as for keys")
    items.add_argument("--plot", metavar="FILE", help="draw it too, in a .png, .svg or .pdf file")
    items.add_argument("--json", action="store_true", help="print columns as JSON")


def run_explain(options: argparse.Namespace) -> str:
    """The text that the options ask for.

    Raises:
        InputError, ParameterError: an option is wrong or missing, or the plot cannot be written.
    """
    _check(options)
    if not (options.unknown or options.keys or options.groups):
        return "\n\n".join(_explained(options, each) for each in options.epsilon or [None])
    file = None if options.plot is None else plot_path(options.plot)
    plans = _plans(options)
    if file is not None and save_plot(plans.plot(), file) is not None:
        raise InputError(f"the plot could not be written to {str(file)!r}")
    return _json(plans) if options.json else str(plans)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if options.k is None and not options.keys:
        raise ParameterError("-k is needed: how many items to release")
    if options.keys and (options.k is not None or options.groups is not None):
        raise ParameterError("--keys goes without -k and without --groups")
    for wanted, here in (("--unknown", options.unknown), ("--keys", options.keys)):
        if here and (options.epsilon is None or options.delta is None):
            raise ParameterError(f"{wanted} needs --epsilon and --delta")
    if options.groups is not None and options.epsilon is None:
        raise ParameterError("--groups needs --epsilon")
    if (options.groups is None) is not (options.groups_per_user is None):
        raise ParameterError("--groups and --groups-per-user go together")
    if options.groups is not None and options.max_groups is not None:
        raise ParameterError("--max-groups is what --groups-per-user chooses")
    of_unknown = options.k_bar, options.max_contributions, options.max_groups
    if not options.unknown and of_unknown != (None, None, None):
        raise ParameterError("--k-bar, --max-contributions and --max-groups go with --unknown")
    of_keys = options.max_partitions, options.pre_threshold, options.with_counts or None
    if not options.keys and of_keys != (None, None, None):
        raise ParameterError("--max-partitions, --pre-threshold and --with-counts go with --keys")
    if not (options.unknown or options.keys or options.groups) and (options.plot or options.json):
        raise ParameterError("--plot and --json go with --unknown, --keys or --groups")


def _plans(options: argparse.Namespace) -> Plans:
    if options.keys:
        return explain_keys(
            options.epsilon,
            options.delta,
            max_partitions=options.max_partitions or 1,
            pre_threshold=options.pre_threshold or 1,
            with_counts=options.with_counts,
        )
    if options.groups is None:
        return explain_items(
            options.k,
            options.epsilon,
            options.delta,
            k_bar=options.k_bar,
            max_contributions=options.max_contributions,
            max_groups=options.max_groups or 1,
        )
    return explain_groups(
        options.k,
        options.epsilon,
        options.delta,
        groups=options.groups,
        groups_per_user=options.groups_per_user,
        known=not options.unknown,
        k_bar=options.k_bar,
        max_contributions=options.max_contributions,
    )


def _json(plans: Plans) -> str:
    """One line; numbers are strings, as in releases."""
    return json.dumps(
        {
            name: [None if cell is None else exact_text(Fraction(cell)) for cell in column]
            for name, column in plans.to_dict().items()
        }
    )


def _explained(options: argparse.Namespace, epsilon: Any) -> str:
    return explain(
        options.k,
        epsilon,
        options.delta,
        rho=options.rho,
        n=options.n,
        gap=options.gap,
        sensitivity=options.sensitivity,
        range_=options.range,
        monotonic=options.monotonic or None,
        grid=options.grid,
        on_grid=options.on_grid,
        score_error=options.score_error,
    )

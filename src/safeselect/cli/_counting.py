"""The command `safeselect top-k`: from its options to the call of `top_items`."""

from __future__ import annotations

import argparse
from typing import Any

from safeselect import DiscoveredTopK, TopK, TopSet
from safeselect.cli._counting_parser import table_of
from safeselect.cli._ledger import open_scope
from safeselect.errors import ParameterError
from safeselect.tables import GroupedTopK, read_candidates, top_items, top_items_by_group

_NEEDS_DELTA = (
    "the domain is unknown, which needs --epsilon and --delta; or pass --candidates FILE with a "
    "list made without looking at the data, or --candidates-are-public if the set of items in the "
    "file is public knowledge"
)


def count_items(options: argparse.Namespace) -> TopK | TopSet | DiscoveredTopK | GroupedTopK:
    """Make the release that the options ask for."""
    _check_options(options)
    ledger = open_scope(options, neighbours="add_remove")
    candidates = None if options.candidates is None else read_candidates(options.candidates)
    if options.group_by is not None:
        return _by_group(options, candidates, ledger)
    return top_items(
        table_of(options),
        item=options.item,
        user=options.user,
        k=options.k,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        candidates=candidates,
        candidates_are_public=options.candidates_are_public,
        k_bar=options.k_bar,
        max_contributions=options.max_contributions,
        mechanism=options.mechanism,
        rows=options.rows,
        engine=options.engine,
        memory=options.memory,
        progress=True,
        ledger=ledger,
    )


def _by_group(options: argparse.Namespace, candidates: Any, ledger: Any) -> GroupedTopK:
    return top_items_by_group(
        table_of(options),
        group=options.group_by,
        item=options.item,
        user=options.user,
        k=options.k,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        groups=None if options.groups is None else read_candidates(options.groups, what="group"),
        groups_are_public=options.groups_are_public,
        max_groups=options.max_groups,
        groups_per_user=options.groups_per_user,
        candidates=candidates,
        k_bar=options.k_bar,
        max_contributions=options.max_contributions,
        mechanism=options.mechanism,
        memory=options.memory,
        progress=True,
        ledger=ledger,
    )


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
        if options.candidates_are_public or options.engine != "duckdb" or options.rows is not None:
            raise ParameterError(
                "--candidates-are-public, --engine and --rows do not go with --group-by"
            )
    if options.candidates is not None or options.candidates_are_public:
        if (options.k_bar, options.max_contributions) != (None, None):
            raise ParameterError("--k-bar and --max-contributions go with an unknown domain")
    elif options.epsilon is None or options.delta is None:
        raise ParameterError(_NEEDS_DELTA)
    elif options.mechanism is not None:
        raise ParameterError("--mechanism goes with known candidates")

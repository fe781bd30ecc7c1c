"""Releases by group of made-up counts, in the form in which lists and rows are looked at.

A user is counted in one group, so each group has the whole cost: the law of each is that of a list,
or of a row, alone.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from safeselect.accounting.cost import PrivacyCost
from safeselect.mechanisms.groups import plan_known, plan_unknown, release_by_group
from safeselect.mechanisms.unknown import read_total
from safeselect.randomness.source import resolve
from safeselect.release.call import read_ledger
from safeselect.release.results import Groups


def first_of_groups(
    counts: Any,
    *,
    k: int,
    k_bar: int,
    epsilon: Any,
    delta: Any,
    places: str = "all",
    max_contributions: int | None = None,
    source: Any = None,
    ledger: Any = None,
) -> Any:
    """The list of the first of two groups; the other one has the same counts."""
    plan = plan_unknown(read_total(epsilon, delta), (k, k_bar), 1, max_contributions)
    known = {str(key): key for key in counts}
    table = {str(key): count for key, count in counts.items()}
    tables = {"one": table, "other": table}
    parameters = {"k": str(k)} | (
        {} if max_contributions is None else {"max_contributions": str(max_contributions)}
    )
    found = release_by_group(
        plan,
        list(tables),
        1,
        parameters,
        resolve(source),
        lambda: tables,
        scope=read_ledger(ledger, monotonic=True),
    )
    lists = [tuple(known[label] for label in row) for row in found.labels]
    counted = None if found.counts is None else found.counts[0]
    return _as_seen(found, labels=lists[0], others=lists[1], counts=counted)


def rows_of_groups(
    scores: Any,
    *,
    k: int,
    mechanism: str,
    epsilon: Any,
    source: Any = None,
    ledger: Any = None,
    **_: Any,
) -> Any:
    """The best places of each row, which is a group; the sensitivity is one user always."""
    size = len(scores[0])
    names = [str(place) for place in range(size)]
    cost = PrivacyCost.read(epsilon=epsilon, rho=None, delta=None)
    plan = plan_known(cost, names, k, 1, mechanism)
    rows = scores.tolist() if isinstance(scores, np.ndarray) else scores
    tables = {str(i): dict(zip(names, row, strict=True)) for i, row in enumerate(rows)}
    found = release_by_group(
        plan,
        list(tables),
        1,
        {"k": str(k), "candidates": str(size)},
        resolve(source),
        lambda: tables,
        scope=read_ledger(ledger, monotonic=True),
    )
    return _as_seen(found, indices=np.array(found.labels, dtype=np.int64))


def _as_seen(found: Groups[str], **more: Any) -> Any:
    kept = ("guarantee", "parts", "mechanism", "source", "receipt")
    offset = found.provenance.number("offset")
    return SimpleNamespace(**{name: getattr(found, name) for name in kept}, offset=offset, **more)

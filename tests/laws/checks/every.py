"""All checks of laws, by name; each raises `Refuted` where a law does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from checks.finding import Check
from checks.keys import check_few_keys, check_two_keys
from checks.lists import check_list, check_two_counts
from checks.measures import check_few_values, check_two_values
from checks.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS
from checks.paths import check_few, check_joint
from checks.releases import check_releases, releases
from checks.sessions import check_answers, check_queries
from checks.tables import KEYS, MEASURES

_KINDS: tuple[tuple[Any, Any, Any], ...] = (
    (ONE_SHOT, check_few, check_joint),
    (LISTS, check_list, check_two_counts),
    (SESSIONS, check_answers, check_queries),
    (KEYS, check_few_keys, check_two_keys),
    (MEASURES, check_few_values, check_two_values),
)
"""Mechanisms, and the checks of few and of pairs."""


def checks() -> Iterator[Check]:
    """Yield all checks."""
    for release in releases():
        if not release.name.startswith("report_noisy_max"):
            yield Check(release.name, "few", partial(check_releases, release))
    for cases, few, pairs in _KINDS:
        for name, case in cases.items():
            yield Check(f"{name}: few", "few", partial(few, case))
            yield Check(f"{name}: pairs", "joint", partial(pairs, case))
    yield from OTHERS

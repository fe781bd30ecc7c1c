"""All checks of laws, by name; each raises `Refuted` where a law does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from checks.finding import Check
from checks.keys import check_few_keys, check_many_keys, check_two_keys
from checks.lists import check_list, check_many_items, check_two_counts
from checks.measures import check_few_values, check_many_values, check_two_values
from checks.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS
from checks.paths import SIZES, check_few, check_joint, check_size
from checks.releases import check_releases, releases
from checks.sessions import check_answers, check_queries, check_session_many
from checks.tables import KEYS, MEASURES


def checks() -> Iterator[Check]:
    """Yield all checks."""
    for release in releases():
        slow = release.name.startswith("report_noisy_max")
        yield Check(release.name, "few", partial(check_releases, release), slow)
    yield from _of_mechanisms()


_KINDS: tuple[tuple[Any, ...], ...] = (
    (LISTS, check_list, check_two_counts, check_many_items, 5000),
    (SESSIONS, check_answers, check_queries, check_session_many, 3000),
    (KEYS, check_few_keys, check_two_keys, check_many_keys, 5000),
    (MEASURES, check_few_values, check_two_values, check_many_values, 5000),
)
"""Mechanisms, the checks of few, of pairs and of many, and how many make many; more are slow."""


def _of_mechanisms() -> Iterator[Check]:
    for name, case in ONE_SHOT.items():
        yield Check(f"{name}: few", "few", partial(check_few, case))
        yield Check(f"{name}: pairs", "joint", partial(check_joint, case))
        for size in SIZES:
            slow = not size.quick or (case.shape == "rows" and size.rows < 3)
            yield Check(f"{name}: {size.n}", "many", partial(check_size, case, size), slow)
    for cases, few, pairs, many, usual in _KINDS:
        for name, one in cases.items():
            yield Check(f"{name}: few", "few", partial(few, one))
            yield Check(f"{name}: pairs", "joint", partial(pairs, one))
            for size in (usual, 150_000):
                yield Check(f"{name}: {size}", "many", partial(many, one, size), size > usual)
    yield from OTHERS

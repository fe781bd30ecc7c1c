"""All checks of laws, by name; each says what it examined, or raises `Refuted`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from checks.keys import check_few_keys, check_many_keys, check_two_keys
from checks.lists import check_bottom, check_list, check_many_items, check_two_counts
from checks.measures import (
    check_cost,
    check_few_values,
    check_many_values,
    check_two_values,
    check_words,
)
from checks.mechanisms import LISTS, ONE_SHOT, OTHERS, SESSIONS
from checks.paths import SIZES, check_few, check_joint, check_size
from checks.privacy import instances
from checks.releases import check_releases, releases
from checks.sessions import check_answers, check_budget, check_queries, check_session_many
from checks.tables import KEYS, MEASURES

FULL, QUICK = 1, 8
"""Efforts: one in this many places is examined."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        name: with the mechanism's name and ": " before it, if it is of one.
        aspect: noise, privacy, few, joint or many.
        examine: effort -> what was examined; raises `Refuted`.
        slow: whether it is left out but with SAFESELECT_LONG=1.
    """

    name: str
    aspect: str
    examine: Callable[[int], str]
    slow: bool = False


def checks() -> Iterator[Check]:
    """Yield all checks."""
    for instance in instances():
        slow = instance.k > 1 or (instance.gap and not instance.monotonic)
        yield Check(instance.name, "privacy", instance.examine, slow)
    for release in releases():
        slow = release.name.startswith("report_noisy_max")
        yield Check(release.name, "few", partial(check_releases, release), slow)
    yield from _of_mechanisms()


_Looks = Mapping[str, tuple[str, Callable[[Any, int], str]]]
_KINDS: tuple[tuple[Mapping[str, Any], _Looks, Callable[[Any, int, int], str], int], ...] = (
    (
        LISTS,
        {
            "lists": ("few", check_list),
            "bottom": ("privacy", check_bottom),
            "pairs": ("joint", check_two_counts),
        },
        check_many_items,
        5000,
    ),
    (
        SESSIONS,
        {
            "answers": ("few", check_answers),
            "queries": ("joint", check_queries),
            "budget": ("privacy", check_budget),
        },
        check_session_many,
        3000,
    ),
    (
        KEYS,
        {"few": ("few", check_few_keys), "pairs": ("joint", check_two_keys)},
        check_many_keys,
        5000,
    ),
    (
        MEASURES,
        {
            "few": ("few", check_few_values),
            "pairs": ("joint", check_two_values),
            "cost": ("privacy", check_cost),
        },
        check_many_values,
        5000,
    ),
)
"""Mechanisms, what is looked at, and how many values make many; more are slow."""


def _of_mechanisms() -> Iterator[Check]:
    for name, case in ONE_SHOT.items():
        yield Check(f"{name}: few", "few", partial(check_few, case))
        yield Check(f"{name}: pairs", "joint", partial(check_joint, case))
        for size in (each for sizes in SIZES.values() for each in sizes):
            slow = not size.quick or (case.shape == "rows" and size.rows < 3)
            yield Check(f"{name}: {size.n}", "many", partial(check_size, case, size), slow)
    for cases, looks, many, usual in _KINDS:
        for name, one in cases.items():
            for what, (aspect, look) in looks.items():
                yield Check(f"{name}: {what}", aspect, partial(look, one))
            for size in (usual, 150_000):
                yield Check(f"{name}: {size}", "many", partial(many, one, size), size > usual)
    for name, measured in MEASURES.items():
        if "Gaussian" in measured.noise:
            yield Check(f"{name}: words", "noise", partial(check_words, measured))
    words = {"few candidates": "few", "thousands": "many", "hundreds of thousands": "many"}
    for name, other in OTHERS.items():
        for look_ in other.looks:
            aspect = words.get(look_.aspect, look_.aspect)
            yield Check(f"{name}: {look_.what}", aspect, look_.examine, look_.only_full)

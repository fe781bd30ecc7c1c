"""A release whose input is not a list of candidates, by its arguments in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from safeselect.randomness.source import Source
from safeselect.release.call import UNREADABLE, Call, Charge, Scope

_Read = TypeVar("_Read")


@contextmanager
def charged(
    scope: Scope | None,
    source: Source,
    charge: Charge,
    read: Callable[[], _Read],
    *,
    unit: str | None = None,
    neighbours: str | None = None,
    unreadable: str = UNREADABLE,
) -> Iterator[Call[_Read]]:
    """As `Call`."""
    with Call(
        charge,
        read,
        source=source,
        scope=scope,
        unit=unit,
        neighbours=neighbours,
        unreadable=unreadable,
    ) as call:
        yield call

"""Caches in the mutated copy: what does a test depend on that finds a result in a cache?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any

from mutmut.mutation.trampoline import get_mutant_under_test
from mutmut.state import state

CACHED: dict[str, Callable[[], None]] = {}
"""What empties the cache of a function, by the name that mutmut has for it."""

MADE_BY: dict[str, set[str]] = defaultdict(set)
"""The functions that were called to make the results of a cached function."""


def noted(cached: Any) -> Callable[..., Any]:
    """A cached function, recorded as called also where its result comes from the cache."""
    name = f"{cached.__module__}.x_{cached.__name__}"
    CACHED[name] = cached.cache_clear

    @wraps(cached)
    def call(*values: Any, **more: Any) -> Any:
        if get_mutant_under_test() != "stats":
            return cached(*values, **more)
        called = state()._stats
        before = set(called)
        called.clear()
        try:
            return cached(*values, **more)
        finally:
            MADE_BY[name] |= called
            called |= before | {name}

    call.cache_clear, call.cache_info = cached.cache_clear, cached.cache_info  # type: ignore[attr-defined]
    return call

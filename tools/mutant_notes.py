"""Caches in the mutated copy: which tests depend on a function whose result was kept?"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mutmut.core import MutmutCallStack
from mutmut.mutation.trampoline import get_mutant_under_test
from mutmut.stats import record_trampoline_hit

CACHED: dict[str, Callable[[], None]] = {}
"""What empties the cache of a function, by the name that mutmut has for it."""


def noted(cached: Any) -> Callable[..., Any]:
    """A cached function, recorded as called also where the result comes from the cache."""
    name = f"{cached.__module__}.x_{cached.__name__}"
    CACHED[name] = cached.cache_clear

    @wraps(cached)
    def call(*values: Any, **more: Any) -> Any:
        if get_mutant_under_test() == "stats":
            record_trampoline_hit(name, caller=MutmutCallStack.get()[0])
        return cached(*values, **more)

    call.cache_clear, call.cache_info = cached.cache_clear, cached.cache_info  # type: ignore[attr-defined]
    return call

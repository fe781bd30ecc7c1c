"""Public names whose functions take `engine="reference"` too: then `safeselect.spec` ranks.

For tests that compare both: `import either as safeselect`, or `from either import top_k`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest import mock

from public import PUBLIC

import safeselect
from safeselect.mechanisms import select, table
from safeselect.spec import rankings


@contextmanager
def specified() -> Iterator[None]:
    """The specification in the place of the array engine, for one-shot mechanisms."""
    with (
        mock.patch.object(table, "engine", rankings),
        mock.patch.object(select, "engine", rankings),
    ):
        yield


def _either(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*args: Any, engine: str | None = None, **more: Any) -> Any:
        if engine is None or engine == "array":
            return function(*args, **more)
        with specified():
            return function(*args, **more)

    return called


def _prepared(kind: Callable[..., Any]) -> Callable[..., Any]:
    def made(*, engine: str | None = None, **more: Any) -> Any:
        mechanism = kind(**more)
        return mechanism if engine in (None, "array") else _either_of(mechanism)

    def _either_of(mechanism: Any) -> Any:
        return lambda *args, **more: _either(mechanism)(*args, engine="reference", **more)

    return made


def __getattr__(name: str) -> Any:
    found = PUBLIC[name] if name in PUBLIC else getattr(safeselect, name)
    home = getattr(found, "__module__", "")
    if home == "safeselect.mechanisms.select" and inspect.isfunction(found):
        return _either(found)
    return _prepared(found) if home == "safeselect.mechanisms.prepared" else found

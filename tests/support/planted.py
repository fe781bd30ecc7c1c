"""Faults in the running package: one function as if its source had another text.

Cheaper than a broken copy, and as sharp: the function stays the same object, so it does not matter
who imported it, and under what name.  What caches hold is forgotten before and after.
"""

from __future__ import annotations
import __future__

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from textwrap import dedent
from typing import Any

import pytest

import safeselect

_OF_LAWS = ("safeselect.engine.laws", "safeselect.engine.tables")
"""What is cached there follows from nothing."""


@contextmanager
def planted(place: str, text: str, other: str) -> Iterator[None]:
    """Change a text, which must be there once, in a function: "module:Class.name"."""
    function = _function(place)
    source = dedent(inspect.getsource(function))
    if source.count(text) != 1:
        raise ValueError(f"{place} has {source.count(text)} times {text!r}")
    lines = source.replace(text, other).splitlines()
    while not lines[0].startswith("def "):
        lines.pop(0)  # decorators, which stay as they are
    before, flags = function.__code__, __future__.annotations.compiler_flag
    # Inside a function that has its free names, such as the class of super().
    free = [f"    {name} = None" for name in before.co_freevars]
    outer = ["def outer():", *free, *(f"    {line}" for line in lines)]
    scope: dict[str, Any] = {}
    code = compile("\n".join(outer), place, "exec", flags=flags, dont_inherit=True)
    exec(code, scope)  # noqa: S102 - a text of our own
    parts = scope["outer"].__code__.co_consts
    after = next(each for each in parts if getattr(each, "co_name", "") == before.co_name)
    function.__code__ = after.replace(co_qualname=before.co_qualname)
    _forget()
    try:
        yield
    finally:
        function.__code__ = before
        _forget()


def noticed(place: str, text: str, other: str, look: Callable[[], None]) -> None:
    """Look, and look again with a fault planted: only then is anything wrong."""
    look()
    with planted(place, text, other):
        try:
            look()
        except (AssertionError, pytest.fail.Exception):
            return
    raise AssertionError(f"nothing is noticed of {other!r} in {place}")


def modules() -> set[str]:
    """The names of all modules of the package."""
    inside = pkgutil.walk_packages(safeselect.__path__, safeselect.__name__ + ".")
    return {info.name for info in inside}


def _function(place: str) -> Any:
    """A function or a method, without what is wrapped around it."""
    module, name = place.split(":")
    found: Any = importlib.import_module(f"safeselect.{module}")
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    return inspect.unwrap(found)


def _forget() -> None:
    """Empty all caches of what follows from public parameters."""
    for name, module in list(sys.modules.items()):
        if name.startswith(safeselect.__name__) and name not in _OF_LAWS:
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()

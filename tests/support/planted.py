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
from mutants import Break

import safeselect

_OF_LAWS = ("safeselect.engine.laws", "safeselect.engine.tables")
"""What is cached there follows from nothing."""


@contextmanager
def planted(each: Break) -> Iterator[None]:
    """Change a text, which must be there once, in a function."""
    function = _function(each)
    source = dedent(inspect.getsource(function))
    lines = source.replace(each.text, each.other).splitlines()
    while not lines[0].startswith("def "):
        lines.pop(0)  # decorators, which stay as they are
    before, flags = function.__code__, __future__.annotations.compiler_flag
    # Inside a function that has its free names, such as the class of super().
    free = [f"    {name} = None" for name in before.co_freevars]
    outer = ["def outer():", *free, *(f"    {line}" for line in lines)]
    scope: dict[str, Any] = {}
    code = compile("\n".join(outer), each.place, "exec", flags=flags, dont_inherit=True)
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
    with planted(Break(place, text, other)):
        try:
            look()
        except (AssertionError, pytest.fail.Exception):
            return
    raise AssertionError(f"nothing is noticed of {other!r} in {place}")


def modules() -> set[str]:
    """The names of all modules of the package."""
    inside = pkgutil.walk_packages(safeselect.__path__, safeselect.__name__ + ".")
    return {info.name for info in inside}


def _function(each: Break) -> Any:
    """The function or method that the text is in, without what is wrapped around it."""
    name = each.file.removesuffix(".py").replace("/", ".")
    module = importlib.import_module(f"safeselect.{name}")
    owners = [module, *(value for value in vars(module).values() if inspect.isclass(value))]
    for owner in owners:
        found = vars(owner).get(each.function)
        found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        found = inspect.unwrap(found) if callable(found) else None
        if inspect.isfunction(found) and inspect.getsource(found).count(each.text) == 1:
            return found
    raise ValueError(f"{each.place} has not once {each.text!r}")


def _forget() -> None:
    """Empty all caches of what follows from public parameters."""
    for name, module in list(sys.modules.items()):
        if name.startswith(safeselect.__name__) and name not in _OF_LAWS:
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()

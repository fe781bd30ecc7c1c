"""Every public function and method says what it returns, and shows an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import pytest

from safeselect.mechanisms import select

ROOMS = ("", ".estimates", ".samplers", ".sources", ".testing", ".tables")


def public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for room in ROOMS:
        module = importlib.import_module(f"safeselect{room}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing) or inspect.isclass(thing):
                found.setdefault(name, thing)
    return found


PUBLIC = public()
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isroutine(thing)}
RETURNS = {
    name: thing
    for name, thing in FUNCTIONS.items()
    if inspect.signature(thing).return_annotation not in ("None", None)
}


def lacking(functions: Iterable[str], *words: str) -> list[str]:
    """The functions whose docstrings have none of these words."""
    texts = {name: inspect.getdoc(FUNCTIONS[name]) or "" for name in functions}
    return [name for name, text in texts.items() if not any(word in text for word in words)]


def test_a_public_function_says_what_it_returns_and_shows_an_example() -> None:
    assert (lacking(RETURNS, "Returns:", "Return "), lacking(FUNCTIONS, ">>>")) == ([], [])


def test_a_mechanism_says_what_it_raises() -> None:
    mechanisms = sorted(
        FUNCTIONS.keys()
        & {
            name
            for name in vars(select)
            if inspect.isfunction(vars(select)[name])
            and vars(select)[name].__module__ == select.__name__
        }
    )
    assert (lacking(mechanisms, "Returns"), lacking(mechanisms, "Raises")) == ([], [])


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_run(name: str) -> None:
    thing = inspect.unwrap(PUBLIC[name]) if name in FUNCTIONS else PUBLIC[name]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(recurse=True).find(thing, name):
        runner.run(test, out=lambda text: None)
    assert runner.summarize(verbose=False).failed == 0

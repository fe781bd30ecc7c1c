"""Stop a call at the n-th place where an interrupt may come, or where memory may run out.

Python looks for signals when a function starts, after a call into C, and at the ends of loops.
Memory may run out where a function starts or C is called; giving back a lock needs none.  The
resumption of a generator is left out: an exception of the profiler would end it without its
`finally`, which neither of the two does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any

import safeselect

PACKAGE = str(Path(safeselect.__file__).parent)


class Stopped:
    """What became of a call: whether it was stopped, where, and what it returned or raised."""

    def __init__(self) -> None:
        self.place = ""
        self.result: Any = None
        self.error: BaseException | None = None


def stopped_at(call: Callable[[], Any], at: int, error: BaseException) -> Stopped:
    """Run a call, and raise the error at its place number `at`, counted from 0."""
    found, count = Stopped(), 0
    places = ("call", "c_call") if isinstance(error, MemoryError) else ("call", "c_return")

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        code = frame.f_code
        if event not in places or not code.co_filename.startswith(PACKAGE):
            return
        if event == "call" and code.co_flags & CO_GENERATOR:
            return
        if event == "c_call" and argument.__name__ == "__exit__":
            return
        if count == at:
            name = getattr(argument, "__qualname__", "")
            found.place = f"{code.co_filename[len(PACKAGE) :]} {code.co_qualname} {event} {name}"
            raise error
        count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        found.result = call()
    except BaseException as raised:
        found.error = raised
    finally:
        sys.setprofile(before)
    return found

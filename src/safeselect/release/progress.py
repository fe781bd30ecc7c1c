"""How far work is: one bar of tqdm, on a terminal or in a notebook, where tqdm is installed.

It appears after a second, on standard error and on no pipe, and is gone when the work is done.
SAFESELECT_PROGRESS=off shows none.  It follows from the data, as time does: it is for whoever runs
the program.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from typing import Any

SWITCH = "SAFESELECT_PROGRESS"
_AFTER = 1  # seconds
_EVERY = 1
_WHOLE = "{desc}: {percentage:3.0f} %|{bar}| {elapsed}"


@contextmanager
def counted(what: str, total: int | None = None) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes how many more are done, of so many, for a `with` block."""
    bar = _bar(what, total)
    if bar is None:
        yield lambda _: None
    else:
        with bar:
            yield bar.update


@contextmanager
def watched(what: str, share: Callable[[], float]) -> Iterator[None]:
    """Ask once a second how much is done, from 0 to 1, for the length of a `with` block."""
    bar = _bar(what, 1, bar_format=_WHOLE, mininterval=0, miniters=0)
    if bar is None:
        yield
        return
    done = Event()

    def look() -> None:
        while not done.wait(_EVERY):
            with suppress(Exception):  # an engine that does not say shows no less than before
                bar.update(max(0, min(1, share()) - bar.n))

    watching = Thread(target=look, daemon=True)
    with bar:
        watching.start()
        try:
            yield
        finally:
            done.set()
            watching.join()


def _bar(what: str, total: int | None, **form: object) -> Any:
    """A bar of tqdm; None if nobody sees it."""
    is_notebook = type(sys.stderr).__module__.startswith("ipykernel")
    is_seen = is_notebook or (sys.stderr is not None and sys.stderr.isatty())
    if not is_seen or os.environ.get(SWITCH) == "off":
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets a notebook gets a bar of text
            made = import_module("tqdm.auto" if is_notebook else "tqdm").tqdm
            return made(desc=what, total=total, delay=_AFTER, leave=False, **form)
    except ImportError:
        return None

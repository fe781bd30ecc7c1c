"""The progress of a long count: one line on standard error, only if that is a terminal.

The duration of a count depends on private data, and so does this line.  It is for people who may
read the data, and is not part of a release.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_PATIENCE = 2  # seconds before the first line, and between two lines
_BLANK = "\r\x1b[K"


@contextmanager
def reported(percent: Callable[[], object] | None) -> Iterator[None]:
    """Show from time to time how far the work inside the `with` block is.

    Args:
        percent: returns the progress, from 0 to 100; None for silence.
    """
    if percent is None or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = Event()
    teller = Thread(target=_tell, args=(percent, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(percent: Callable[[], object], done: Event) -> None:
    said = False
    while not done.wait(_PATIENCE):
        part = percent()
        if isinstance(part, (int, float)) and part >= 0:
            said = _say(f"{_BLANK}counting: {int(part)} %")
    if said:
        _say(_BLANK)


def _say(text: str) -> bool:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # a terminal that went away must not stop the count
        return False
    return True

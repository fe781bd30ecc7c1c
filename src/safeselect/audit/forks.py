"""What a forked child says of its work."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> str:
    """What a forked child's work returned, or the name of its error."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forks in a process with threads
        child = os.fork()
    if not child:
        try:
            os.close(ours)
            try:
                said = repr(work())
            except Exception as error:  # noqa: BLE001 - it is told to the parent
                said = type(error).__name__
            os.write(theirs, said.encode()[:4096])
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said

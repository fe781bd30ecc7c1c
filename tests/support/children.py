"""Forked children that answer with bytes, and calls that fork themselves."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(function: Callable[[], bytes]) -> bytes | str:
    """Run a function in a forked child; return its bytes, or the name of what it raised."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, b"=" + function())
        except BaseException as error:
            os.write(writing, b"!" + type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer[1:] if answer[:1] == b"=" else answer[1:].decode()


def forked_within(call: Callable[[Callable[[], object]], object]) -> list[str]:
    """How a call ends in the parent and in the child, if it forks where it calls its argument."""
    children: list[int] = []
    reading, writing = os.pipe()
    try:
        told = repr(call(lambda: children or children.append(os.fork())))
    except Exception as error:
        told = type(error).__name__
    if children == [0]:
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(children[0], 0)
    with os.fdopen(reading) as pipe:
        return [told, pipe.read()]

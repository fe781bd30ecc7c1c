"""What the command writes: data to standard output, all else to standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from safeselect.errors import InputError


class UnwrittenError(Exception):
    """Standard output takes no more."""


def write(text: str) -> None:
    """Write to standard output: UTF-8 with plain newlines, whatever the terminal's settings."""
    with written():
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Write to standard error, if anybody listens.

    `print(file=None)` would write to standard output, so a closed standard error is skipped.  A
    broken pipe of the messages must not turn a release into a failure.
    """
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def written() -> Iterator[None]:
    """Tell a failure to write from other errors of the system."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnwrittenError(error.strerror) from None


@contextlib.contextmanager
def reading(file: str, done: str = "read") -> Iterator[None]:
    """Refuse a file that cannot be read, or written.

    Raises:
        InputError: it cannot.
    """
    try:
        yield
    except (OSError, ValueError, RecursionError):
        raise InputError(f"the file {file!r} cannot be {done}") from None


def read_text(file: str) -> str:
    """Return the text of a file in UTF-8, with its line ends.

    Raises:
        InputError: it cannot be read.
    """
    with reading(file):
        return Path(file).read_bytes().decode("utf-8")

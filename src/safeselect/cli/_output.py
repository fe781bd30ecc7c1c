"""What the command writes: data to standard output, all else to standard error, escaped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from unicodedata import category

from safeselect.errors import InputError
from safeselect.scores.candidates import label_text

_ENDS_LINES = ("Cc", "Cs", "Zl", "Zp")


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
def reading(file: str) -> Iterator[None]:
    """Refuse a file that cannot be read.

    Raises:
        InputError: it cannot.
    """
    try:
        yield
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None


def escaped(label: object) -> str:
    """Return a label as one line of text, from which the label can be recovered.

    Backslashes, control characters, line separators and lone surrogates are written as Python
    writes them in a string: \\\\, \\n, \\x1b, \\u2028, \\udc80.
    """
    return _without(_ENDS_LINES, label_text(label))


def shown(text: object) -> str:
    """Return text of a record for a reader; also escapes invisible and bidi characters."""
    return _without((*_ENDS_LINES, "Cf", "Co", "Cn"), str(text))


def _without(categories: tuple[str, ...], text: str) -> str:
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character == "\\" or category(character) in categories
        else character
        for character in text
    )

"""Foreign text as one line that cannot imitate other output."""

from __future__ import annotations

import html
from unicodedata import category

from safeselect.scores.candidates import label_text

_ENDS_LINES = ("Cc", "Cs", "Zl", "Zp")


def escaped(label: object) -> str:
    """Return a label as one line of text, from which the label can be recovered.

    Backslashes, control characters, line separators and lone surrogates are written as Python
    writes them in a string: \\\\, \\n, \\x1b, \\u2028, \\udc80.
    """
    return _written(label_text(label), _ENDS_LINES)


def shown(text: object) -> str:
    """Return text of a record for a terminal; also escapes invisible and bidi characters."""
    return _written(str(text), (*_ENDS_LINES, "Cf", "Co", "Cn"))


def in_html(text: object) -> str:
    """Return text of a record for an HTML page."""
    return html.escape(shown(text))


def _written(text: str, categories: tuple[str, ...]) -> str:
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character == "\\" or category(character) in categories
        else character
        for character in text
    )

"""One comparison of an audit: what was compared, in a sentence that says what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A comparison.

    Attributes:
        what: what was compared, in a word or two.
        holds: None if it could not be compared.
        sentence: what was found; text of records in it is not escaped.
    """

    what: str
    holds: bool | None
    sentence: str


def verdict(lines: Iterable[Line]) -> tuple[bool | None, str]:
    """Return whether everything holds, and the last line of the page; None if that is open."""
    made = list(lines)
    wrong = [line.what for line in made if line.holds is False]
    open_ = [line.what for line in made if line.holds is None]
    missing = f"; not compared: {', '.join(open_)}" if open_ else ""
    if wrong:
        return False, f"DOES NOT HOLD: {', '.join(wrong)}{missing}"
    if open_:
        return None, f"NOT ESTABLISHED: what was compared holds{missing}"
    return True, f"HOLDS: all {len(made)} comparisons"

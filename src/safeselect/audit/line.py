"""One comparison of an audit, and the verdict about all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Word = Literal["holds", "DOES NOT HOLD", "none", "not compared"]


@dataclass(frozen=True, slots=True)
class Line:
    """A comparison.

    Attributes:
        what: what was compared, in a word or two.
        word: "none" if there is nothing to compare, "not compared" if it could not be.
        sentence: what was found; text of records in it is not escaped.
        reach: how far it holds, in words, where that is not the whole log.
    """

    what: str
    word: Word
    sentence: str
    reach: str = ""


def found(what: str, wrong: str | None, right: str) -> Line:
    """A comparison that was made: what is wrong in a sentence, or what holds."""
    return Line(what, "DOES NOT HOLD", wrong) if wrong else Line(what, "holds", right)


def verdict(lines: Iterable[Line]) -> tuple[bool, str]:
    """Return whether everything holds, and the last line of the page.

    A log without signatures holds as far as a head reaches, and one with signatures needs no head.
    All else must be there.
    """
    made = list(lines)
    named = {word: [line.what for line in made if line.word == word] for word in get_args(Word)}
    reach, absent = "".join(line.reach for line in made), named["none"]
    parts = [f"{word}: {', '.join(named[word])}" for word in ("not compared", "none")]
    missing = "".join(f"; {part}" for part in parts if not part.endswith(": "))
    if named["DOES NOT HOLD"]:
        return False, f"DOES NOT HOLD: {', '.join(named['DOES NOT HOLD'])}{missing}"
    if named["not compared"] or absent not in ([], ["signatures"], ["head"]):
        return False, f"NOT ESTABLISHED: what was compared holds{reach}{missing}"
    return True, f"HOLDS{reach}: all {len(named['holds'])} comparisons{missing}"

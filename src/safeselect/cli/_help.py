"""Help that fits the terminal: what stands below the options, folded to its width."""

from __future__ import annotations

import argparse
import re
import textwrap

_BEGIN = re.compile(r" *(?:\S.*?  +(?=\S))?")
"""What a line begins with: its indent; or a term with the blanks behind it."""


RELEASE_EXIT_CODES = """
exit codes: 0 done, 2 command line or input file, 3 budget, 4 source of randomness, 5 the ledger
cannot be used, 6 it is busy: try again, 1 unforeseen
"""
"""Below the options of each command that releases something."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the paragraphs and columns of a text, and folds their lines to the width.

    No name of an option is broken at a hyphen.
    """

    def _split_lines(self, text: str, width: int) -> list[str]:
        words = " ".join(text.split())
        return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for begin, words in _paragraphs(text):
            hanging = " " * len(indent + begin)
            folded = textwrap.wrap(
                words,
                width,
                initial_indent=indent + begin,
                subsequent_indent=hanging,
                break_long_words=False,
                break_on_hyphens=False,
            )
            lines += folded or [""]
        return "\n".join(lines)


def _paragraphs(text: str) -> list[tuple[str, str]]:
    """Each paragraph: what its first line begins with, and its words.

    A line goes on with the paragraph before it if its words stand below those; a term begins one.
    """
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        matched = _BEGIN.match(line)
        begin = matched[0] if matched else ""
        words = line[len(begin) :]
        if found and words and found[-1][1] and begin == " " * len(found[-1][0]):
            found[-1] = found[-1][0], f"{found[-1][1]} {words}"
        else:
            found.append((begin, words))
    return found

"""The command as it is typed, here or in a process of its own, and pages as a browser sees them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from safeselect.cli import main

TRIPS = "city,rider\nOslo,ann\nOslo,bob\nRome,ann\n"
COMMAND = [sys.executable, "-W", "error", "-m", "safeselect"]
TOP = [
    *("top-k", "trips.csv", "--item", "city", "--user", "rider"),
    *("-k", "1", "--epsilon", "10000", "--candidates-are-public"),
]


def started(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """In a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, check=False, timeout=60, **options
    )


def typed(line: str, capture: Any) -> tuple[int, str, str]:
    """In this process: exit code, output, messages; `capture` is pytest's, of bytes."""
    capture.readouterr()
    try:
        code = main(shlex.split(line))
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    out, said = (stream.decode() for stream in capture.readouterr())
    return code, out, said


class Page(HTMLParser):
    """What a browser would see: tags, their attributes, and the text without styles and title."""

    OPTIONAL = frozenset({"td", "th", "tr", "dt", "dd", "meta", "p", "li"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.attributes = set[str](), set[str]()
        self.open, self.parts = list[str](), list[str]()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.OPTIONAL or self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["title"]):
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())

    @property
    def asks_nobody(self) -> bool:
        """No script, and nothing from elsewhere: not in an attribute either."""
        elsewhere = {"script", "img", "link", "iframe", "a", "object", "svg", "src", "href"}
        handlers = any(each.startswith("on") for each in self.attributes)
        return elsewhere.isdisjoint(self.tags | self.attributes) and not handlers

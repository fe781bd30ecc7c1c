"""What a person fills in before anything is published: exit code 1 while any of it is left.

    python tools/placeholders.py

Addresses that nobody owns yet end in `.invalid`, which no registry sells.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = (
    "pyproject.toml",
    "CITATION.cff",
    "README.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/citing.md",
)
LEFT = {
    re.compile(r"\bexample\.invalid\b"): "an address that nobody owns",
    re.compile(r"^## \[Unreleased\]", re.MULTILINE): "a change log without a version",
}


def left(text: str) -> list[str]:
    """Name what is left to fill in."""
    return [what for form, what in LEFT.items() if form.search(text)]


def main() -> int:
    """Print each file with what is left in it; 1 if any is."""
    found = [(name, what) for name in PLACES for what in left((ROOT / name).read_text("utf-8"))]
    for name, what in found:
        print(f"{name}: {what}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

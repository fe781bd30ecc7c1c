"""All pages of text that the project shows, by their paths from its root."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
_BESIDE = ("README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md")
_BESIDE += ("benchmarks/README.md", "benchmarks/timing/README.md")
_DOCS = (path.relative_to(ROOT) for path in sorted(ROOT.glob("docs/**/*.md")))
_MADE = {"_build", "reference", "notebooks", "gallery"}  # while the site is built
PAGES = [*_BESIDE, *(path.as_posix() for path in _DOCS if not _MADE & {*path.parts})]

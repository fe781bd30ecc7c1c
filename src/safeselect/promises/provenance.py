"""The code that made a release: its version, and the hash of its source."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["code"]


@cache
def code() -> tuple[str, str]:
    """Return version and hash of the source; computed once a process, at its first release."""
    return _version(), _source_tree()


def _version() -> str:
    try:
        return version("safeselect")
    except PackageNotFoundError:
        return "not installed"


def _source_tree() -> str:
    """Return SHA-256 over the path, length and bytes of each of the package's Python files."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(b"safeselect/source-tree/1\x00")
    try:
        for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
            name, content = path.relative_to(root).as_posix().encode(), path.read_bytes()
            digest.update(b"%d %d\x00" % (len(name), len(content)))
            digest.update(name + content)
    except OSError:
        return "unreadable"
    return digest.hexdigest()

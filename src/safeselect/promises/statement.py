"""What a release says of itself beside its guarantee, so that it can be read alone.

With it goes the code that made the release: its version, and the hash of its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self

from safeselect.promises.records import Content, read_exact

NOT_STATED = "not stated"
"""The unit, or the neighbours, where neither a ledger nor an argument says them."""


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


@dataclass(frozen=True, slots=True)
class Statement:
    """What a reader of a release needs; all of it is public and was fixed before the first bit.

    Attributes:
        unit: whose privacy, in the words of the ledger's scope or of the counts; or "not stated".
        neighbours: which data sets are compared: in the words of the scope, or "add_remove" where
            the scores are monotonic; or "not stated": those for which the sensitivity holds.
        parameters: pairs of a name and an exact text, sorted: sensitivity or range, as declared and
            as effective, monotonic, grid, number of candidates, k and others, as in the record of a
            ledger.
        version: of the library.
        source_tree_sha256: the hash of the library's source code.
        utc: with `ledger=`, when the release was charged; otherwise None.
    """

    unit: str
    neighbours: str
    parameters: tuple[tuple[str, str], ...]
    version: str
    source_tree_sha256: str
    utc: str | None = None

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, str],
        *,
        unit: str | None,
        neighbours: str | None,
        utc: str | None,
    ) -> Self:
        """The statement of a release of this process; None is what nobody has stated."""
        # Where all scores move the same way, a unit is added or removed: that is what it asserts.
        implied = "add_remove" if parameters.get("monotonic") == "yes" else NOT_STATED
        return cls(
            NOT_STATED if unit is None else unit,
            implied if neighbours is None else neighbours,
            tuple(sorted(parameters.items())),
            *code(),
            utc,
        )

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores, in score units, that the noise covers."""
        written = dict(self.parameters).get("effective_range")
        return None if written is None else read_exact(written)

    def as_record(self) -> dict[str, Content]:
        """As content for JSON."""
        library: Content = {
            "name": "safeselect",
            "version": self.version,
            "source_tree_sha256": self.source_tree_sha256,
        }
        said: dict[str, Content] = {"unit": self.unit, "neighbours": self.neighbours}
        said |= {"parameters": {**dict(self.parameters)}, "library": library}
        return said if self.utc is None else said | {"utc": self.utc}

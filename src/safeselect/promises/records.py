"""The written form of guarantees, numbers and receipts, and what a release says of itself.

There is one spelling for each; results and the ledger's records share it.  A release can be read
alone: beside its guarantee it states its parameters and the code that made it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import gmpy2

Content = str | list["Content"] | dict[str, "Content"]

NOT_STATED = "not stated"
"""The unit, or the neighbours, where neither a ledger nor an argument says them."""

_EXACT = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The caller's part of the record of a release.

    Attributes:
        ledger: identity of the ledger.
        record: place in the ledger of the record that holds the commitment.
        salt: opens the commitment; only the caller has it.
    """

    ledger: str
    record: int
    salt: bytes

    def as_record(self) -> Content:
        """As content for JSON."""
        return {"ledger": self.ledger, "record": str(self.record), "salt": self.salt.hex()}


def exact_text(value: Fraction) -> str:
    """A number as records spell it: exact, in lowest terms.

    GMP writes the digits, because Python may limit how many digits of an int str() writes.
    """
    above, below = gmpy2.mpz(value.numerator).digits(), value.denominator
    return above if below == 1 else f"{above}/{gmpy2.mpz(below).digits()}"


def read_exact(written: str) -> Fraction:
    """Read what `exact_text` writes, with any number of digits.

    Raises:
        ValueError: it is another spelling, or no number.
    """
    match = _EXACT.fullmatch(written)
    above, below = match.groups() if match else ("0", "0")
    # GMP reads the digits: Python may limit how many int() reads.
    divisor = int(gmpy2.mpz(below or "1"))
    value = Fraction(int(gmpy2.mpz(above)), divisor or 1)
    if not divisor or exact_text(value) != written:
        raise ValueError("it is no number in its one spelling")
    return value


def guarantee_record(guarantee: Any) -> dict[str, Content]:
    """A guarantee as content: its type and its numbers, or the guarantee that it is about."""
    given = ((field.name, getattr(guarantee, field.name)) for field in fields(guarantee))
    texts = {n: exact_text(v) if isinstance(v, Fraction) else guarantee_record(v) for n, v in given}
    return {"type": type(guarantee).__name__, **texts}


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
        utc: with `ledger=`, when the release was charged, to the day (or as finely as the ledger
            says); otherwise None.
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

"""The lines of a ledger's file inside one transaction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from io import FileIO
from typing import final

from safeselect.errors import LedgerDamaged
from safeselect.ledger.records.lines import log_line, read_line
from safeselect.ledger.store import Row, Torn

_CHUNK = 2**20  # more than the longest line


def end_of_lines(file: FileIO, size: int) -> int:
    """Return where the last whole line ends; the bytes after it are an unfinished write."""
    end = _after_newline(file, size)
    start = _after_newline(file, end - 1)
    if end and b"\0" in os.pread(file.fileno(), end - start, start):
        return start
    return end


def _after_newline(file: FileIO, before: int) -> int:
    """Return the place after the last newline before this place; 0 if there is none."""
    step = 2**13
    while before > 0:
        start = max(0, before - step)
        found = os.pread(file.fileno(), before - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before, step = start, _CHUNK
    return 0


@final
class FileJournal:
    """The rows of a file, as a `Journal`.

    Args:
        file: the open file.
        end: the end of its last whole line.
        size: the end of the file.
    """

    __slots__ = ("_end", "_file", "_next", "_size", "lines")

    def __init__(self, file: FileIO, end: int, size: int) -> None:
        self._file, self._end, self._size = file, end, size
        self._next = end
        self.lines: list[bytes] = []

    @property
    def torn(self) -> Torn | None:
        """The bytes after the last whole line."""
        return None if self._size == self._end else self.torn_from(self._end)

    def torn_from(self, start: int) -> Torn:
        """Describe all bytes from a place on."""
        digest = sha256()
        for chunk in self.chunks(start):
            digest.update(chunk)
        return Torn(self._size - start, digest.hexdigest())

    def chunks(self, start: int) -> Iterator[bytes]:
        """Yield all bytes from a place on."""
        while start < self._size:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, self._size - start), start)
            if not chunk:
                return
            yield chunk
            start += len(chunk)

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a line on."""
        found: list[Row] = []
        while at < self._end and len(found) < count:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, self._end - at), at)
            whole = chunk.rfind(b"\n")
            if whole < 0 or whole > _CHUNK:
                raise LedgerDamaged(f"record {first + len(found)} is cut, or too long")
            left = count - len(found)
            for line in chunk[:whole].decode("latin-1").split("\n", left)[:left]:
                found.append(read_line(line, first + len(found), at))
                at += len(line) + 1
        return found

    def append(self, row: Row) -> Row:
        """Add a line."""
        line = log_line(row.body, row.hash, row.signature)
        placed = row._replace(at=self._next)
        self.lines.append(line)
        self._next += len(line)
        return placed

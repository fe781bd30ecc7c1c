"""Hostile files and command lines: what reads them, called as people call it."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ready import read_scores

from safeselect import SafeSelectError
from safeselect.cli import main
from safeselect.tables import count_distinct_users


@contextlib.contextmanager
def written(content: bytes, name: str = "t.csv") -> Iterator[Path]:
    """A file of this content in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path


def read_table(content: bytes, name: str = "t.csv") -> int:
    """Read columns "item" and "n" in every way; returns how many ways were refused."""
    refused = 0
    with written(content, name) as path:
        try:
            labels, scores = read_scores(path, label="item", score="n")
        except SafeSelectError:
            refused += 1
        else:
            if len(labels) != len(scores) or labels != sorted(labels, key=str.encode):
                raise AssertionError("scores of other labels")
        try:
            counts = count_distinct_users(path, item="item", user="n")
            largest = count_distinct_users(path, item="item", user="n", places=2)
        except SafeSelectError:
            return refused + 1
    if not all(type(label) is str and count > 0 for label, count in counts.items()):
        raise AssertionError("counts that are no counts")
    if list(largest.values()) != sorted(counts.values(), reverse=True)[:2]:
        raise AssertionError("other counts than the largest")
    return refused


def run_command(words: Sequence[str], content: bytes) -> None:
    """Run a command line, where "t.csv" is a file of this content: done, or refused."""
    errors = io.StringIO()
    with written(content) as path, contextlib.chdir(path.parent):
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = main(words)
            except SystemExit as end:  # of argparse
                code = end.code
    if code not in (0, 2, 3, 5) or "Traceback" in errors.getvalue():
        raise AssertionError(f"exit code {code}: {errors.getvalue()}")

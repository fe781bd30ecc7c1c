"""A release is followed by a reader in at most 60 moves between files.

A move is a call of this package from one of its files into another, while one candidate is chosen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import safeselect

ROOT = str(Path(safeselect.__file__).parent)
MOST = 60


def moves(call: Callable[[], object]) -> list[tuple[str, str]]:
    """The calls from file to file, in their order."""
    found: list[tuple[str, str]] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        here = frame.f_code.co_filename
        if event != "call" or not here.startswith(ROOT):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != here:
            found.append((caller.f_code.co_filename, here))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "mechanism", [safeselect.permute_and_flip, safeselect.exponential_mechanism]
)
def test_one_release_is_at_most_60_moves(mechanism: Callable[..., object]) -> None:
    def release() -> object:
        return mechanism([3, 1, 2], epsilon=1, sensitivity=1)

    release()  # tables and parameters are worked out once
    counts = [len(moves(release)) for _ in range(5)]
    assert 20 < min(counts) <= MOST


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([3, 1, 2], None),
        ((3, 1, 2), ["a", "b", "c"]),
        ({"a": 3, "b": 1, "c": 2}, None),
        (np.array([3, 1, 2]), ("a", "b", "c")),
        (np.array([3.0, 1.0, 2.0]), np.array(["a", "b", "c"])),
    ],
    ids=["list", "tuple", "mapping", "array", "floats"],
)
def test_plain_scores_are_read_by_the_core_alone(scores: Any, labels: Any) -> None:
    """Columns of other libraries and foreign sources have readers of their own that do not run."""

    def release() -> object:
        return safeselect.permute_and_flip(scores, labels=labels, epsilon=1, sensitivity=1)

    release()
    rooms = {Path(file).relative_to(ROOT).parts[0] for move in moves(release) for file in move}
    core = {"exact", "promises", "randomness", "engine", "scores"}
    assert rooms <= core | {"release", "mechanisms", "accounting"}

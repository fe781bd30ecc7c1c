"""A7: floats that become so small that the processor slows down."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import safeselect

TINY = np.finfo(np.float64).tiny  # what lies between 0 and this takes far longer


def naive_weights(scores: list[int], epsilon: float) -> np.ndarray:
    return np.exp(epsilon / 2 * (np.array(scores) - max(scores)))


def test_a7_naive_weights_are_subnormal_for_one_neighbour_only():
    """Both vectors differ by 1 in each score; one takes the slow path for all its candidates."""
    quick = naive_weights([0] + [-1416] * 1000, 1)
    slow = naive_weights([1] + [-1417] * 1000, 1)
    assert (quick >= TINY).all()
    assert ((slow[1:] > 0) & (slow[1:] < TINY)).all()


def floats_seen(call: Callable[[], object], root: Path) -> set[str]:
    """Functions of files below a directory that hold a float, or an array of them, as they end."""
    found: set[str] = set()
    watched = str(root)

    def holds(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return value.dtype.kind in "fc"
        if isinstance(value, (tuple, list)):
            return any(holds(each) for each in value)
        return isinstance(value, (float, complex))

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "return" and frame.f_code.co_filename.startswith(watched):
            values = [*frame.f_locals.values(), argument]
            if any(holds(value) for value in values):
                found.add(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def test_a7_the_watch_sees_floats():
    assert "naive_weights" in floats_seen(lambda: naive_weights([0, 1], 1), Path(__file__).parent)


CALLS: dict[str, Callable[..., object]] = {
    "permute_and_flip": safeselect.permute_and_flip,
    "exponential_mechanism": safeselect.exponential_mechanism,
    "base 2": safeselect.exponential_mechanism_base2,
    "laplace": lambda scores, **more: safeselect.report_noisy_max(scores, noise="laplace", **more),
    "with gaps": lambda scores, **more: safeselect.top_k_with_gaps(scores, k=2, **more),
    "above": lambda scores, **more: safeselect.top_k_above(scores, k=2, threshold=1, **more),
}


@pytest.mark.claim("C3")
@pytest.mark.parametrize("name", CALLS)
def test_a7_ours_has_no_float_to_slow_down(name):
    """Not in any function of the package, for scores whose naive weights are subnormal."""
    scores = [1, *[-1417] * 40]
    package = Path(safeselect.__file__).parent

    def call() -> None:
        CALLS[name](scores, epsilon=1, sensitivity=1)

    assert floats_seen(call, package) == set()

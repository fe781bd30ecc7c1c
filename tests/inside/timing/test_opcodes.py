"""L1: the Python bytecodes that run do not depend on the scores, nor on the random bytes.

An exact test: bytecodes are counted function by function over a whole public call, from reading
the scores to the result, the library's own and the standard library's.  Caches are warm: a call
with the same parameters, on other scores and another tape, goes before.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from effort import LONG, pairs
from numpy.typing import NDArray
from timed import COUNTS, MECHANISMS, families

import safeselect
from safeselect.testing import DeterministicSource

TAPES = 20 if LONG else 4

Opcodes = Counter[str]


def count_opcodes(call: Callable[[], object]) -> Opcodes:
    """Run `call` and count the bytecodes of each function that it runs."""
    seen: Opcodes = Counter()
    collecting = gc.isenabled()
    gc.disable()  # a collection may run finalizers at any moment
    try:
        (_with_monitoring if sys.version_info >= (3, 12) else _with_settrace)(call, seen)
    finally:
        if collecting:
            gc.enable()
    return seen


def _with_settrace(call: Callable[[], object], seen: Opcodes) -> None:
    def trace(frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        name = frame.f_code.co_qualname
        if event == "opcode":
            seen[name] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)


def _with_monitoring(call: Callable[[], object], seen: Opcodes) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    tool = next(number for number in range(6) if monitoring.get_tool(number) is None)

    def note(code: CodeType, offset: int) -> None:
        seen[code.co_qualname] += 1

    monitoring.use_tool_id(tool, "safeselect opcodes")
    monitoring.register_callback(tool, monitoring.events.INSTRUCTION, note)
    monitoring.set_events(tool, monitoring.events.INSTRUCTION)
    try:
        call()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def opcodes(mechanism: str, scores: object, tape: int, **more: object) -> Opcodes:
    """The bytecodes of one call on the tape of that number."""
    source = DeterministicSource(tape, i_understand_this_is_not_private=True)
    return count_opcodes(lambda: MECHANISMS[mechanism](scores, source=source, **more))


def differences(mechanism: str, given: dict[str, object], **more: object) -> dict[object, object]:
    """Which families and tapes differ from the first, and in which functions by how much."""
    first = next(iter(given.values()))
    opcodes(mechanism, first, TAPES, **more)  # fills the caches
    usual = opcodes(mechanism, first, 0, **more)
    assert usual.total() > 100
    found: dict[object, object] = {}
    for family, scores in given.items():
        for tape in range(TAPES):
            now = opcodes(mechanism, scores, tape, **more)
            if now != usual:
                found[family, tape] = (now - usual, usual - now)
    return found


@pytest.mark.claim("C4")
@pytest.mark.parametrize("n", [12, 600])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bytecodes_are_the_same_for_all_scores_and_tapes(mechanism: str, n: int) -> None:
    assert differences(mechanism, dict(families(n))) == {}


@pytest.mark.claim("C4")
def test_bytecodes_are_the_same_for_lists_of_integers() -> None:
    given = {family: scores.tolist() for family, scores in families(40).items()}
    assert differences("permute_and_flip", given) == {}


def float_families(n: int, dtype: str, *, whole: bool) -> dict[str, NDArray[Any]]:
    """Columns of one dtype that differ in size, sign, closeness and in what is cut."""
    largest, random = np.finfo(dtype).max, np.random.default_rng(4)
    found = {
        "all equal": np.zeros(n),
        "negative zeros": np.full(n, -0.0),
        "staircase": np.arange(n) * 1.0,
        "one dominating": np.where(np.arange(n) == n // 2, largest, 0),
        "both extremes": np.where(np.arange(n) % 2 == 0, -largest, largest),
        "all highest": np.full(n, largest),
        "all lowest": np.full(n, -largest),
    }
    if not whole:
        found |= {
            "half steps": (np.arange(n) + 0.5) / 1024,
            "subnormal": np.arange(n) * float(np.finfo(dtype).smallest_subnormal),
            "fractions": random.integers(0, 48_842, n) / 48_842,
            "of any size": random.normal(size=n) * 2.0 ** random.integers(-14, 15, n),
        }
    return {name: column.astype(dtype) for name, column in found.items()}


GRIDS: dict[str, dict[str, object]] = {
    "without grid=": {},
    "dyadic": {"grid": "1/1024"},
    "coarse": {"grid": 2**20, "sensitivity": 2**20},
    "thousandths": {"grid": "1/1000", "minimize": True},
    "on a grid": {"grid": "1/3", "on_grid": True},
}


@pytest.mark.claim("C4")
@pytest.mark.parametrize(
    ("grid", "dtype", "n"), pairs(GRIDS, ["float64", "float32", "float16", ">f8"], [12, 600])
)
def test_bytecodes_are_the_same_for_all_columns_of_floats(grid: str, dtype: str, n: int) -> None:
    """From the arguments, n and the dtype alone; so what NumPy is asked to do is the same too."""
    more = {**COUNTS, **GRIDS[grid]}

    def once(scores: NDArray[Any]) -> Opcodes:
        source = DeterministicSource(1, i_understand_this_is_not_private=True)
        return count_opcodes(
            lambda: safeselect.permute_and_flip(scores, epsilon=1, source=source, **more)
        )

    given = float_families(n, dtype, whole=grid == "without grid=")
    first = next(iter(given.values()))
    once(first)  # fills the caches
    usual = once(first)
    assert usual.total() > 100
    found = {name: once(scores) for name, scores in given.items()}
    assert {name: (now - usual, usual - now) for name, now in found.items() if now != usual} == {}


@pytest.mark.claim("C4")
def test_bytecodes_are_the_same_for_lists_of_floats() -> None:
    given = {
        name: scores.tolist() for name, scores in float_families(40, "float64", whole=True).items()
    }
    assert differences("permute_and_flip", dict(given)) == {}


def test_a_single_branch_is_seen() -> None:
    """The counter tells calls apart that differ by one early exit."""

    def search(values: list[int]) -> bool:
        return any(value == 1 for value in values)

    early, late = (count_opcodes(lambda v=v: search(v)) for v in ([1, 0, 0], [0, 0, 1]))
    assert early != late
    again = count_opcodes(lambda v=[1, 0, 0]: search(v))
    assert early.total() == again.total()

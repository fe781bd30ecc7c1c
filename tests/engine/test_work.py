"""Work follows from public numbers alone: requests, NumPy calls, shapes, dtypes, bytecodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest
from lattice_oracle import Tape

from engine import MANY, PEELED, TOPS
from safeselect.engine import arrays, contenders, draws, rankings, rows, tables
from safeselect.exact.interval import NoiseRate

TAPES = 20
TOP = 2**64 - 1


def families(n: int) -> Iterator[Any]:
    rng = np.random.default_rng(7)
    yield np.full(n, 9, dtype=np.uint64)
    yield np.array([TOP] + [0] * (n - 1), dtype=np.uint64)
    yield np.array([10] * (n - 1) + [11], dtype=np.uint64)
    yield np.arange(n, dtype=np.uint64)
    yield rng.choice(np.array([0, TOP], dtype=np.uint64), n)
    yield rng.integers(0, TOP, n, dtype=np.uint64)


class Recorder:
    """Stands in for `np` and writes down every call with shapes and dtypes."""

    def __init__(self, log: list[Any]) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(np, name)
        if not callable(attribute) or isinstance(attribute, type):
            return attribute

        return self.recording(name, attribute)

    def recording(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            described = [*map(describe, args), *((k, describe(v)) for k, v in kwargs.items())]
            # The one exception: how many tail words there are, padded in the next statement.
            self._log.append((name, described, "?" if name == "flatnonzero" else describe(result)))
            return result

        return call


def describe(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.shape, value.dtype.str
    if isinstance(value, (tuple, list)):
        return [describe(v) for v in value]
    return value if isinstance(value, (str, slice)) else type(value).__name__


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch, log: list[Any]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for module in (arrays, contenders, draws, tables, rows, rankings):
            if hasattr(module, "np"):
                patch.setattr(module, "np", Recorder(log))
            # NumPy's own methods, which the modules call by these names.
            for method in {"argmax", "largest_of", "take"} & vars(module).keys():
                function = Recorder(log).recording(method, getattr(module, method))
                patch.setattr(module, method, function)
        yield


GAPS: list[dict[str, Any]] = [{}, {"gaps": True}, {"gaps": True, "gap_unit": Fraction(2, 7)}]
SHAPES = [(10, 1), (40, 3), (3000, 2), (6000, 1), (40000, 5)]


@pytest.mark.claim("C4")
@pytest.mark.parametrize(("n", "k"), SHAPES)
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("engine", TOPS.values())
def test_calls_and_requests(
    engine: Callable[..., Any],
    n: int,
    k: int,
    gaps: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    engine(np.zeros(n, dtype=np.uint64), k, noise_rate, Tape(0), **gaps)  # fill the caches
    seen = set()
    for steps in families(n):
        for seed in range(TAPES if n < 10000 else 4):
            log: list[Any] = []
            tape = Tape(seed)
            with recorded(monkeypatch, log):
                engine(steps.copy(), k, noise_rate, tape, **gaps)
            seen.add((repr(log), tuple(tape.requests)))
            if n > 1000:
                assert len(log) > 20
    assert len(seen) == 1


@pytest.mark.parametrize(("n", "k"), [(10, 3), (30, 20), (600, 3)])
def test_calls_and_requests_of_peeling(n: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    PEELED["exponential"](np.zeros(n, dtype=np.uint64), k, noise_rate, Tape(0))
    seen = set()
    for steps in families(n):
        for seed in range(TAPES):
            log: list[Any] = []
            tape = Tape(seed)
            with recorded(monkeypatch, log):
                PEELED["exponential"](steps.copy(), k, noise_rate, tape)
            seen.add((repr(log), tuple(tape.requests)))
    assert len(seen) == 1


def opcodes(work: Callable[[], Any]) -> int:
    """The number of bytecodes that run in the package."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if "safeselect" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.claim("C4")
@pytest.mark.parametrize("engine", TOPS.values())
@pytest.mark.parametrize(
    ("n", "k", "gaps"), [(10, 1, GAPS[0]), (12, 2, GAPS[1]), (12, 2, GAPS[2]), (600, 2, GAPS[1])]
)
def test_bytecodes(engine: Callable[..., Any], n: int, k: int, gaps: dict[str, Any]) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    engine(np.zeros(n, dtype=np.uint64), k, noise_rate, Tape(0), **gaps)
    seen = {
        opcodes(partial(engine, steps.copy(), k, noise_rate, Tape(seed), **gaps))
        for steps in families(n)
        for seed in range(TAPES)
    }
    assert len(seen) == 1
    assert seen.pop() > 500


def test_bytecodes_of_peeling() -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    PEELED["exponential"](np.zeros(40, dtype=np.uint64), 4, noise_rate, Tape(0))
    seen = {
        opcodes(partial(PEELED["exponential"], steps.copy(), 4, noise_rate, Tape(seed)))
        for steps in families(40)
        for seed in range(TAPES)
    }
    assert len(seen) == 1


def test_the_counter_notices_a_branch() -> None:
    """The positive control: what is undecided runs other bytecodes."""
    noise_rate = NoiseRate(Fraction(1, 3))
    ties = {
        opcodes(partial(TOPS["gumbel"], np.zeros(2, np.uint64), 1, noise_rate, tape))
        for tape in (Tape(0), _Constant())
    }
    assert len(ties) == 2


class _Constant(Tape):
    """All slots equal, so that nothing is decided until `take` is asked."""

    def __init__(self) -> None:
        super().__init__(1)

    def fill(self, buffer: memoryview) -> None:
        super().fill(buffer)
        buffer[:] = bytes([77]) * len(buffer)


@pytest.mark.claim("C4")
@pytest.mark.parametrize("rank_rows", MANY.values())
@pytest.mark.parametrize("shape", [(300, 20), (40, 3)])
def test_calls_and_requests_of_batches(
    rank_rows: Callable[..., Any], shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    rank_rows(np.zeros(shape, dtype=np.uint64), noise_rate, Tape(0))  # fill the caches
    seen = set()
    for scores in families(shape[0] * shape[1]):
        for seed in range(TAPES):
            tape, log = Tape(seed), []
            with recorded(monkeypatch, log):
                rank_rows(np.reshape(scores.copy(), shape), noise_rate, tape)
            assert len(log) > 40
            seen.add((repr(log), tuple(tape.requests)))
    assert len(seen) == 1

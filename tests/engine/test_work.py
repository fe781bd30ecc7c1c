"""Work follows from public numbers alone: requests, NumPy calls, shapes, dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lattice_oracle import Tape
from numpy_calls import Recorder

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


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch, log: list[Any]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for module in (arrays, contenders, draws, tables, rows, rankings):
            if hasattr(module, "np"):
                patch.setattr(module, "np", Recorder(log))
            # NumPy's own methods, which the modules call by these names.
            for method in {"argmax", "clip", "largest_of", "take"} & vars(module).keys():
                function = Recorder(log).recording(method, getattr(module, method))
                patch.setattr(module, method, function)
        yield


CASES = [
    *((rank, 40000, 5, {}) for rank in TOPS.values()),
    *(
        (rank, n, k, more)
        for rank in TOPS.values()
        for n, k in ((10, 1), (40, 3), (3000, 2), (6000, 1))
        for more in ({}, {"gaps": True, "gap_unit": Fraction(2, 7)})
    ),
    *((PEELED["exponential"], n, k, {}) for n, k in ((10, 3), (30, 20), (600, 3))),
]


@pytest.mark.claim("C4")
@pytest.mark.parametrize(("rank", "n", "k", "more"), CASES)
def test_calls_and_requests(
    rank: Callable[..., Any], n: int, k: int, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    rank(np.zeros(n, dtype=np.uint64), k, noise_rate, Tape(0), **more)  # fill the caches
    seen = set()
    for steps in families(n):
        for seed in range(TAPES if n < 10000 else 4):
            log: list[Any] = []
            tape = Tape(seed)
            with recorded(monkeypatch, log):
                rank(steps.copy(), k, noise_rate, tape, **more)
            seen.add((repr(log), tuple(tape.requests)))
            if n > 1000:
                assert len(log) > 20
    assert len(seen) == 1


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

"""Where the time of one release goes: each stage on its own, to see what a missed bar consists of.

The functions that a stage consists of are replaced by ones that read the clock before and after.
Time spent in an inner stage counts there and not in the outer one.  Reading the clock costs each
stage about 0.2 us.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import safeselect
from measure import Result
from work import Work, make_scores

__all__ = ["stages"]

_STAGES = (
    ("parameters", "safeselect.mechanisms.select.Asked.read"),
    ("containers, labels, number", "safeselect.mechanisms.select.Asked.on"),
    ("scores as steps", "safeselect.scores.candidates.Candidates.scores_on_grid"),
    ("the source begins: nonce, checks", "safeselect.randomness.bits.Bits.__init__"),
    ("random bytes", "safeselect.randomness.bits.Bits.fill"),
    ("words, tails, slots", "safeselect.engine.rankings.draw"),
    ("bounds: level, tails, setting up", "safeselect.engine.rankings.contenders"),
    ("bounds: keys and maxima of groups", "safeselect.engine.contenders._maxima"),
    ("choosing the best groups and members", "safeselect.engine.contenders._best"),
    ("choosing the contenders", "safeselect.engine.contenders.best_and_rest"),
    ("logarithms and certificate", "safeselect.engine.rankings.certified_order"),
    ("wiping", "safeselect.release.call.Call.__exit__"),
)
_REST = "the rest: calibration, statement, result"


class _Clock:
    def __init__(self) -> None:
        self.spent: dict[str, int] = defaultdict(int)
        self._inner = [0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0)
            start = time.perf_counter_ns()
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.perf_counter_ns() - start
                self.spent[stage] += whole - self._inner.pop()
                self._inner[-1] += whole

        return call

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as stack:
            for stage, path in _STAGES:
                owner, name = _owner(path)
                replaced = self.timed(stage, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, replaced))
            yield


def _owner(path: str) -> tuple[Any, str]:
    *parts, name = path.split(".")
    # Through sys.modules, because a function may have its module's name.
    for size in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:size]))
        if module is not None:
            owner: Any = module
            for part in parts[size:]:
                owner = getattr(owner, part)
            return owner, name
    raise LookupError(path)


def stages(work: Work, times: int) -> list[Result]:
    """The stages of one permute-and-flip: medians over so many calls."""
    scores = make_scores(work.scores, work.n)
    clock, samples = _Clock(), defaultdict(list)

    def release() -> None:
        safeselect.permute_and_flip(scores, epsilon=work.rate, sensitivity=1, monotonic=True)

    with clock.running():
        for _ in range(times + 20):
            clock.spent.clear()
            clock.timed(_REST, release)()
            for stage in [name for name, _ in _STAGES] + [_REST]:
                samples[stage].append(clock.spent[stage])
    found = [Result.of(stage, all_[20:]) for stage, all_ in samples.items()]
    return [result for result in found if statistics.fmean(samples[result.label]) > 0]

"""Measure several contenders side by side, so that a change of the machine's pace hits them all.

One case has several entries.  Every entry is first probed in a forked child, which is ended when it
takes longer than the cap; so a contender that never returns costs the cap and no more.  Then all
that passed take turns: each round visits the entries in a new random order and times one sample of
each.  A sample of a short call is a loop of calls.  Slow entries sit out some of the rounds, evenly
spread.  Three unmeasured calls of each entry come first, and garbage collection is off meanwhile.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import resource
import select
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

__all__ = ["Call", "Result", "Settings", "Unavailable", "apart", "measure", "probe"]

Call = Callable[[], object]

_SHORTEST_SAMPLE = 500_000  # ns; below this a sample is a loop of calls


class Unavailable(Exception):
    """A contender that cannot take part: a library or a function is missing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure.

    Args:
        seconds: measuring time of each entry.
        cap: seconds after which a single call is given up.
        alone: a call that takes longer than this many seconds is measured once, in its probe.
        rounds: fewest and most samples of each other entry.
    """

    seconds: float
    cap: float
    alone: float
    rounds: tuple[int, int] = (5, 301)


@dataclass(slots=True)
class Result:
    """What was found for one entry.  Times are in ns for one call."""

    label: str
    status: str = "ok"
    note: str = ""
    unit: str = "ns"
    median: float | None = None
    low: float | None = None
    high: float | None = None
    best: float | None = None
    samples: int = 0
    inner: int = 1

    @classmethod
    def of(cls, label: str, samples: list[float], *, unit: str = "ns", inner: int = 1) -> Result:
        """Median, quartiles and best of the samples."""
        ordered = sorted(samples)
        low, high = ordered[0], ordered[-1]
        if len(ordered) > 1:
            low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
        middle = statistics.median(ordered)
        return cls(label, "ok", "", unit, middle, low, high, ordered[0], len(ordered), inner)

    def as_json(self) -> dict[str, object]:
        """The same as a dictionary."""
        return asdict(self)


def probe(call: Call, cap: float) -> tuple[str, float]:
    """Time one call in a forked child: ("ok", ns), ("over the cap", cap in ns) or (a failure, 0).

    The second of two calls counts where the first one was short: it finds the caches filled.
    """
    reader, writer = os.pipe()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _answer(call, cap, writer)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], cap + 1)
    answer = os.read(reader, 65536) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if answer:
        status, value = pickle.loads(answer)  # noqa: S301 - written by our own child just now
        return ("over the cap", cap * 1e9) if value > cap * 1e9 else (status, value)
    if ready:
        return "failed: the child process ended without an answer", 0.0
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    if busy < cap / 4:
        return "failed: the call waited instead of working", 0.0
    return "over the cap", cap * 1e9


def _answer(call: Call, cap: float, writer: int) -> None:
    """In the child: time the call, send the answer, and leave without any clean-up."""
    try:
        answer: tuple[str, float] = "ok", float(_timed(call, 1))
        if answer[1] < cap * 1e9 / 2:
            answer = "ok", float(_timed(call, 1))
    except Exception as error:  # noqa: BLE001 - whatever a contender raises goes into the table
        answer = f"failed: {type(error).__name__}: {error}"[:300], 0.0
    os.write(writer, pickle.dumps(answer))
    os._exit(0)


def apart(work: Callable[[], list[Result]]) -> list[Result]:
    """Do something in a forked child, so that it leaves nothing behind in this process."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as stream:
                pickle.dump(work(), stream)
            status = 0
        except BaseException:  # noqa: BLE001 - told on standard error; the parent goes on
            traceback.print_exc()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else []  # noqa: S301 - written by our own child


def measure(entries: list[tuple[str, Callable[[], Call]]], settings: Settings) -> list[Result]:
    """Measure entries (label, prepare) against one another; `prepare` returns the call."""
    results: dict[str, Result] = {}
    ready: dict[str, tuple[Call, float]] = {}
    for label, prepare in entries:
        try:
            call = prepare()
        except (Unavailable, ImportError, AttributeError) as error:
            results[label] = Result(label, "not available", str(error)[:200])
            continue
        status, value = probe(call, settings.cap)
        if status == "ok" and value <= settings.alone * 1e9:
            ready[label] = call, value
        elif status == "ok":
            results[label] = Result.of(label, [value])
            results[label].note = "one run, in a child process"
        else:
            results[label] = Result(label, status)
    gc.collect()
    gc.disable()
    try:
        results.update(_interleaved(ready, settings))
    finally:
        gc.enable()
    return [results[label] for label, _ in entries]


def _interleaved(ready: dict[str, tuple[Call, float]], settings: Settings) -> dict[str, Result]:
    inner: dict[str, int] = {}
    wanted: dict[str, int] = {}
    fewest, most = settings.rounds
    for label, (call, _) in ready.items():
        call()
        each = max(1, min(_timed(call, 1), _timed(call, 1)))
        inner[label] = max(1, _SHORTEST_SAMPLE // each)
        wanted[label] = int(settings.seconds * 1e9 / (each * inner[label]))
        wanted[label] = min(max(wanted[label], fewest), most)
    samples: dict[str, list[float]] = {label: [] for label in ready}
    for label in _turns(wanted):
        samples[label].append(_timed(ready[label][0], inner[label]) / inner[label])
    return {label: Result.of(label, taken, inner=inner[label]) for label, taken in samples.items()}


def _turns(wanted: dict[str, int]) -> Iterator[str]:
    """Whose turn it is: rounds in random order, in which everyone's turns are evenly spread."""
    order = random.Random(20240601)  # noqa: S311 - no secret
    rounds = max(wanted.values(), default=0)
    for number in range(rounds):
        due = [
            label
            for label, count in wanted.items()
            if (number + 1) * count // rounds > number * count // rounds
        ]
        order.shuffle(due)
        yield from due


def _timed(call: Call, count: int) -> int:
    """Nanoseconds that `count` calls take."""
    turns = range(count)
    start = time.perf_counter_ns()
    for _ in turns:
        call()
    return time.perf_counter_ns() - start

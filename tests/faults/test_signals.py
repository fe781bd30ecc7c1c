"""Real timed signals while the default source draws: each ends its call, and no later one.

No statistics and no limits of time: a run without a signal inside a draw tests nothing, so each
test goes on until the signal has struck there often enough.
"""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
import pytest
from effort import LONG

import safeselect
from safeselect.randomness.source import default_source

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timed signals"
)

SCORES = np.zeros(50_000, np.int64)  # most of a call is spent in draws
HITS = 20 if LONG else 10


class Limit(Exception):
    """A soft time limit, as servers raise it from a signal handler."""


class Missing(OSError):
    """One that looks like a failure of the system."""


def release() -> int | None:
    return safeselect.permute_and_flip(SCORES, epsilon=1, sensitivity=1).index


@pytest.fixture
def alarm() -> Iterator[Callable[[float, BaseException], None]]:
    """Raise an exception in so many seconds, from the handler of a real signal."""
    due: list[BaseException] = []

    def handler(number: int, frame: object) -> None:
        if due:
            raise due.pop()

    before = signal.signal(signal.SIGALRM, handler)

    def start(seconds: float, error: BaseException) -> None:
        due[:] = [error]
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield start
    due.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("kind", [Limit, KeyboardInterrupt, TimeoutError, Missing, MemoryError])
def test_a_signal_ends_one_call(alarm, kind):
    release()
    hits = 0
    for microseconds in cycle(range(20, 600, 7)):
        error: BaseException | None = None
        try:
            alarm(microseconds / 10**6, kind("now"))
            while True:
                release()
        except (kind, safeselect.SourceError) as raised:
            error = raised
        # What a handler raises arrives as it is, but for what looks like the system's failure.
        assert type(error) is kind or kind is Missing
        places = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
        hits += bool(places & {"_attempt", "_draw"}) or isinstance(error, safeselect.SourceError)
        for _ in range(3):
            assert release() is not None
        if hits == HITS:
            return


def test_a_signal_while_the_first_draw_is_prepared():
    """In processes of their own: the start-up tests and the import of ssl are interrupted."""
    code = (
        "import signal, sys, safeselect\n"
        "class Limit(Exception): pass\n"
        "def handler(*_): raise Limit\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "ended = 0\n"
        "for attempt in range(200):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))\n"
        "        safeselect.sources.default_source().begin()\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "        break\n"
        "    except Exception: ended += 1  # the import may make another error of it\n"
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1)\n"
        "print(ended)\n"
    )
    ended = 0
    for seconds in ("0.00005", "0.0003", "0.0008", "0.002"):
        done = subprocess.run(
            [sys.executable, "-c", code, seconds], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        ended += int(done.stdout)
    assert ended > 0


def test_a_failure_of_the_system_ends_one_call_of_the_default_source_too(monkeypatch):
    """But a source that was built by its user, and one that failed a test, stay failed."""
    monkeypatch.setattr(safeselect.randomness.source, "_current", None)
    release()
    own, failed = safeselect.sources.OpenSSLSource(), default_source()
    own.begin()

    def gone(count: int) -> bytes:
        raise OSError(5, "0xdeadbeef")

    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", gone)
        for source in (None, own):
            with pytest.raises(safeselect.SourceError, match=r"OpenSSL's generator failed$"):
                safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1, source=source)
    release()
    assert default_source() is not failed
    with pytest.raises(safeselect.SourceError, match="cannot be used again"):
        own.begin()

    broken = default_source()
    with monkeypatch.context() as patch:
        patch.setattr(ssl, "RAND_bytes", lambda count: b"\x17" * count)
        with pytest.raises(safeselect.SourceError, match="repeats its output"):
            broken.fill(bytearray(1024))  # of fewer bytes, the kernel's would be in all
    assert default_source() is broken
    with pytest.raises(safeselect.SourceError, match="cannot be used again"):
        release()

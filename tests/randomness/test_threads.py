"""Eight threads on one source: no byte twice, no deadlock, no mixed buffers."""

import os
import threading

import pytest

from safeselect.randomness.source import OpenSSLSource
from safeselect.sources import CallbackSource, CombinedSource, SystemSource

THREADS, ROUNDS = 8, 200


@pytest.mark.claim("C6")
@pytest.mark.parametrize(
    "build",
    [
        OpenSSLSource,
        SystemSource,
        lambda: CombinedSource(OpenSSLSource(), SystemSource()),
        lambda: CallbackSource(os.urandom),
        lambda: CallbackSource(os.urandom, exclusive=True),
    ],
)
def test_eight_threads(build):
    source, found, errors = build(), [], []
    barrier = threading.Barrier(THREADS)

    def work():
        try:
            barrier.wait(timeout=30)
            buffer = bytearray(16)
            for _ in range(ROUNDS):
                found.append(source.begin())
                source.fill(buffer)
                found.append(bytes(buffer))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert len(found) == len(set(found)) == 2 * THREADS * ROUNDS


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.slow("forks beside threads")
def test_a_fork_while_other_threads_draw_leaves_no_lock_behind():
    source, stop = OpenSSLSource(), threading.Event()

    def work():
        while not stop.is_set():
            source.begin()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    source.begin()
                    source.fill(bytearray(64))
                    code = 0
                finally:
                    os._exit(code)
            # A child that waits for a lock never ends, and the test run is stopped by its limit.
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()

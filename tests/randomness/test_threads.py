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

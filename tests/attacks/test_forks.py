"""A17: randomness that a fork duplicates."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest
from children import in_child
from ledgers import new, scope

import safeselect
from safeselect import Ledger, SourceError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SCORES = np.zeros(64, dtype=np.int64)


class Buffered:
    """Random bytes of the kernel, asked for in advance: quick, and the same in every child."""

    name = "Buffered"

    def __init__(self, production: bool) -> None:
        self.production = production
        self.stock = hashlib.shake_256(os.urandom(32))
        self.given = 0

    def begin(self) -> bytes:
        nonce = bytearray(16)
        self.fill(nonce)
        return bytes(nonce)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        end = self.given + len(buffer)
        buffer[:] = self.stock.digest(end)[self.given :]
        self.given = end


def release(source: object, **more: object) -> bytes:
    found = [
        safeselect.permute_and_flip(SCORES, epsilon=1, sensitivity=1, source=source, **more).index
        for _ in range(10)
    ]
    return bytes(found)


def test_a17_a_naive_buffer_repeats_itself():
    """Taken as it is, which only a source is that says it is for tests."""
    source = Buffered(production=False)
    assert in_child(lambda: release(source)) == release(source)


def test_a17_behind_our_guard_it_does_not():
    source = Buffered(production=True)
    release(source)
    drawn = [in_child(lambda: release(source)), release(source)]
    assert all(len(each) == 10 and isinstance(each, bytes) for each in drawn)
    assert drawn[0] != drawn[1]  # equal by chance with probability 2**-60


@pytest.mark.claim("C6")
def test_a17_our_sources_do_not():
    for source in (None, safeselect.sources.OpenSSLSource(), safeselect.sources.SystemSource()):
        release(source)
        drawn = [in_child(lambda s=source: release(s)), release(source)]
        assert all(len(each) == 10 and isinstance(each, bytes) for each in drawn)
        assert drawn[0] != drawn[1]  # equal by chance with probability 2**-60
    callback = safeselect.sources.CallbackSource(os.urandom)
    release(callback)
    assert in_child(lambda: release(callback)) == "SourceError"


def test_a17_a_source_that_repeats_itself_is_stopped_by_the_ledger(tmp_path):
    """The second of two releases with one nonce is refused, before its charge."""
    source, path = Buffered(production=False), tmp_path / "budget.db"
    new(path, epsilon=100)

    def spend() -> bytes:
        return release(source, ledger=scope(Ledger.open(path)))

    assert len(in_child(spend)) == 10
    with pytest.raises(SourceError, match="the source repeats its bytes"):
        spend()
    assert Ledger.open(path).check().scopes["a"].spent == {"epsilon": 10}

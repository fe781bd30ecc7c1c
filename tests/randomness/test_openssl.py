"""OpenSSLSource: kernel bytes in every fill, bounded chunks, ssl imported when needed."""

import os
import ssl
import sys

import pytest

from safeselect.errors import SourceError
from safeselect.randomness.guard import CANARY_BYTES
from safeselect.randomness.source import _FEW_BYTES, OpenSSLSource
from safeselect.testing import check_source


@pytest.fixture
def calls(monkeypatch):
    """The calls to ssl, in order, after start-up."""
    seen = []
    add, get = ssl.RAND_add, ssl.RAND_bytes
    monkeypatch.setattr(
        ssl, "RAND_add", lambda data, entropy: (seen.append(("add", data, entropy)), add(data, 0.0))
    )
    monkeypatch.setattr(ssl, "RAND_bytes", lambda n: (seen.append(("bytes", n)), get(n))[1])
    return seen


def test_it_keeps_the_rules():
    assert "fork" in check_source(OpenSSLSource) or not hasattr(os, "fork")


MANY = _FEW_BYTES + 1 - CANARY_BYTES


def test_fresh_kernel_bytes_come_before_every_large_fill(calls):
    source = OpenSSLSource()
    source.begin()
    calls.clear()
    source.fill(bytearray(MANY))
    source.fill(bytearray(0))
    source.fill(bytearray(2 * MANY))
    assert [call[0] for call in calls] == ["add", "bytes"] * 2
    assert [call[1] for call in calls[1::2]] == [MANY + 16, 2 * MANY + 16]
    mixed = [call[1] for call in calls[::2]]
    assert all(len(data) == 32 for data in mixed)
    assert len(set(mixed)) == 2
    assert all(call[2] == 0.0 for call in calls[::2])


def test_few_bytes_are_the_xor_of_both_generators(monkeypatch):
    """Each call draws as many from the kernel as from OpenSSL; one byte more, and it is 32."""
    source = OpenSSLSource()
    source.begin()
    theirs, kernels = [], []
    get, urandom = ssl.RAND_bytes, os.urandom

    def keep(kept, draw):
        return lambda count: (kept.append(draw(count)), kept[-1])[1]

    monkeypatch.setattr(ssl, "RAND_bytes", keep(theirs, get))
    monkeypatch.setattr(os, "urandom", keep(kernels, urandom))
    for size in (1, 64, MANY - 1):
        buffer = bytearray(size)
        source.fill(buffer)
        assert len(theirs[-1]) == len(kernels[-1]) == size + CANARY_BYTES
        both = bytes(a ^ b for a, b in zip(theirs[-1], kernels[-1], strict=True))
        assert (buffer, source._guard._canaries[-1]) == (both[:size], both[size:])
    source.fill(bytearray(MANY))
    assert [len(kernels[-1]), len(theirs[-1])] == [32, MANY + CANARY_BYTES]
    assert source.begin() == bytes(a ^ b for a, b in zip(theirs[-1], kernels[-1], strict=True))


def failing(error):
    return lambda *_: (_ for _ in ()).throw(error)


@pytest.mark.parametrize(
    ("module", "function", "replacement", "sizes"),
    [
        (ssl, "RAND_bytes", failing(ssl.SSLError("secret")), (24, MANY)),
        (ssl, "RAND_bytes", lambda n: bytes(n + 1), (24, MANY)),
        (ssl, "RAND_add", failing(OSError("secret")), (MANY,)),
        (ssl, "RAND_status", lambda: False, (24, MANY)),
        (os, "urandom", failing(OSError("secret")), (24, MANY)),
        (os, "urandom", failing(NotImplementedError("secret")), (24, MANY)),
        (os, "urandom", lambda n: bytes(n - 1), (24,)),
    ],
)
def test_failures_of_either_generator(monkeypatch, module, function, replacement, sizes):
    for size in sizes:
        source = OpenSSLSource()
        source.begin()
        buffer = bytearray(b"\xff" * size)
        with monkeypatch.context() as patch:
            patch.setattr(module, function, replacement)
            with pytest.raises(
                SourceError,
                match=r"generator failed|has not been seeded|return bytes of the requested length",
            ) as caught:
                source.fill(buffer)
        assert buffer == bytes(size)
        assert "secret" not in str(caught.value)
        with pytest.raises(SourceError, match="cannot be used again"):
            source.begin()


def test_without_an_ssl_module_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "ssl", None)
    with pytest.raises(SourceError, match="SystemSource"):
        OpenSSLSource().begin()

"""OpenSSLSource: kernel bytes before every fill, bounded chunks, ssl imported when needed."""

import os
import ssl
import subprocess
import sys

import pytest

from safeselect.errors import SourceError
from safeselect.randomness.source import OpenSSLSource
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


def test_names():
    source = OpenSSLSource()
    assert source.name == "OpenSSLSource"
    assert source.production is True
    assert repr(source) == str(source) == "<OpenSSLSource>"


def test_fresh_kernel_bytes_come_before_every_fill(calls):
    source = OpenSSLSource()
    source.begin()
    calls.clear()
    source.begin()
    source.fill(bytearray(10))
    source.fill(bytearray(0))
    source.fill(bytearray(20))
    assert [call[0] for call in calls] == ["add", "bytes"] * 3
    assert [call[1] for call in calls[1::2]] == [16, 26, 36]
    mixed = [call[1] for call in calls[::2]]
    assert all(len(data) == 32 for data in mixed)
    assert len(set(mixed)) == 3
    assert all(call[2] == 0.0 for call in calls[::2])


def test_chunks_are_bounded(calls):
    source = OpenSSLSource()
    source.begin()
    calls.clear()
    buffer = bytearray(2 * 2**20 + 5)
    source.fill(buffer)
    assert [call[1] for call in calls if call[0] == "bytes"] == [2**20 + 16, 2**20 + 16, 21]
    assert any(buffer[-5:])
    assert any(buffer[2**20 - 8 : 2**20])


@pytest.mark.parametrize(
    ("function", "replacement"),
    [
        ("RAND_bytes", lambda n: (_ for _ in ()).throw(ssl.SSLError("secret"))),
        ("RAND_bytes", lambda n: b""),
        ("RAND_add", lambda data, entropy: (_ for _ in ()).throw(OSError("secret"))),
        ("RAND_status", lambda: False),
    ],
)
def test_failures_of_openssl(monkeypatch, function, replacement):
    source = OpenSSLSource()
    source.begin()
    monkeypatch.setattr(ssl, function, replacement)
    buffer = bytearray(b"\xff" * 24)
    with pytest.raises(
        SourceError, match=r"generator failed|has not been seeded|other than the bytes"
    ) as caught:
        source.fill(buffer)
    assert buffer == bytes(24)
    assert "secret" not in str(caught.value)
    monkeypatch.undo()
    with pytest.raises(SourceError, match="stays failed"):
        source.begin()


def test_without_an_ssl_module_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "ssl", None)
    with pytest.raises(SourceError, match="SystemSource"):
        OpenSSLSource().begin()


def test_importing_the_package_neither_imports_ssl_nor_draws():
    code = (
        "import os, sys; drawn = []; real = os.urandom\n"
        "os.urandom = lambda n: drawn.append(n) or real(n)\n"
        "import safeselect.sources as s; s.OpenSSLSource(); s.default_source()\n"
        "assert 'ssl' not in sys.modules, 'ssl'\n"
        "assert not drawn, 'drawn'\n"
        "s.default_source().begin(); assert 'ssl' in sys.modules and drawn\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

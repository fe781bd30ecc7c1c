"""SystemSource: os.urandom, all of it or an error."""

import os

import pytest

from safeselect.errors import SourceError
from safeselect.sources import SystemSource
from safeselect.testing import check_source


def test_it_keeps_the_rules():
    check_source(SystemSource)


@pytest.mark.parametrize(
    "broken",
    [
        lambda n: (_ for _ in ()).throw(OSError("secret")),
        lambda n: (_ for _ in ()).throw(NotImplementedError),
        lambda n: bytes(n - 1),
        lambda n: bytes(n + 1),
        lambda n: None,
    ],
)
def test_failures_of_the_system(monkeypatch, broken):
    source = SystemSource()
    source.begin()
    monkeypatch.setattr(os, "urandom", broken)
    buffer = bytearray(b"\xff" * 24)
    with pytest.raises(
        SourceError, match=r"returned no random bytes|not return bytes of the requested length"
    ) as caught:
        source.fill(buffer)
    assert buffer == bytes(24)
    assert "secret" not in str(caught.value)
    monkeypatch.undo()
    with pytest.raises(SourceError, match="cannot be used again"):
        source.fill(buffer)

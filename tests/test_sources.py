"""CombinedSource: the XOR of two sources, and an error as soon as either fails."""

import os
from contextlib import nullcontext

import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.source import OpenSSLSource
from safeselect.sources import CallbackSource, CombinedSource, SystemSource
from safeselect.testing import RecordingSource, ReplaySource, check_source


class Plain:
    """A source of somebody else's: the protocol and nothing more."""

    name = "Plain"
    production = True

    def __init__(self, begin=lambda: os.urandom(16), error=None):
        self._begin = begin
        self._error = error

    def begin(self):
        return self._begin()

    def fill(self, buffer, /):
        if self._error is not None:
            buffer[:1] = b"\xa5"
            raise self._error
        buffer[:] = os.urandom(len(buffer))


def test_it_keeps_the_rules():
    check_source(lambda: CombinedSource(SystemSource(), OpenSSLSource()))
    check_source(lambda: CombinedSource(Plain(), CombinedSource(SystemSource(), OpenSSLSource())))


def test_names():
    source = CombinedSource(SystemSource(), OpenSSLSource())
    assert source.name == "CombinedSource(SystemSource, OpenSSLSource)"
    assert source.production is True
    assert repr(source) == "<CombinedSource>"
    assert CombinedSource(SystemSource(), ReplaySource(b"")).production is False


def test_bytes_and_nonces_are_xored():
    parts = [RecordingSource(SystemSource()) for _ in range(2)]
    source = CombinedSource(*parts)
    for size in (1, 2, 31, 1000):
        nonce, buffer = source.begin(), bytearray(size)
        source.fill(buffer)
        nonces = [part.nonces[-1] for part in parts]
        data = [part.data[-size:] for part in parts]
        assert nonce == bytes(x ^ y for x, y in zip(*nonces, strict=True))
        assert bytes(buffer) == bytes(x ^ y for x, y in zip(*data, strict=True))
        assert bytes(buffer) not in data or size < 3


def test_leading_zeros_survive():
    source = CombinedSource(ReplaySource(b"\x01\x02\x03"), ReplaySource(b"\x01\x02\x07"))
    buffer = bytearray(3)
    source.fill(buffer)
    assert buffer == b"\x00\x00\x04"


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("error", [SourceError("constant"), ValueError("secret"), OSError()])
def test_it_fails_if_either_fails(order, error):
    good, bad = SystemSource(), Plain(error=error)
    source, buffer = CombinedSource(*[good, bad][::order]), bytearray(b"\xff" * 16)
    with pytest.raises(SourceError, match="the source failed while drawing bytes") as caught:
        source.fill(buffer)
    assert buffer == bytes(16)
    assert "secret" not in str(caught.value)
    with pytest.raises(SourceError, match="cannot be used again"):
        source.begin()
    good.begin()  # the other part is not to blame


@pytest.mark.parametrize("order", [1, -1])
def test_a_stuck_part_is_noticed_behind_a_good_one(order):
    switch = {"stuck": False}

    def device(count):
        return bytes(count) if switch["stuck"] else os.urandom(count)

    source = CombinedSource(*[SystemSource(), CallbackSource(device, exclusive=True)][::order])
    source.begin()
    switch["stuck"] = True
    source.begin()
    with pytest.raises(SourceError, match="stuck"):
        source.begin()
    with pytest.raises(SourceError, match="cannot be used again"):
        source.begin()


def test_parts_that_cancel_are_noticed():
    state = []

    def device(count):  # gives every answer twice
        if state and len(state[-1]) == count:
            return state.pop()
        state.append(os.urandom(count))
        return state[-1]

    parts = [CallbackSource(device, exclusive=True) for _ in range(2)]
    for part in parts:
        part._guard.health = False  # their own start-up tests would notice as well
    with pytest.raises(SourceError, match="start-up test"):
        CombinedSource(*parts).fill(bytearray(8))


@pytest.mark.parametrize("nonce", [None, b"short", "0123456789abcdef", bytearray(16), bytes(17)])
def test_a_wrong_nonce_of_a_part_is_an_error(nonce):
    source = CombinedSource(SystemSource(), Plain(begin=lambda: nonce))
    with pytest.raises(SourceError, match="not return bytes of the requested length"):
        source.begin()


@pytest.mark.parametrize("error", [None, SourceError("constant"), KeyboardInterrupt()])
def test_the_second_parts_bytes_are_wiped(error):
    kept = []

    class Keeping(Plain):
        def fill(self, buffer, /):
            kept.append(buffer)
            buffer[:] = os.urandom(len(buffer))
            if error is not None:
                raise error

    source = CombinedSource(SystemSource(), Keeping())
    expected = nullcontext() if error is None else pytest.raises(type(error))
    with expected:
        source.fill(bytearray(16))
    assert kept
    assert not any(map(any, kept))


def test_one_source_twice_is_refused():
    source = SystemSource()
    with pytest.raises(ParameterError, match="two distinct"):
        CombinedSource(source, source)


@pytest.mark.parametrize("other", [None, 7, os.urandom, SystemSource])
def test_what_is_no_source_is_refused(other):
    with pytest.raises(ParameterError, match=r"is not a source|cannot be a seed|not a class"):
        CombinedSource(SystemSource(), other)
    with pytest.raises(ParameterError, match=r"is not a source|cannot be a seed|not a class"):
        CombinedSource(other, SystemSource())

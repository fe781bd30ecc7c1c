"""The sources for tests: repeatable, refused in production, and one process each."""

import copy
import hashlib
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.sources import SystemSource
from safeselect.testing import (
    DeterministicSource,
    RecordingSource,
    ReplaySource,
    SensitivityExceeded,
)

VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


@pytest.fixture(autouse=True)
def _soft(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def deterministic(seed):
    return DeterministicSource(seed, i_understand_this_is_not_private=True)


def take(source, size):
    buffer = bytearray(size)
    source.fill(buffer)
    return bytes(buffer)


class TestDeterministicSource:
    def test_the_stream_is_the_one_documented(self):
        stream = b"".join(
            hashlib.shake_256(b"seed" + i.to_bytes(8, "big")).digest(4096) for i in range(3)
        )
        source, sizes = deterministic(b"seed"), [16, 1, 0, 4000, 4096, 3000]
        start = 0
        for position, size in enumerate(sizes):
            drawn = source.begin() if position == 0 else take(source, size)
            assert drawn == stream[start : start + size]
            start += size

    @pytest.mark.parametrize(("seed", "same"), [("12", b"12"), (12, b"12"), ("é", b"\xc3\xa9")])
    def test_seeds(self, seed, same):
        assert take(deterministic(seed), 32) == take(deterministic(same), 32)
        assert take(deterministic(seed), 32) != take(deterministic(b"other"), 32)

    @pytest.mark.parametrize("seed", [None, 1.0, True, bytearray(b"x"), [1]])
    def test_other_seeds_are_refused(self, seed):
        with pytest.raises(ParameterError, match="the seed must be"):
            deterministic(seed)

    @pytest.mark.parametrize("options", [{}, {"i_understand_this_is_not_private": 1}])
    def test_the_keyword_is_needed(self, options):
        with pytest.raises(ParameterError, match="i_understand_this_is_not_private=True"):
            DeterministicSource(b"", **options)


class TestReplaySource:
    def test_the_tape_is_played_once(self):
        source = ReplaySource(b"abcdefgh")
        assert [take(source, 3), take(source, 0), take(source, 5)] == [b"abc", b"", b"defgh"]
        assert source.left == 0
        buffer = bytearray(b"\xff")
        with pytest.raises(SourceError, match="no bytes are left to replay"):
            source.fill(buffer)
        assert buffer == b"\x00"

    def test_a_request_beyond_the_end_plays_nothing_and_latches(self):
        source, buffer = ReplaySource(b"abc"), bytearray(b"\xff" * 4)
        with pytest.raises(SourceError, match="no bytes are left to replay"):
            source.fill(buffer)
        assert buffer == bytes(4)
        with pytest.raises(SourceError, match="cannot be used again"):
            take(source, 1)

    def test_nonces_are_replayed_then_counted(self):
        source = ReplaySource(b"xy", nonces=[b"a" * 16, b"a" * 16])
        assert [source.begin() for _ in range(4)] == [
            b"a" * 16,
            b"a" * 16,
            bytes(15) + b"\x02",
            bytes(15) + b"\x03",
        ]
        assert take(source, 2) == b"xy"  # the tape feeds fill alone

    @pytest.mark.parametrize("data", [None, "text", 3, [1], memoryview(b"x")])
    def test_other_tapes_are_refused(self, data):
        with pytest.raises(ParameterError, match="the bytes to replay must be bytes or a bytearr"):
            ReplaySource(data)

    @pytest.mark.parametrize("nonces", [[b"short"], ["x" * 16], [None]])
    def test_other_nonces_are_refused(self, nonces):
        with pytest.raises(ParameterError, match="nonces"):
            ReplaySource(b"", nonces=nonces)


class TestRecordingSource:
    def test_it_keeps_everything_and_changes_nothing(self):
        source = RecordingSource(ReplaySource(b"abcdef", nonces=[b"n" * 16]))
        assert source.begin() == b"n" * 16
        assert [take(source, 2), take(source, 0), take(source, 3)] == [b"ab", b"", b"cde"]
        assert (source.requests, source.data) == ([2, 3], b"abcde")
        assert (source.nonces, source.name) == ([b"n" * 16], "RecordingSource(ReplaySource)")
        assert source.production is False

    def test_failures_pass_through(self):
        source, buffer = RecordingSource(ReplaySource(b"abc")), bytearray(b"\xff" * 4)
        with pytest.raises(SourceError, match="no bytes are left to replay"):
            source.fill(buffer)
        assert (buffer, source.requests) == (bytes(4), [4])
        assert source.data == b""

    def test_only_sources_are_recorded(self):
        with pytest.raises(ParameterError, match="an object of type Generator cannot be the sour"):
            RecordingSource(np.random.default_rng(1))


BUILD = [
    lambda: deterministic(1),
    lambda: ReplaySource(bytes(100)),
    lambda: RecordingSource(SystemSource()),
]


@pytest.mark.parametrize("build", BUILD)
def test_sources_for_tests_are_refused_when_hardened(monkeypatch, build):
    built_before = build()
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ParameterError, match=VARIABLE):
        build()
    with pytest.raises(ParameterError, match=VARIABLE):
        built_before.begin()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("build", BUILD)
def test_sources_for_tests_raise_in_a_forked_child(build):
    source = build()
    source.begin()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            take(source, 4)
        except SourceError:
            code = 0
        finally:
            os._exit(code)
    assert (os.waitpid(child, 0)[1], len(take(source, 4))) == (0, 4)


def test_exceptions_of_checks_can_be_copied_and_sources_cannot():
    assert "1/2" in str(SensitivityExceeded(1, "range", 0, Fraction(1, 2)))
    with pytest.raises(TypeError, match="ReplaySource objects cannot be copied or pickled,"):
        copy.copy(ReplaySource(b""))
    with pytest.raises(TypeError, match="ReplaySource objects cannot be copied or pickled,"):
        pickle.dumps(ReplaySource(b""))

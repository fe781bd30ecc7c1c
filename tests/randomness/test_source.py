"""The default source, and what `source=` takes."""

import os
import random

import numpy as np
import pytest

from safeselect.errors import ParameterError
from safeselect.randomness.source import (
    OpenSSLSource,
    Source,
    default_source,
    require_production,
    resolve,
)
from safeselect.sources import CallbackSource, CombinedSource, SystemSource
from safeselect.testing import RecordingSource, ReplaySource

VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


@pytest.fixture(autouse=True)
def _soft(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_default_is_one_openssl_source():
    assert type(default_source()) is OpenSSLSource
    assert default_source() is default_source() is resolve(None)


@pytest.mark.parametrize(
    "source",
    [
        OpenSSLSource(),
        SystemSource(),
        CombinedSource(OpenSSLSource(), SystemSource()),
        CallbackSource(os.urandom),
    ],
)
@pytest.mark.parametrize("hardened", [False, True])
def test_sources_for_production_are_taken(monkeypatch, source, hardened):
    if hardened:
        monkeypatch.setenv(VARIABLE, "1")
    assert resolve(source) is source
    assert isinstance(source, Source)


class Plain:
    def __init__(self, **changes):
        self.name = "Plain"
        self.production = True
        self.begin = lambda: bytes(16)
        self.fill = lambda buffer: None
        self.__dict__.update(changes)


class Static:
    """Its class has all four members too, and still is no source."""

    name, production = "Static", True

    def begin(self):
        return bytes(16)

    def fill(self, buffer, /):
        buffer[:] = bytes(len(buffer))


@pytest.mark.claim("C7")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Static, r"pass Static\(\)"),
        (np.random.default_rng(1), "can be predicted"),
        (np.random.PCG64(1), "can be predicted"),
        (random.Random(1), "can be predicted"),
        (7, "source cannot be a seed"),
        ("seed", "source cannot be a seed"),
        (OpenSSLSource, r"pass OpenSSLSource\(\)"),
        (os.urandom, "wrap a function that returns n bytes in CallbackSource"),
        (random.SystemRandom(), "are missing or have the wrong type"),
        (Plain(name=3), "are missing or have the wrong type"),
        (Plain(production=1), "are missing or have the wrong type"),
        (Plain(fill=b""), "are missing or have the wrong type"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_other_things_are_refused_with_a_helpful_sentence(value, words):
    with pytest.raises(ParameterError, match=words) as caught:
        resolve(value)
    assert "Omit source to use the default" in str(caught.value)
    assert "0x" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), ("", False), ("1", True), ("0", True), ("false", True), (" ", True)],
)
def test_the_environment_can_only_harden(monkeypatch, value, expected):
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert require_production() is expected


@pytest.mark.claim("C7")
def test_sources_for_tests_are_refused_when_hardened(monkeypatch):
    replay = ReplaySource(bytes(100))
    sources = [replay, RecordingSource(replay), CombinedSource(SystemSource(), replay)]
    sources.append(Plain(production=False))
    for source in sources:
        assert resolve(source).production is False
    monkeypatch.setenv(VARIABLE, "1")
    for source in sources:
        with pytest.raises(ParameterError, match=VARIABLE):
            resolve(source)
    monkeypatch.delenv(VARIABLE)
    assert resolve(replay) is replay

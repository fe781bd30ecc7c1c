"""CallbackSource: every wrong answer of the function is an error, and nothing but an error."""

import os
import random
import traceback
from functools import partial

import numpy as np
import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.sources import CallbackSource, observed
from safeselect.testing import check_source


class Device:
    """A function that works until it is told otherwise, and counts."""

    def __init__(self):
        self.sizes = []
        self.answer = os.urandom

    def __call__(self, count):
        self.sizes.append(count)
        return self.answer(count)


class Bytes(bytes):
    pass


def raising(error):
    def answer(count):
        raise error

    return answer


def after(good, bad):
    """Answers correctly so many times, then wrongly."""
    left = [good]

    def answer(count):
        left[0] -= 1
        return os.urandom(count) if left[0] >= 0 else bad(count)

    return answer


WRONG = {
    "None": lambda n: None,
    "short": lambda n: os.urandom(n - 1),
    "bytearray": lambda n: bytearray(n),
    "subclass": lambda n: Bytes(n),
    "str": lambda n: "x" * n,
    "ValueError": raising(ValueError("0xdeadbeef")),
    "SourceError": raising(SourceError("0xdeadbeef")),
}


@pytest.mark.claim("C5")
@pytest.mark.parametrize(("exclusive", "good"), [(False, 0), (True, 0), (False, 1), (True, 2)])
@pytest.mark.parametrize("wrong", WRONG)
def test_every_wrong_answer_is_an_error(exclusive, good, wrong):
    """At once, or after some good requests, of at most 2**20 bytes and a canary each."""
    device = Device()
    source = CallbackSource(device, exclusive=exclusive)
    source.begin()
    device.answer = after(good, WRONG[wrong])
    device.sizes.clear()
    size = 16 + good * 2**20
    buffer = bytearray(b"\xff" * size)
    with pytest.raises(
        SourceError, match=r"failed while drawing|not return bytes of the requested length"
    ) as caught:
        source.fill(buffer)
    assert (buffer, len(device.sizes)) == (bytes(size), good + 1)
    assert "deadbeef" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    device.answer = os.urandom
    asked = len(device.sizes)
    with pytest.raises(SourceError, match="cannot be used again"):
        source.fill(buffer)
    with pytest.raises(SourceError, match="cannot be used again"):
        source.begin()
    assert len(device.sizes) == asked  # a failed source asks no more


def test_otherwise_the_systems_bytes_are_mixed_in(monkeypatch):
    device = Device()
    source = CallbackSource(device)
    source.begin()
    device.answer = lambda n: b"\x0f" * (n - 16) + bytes(range(16)) if n > 16 else b"\x0f" * n
    monkeypatch.setattr(
        os, "urandom", lambda n: b"\x3c" * (n - 16) + bytes(range(16)) if n > 16 else b"\x3c" * n
    )
    buffer = bytearray(8)
    source.fill(buffer)
    assert (buffer, source.begin()) == (b"\x33" * 8, b"\x33" * 16)


@pytest.mark.parametrize("exclusive", [False, True])
def test_it_keeps_the_rules(exclusive):
    check_source(lambda: CallbackSource(os.urandom, exclusive=exclusive))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "CallbackSource()"),
        ({"name": "hsm-1"}, "CallbackSource(hsm-1)"),
        ({"exclusive": True}, "CallbackSource(exclusive=True)"),
        ({"exclusive": True, "name": "hsm-1"}, "CallbackSource(hsm-1, exclusive=True)"),
    ],
)
def test_names(options, name):
    source = CallbackSource(os.urandom, **options)
    assert source.name == name
    assert source.production is True
    assert repr(source) == "<CallbackSource>"


@pytest.mark.parametrize(
    "options",
    [{"name": ""}, {"name": "a\nb"}, {"name": "x" * 65}, {"exclusive": 1}, {"fork_safe": None}],
)
def test_wrong_arguments_are_refused(options):
    with pytest.raises(ParameterError, match=" must be "):
        CallbackSource(os.urandom, **options)


def test_a_generator_for_simulations_is_known_behind_partial_functions():
    for method in (random.Random(1).randbytes, np.random.default_rng(1).bytes):
        for function in (partial(method), partial(partial(method))):
            with pytest.raises(ParameterError, match="output is predictable"):
                CallbackSource(function, exclusive=True)
    assert observed(CallbackSource(partial(os.urandom))).health == "not tested"

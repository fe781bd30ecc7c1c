"""Sources that are wrong, or lie, behind the guard: an error, or the right law, whatever they do.

Statistical tests: each counts N outcomes of chance 1/2, or bytes, and alarms if the count is off by
more than the limit of a two-sided test at 1e-9 (6.11 standard deviations; Hoeffding's bound
exp(-2 t^2 / N) is used, which is larger).  Power: where a source's own bytes were used, the winner
among ties would be the same in every call, and the count off by N / 2.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import safeselect
from safeselect import ParameterError, SourceError
from safeselect.randomness.bits import Bits
from safeselect.randomness.foreign import ForeignSource
from safeselect.randomness.source import resolve
from safeselect.sources import CallbackSource, CombinedSource, OpenSSLSource, SystemSource, observed

VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"
MODES = [None, "1", "asserted"]
CALLS = 400
LIMIT = math.sqrt(CALLS * math.log(2e9) / 2)  # 65.5: Hoeffding, two-sided, 1e-9


def hardened(monkeypatch, word):
    if word is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, word)


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    hardened(monkeypatch, request.param)
    return request.param


class Hostile:
    """Keeps the form of the protocol and lies about the rest; the name is borrowed."""

    name = "OpenSSLSource"
    production = True

    def __init__(self, write: Callable[[Any], object], begin: Callable[[], Any] | None = None):
        self.write = write
        self.begins = begin or (lambda: os.urandom(16))

    def begin(self) -> Any:
        return self.begins()

    def fill(self, buffer: Any, /) -> None:
        self.write(buffer)


def partly(buffer):
    size = len(buffer) // 16
    buffer[:size] = os.urandom(size)


def repeating(block):
    def write(buffer):
        buffer[:] = (block * (len(buffer) // len(block) + 1))[: len(buffer)]

    return write


def seeded():
    generator = random.Random(1)

    def write(buffer):
        buffer[:] = generator.randbytes(len(buffer))

    return write


def same_every_time(buffer):
    buffer[:] = hashlib.shake_256(b"seed").digest(len(buffer))


def stuck_after(good):
    left = [good]

    def write(buffer):
        size = min(left[0], len(buffer))
        left[0] -= size
        buffer[:] = os.urandom(size) + b"\x17" * (len(buffer) - size)

    return write


def altering_later():
    kept = []

    def write(buffer):
        for each in kept:
            each[:] = bytes(len(each))
        buffer[:] = os.urandom(len(buffer))
        kept.append(buffer)

    return write


def releasing(buffer):
    memory = buffer.obj
    buffer.release()
    memory.clear()


def beyond(buffer):
    buffer[:] = os.urandom(len(buffer) + 1)


def good(buffer):
    buffer[:] = os.urandom(len(buffer))


def raising(buffer):
    buffer[:1] = b"\xa5"
    raise SourceError("0xdeadbeef")


SOURCES: dict[str, Callable[[], Hostile]] = {
    "good": lambda: Hostile(good),
    "a sixteenth": lambda: Hostile(partly),
    "nothing": lambda: Hostile(lambda buffer: len(buffer)),
    "one value": lambda: Hostile(repeating(b"\x5a")),
    "period 2": lambda: Hostile(repeating(b"\x5a\xa5")),
    "one block of 16": lambda: Hostile(repeating(os.urandom(16))),
    "seeded": lambda: Hostile(seeded()),
    "the same every time": lambda: Hostile(same_every_time),
    "stuck after 1": lambda: Hostile(stuck_after(1)),
    "stuck after 5000": lambda: Hostile(stuck_after(5000)),
    "altering later": lambda: Hostile(altering_later()),
    "releasing": lambda: Hostile(releasing),
    "beyond": lambda: Hostile(beyond),
    "raising": lambda: Hostile(raising),
    "constant nonce": lambda: Hostile(good, lambda: b"n" * 16),
    "long nonce": lambda: Hostile(good, lambda: os.urandom(17)),
    "does not have": lambda: Hostile(good, lambda: None),
}
GOOD = {"good", "altering later"}


def winners(source: object, n: int) -> list[int]:
    """Winners among n ties, until the source fails."""
    found: list[int] = []
    failure: SourceError | None = None
    while failure is None and len(found) < CALLS:
        try:
            one = safeselect.permute_and_flip(
                np.zeros(n, np.int64), epsilon=1, sensitivity=1, source=source
            )
        except SourceError as error:
            failure = error
        else:
            assert one.source == "ForeignSource(OpenSSLSource)"
            found.append(one.index)
    assert "deadbeef" not in str(failure)
    assert failure is None or failure.__context__ is None
    return found


def halves_are_right(found: list[int], n: int) -> bool:
    return abs(sum(2 * index < n for index in found) - len(found) / 2) <= LIMIT


@pytest.mark.claim("C5")
@pytest.mark.claim("C7")
@pytest.mark.parametrize(("n", "word"), [(6, None), (2000, "1"), (6000, "asserted")])
@pytest.mark.parametrize("how", SOURCES)
def test_the_law_is_right_or_it_is_an_error(how, n, word, monkeypatch):
    """Of a source that is mixed, the word says whether it is taken, and nothing of its bytes."""
    hardened(monkeypatch, word)
    source = SOURCES[how]()
    found = winners(source, n)
    assert halves_are_right(found, n)
    if how in GOOD:
        assert len(found) == CALLS
    else:
        assert len(found) == CALLS or observed(resolve(source)).health == "not tested"
    if len(found) < CALLS:  # it stays failed
        with pytest.raises(SourceError, match="cannot be used again"):
            safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1, source=source)


# ------------------------------------------------------------------------- callbacks


@pytest.mark.claim("C7")
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("combined", [False, True])
def test_a_callbacks_bytes_alone_need_the_word_asserted(exclusive, combined, mode):
    """`lambda n: generator.randbytes(n)` passes every test; nobody can tell."""
    generator = random.Random(7)
    source: Any = CallbackSource(lambda n: generator.randbytes(n), exclusive=exclusive)
    source = CombinedSource(source, OpenSSLSource()) if combined else source
    if exclusive and mode == "1":
        with pytest.raises(ParameterError, match=f"set {VARIABLE}=asserted"):
            resolve(source)
        with pytest.raises(ParameterError, match=f"set {VARIABLE}=asserted"):
            Bits(source)
        return
    assert resolve(source) is source
    one = safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1, source=source)
    assert ("exclusive=True" in one.source) == exclusive
    told = observed(source)
    assert (told.production, told.health) == ("asserted", "passed")
    assert told.name == one.source


def test_a_seeded_callback_that_is_mixed_has_the_right_law():
    found = []
    for _ in range(CALLS):
        generator = random.Random(7)
        source = CallbackSource(lambda n, g=generator: g.randbytes(n))
        found.append(
            safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1, source=source).index
        )
    assert halves_are_right(found, 2)
    same = set()
    for _ in range(20):
        generator = random.Random(7)
        source = CallbackSource(lambda n, g=generator: g.randbytes(n), exclusive=True)
        same.add(safeselect.permute_and_flip([0, 0], epsilon=1, sensitivity=1, source=source).index)
    assert len(same) == 1  # the power of the test above


# ------------------------------------------------------------------------- what they claim to be


class Pretending:
    """Claims the class of a source of ours."""

    name, production = "OpenSSLSource", True
    __class__ = OpenSSLSource  # type: ignore[assignment]

    def begin(self):
        return os.urandom(16)

    def fill(self, buffer, /):
        same_every_time(buffer)


class Equal(type):
    """A metaclass whose classes say that they are a source of ours."""

    def __eq__(cls, other):
        return other is OpenSSLSource or type.__eq__(cls, other)

    def __hash__(cls):
        return hash(OpenSSLSource)


class Equalling(Pretending, metaclass=Equal):
    pass


def test_a_class_that_equals_ours_is_seen_through():
    source = Equalling()
    assert type(source) == OpenSSLSource  # noqa: E721 - the lie
    assert type(resolve(source)) is ForeignSource
    assert observed(resolve(source)).production == "asserted"
    with pytest.raises(ParameterError, match="the result of resolve"):
        observed(source)


def test_the_methods_of_ours_on_an_object_of_theirs():
    methods = {each: getattr(OpenSSLSource, each) for each in ("begin", "fill")}
    said = {"name": "OpenSSLSource", "production": True}
    borrowed = type("OpenSSLSource", (), said | methods)()
    with pytest.raises(SourceError, match="failed while drawing"):
        Bits(borrowed).coin()


@pytest.mark.parametrize("member", ["name", "production", "begin", "fill"])
@pytest.mark.parametrize("error", [ValueError("0xdeadbeef"), SourceError("0xdeadbeef")])
def test_a_member_that_raises(member, error):
    def broken(self):
        raise error

    kind = type("Broken", (Hostile,), {member: property(broken)})
    with pytest.raises(ParameterError, match="is not a source") as caught:
        resolve(kind(good))
    assert "deadbeef" not in str(caught.value)


def test_the_engines_memory_is_never_seen():
    """What a foreign source is given is memory of its own, wiped, and larger than the request."""
    kept = []

    def write(buffer):
        good(buffer)
        kept.append(buffer)

    bits, buffer = Bits(Hostile(write)), bytearray(40)
    bits.fill(buffer)
    assert any(buffer)
    assert len(kept[-1]) == 40 + 16
    assert not any(map(any, kept))
    kept[-1][:] = b"\xff" * 56
    assert buffer != b"\xff" * 40


@pytest.mark.parametrize(
    "guarded", [resolve, lambda source: CombinedSource(SystemSource(), source)]
)
def test_a_nonce_that_comes_back_ends_a_call_without_a_ledger(guarded):
    nonce = os.urandom(16)
    source = Hostile(good, lambda: nonce)
    source.name = "n" * 65
    source = guarded(source)
    assert f"ForeignSource({'n' * 64})" in source.name
    Bits(source).fill(bytearray(1))
    with pytest.raises(SourceError, match="the same nonce twice"):
        Bits(source).fill(bytearray(1))


def test_no_source_gets_the_guard_of_another():
    """Members that do not hold their object: it could go, and another come to its place."""

    class Loose:
        name, production = "Loose", True

        def __init__(self, number):
            self.begin = lambda: os.urandom(16)
            self.fill = lambda buffer: (asked.append(number), good(buffer))[1]

    for number in range(100):
        asked: list[int] = []
        resolve(Loose(number)).fill(bytearray(1))
        assert set(asked) == {number}


def test_sources_that_were_met_are_not_kept_for_ever():
    from safeselect.randomness import foreign

    for _ in range(200):
        resolve(Hostile(good))
    assert len(foreign._guards) <= foreign._REMEMBERED


# ------------------------------------------------------------------------- what is observed


def test_nothing_is_passed_before_it_was_tested_nor_after_it_failed():
    device = {"answer": os.urandom}
    for source in (OpenSSLSource(), SystemSource(), resolve(Hostile(good))):
        assert observed(source).health == "not tested"
        source.begin()
        assert observed(source).health == "passed"
    source = CallbackSource(lambda n: device["answer"](n))
    assert observed(source).health == "not tested"
    source.begin()
    assert observed(source).health == "passed"
    device["answer"] = bytes
    with pytest.raises(SourceError, match="repeats its output"):
        source.fill(bytearray(1))
    assert observed(source).health == "not tested"

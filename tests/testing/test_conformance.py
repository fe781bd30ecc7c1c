"""The conformance suite: a careful source passes, and each broken rule is named."""

import hashlib
import itertools
import os

import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.sources import SystemSource
from safeselect.testing import check_source

VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


@pytest.fixture(autouse=True)
def _soft(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


class Careful:
    """A source that keeps the rules without help from the library; the base of the broken ones."""

    name, production = "Careful", True

    def __init__(self):
        self.failed = False

    def begin(self):
        if self.failed:
            raise SourceError("failed")
        return os.urandom(16)

    def fill(self, buffer, /):
        if not isinstance(buffer, (bytearray, memoryview)):
            raise ParameterError("no buffer")
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous or view.format != "B":
            raise ParameterError("no buffer")
        if self.failed:
            view[:] = bytes(len(view))
            raise SourceError("failed")
        self.write(view)

    def write(self, view):
        view[:] = os.urandom(len(view))

    def __reduce_ex__(self, protocol):
        raise TypeError("no copies")

    def __repr__(self):
        return "<Careful>"


class Counting(Careful):
    count = 0

    def write(self, view):
        self.count += 1
        view[:] = hashlib.shake_256(str(self.count).encode()).digest(len(view))


def broken(**members):
    return lambda: type("Broken", (Careful,), members)()


def short_fill(self, view):
    view[:-1] = os.urandom(max(0, len(view) - 1))


def stuck_nonce(self):
    return b"n" * 16


def static_fill(self, view):
    view[:] = (b"\xff" * len(view))[: len(view)]


def one_tail(self, view):
    view[:] = os.urandom(len(view))
    if len(view) > 32:
        view[-16:] = b"n" * 16


def changing():
    answers = itertools.count()
    return property(lambda self: f"Source{next(answers)}")


def plain_reduce(self, protocol):
    return (Careful, ())


def same(made=Careful()):  # noqa: B008
    return made


class TestCheckSource:
    def test_a_careful_source_passes(self):
        assert {*check_source(Careful)} >= {"fills exactly", "no copies", "threads"}

    def test_the_fork_is_tried(self):
        assert ("fork" in check_source(SystemSource)) is hasattr(os, "fork")

    @pytest.mark.parametrize(
        ("factory", "words"),
        [
            (same, "a new source each time"),
            (broken(name=""), "name must not be empty"),
            (broken(begin=lambda self: os.urandom(15)), "not return bytes of the requested length"),
            (broken(begin=stuck_nonce), "same nonce twice"),
            (broken(write=short_fill), "overwrite every byte"),
            (broken(write=static_fill), "start-up test"),
            (broken(write=one_tail), "the tests of each request"),
            (broken(name=changing()), "never change"),
            (broken(__reduce_ex__=plain_reduce), "copied"),
            (broken(__copy__=lambda self: self), "copied"),
            (broken(__deepcopy__=lambda self, memo: self), "copied"),
            (broken(__repr__=lambda self: f"<{id(self)}>"), "repr"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_each_rule_can_fail(self, factory, words):
        with pytest.raises(AssertionError, match=words):
            check_source(factory)

    def test_what_is_no_source_is_refused(self):
        with pytest.raises(
            ParameterError, match="an object of type object is not a source: some of"
        ):
            check_source(object)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_state_copied_by_a_fork_is_found(self):
        with pytest.raises(AssertionError, match="parent's bytes"):
            check_source(Counting)

    def test_threads_that_share_bytes_are_found(self):
        def factory():
            pool = [os.urandom(32) for _ in range(5)]

            def write(self, view):
                view[:] = pool[0] if len(view) == 32 else os.urandom(len(view))
                if len(view) == 32:
                    pool.append(pool.pop(0))

            return broken(write=write)()

        with pytest.raises(AssertionError, match="two threads"):
            check_source(factory)

    def test_threads_that_fail_are_found(self, monkeypatch):
        import threading

        monkeypatch.setattr(threading, "excepthook", lambda args: None)
        main = threading.get_ident()

        def write(self, view):
            if threading.get_ident() != main:
                raise SourceError("only one thread")
            view[:] = os.urandom(len(view))

        with pytest.raises(AssertionError, match="several threads"):
            check_source(broken(write=write))

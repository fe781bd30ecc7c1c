"""The rules that every source keeps, tried on a guard around functions made to break them."""

import os
import threading
from collections import deque

import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import CANARY_BYTES, NONCE_BYTES, Guard


def good(count):
    return os.urandom(count)


def started(draw, **options):
    """A guard whose start-up tests are behind it."""
    switch = {"draw": good}
    guard = Guard(lambda count: switch["draw"](count), **options)
    guard.begin()
    switch["draw"] = draw
    return guard


def broken_at(position, error):
    def draw(count):
        answer = bytearray()
        for i in range(count):
            if i == position:
                raise error
            answer.append(0xA5)
        return bytes(answer)

    return draw


@pytest.mark.parametrize("position", range(32))
@pytest.mark.parametrize("error", [ValueError("a5a5"), MemoryError(), SourceError("constant")])
def test_a_failure_at_any_byte_zeroes_the_buffer_and_latches(position, error):
    guard, buffer = started(broken_at(position, error)), bytearray(b"\xff" * 32)
    with pytest.raises(SourceError, match=r"constant|failed while drawing") as caught:
        guard.fill(buffer)
    assert buffer == bytes(32)
    assert "a5" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for _ in range(2):
        buffer = bytearray(b"\xff" * 16)
        with pytest.raises(SourceError, match="cannot be used again"):
            guard.fill(buffer)
        assert buffer == bytes(16)
        with pytest.raises(SourceError, match="cannot be used again"):
            guard.begin()
    with pytest.raises(SourceError, match="cannot be used again"):
        guard.fill(bytearray())


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_zeroes_the_buffer_and_is_no_failure(interrupt):
    calls = []

    def draw(count):
        calls.append(count)
        if len(calls) == 2:
            raise interrupt
        return good(count)

    guard = started(draw)
    buffer = bytearray(b"\xff" * (2**20 + 32))  # so that half of it is drawn when it comes
    with pytest.raises(interrupt):
        guard.fill(buffer)
    assert buffer == bytes(len(buffer))
    guard.fill(buffer)
    assert any(buffer[-32:])


@pytest.mark.parametrize(
    "buffer",
    [b"12345678", memoryview(b"12345678"), memoryview(bytearray(16)).cast("Q"), [0] * 8, None],
    ids=lambda value: type(value).__name__,
)
def test_other_buffers_are_refused_before_anything_is_drawn(buffer):
    calls = []
    guard = started(lambda count: (calls.append(count), good(count))[1])
    with pytest.raises(ParameterError, match="the buffer to fill must be"):
        guard.fill(buffer)
    assert calls == []
    guard.fill(bytearray(1))  # and the source is not to blame
    assert calls == [1 + CANARY_BYTES]


def test_start_up_tests_run_once_and_before_the_first_bytes():
    sizes = []

    def draw(count):
        sizes.append(count)
        return good(count)

    guard = Guard(draw)
    assert not guard.tested
    guard.fill(bytearray(5))
    tests = [1024] * 4 + [CANARY_BYTES]
    assert sizes == [5 + CANARY_BYTES, *tests]
    assert guard.tested
    guard.begin()
    guard.fill(bytearray(5))
    assert sizes == [5 + CANARY_BYTES, *tests, NONCE_BYTES, 5 + CANARY_BYTES]


def test_a_nonce_repeated_after_others_is_an_error_too():
    nonces = iter([b"a" * 16, b"b" * 16, b"a" * 16])
    guard = Guard(good, nonce=lambda count: next(nonces))
    assert [guard.begin()[:1] for _ in range(2)] == [b"a", b"b"]
    with pytest.raises(SourceError, match="stuck"):
        guard.begin()


def test_threads_that_come_in_between_are_no_alarm():
    """As many others as are remembered begin between a thread's two steps: it lost nothing."""

    class Crowded(deque):
        def append(self, digest):
            super().append(digest)
            for number in range(self.maxlen):
                super().append(b"other %d" % number)

    guard = Guard(good)
    guard._nonces = Crowded(maxlen=guard._nonces.maxlen)
    assert (len(guard.begin()), len(guard.begin())) == (NONCE_BYTES, NONCE_BYTES)


def test_of_two_threads_with_one_nonce_one_is_stopped():
    barrier = threading.Barrier(2)

    def nonce(count):
        barrier.wait(timeout=10)  # both are past every earlier check
        return b"n" * count

    guard, outcomes = Guard(good, nonce=nonce), []

    def work():
        try:
            outcomes.append(guard.begin())
        except SourceError:
            outcomes.append("stopped")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "stopped" in outcomes


def test_bytes_for_samplers_are_never_looked_at():
    guard = started(lambda count: bytes(count - CANARY_BYTES) + good(CANARY_BYTES))
    for size in (4096, 4096, 1, 2**20, 3 * 2**20 + 1):
        buffer = bytearray(b"\xff" * size)
        guard.fill(buffer)
        assert buffer == bytes(size)


def answers_of(canaries):
    """Fresh bytes, behind them one canary after the other."""
    left = iter(canaries)
    return lambda count: good(count - CANARY_BYTES) + next(left)


@pytest.mark.claim("C5")
@pytest.mark.parametrize("size", [1, 16, 256, 4096])
@pytest.mark.parametrize(
    "canary", [bytes(16), b"\xff" * 16, b"\x5a\xa5" * 8, b"abcd" * 4, b"abcdefgh" * 2]
)
def test_a_canary_of_one_value_is_noticed_at_once(canary, size):
    guard, buffer = started(answers_of([canary])), bytearray(b"\xff" * size)
    with pytest.raises(SourceError, match="the source is stuck: it repeats its output"):
        guard.fill(buffer)
    assert buffer == bytes(size)
    assert guard.failed
    assert guard.unfit
    assert not guard.tested
    with pytest.raises(SourceError, match="cannot be used again"):
        guard.begin()


@pytest.mark.claim("C5")
@pytest.mark.parametrize("between", [0, 1, 2, 30])
def test_a_canary_that_comes_back_is_noticed(between):
    """Periods up to 31 requests; a larger one, or another phase, is not claimed to be noticed."""
    canaries = [good(16) for _ in range(between + 1)]
    guard = started(answers_of([*canaries, canaries[0]]))
    for _ in canaries:
        guard.fill(bytearray(8))
    with pytest.raises(SourceError, match="repeats its output"):
        guard.fill(bytearray(8))


class Limit(Exception):
    """What a soft time limit raises."""


@pytest.mark.parametrize("error", [Limit("0xa5"), TimeoutError(), MemoryError(), ValueError()])
def test_what_comes_from_outside_ends_one_call_of_a_draw_that_is_vouched_for(error):
    left = [error]

    def draw(count):
        if left:
            raise left.pop()
        return good(count)

    guard, buffer = started(draw, vouched=True), bytearray(b"\xff" * 32)
    with pytest.raises(type(error), match=f"^{error}$"):
        guard.fill(buffer)
    assert buffer == bytes(32)
    assert not guard.failed
    guard.fill(buffer)
    assert any(buffer)


@pytest.mark.parametrize("inner", ["begin", "fill"])
def test_a_source_that_asks_itself_is_refused_inside(inner):
    seen = []

    def draw(count):
        buffer = bytearray(b"\xff" * 8)
        try:
            guard.begin() if inner == "begin" else guard.fill(buffer)
        except SourceError as error:
            seen.append((str(error), bytes(buffer)))
            raise
        return good(count)

    guard = started(draw)
    with pytest.raises(SourceError, match="while it was already drawing"):
        guard.fill(bytearray(8))
    left = b"\xff" * 8 if inner == "begin" else bytes(8)
    assert seen == [("the source was asked for bytes while it was already drawing bytes", left)]


def test_another_thread_may_draw_meanwhile():
    inside, go_on = threading.Event(), threading.Event()

    def draw(count):
        if count == 7 + CANARY_BYTES:
            inside.set()
            assert go_on.wait(timeout=10)
        return good(count)

    guard = started(draw)
    slow = threading.Thread(target=guard.fill, args=(bytearray(7),))
    slow.start()
    assert inside.wait(timeout=10)
    guard.fill(bytearray(9))
    go_on.set()
    slow.join()
    guard.begin()

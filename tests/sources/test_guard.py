"""The rules that every source keeps, tried on a guard around functions made to break them."""

import gc
import threading
from collections import deque

import numpy as np
import pytest

from safeselect.errors import ParameterError, SourceError
from safeselect.sources import NONCE_BYTES, SystemSource
from safeselect.sources._guard import Guard


def good(view):
    SystemSource().fill(view)


def started(draw, **options):
    """A guard whose start-up tests are behind it."""
    switch = {"draw": good}
    guard = Guard(lambda view: switch["draw"](view), **options)
    guard.begin()
    switch["draw"] = draw
    return guard


def broken_at(position, error):
    def draw(view):
        for i in range(len(view)):
            if i == position:
                raise error
            view[i] = 0xA5

    return draw


@pytest.mark.parametrize("position", range(32))
@pytest.mark.parametrize("error", [ValueError("a5a5"), MemoryError(), SourceError("constant")])
def test_a_failure_at_any_byte_zeroes_the_buffer_and_latches(position, error):
    guard = started(broken_at(position, error))
    buffer = bytearray(b"\xff" * 32)
    with pytest.raises(SourceError) as caught:
        guard.fill(buffer)
    assert buffer == bytes(32)
    assert "a5" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for _ in range(2):
        buffer = bytearray(b"\xff" * 16)
        with pytest.raises(SourceError, match="stays failed"):
            guard.fill(buffer)
        assert buffer == bytes(16)
        with pytest.raises(SourceError, match="stays failed"):
            guard.begin()
    with pytest.raises(SourceError, match="stays failed"):
        guard.fill(bytearray())


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_zeroes_the_buffer_and_is_no_failure(interrupt):
    calls = []

    def draw(view):
        calls.append(len(view))
        view[:4] = b"\xa5" * 4
        if len(calls) == 1:
            raise interrupt
        good(view)

    guard = started(draw)
    buffer = bytearray(b"\xff" * 32)
    with pytest.raises(interrupt):
        guard.fill(buffer)
    assert buffer == bytes(32)
    guard.fill(buffer)
    assert buffer != bytes(32)


def test_only_the_slice_asked_for_is_written():
    guard = started(good)
    buffer = bytearray(64)
    guard.fill(memoryview(buffer)[16:48])
    assert buffer[:16] == bytes(16) == buffer[48:]
    assert buffer[16:48] != bytes(32)


class Liar(bytearray):
    def __len__(self):
        return 0


@pytest.mark.parametrize(
    "buffer",
    [
        b"12345678",
        memoryview(b"12345678"),
        memoryview(bytearray(16))[::2],
        memoryview(bytearray(16)).cast("Q"),
        memoryview(bytearray(16)).cast("b"),
        np.zeros((4, 4), np.uint8).T[1:].data,
        np.zeros(4, np.uint8),
        [0] * 8,
        "12345678",
        Liar(8),
        8,
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_buffers_are_refused_before_anything_is_drawn(buffer):
    calls = []
    guard = started(lambda view: calls.append(len(view)))
    with pytest.raises(ParameterError):
        guard.fill(buffer)
    assert calls == []
    guard.fill(bytearray(1))  # and the source is not to blame
    assert calls == [1]


def test_a_released_view_is_refused():
    view = memoryview(bytearray(8))
    view.release()
    with pytest.raises(ParameterError, match="released"):
        started(good).fill(view)


@pytest.mark.parametrize("shape", [(24,), (4, 6), (2, 3, 4)])
def test_numpy_bytes_of_any_shape_are_filled(shape):
    array = np.zeros(shape, np.uint8)
    guard = started(lambda view: view.__setitem__(slice(None), bytes(range(1, 25))))
    guard.fill(array.data)
    assert array.ravel().tolist() == list(range(1, 25))


@pytest.mark.parametrize("buffer", [bytearray(), np.zeros((0, 3), np.uint8).data])
def test_an_empty_buffer_draws_nothing(buffer):
    calls = []
    started(lambda view: calls.append(len(view))).fill(buffer)
    assert calls == []


def test_the_buffer_can_be_resized_afterwards():
    buffer = bytearray(8)
    started(good).fill(buffer)
    buffer.extend(b"more")  # would be a BufferError while somebody holds a view
    with pytest.raises(SourceError):
        started(broken_at(3, ValueError())).fill(buffer)
    buffer.extend(b"more")


def test_start_up_tests_run_once_and_before_the_first_bytes():
    sizes = []

    def draw(view):
        sizes.append(len(view))
        good(view)

    guard = Guard(draw)
    guard.fill(bytearray(5))
    assert sizes == [1024] * 4 + [5]
    guard.begin()
    guard.fill(bytearray(5))
    assert sizes == [1024] * 4 + [5, NONCE_BYTES, 5]


@pytest.mark.parametrize("call", ["begin", "fill"])
def test_a_constant_source_fails_its_start_up_test(call):
    guard = Guard(lambda view: view.__setitem__(slice(None), bytes(len(view))))
    with pytest.raises(SourceError, match="start-up test: repeated block"):
        guard.begin() if call == "begin" else guard.fill(bytearray(8))
    with pytest.raises(SourceError, match="stays failed"):
        guard.begin()


def test_a_nonce_seen_before_is_an_error_and_latches():
    nonces = iter([b"a" * 16, b"b" * 16, b"b" * 16, b"c" * 16])
    guard = Guard(good, nonce=lambda view: view.__setitem__(slice(None), next(nonces)))
    assert guard.begin() == b"a" * 16
    assert guard.begin() == b"b" * 16
    with pytest.raises(SourceError, match="stuck") as caught:
        guard.begin()
    assert "b" * 8 not in str(caught.value)
    with pytest.raises(SourceError, match="stays failed"):
        guard.begin()


def test_a_nonce_repeated_after_others_is_an_error_too():
    nonces = iter([b"a" * 16, b"b" * 16, b"a" * 16])
    guard = Guard(good, nonce=lambda view: view.__setitem__(slice(None), next(nonces)))
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
    guard._recent = Crowded(maxlen=guard._recent.maxlen)
    assert len(guard.begin()) == NONCE_BYTES
    assert len(guard.begin()) == NONCE_BYTES


def test_of_two_threads_with_one_nonce_one_is_stopped():
    barrier = threading.Barrier(2)

    def nonce(view):
        barrier.wait(timeout=10)  # both are past every earlier check
        view[:] = b"n" * 16

    guard = Guard(good, nonce=nonce)
    outcomes = []

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


def test_a_nonce_pushed_out_by_other_threads_is_no_failure():
    """Two other threads begin between the moments when one keeps its nonce and looks at it."""

    class Crowded(deque):
        def append(self, digest):
            super().append(digest)
            self.extend((b"another", b"a third"))

    guard = started(good)
    guard._recent = Crowded(maxlen=2)
    assert guard.begin() != guard.begin()


def test_bytes_for_samplers_are_never_looked_at():
    guard = started(lambda view: view.__setitem__(slice(None), bytes(len(view))))
    for _ in range(3):
        buffer = bytearray(b"\xff" * 4096)
        guard.fill(buffer)
        assert buffer == bytes(4096)


def test_sources_for_tests_are_not_tested():
    sizes = []
    guard = Guard(lambda view: sizes.append(len(view)), health=False)
    assert guard.begin() == guard.begin() == bytes(16)
    assert sizes == [16, 16]


@pytest.mark.parametrize("inner", ["begin", "fill"])
def test_a_source_that_asks_itself_is_refused_inside(inner):
    seen = []

    def draw(view):
        buffer = bytearray(b"\xff" * 8)
        try:
            guard.begin() if inner == "begin" else guard.fill(buffer)
        except SourceError as error:
            seen.append((str(error), bytes(buffer)))
            raise
        good(view)

    guard = started(draw)
    with pytest.raises(SourceError, match="while it was drawing"):
        guard.fill(bytearray(8))
    left = b"\xff" * 8 if inner == "begin" else bytes(8)
    assert seen == [("the source was asked for bytes while it was drawing some", left)]


def test_a_refused_inner_call_alone_does_not_break_the_source():
    def draw(view):
        with pytest.raises(SourceError):
            guard.begin()
        good(view)

    guard = started(draw)
    for _ in range(3):
        guard.fill(bytearray(8))


def test_another_thread_may_draw_meanwhile():
    inside, go_on = threading.Event(), threading.Event()

    def draw(view):
        if len(view) == 7:
            inside.set()
            assert go_on.wait(timeout=10)
        good(view)

    guard = started(draw)
    slow = threading.Thread(target=guard.fill, args=(bytearray(7),))
    slow.start()
    assert inside.wait(timeout=10)
    guard.fill(bytearray(9))
    go_on.set()
    slow.join()
    guard.begin()


def test_guards_keep_no_views_and_no_cycles():
    gc.collect()
    source = SystemSource()
    source.begin()
    gc.disable()
    try:
        before = gc.collect()
        del source
        assert gc.collect() == 0, before
    finally:
        gc.enable()

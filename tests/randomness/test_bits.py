"""Bits: the source's bits, each once and in order, and none left behind."""

import os
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.bits import FILL_REQUEST, Bits
from safeselect.sources import CallbackSource, SystemSource
from safeselect.testing import RecordingSource, ReplaySource

pytestmark = pytest.mark.claim("C1")


class Text:
    """The bits of a tape as a string of 0 and 1, read from the left: the specification."""

    def __init__(self, tape):
        self.left = "".join(f"{byte:08b}" for byte in tape)

    def take(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return int(taken or "0", 2)


@given(
    tape=st.binary(min_size=700, max_size=700),
    counts=st.lists(st.one_of(st.integers(0, 9), st.integers(0, 500)), max_size=40),
    piece=st.integers(1, 64),
)
def test_takes_are_the_sources_bits_in_order(tape, counts, piece):
    expected, limit = Text(tape), 8 * (len(tape) - len(tape) % piece)
    bits, used = Bits(ReplaySource(tape), piece=piece), 0
    for count in counts:
        if used + count > limit:
            break
        assert bits.take(count) == expected.take(count)
        used += count
        assert bits.consumed == used


@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 70)), max_size=20),
    piece=st.integers(1, 9),
)
def test_fill_and_take_never_share_a_bit(steps, piece):
    """A model of the two streams: `take` reads pieces, `fill` reads around them."""
    tape = bytes(random.Random(5).randbytes(4000))
    source = RecordingSource(ReplaySource(tape))
    bits = Bits(source, piece=piece)
    position, stock, used = 0, "", 0
    for is_fill, size in steps:
        if is_fill:
            buffer = bytearray(size)
            bits.fill(buffer)
            assert buffer == tape[position : position + size]
            position += size
            used += 8 * size
        else:
            while len(stock) < size:
                stock += "".join(f"{byte:08b}" for byte in tape[position : position + piece])
                position += piece
            assert bits.take(size) == int(stock[:size] or "0", 2)
            stock = stock[size:]
            used += size
        assert bits.consumed == used
    assert len(source.data) == position


@pytest.mark.claim("C1")
def test_known_answers():
    bits = Bits(ReplaySource(bytes([0b10110001, 0b01111111, 0x80])), piece=1)
    assert ([bits.coin() for _ in range(4)], bits.take(0)) == ([1, 0, 1, 1], 0)
    assert (bits.take(5), bits.take(7)) == (0b00010, 0b1111111)
    assert (bits.take(8), bits.consumed) == (0x80, 24)


@pytest.mark.parametrize(
    ("piece", "counts", "expected"),
    [
        (256, [1], [256]),
        (256, [0, 0], []),
        (256, [2048], [256]),
        (256, [2047, 1, 1], [256, 256]),
        (256, [2049], [256, 256]),
        (16, [1, 300], [16, 16, 16]),
        (1, [9], [1, 1]),
    ],
)
def test_requests_are_whole_pieces(piece, counts, expected):
    source = RecordingSource(SystemSource())
    with Bits(source, piece=piece) as bits:
        for count in counts:
            bits.take(count)
    assert (source.requests, len(source.nonces)) == (expected, bool(expected))


@pytest.mark.parametrize("piece", [0, -1, 2**20 + 1, True, 8.0, "8", None], ids=repr)
def test_other_pieces_are_refused(piece):
    with pytest.raises(ParameterError, match="piece"):
        Bits(SystemSource(), piece=piece)


@pytest.mark.parametrize(
    "count", [-1, 2**20 + 1, 2**80, True, 1.0, "8", None, np.int64(3)], ids=repr
)
def test_other_counts_are_refused_before_anything_is_drawn(count):
    source = RecordingSource(SystemSource())
    bits = Bits(source)
    with pytest.raises(ParameterError, match="the number of bits must be an integer from"):
        bits.take(count)
    assert source.requests == []
    assert 0 <= bits.take(8) < 256


@pytest.mark.parametrize("nonce", [None, b"", bytes(15), bytes(17), bytearray(16), "x" * 16])
def test_a_source_with_a_wrong_nonce_is_refused(nonce):
    class Odd:
        name, production = "Odd", False

        def begin(self):
            return nonce

        def fill(self, buffer, /):
            raise NotImplementedError

    with pytest.raises(SourceError, match="not return bytes of the requested length"):
        Bits(Odd()).take(1)


def frozen():
    array = np.zeros(4, np.uint64)
    array.flags.writeable = False
    return array.data


def released():
    view = memoryview(bytearray(4))
    view.release()
    return view


@pytest.mark.parametrize(
    "buffer",
    [
        bytes(4),
        np.zeros(4, np.uint64),
        np.zeros(0, np.uint64).data,
        np.zeros(8, np.uint64)[::2].data,
        np.zeros((3, 2), np.uint8).T.data,
        frozen(),
        released(),
    ],
    ids=["bytes", "array", "no words", "strided", "transposed", "frozen", "released"],
)
def test_fill_refuses_other_buffers_before_anything_is_drawn(buffer):
    source = RecordingSource(SystemSource())
    bits = Bits(source)
    with pytest.raises(ParameterError, match="the buffer to fill"):
        bits.fill(buffer)
    assert source.requests == []
    bits.fill(bytearray(4))


def test_fill_asks_in_requests_of_public_size():
    source, buffer = RecordingSource(SystemSource()), bytearray(2 * FILL_REQUEST + 7)
    Bits(source).fill(buffer)
    assert (FILL_REQUEST, source.requests) == (262144, [FILL_REQUEST, FILL_REQUEST, 7])
    assert buffer == source.data
    square = memoryview(buffer)[:16].cast("B", (4, 4))
    Bits(ReplaySource(b"\xa5" * 64)).fill(square)
    assert square.tolist() == [[0xA5] * 4] * 4


class Breaking:
    """A source that works for some requests, then writes half of one and raises."""

    name, production = "Breaking", False

    def __init__(self, good, error):
        self.good, self.error, self.seen = good, error, []

    def begin(self):
        return bytes(16)

    def fill(self, buffer, /):
        self.seen.append(buffer)
        buffer[:] = b"\xa5" * len(buffer)
        self.good -= 1
        if self.good < 0:
            raise self.error


@pytest.mark.parametrize("error", [SourceError("constant"), KeyboardInterrupt(), ValueError("x")])
@pytest.mark.parametrize("good", range(4))
def test_a_failure_in_the_middle_of_take_wipes_and_closes(error, good):
    source = Breaking(good, error)
    bits = Bits(source, piece=4)
    for _ in range(good):
        bits.take(31)
    with pytest.raises((SourceError, KeyboardInterrupt)):
        bits.take(33 + good)
    assert bits._stock == bits._held == 0
    assert not any(any(view) for view in source.seen)
    with pytest.raises(SourceError, match="closed"):
        bits.take(0)


def test_what_take_has_read_is_wiped():
    bits = Bits(SystemSource())
    bits.source = Breaking(2, None)  # behind the guard, which wipes its own copies
    bits.take(31)
    assert bits.source.seen
    assert not any(any(view) for view in bits.source.seen)


@pytest.mark.parametrize("error", [SourceError("constant"), KeyboardInterrupt(), ValueError("x")])
@pytest.mark.parametrize("good", range(3))
def test_a_failure_in_the_middle_of_fill_zeroes_the_whole_buffer(error, good):
    bits, buffer = Bits(Breaking(good, error)), bytearray(b"\xff" * (3 * FILL_REQUEST))
    with pytest.raises((SourceError, KeyboardInterrupt)):
        bits.fill(buffer)
    assert not any(buffer)
    with pytest.raises(SourceError, match="closed"):
        bits.coin()


def test_closed_bits_are_wiped_and_raise():
    source = SystemSource()
    with Bits(source) as bits:
        bits.take(3)
        assert bits._stock != 0
        assert bits._held == 2045
    assert bits._stock == bits._held == 0
    assert bits.consumed == 3
    with pytest.raises(SourceError, match="closed"):
        _ = bits.nonce
    buffer = bytearray(b"\xff" * 4)
    for call in (lambda: bits.take(0), bits.coin, lambda: bits.fill(buffer)):
        with pytest.raises(SourceError, match="closed"):
            call()
    assert buffer == bytes(4)
    bits.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("action", ["take", "fill"])
@pytest.mark.claim("C6")
def test_a_child_forked_inside_a_request_gets_no_bits(action):
    """Of several pieces it would have some in common with its parent, and others not."""
    forked = []

    def device(count):
        answer = os.urandom(count)
        if count == 4 + 16 and not forked:
            forked.append(os.fork())
        return answer

    # Asked for 4 bytes at a time by `take`, and for what is left in the last piece by `fill`.
    bits = Bits(CallbackSource(device, exclusive=True, fork_safe=True), piece=4)
    buffer, code = bytearray(FILL_REQUEST + 4), 1
    try:
        bits.take(64) if action == "take" else bits.fill(buffer)
    except SourceError:
        code = 0 if bits._stock == bits._held == 0 and not any(buffer) else 2
    finally:
        if forked[0] == 0:
            os._exit(code)
    assert os.waitpid(forked[0], 0)[1] == 0
    assert code == 1  # the parent's went on
    assert any(buffer) == (action == "fill")

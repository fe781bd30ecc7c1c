"""Start-up tests: each one catches what it is for, at its limit and not below it."""

import pytest

from safeselect.errors import SourceError
from safeselect.randomness import guard
from safeselect.randomness.guard import startup_problem

SIZE = 4096


def plausible():
    """A sample that passes every test by a wide margin: no byte twice near itself, half ones."""
    sample = bytearray()
    for block in range(16):
        sample += bytes((value * 5 + block * 7) % 256 for value in range(256))
    return sample


def problem_of(sample):
    served = iter([sample[i : i + 1024] for i in range(0, SIZE, 1024)])
    return startup_problem(lambda count: bytes(next(served)))


def test_a_plausible_sample_passes():
    assert problem_of(plausible()) is None


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_no_block_may_repeat(first, second):
    sample = plausible()
    sample[second * 1024 : second * 1024 + 1024] = sample[first * 1024 : first * 1024 + 1024]
    assert problem_of(sample) == (None if first == second else "repeated block")


@pytest.mark.parametrize("place", [0, 1020, SIZE - 9])
@pytest.mark.parametrize(("length", "expected"), [(8, None), (9, "repetition count")])
def test_nine_equal_bytes_in_a_row_are_too_many(place, length, expected):
    sample = plausible()
    value = (sample[place - 1] + 1) % 256 if place else 0x55
    while value in (sample[place - 1], sample[(place + length) % SIZE]):
        value = (value + 1) % 256
    sample[place : place + length] = bytes([value]) * length
    assert problem_of(sample) == expected


@pytest.mark.parametrize("window", range(8))
@pytest.mark.parametrize(("later", "expected"), [(18, None), (19, "adaptive proportion")])
def test_the_first_byte_of_a_window_may_come_back_eighteen_times(window, later, expected):
    sample, start = plausible(), window * 512
    value = sample[start]
    for i in range(start + 1, start + 512):
        if sample[i] == value:
            sample[i] ^= 0xFF
    for i in range(later):
        sample[start + 2 + 3 * i] = value
    assert problem_of(sample) == expected


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("excess", "expected"), [(646, None), (647, "monobit")])
def test_ones_may_be_off_by_646(sign, excess, expected):
    number = int.from_bytes(plausible(), "big")
    assert number.bit_count() == 8 * SIZE // 2
    wrong = 0 if sign > 0 else 1
    position, flipped = 0, 0
    while flipped < excess:  # spread, so that no other test minds
        if (number >> position) & 1 == wrong:
            number ^= 1 << position
            flipped += 1
        position = (position + 37) % (8 * SIZE)
    assert problem_of(bytearray(number.to_bytes(SIZE, "big"))) == expected


@pytest.mark.parametrize("answer", [b"", bytes(1023), bytes(1025)])
def test_answers_of_another_length_do_not_pass(answer):
    with pytest.raises(SourceError, match="not return bytes of the requested length"):
        startup_problem(lambda count: answer)


def test_the_sample_is_wiped(monkeypatch):
    seen = []
    monkeypatch.setattr(guard, "_startup_tests", lambda sample: seen.append(sample) or ())
    assert problem_of(plausible()) is None
    assert seen == [bytes(SIZE)]


def test_a_device_that_raises_is_no_test_result():
    def draw(count):
        raise OSError("device")

    with pytest.raises(OSError, match="device"):
        startup_problem(draw)

"""What is drawn for a ranking: every digit of the tape has its place, also where words overflow."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest
from lattice_oracle import Tape

from safeselect.engine import draws
from safeselect.engine.draws import draw_noise, draw_words, tail_capacity
from safeselect.engine.laws import GUMBEL, LAPLACE
from safeselect.engine.tables import bound_table, noise_table, read_noise

pytestmark = pytest.mark.claim("C1")


class Given:
    """A source with a known content, which must be asked for all of it in one request."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def fill(self, buffer: memoryview) -> None:
        assert len(buffer) == len(self.content)
        buffer[:], self.content = self.content, b""


def integers(values: list[int], size: int) -> bytes:
    return b"".join(value.to_bytes(size, "little") for value in values)


def words_drawn(words: list[int], extra: list[int], slots: list[int], slot_bits: int):
    """`draw_words` of these numbers; the last request is a multiple of four words."""
    assert len(extra) == tail_capacity(len(words))
    padding = [0] * (-len(words) % 4)
    source = Given(
        integers(slots, slot_bits // 8) + integers(extra, 8) + integers([*words, *padding], 2)
    )
    return draw_words(len(words), GUMBEL, source, len(slots), slot_bits)


def expected_tails(words: list[int], extra: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Places with a tail word for which there is room, their counts, and who has no bound."""
    places = [place for place, word in enumerate(words) if word < 32]
    kept, beyond = places[: len(extra)], places[len(extra) :]
    digits = [words[place] << 58 | more >> 6 for place, more in zip(kept, extra, strict=False)]
    counts = [bisect_right(bound_table(GUMBEL).tail_thresholds.tolist(), each) for each in digits]
    return kept, counts, [p for p, c in zip(kept, counts, strict=True) if c == 0] + beyond


@pytest.mark.parametrize("chunk", [64, 1 << 17])
@pytest.mark.parametrize("slot_bits", [64, 128])
@pytest.mark.parametrize("kind", ["random", "all tails", "zeros", "a zero", "tails at both ends"])
def test_every_digit_has_its_place(monkeypatch, chunk, slot_bits, kind):
    monkeypatch.setattr(draws, "_CHUNK", chunk)
    n, tape = 301, Tape(7)
    words = {
        "random": [tape.take(16) for _ in range(n)],
        "all tails": [tape.take(5) for _ in range(n)],
        "zeros": [0] * n,
        "a zero": [*[9999] * (n - 1), 0],
        "tails at both ends": [3, *[9999] * (n - 2), 31],
    }[kind]
    extra = [0 if "zero" in kind else tape.take(64) for _ in range(tail_capacity(n))]
    slots = [tape.take(slot_bits) for _ in range(5)]
    found = words_drawn(words, extra, slots, slot_bits)
    kept, counts, endless = expected_tails(words, extra)
    assert found.slots == slots
    assert (found.width, found.slot_bits, found.tail_bits) == (16, slot_bits, 5)
    assert found.words.tolist() == words
    assert found.tails.tolist() == kept + [n] * (len(extra) - len(kept))
    assert found.tail_counts[: len(kept)].tolist() == counts
    assert (found.extra.tolist(), found.endless) == (extra, endless)
    # The digits known of each: its word, those of a tail word, and what is left of the slot.
    some = sorted({*kept[:2], *kept[-1:], 1, n - 2})[: len(slots)]
    for place, slot, known in zip(some, slots, found.known(some, slots[: len(some)]), strict=False):
        if place in kept:
            digits = words[place] << 64 | extra[kept.index(place)]
            slot, left = slot >> 64, slot_bits - 64
        else:
            digits, left = words[place], slot_bits
        assert known == (digits << left | slot, 16 + slot_bits)


@pytest.mark.parametrize("slot_bits", [0, 64, 128])
def test_noise_of_all(slot_bits):
    n, few, tape = 37, 6, Tape(8)
    lanes = [tape.take(64) for _ in range(n)]
    slots = [tape.take(slot_bits) if slot_bits else 0 for _ in range(few)]
    source = Given(integers(lanes, 8) + (integers(slots, slot_bits // 8) if slot_bits else b""))
    found, noise = draw_noise(n, LAPLACE, source, few, slot_bits), np.empty(n, dtype=np.int64)
    read_noise(noise_table(LAPLACE), np.array(lanes, dtype=np.uint64), noise)
    assert (found.words.tolist(), found.noise.tolist()) == (lanes, noise.tolist())
    assert found.slots == slots
    assert (found.width, found.slot_bits, found.endless) == (64, slot_bits, ())
    assert found.known([3, 36], slots[:2]) == [
        (lanes[place] << slot_bits | slot, 64 + slot_bits)
        for place, slot in ((3, slots[0]), (36, slots[1]))
    ]

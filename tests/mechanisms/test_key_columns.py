"""Keys in Arrow columns: the same answers as for lists, and no key in two places."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from tapes import TapeSource

from safeselect import select_partitions
from safeselect.mechanisms import key_columns, keys

pa = pytest.importorskip("pyarrow")

COST = {"epsilon": 1, "delta": "1e-2", "max_partitions": 1, "with_counts": True}


def morse(places: int) -> str:
    return "".join("ab"[place.bit_count() % 2] for place in range(places))


TURNED = str.maketrans("ab", "ba")
TEXTS = [
    *(f"key {place}" for place in range(40)),
    *("", "é", "￿", "\U0001d518", "a\0", "a\0b", "\0", "\0\0", "x" * 300_000, "x" * 300_001),
    # Equal in all sums of powers of an odd number modulo 2**64.
    *(morse(2048), morse(2048).translate(TURNED)),
]


def table(rng: random.Random, size: int) -> tuple[list[str | None], list[int]]:
    return [rng.choice([None, *TEXTS]) for _ in range(size)], [
        rng.randint(-3, 30) for _ in range(size)
    ]


def columns(labels: list[str | None], rng: random.Random) -> Any:
    """The labels in chunks, each with rows before it that are cut off."""
    kind = rng.choice([pa.string(), pa.large_string()])
    cuts = sorted(rng.sample(range(len(labels) + 1), min(2, len(labels) + 1)))
    parts = [labels[a:b] for a, b in zip([0, *cuts], [*cuts, len(labels)], strict=True)]
    return pa.chunked_array([pa.array(["cut", None, *part], kind)[2:] for part in parts], kind)


def test_columns_give_the_answer_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of any size."""
    answers: dict[int, Any] = {}
    for seed, batch in product(range(150), (3, 1 << 20)):
        monkeypatch.setattr(keys, "BATCH", batch)
        monkeypatch.setattr(key_columns, "BATCH", batch)
        rng = random.Random(seed)
        labels, counts = table(rng, rng.choice([0, 1, 2, 7, 60]))
        found = [
            select_partitions(users, labels=names, **COST, source=TapeSource(seed=seed))
            for users, names in (
                (counts, labels),
                (counts, columns(labels, rng)),
                (pa.array(counts, pa.int32()), columns(labels, rng).combine_chunks()),
            )
        ]
        assert found == [answers.setdefault(seed, found[0])] * 3


def test_a_broken_text_is_no_key_and_no_error() -> None:
    cells = pa.array([b"Rome", b"\xff", b"Oslo"])
    broken = pa.Array.from_buffers(pa.string(), 3, cells.buffers())
    assert select_partitions(pa.array([900] * 3), labels=broken, **COST).labels == ("Oslo", "Rome")


@pytest.mark.parametrize("labels", [pa.array([1, 2]), pa.array(["1", "2"]).dictionary_encode()])
def test_other_columns_are_read_cell_by_cell(labels: Any) -> None:
    assert select_partitions(pa.array([900, 900]), labels=labels, **COST).labels == ("1", "2")

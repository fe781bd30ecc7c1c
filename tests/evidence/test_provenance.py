"""A symbolic tape: one word after the other is replaced, and what changes is looked at.

Nothing here knows how the engine lays out its words.  A word that is made small gives its owner so
much noise that it comes first; so each word tells whose it is.  Each output must have words of its
own, no word may have two owners, and no word that is asked for may be without meaning.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tapes import TapeSource, tape

import safeselect

pytestmark = pytest.mark.claim("C1")

CHANGE: dict[str, Any] = {"range_": 1}

SMALL_64 = 1 << 36
"""A word of 64 digits for V = 2**-28: noise of 19 nats, more than any other word's here."""

# ------------------------------------------------------------------------- whole rankings

RANKINGS: dict[str, dict[str, Any]] = {
    "top_k exponential": {"mechanism": "exponential"},
    "top_k one_shot_exponential": {"mechanism": "one_shot_exponential"},
    "top_k exponential_base2": {"mechanism": "exponential_base2"},
    "top_k_with_gaps laplace": {"noise": "laplace"},
    "top_k_with_gaps exponential": {},
}


def ranking(name: str, n: int, source: TapeSource) -> tuple[int, ...]:
    """An order of equal candidates: of all, or with gaps of all but the last."""
    rank = getattr(safeselect, name.partition(" ")[0])
    k = n if rank is safeselect.top_k else n - 1
    return tuple(rank([0] * n, k=k, epsilon=n, source=source, **CHANGE, **RANKINGS[name]).indices)


def replaced(known: bytes | bytearray, lane: int, place: int, word: int) -> bytes:
    """The tape with another word at this place."""
    at = place * lane
    return bytes(known[:at]) + word.to_bytes(lane, "little") + bytes(known[at + lane :])


def without(order: tuple[int, ...], one: int) -> list[int]:
    return [i for i in order if i != one]


def whole(name: str, n: int, source: TapeSource) -> tuple[int, ...]:
    """The order of all; with gaps the last one is not released, but it is clear who it is."""
    order = ranking(name, n, source)
    return (*order, *(set(range(n)) - set(order)))


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("n", [5, 24, 25, 60])
def test_a_word_moves_its_owner_and_nobody_else(name, n):
    """Equal candidates, all ranked: a word has one owner, who moves, and no other does."""
    source = TapeSource(seed=n)
    whole(name, n, source)
    known = tape(source.asked, n)
    base, owned = whole(name, n, TapeSource(known)), []
    for place in range(len(known) // 8):
        owners = set(range(n))
        for word in (SMALL_64, (1 << 64) - SMALL_64):
            now = whole(name, n, TapeSource(replaced(known, 8, place, word)))
            # Whoever may have moved alone: the others are as they were.
            owners &= {i for i in range(n) if without(now, i) == without(base, i)}
        assert owners
        owned += list(owners) if len(owners) == 1 else []
    # Further digits, of words of 128, move nobody.
    assert sorted(owned) == list(range(n))


# ------------------------------------------------------------------------- sessions


def sparse(kind: str, noise: str, source: TapeSource, count: int) -> tuple[list[Any], int]:
    """What a session answers, value by value, on a grid of gaps so fine that all noise shows."""
    session = getattr(safeselect, kind)(
        threshold=0,
        k=100,
        epsilon="1/10",
        sensitivity=1,
        noise=noise,
        gap_grid=1 if noise == "geometric" else Fraction(1, 1 << 20),
        source=source,
    )
    opened = source.asked
    answers = [session.query(10**9) for _ in range(count)]
    return [(answer.above, answer.gap, answer.branch) for answer in answers], opened


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("kind", ["SparseVector", "AdaptiveSparseVector"])
def test_a_query_has_noise_of_its_own_and_all_share_the_threshold(kind, noise):
    """A byte of a query's noise changes that answer alone; those of the threshold's all of them."""
    source = TapeSource(seed=6)
    _, opened = sparse(kind, noise, source, 5)
    known = tape(source.asked, 6)
    base, _ = sparse(kind, noise, TapeSource(known), 5)
    queries = []
    for place in range(len(known)):
        other = bytearray(known)
        other[place] ^= 0x80
        now, _ = sparse(kind, noise, TapeSource(other), 5)
        changed = [i for i, (a, b) in enumerate(zip(base, now, strict=True)) if a != b]
        if place < opened:
            # The last digits of the threshold's noise show where a gap is next to a grid line.
            assert place > 0 or changed == list(range(5))
            continue
        assert len(changed) <= 1
        queries += changed
    # In order, and all of them; the bytes of each are the same in number.
    assert (queries, set(queries)) == (sorted(queries), set(range(5)))


# ------------------------------------------------------------------------- unknown domains


# ------------------------------------------------------------------------- one call after another


@pytest.mark.parametrize("name", RANKINGS)
def test_what_one_call_left_over_serves_no_other(name):
    """Two calls on one source: the second's bytes begin where the first's end, and none is kept."""
    source = TapeSource(seed=11)
    first, size = ranking(name, 20, source), source.asked
    second = ranking(name, 20, source)
    assert (source.asked, source.begun) == (2 * size, 2)
    known = tape(2 * size, 12)
    both = TapeSource(known)
    pair = ranking(name, 20, both), ranking(name, 20, both)
    assert pair == (
        ranking(name, 20, TapeSource(known[:size])),
        ranking(name, 20, TapeSource(known[size:])),
    )
    assert first != second

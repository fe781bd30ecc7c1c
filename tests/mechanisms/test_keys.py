"""Keys: what is drawn, what is refused and charged, where a seed shows, what the flights give."""

from __future__ import annotations

import base64
import copy
import hashlib
import pickle
import pprint
import random
from bisect import bisect_right
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gmpy2 import isqrt, mpz
from ledgers import new, scope
from tapes import Stream, TapeSource

from safeselect import Counts, Ledger, ParameterError, partition_strategy, select_partitions
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.keys import draw_thresholds, keep_table, keyed_threshold
from safeselect.results import PartitionStrategy

SUMS: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"}
COST: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_partitions": 1}
TWO = {**COST, "max_partitions": 2}
USERS = {"Oslo": 40, "Rome": 14, 7: 15, "rare": 1}
TABLE = keep_table(Fraction(1), Fraction(1, 10**6), with_counts=True)


def words(*values: int) -> bytes:
    return np.array(values, dtype=np.uint64).tobytes()


def kinds(ledger: Ledger) -> list[str]:
    """What a ledger holds after its two opening records."""
    return [record.content["kind"] for record in ledger.records()][2:]


# --------------------------------------------------------------------------------- thresholds


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("1/5", "1e-9"), (1, "1e-30")])
def test_a_threshold_is_the_least_count_that_is_kept(epsilon: object, delta: str) -> None:
    """All words around every row, and rows that share their leading bits, by the definition."""
    table = keep_table(Fraction(epsilon), Fraction(delta), with_counts=True)
    leads = [row >> (table.bits - 64) for row in table.rows[:-1]]
    tried = sorted({w for lead in leads for w in (lead - 1, lead, lead + 1) if 0 <= w < 2**64})
    stream = Stream(words(*tried), seed=3)
    found = draw_thresholds(table, len(tried), stream)
    assert stream.requests[0] == 8 * len(tried)
    ties = [word for word in tried if word in leads]
    assert stream.requests[1:] == [-(table.bits - 64)] * len(ties)
    rest = random.Random(3)
    for word, threshold in zip(tried, found.tolist(), strict=True):
        low = rest.getrandbits(table.bits - 64) if word in leads else 0
        uniform = word << (table.bits - 64) | low
        assert table.rows[threshold - 1] <= uniform < table.rows[threshold]


def test_a_keyed_threshold_is_the_prf_of_the_key() -> None:
    """HMAC-SHA-512, as RFC 2104 has it, of a spelling that no two keys share."""

    def hmac_sha512(key: bytes, message: bytes) -> bytes:
        key = key.ljust(128, b"\0")
        inner = hashlib.sha512(bytes(b ^ 0x36 for b in key) + message).digest()
        return hashlib.sha512(bytes(b ^ 0x5C for b in key) + inner).digest()

    table = keep_table(Fraction(1, 100), Fraction(1, 10**6), with_counts=False)  # many thresholds
    spellings = {"7": b"s7", "-26": b"s-26", "Oslo": b"sOslo", " a": b"s a"}
    for key, spelled in (*spellings.items(), ("ø\ud800", b"s\xc3\xb8\xed\xa0\x80")):
        code = hmac_sha512(b"x" * 32, b"safeselect/partition/1\x00" + bytes(4) + spelled)
        uniform = int.from_bytes(code, "big") >> (512 - table.bits)
        assert keyed_threshold(table, b"x" * 32, key) == bisect_right(table.rows, uniform)
    long = keep_table(Fraction(1), Fraction(1, 2**1000), with_counts=False)
    assert 1 <= keyed_threshold(long, b"x" * 32, "a") <= long.certain


# -------------------------------------------------------------------------------- the release


def test_what_is_kept_follows_from_the_words() -> None:
    """One word a count, in the order of the counts; keys come out in the order of their labels."""
    low = TABLE.bits - 64
    needed = [TABLE.rows[n] >> low for n in (14, 15, 1)]
    given = {**COST, "with_counts": True}
    kept = select_partitions(USERS, **given, source=TapeSource(words(1, 1, 1, 2**63), seed=1))
    assert kept.labels == ("7", "Oslo", "Rome")
    assert kept.counts == tuple(n + TABLE.centre - 1 for n in (15, 40, 14))
    # Oslo has more users than are ever needed; the others are kept or not by one word.
    assert TABLE.certain < 40
    for more, labels in ((-1, ("7", "Oslo", "Rome", "rare")), (1, ("Oslo",))):
        tape = TapeSource(words(2**64 - 1, *(word + more for word in needed)), seed=1)
        assert select_partitions(USERS, **given, source=tape).labels == labels


def test_a_pre_threshold_is_never_undercut() -> None:
    """Nine of ten are nine fewer, and a released count is of all of them."""
    at_ten = {**COST, "pre_threshold": 10}
    assert select_partitions({"a": 9}, **at_ten, source=TapeSource(bytes(8))).labels == ()
    least = TapeSource(words(TABLE.rows[1] // 2**94 // 2))  # below half of p_1: the threshold is 1
    kept = select_partitions({"a": 10}, **at_ten, with_counts=True, source=least)
    assert (kept.labels, kept.counts) == (("a",), (10 + TABLE.centre - 1,))
    assert select_partitions({"a": 9 + TABLE.certain}, **at_ten).labels == ("a",)


# ----------------------------------------------------------------------------- the strategy


def test_answers_follow_from_the_words() -> None:
    """Each method draws one word for each key, and keeps where U < p_n."""
    root = Fraction(int(isqrt(mpz(999_999 * 10**94))), 10**50)  # what two keys leave of 1 - 1e-6
    table, source = keep_table(Fraction(1, 2), 1 - root, with_counts=True), TapeSource()
    strategy = partition_strategy(**TWO, with_counts=True, source=source)
    assert (source.asked, strategy.terms.table.certain) == (32, table.certain)
    strategy.should_keep(0)
    word = source.asked - 32  # Bits asks for 256 bytes, or for a word: a public size
    strategy.should_keep(10**9)
    strategy.noisy_count_if_kept(3)
    assert source.asked - 32 == 3 * word
    kept = strategy.keep_column([0, 10**9, -4, table.certain, table.certain + 1])
    assert kept.dtype == np.bool_
    assert kept.tolist() == [False, True, False, True, True]
    assert strategy.noisy_count_if_kept(0) is None
    n = 10 * table.certain
    for found in (strategy.noisy_count_if_kept(n), strategy.noisy_count_keyed("a", n)):
        assert found is not None
        assert n + table.centre - table.certain <= found <= n + table.centre - 1


def test_keyed_answers_belong_to_the_key_and_the_seed() -> None:
    one, other = partition_strategy(**TWO), partition_strategy(**TWO)
    table, keys = one.terms.table, [*range(300), *map(str, range(300))]
    ours = [one.keep_keyed(key, table.centre) for key in keys]
    assert ours == [one.keep_keyed(key, table.centre) for key in keys]
    assert ours != [other.keep_keyed(key, table.centre) for key in keys]
    assert ours[:300] == ours[300:]  # 7 and "7" are one key
    for n in range(100):
        spellings = (n, float(n), Decimal(f"{n}.00"), Fraction(2 * n, 2), np.int8(n), str(n))
        assert len({one.keep_keyed(each, table.centre) for each in spellings}) == 1
        assert one.keep_keyed(n / 8, table.centre) == one.keep_keyed(f"{n / 8:g}", table.centre)
    # More users never lose a key: the draw is not of the number.
    for key in keys[:50]:
        kept = [one.keep_keyed(key, n) for n in range(table.certain + 1)]
        assert kept == sorted(kept)
        assert kept[-1]
    counting = partition_strategy(**TWO, with_counts=True)
    for no_item in (None, float("nan"), b"a", ("a",), Fraction(1, 3), 2 ** (2**16)):
        assert counting.keep_keyed(no_item, 10**9) is False
        assert counting.noisy_count_keyed(no_item, 10**9) is None


def test_nothing_but_a_pickle_of_the_whole_shows_the_seed() -> None:
    strategy = partition_strategy(**TWO, with_counts=True, pre_threshold=5)
    twin = pickle.loads(pickle.dumps(strategy))  # noqa: S301 - our own
    made = (strategy, twin, copy.copy(strategy), copy.deepcopy(strategy))
    for held in made:
        seed = held._seed
        assert isinstance(held, PartitionStrategy)
        assert (len(seed), held.release) == (32, strategy.release)
        for n in range(60):
            assert held.noisy_count_keyed(f"{n}", n) == strategy.noisy_count_keyed(f"{n}", n)
        assert held.should_keep(10**6)
        assert not is_dataclass(held)  # nothing lists its fields
        with pytest.raises(AttributeError, match="after its charge"):
            held._seed = bytes(32)
        shown = [repr(held), str(held), f"{held}", pprint.pformat(held), held.release.to_json()]
        spelled = repr(seed)[2:20], seed.hex(), base64.b64encode(seed).decode()
        for text in shown:
            assert not any(each in text for each in (*spelled, repr(list(seed))[1:20]))
        assert not hasattr(held, "__dict__")


# ------------------------------------------------------------- refused, charged, written down


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (Counts({}, places="all", max_contributions=4), "capped at 4"),
        (Counts({}, places=5, max_contributions=1), "the choice of the 5 largest counts"),
        (Counts({}, "all", max_contributions=1, unit="one house"), "one house"),
    ],
)
def test_what_is_wrong_is_refused_before_the_charge(counts: Counts[str], message: str) -> None:
    ledger = new(MemoryStore(), epsilon=3, delta="1e-3")
    with pytest.raises(ParameterError, match=message):
        select_partitions(counts, **COST, ledger=scope(ledger))
    assert kinds(ledger) == []


def test_a_strategy_refuses_what_does_not_fit_it() -> None:
    strategy = partition_strategy(**TWO, ledger=scope(new(MemoryStore(), **SUMS)))
    good = Counts({"a": 10**6, "b": 0}, places="all", max_contributions=2, unit="person")
    assert strategy.keep_column(good).tolist() == [True, False]
    for cap, unit, message in ((3, None, "capped at 3"), (1, "one house", "one house")):
        with pytest.raises(ParameterError, match=message):
            strategy.keep_column(Counts({}, places="all", max_contributions=cap, unit=unit))
    for ask in (strategy.noisy_count_if_kept, lambda n: strategy.noisy_count_keyed("a", n)):
        with pytest.raises(ParameterError, match="with_counts=True"):
            ask(5)

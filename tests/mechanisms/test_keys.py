"""Keys: what is drawn, what is refused and charged, where a seed shows, what the flights give."""

from __future__ import annotations

import base64
import copy
import csv
import gzip
import hashlib
import json
import pickle
import pprint
import random
from bisect import bisect_right
from collections import Counter
from dataclasses import asdict, astuple, replace
from dataclasses import fields as fields_of
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checks.finding import Refuted
from checks.releases import gate
from gmpy2 import isqrt, mpz
from ledgers import new, scope
from tapes import Stream, TapeSource

from safeselect import (
    Budget,
    BudgetError,
    Counts,
    Ledger,
    ParameterError,
    ScoreError,
    SourceError,
    compose,
    from_json,
    partition_strategy,
    select_partitions,
)
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.keys import draw_thresholds, keep_table, keyed_threshold
from safeselect.release.call import UNREADABLE
from safeselect.release.results import TopK
from safeselect.results import PartitionStrategy

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


def test_thresholds_follow_the_table() -> None:
    """By Chernoff's bound a false alarm has probability 1e-9, of fresh draws and of keyed ones.

    Power: a table whose rows are moved by one user fails.
    """
    table, count = keep_table(Fraction(1, 2), Fraction(1, 10), with_counts=True), 20_000
    chances = {(j,): (table.chance(j) - table.chance(j - 1),) * 2 for j in range(1, 7)}
    fresh = draw_thresholds(table, count, Stream(seed=5)).tolist()
    for drawn in (fresh, [keyed_threshold(table, b"seed", str(n)) for n in range(count)]):
        gate(Counter((j,) for j in drawn), count, chances)
    with pytest.raises(Refuted, match="shares"):
        gate(Counter((7 - j,) for j in fresh), count, chances)


def test_a_keyed_threshold_is_the_prf_of_the_key() -> None:
    """HMAC-SHA-512, as RFC 2104 has it, of a spelling that no two keys share."""

    def hmac_sha512(key: bytes, message: bytes) -> bytes:
        key = key.ljust(128, b"\0")
        inner = hashlib.sha512(bytes(b ^ 0x36 for b in key) + message).digest()
        return hashlib.sha512(bytes(b ^ 0x5C for b in key) + inner).digest()

    for key, spelled in (("7", b"s7"), ("-26", b"s-26"), ("ø\ud800", b"s\xc3\xb8\xed\xa0\x80")):
        code = hmac_sha512(b"x" * 32, b"safeselect/partition/1\x00" + bytes(4) + spelled)
        uniform = int.from_bytes(code, "big") >> (512 - TABLE.bits)
        assert keyed_threshold(TABLE, b"x" * 32, key) == bisect_right(TABLE.rows, uniform)
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


@pytest.mark.parametrize("with_counts", [False, True])
def test_the_result_says_what_it_cost(with_counts: bool) -> None:
    kept = select_partitions(USERS, **{**COST, "max_partitions": 3}, with_counts=with_counts)
    assert isinstance(kept, TopK)
    assert (kept.counts is None) == (kept.noise is None) == (not with_counts)
    assert from_json(kept.to_json()) == kept
    assert kept.guarantee.epsilon == compose(kept.parts).guarantee.epsilon == 1
    assert compose(kept.parts).guarantee.delta <= Fraction(1, 10**6)


def test_requests_depend_on_the_number_of_counts_alone() -> None:
    """Not on counts, on labels that are no items, on equal labels, or on what is kept."""

    def asked(counts: object, **more: object) -> int:
        source = TapeSource(seed=2)
        select_partitions(counts, **COST, source=source, **more)
        return source.asked

    assert (
        asked({"a": 1, "b": 10**9, "c": 0})
        == asked([5, 5, 5], labels=[None, 1, True])
        == asked(Counts({"x": 3, "y": 3, "z": 10**30}, places="all", max_contributions=1))
        == asked([1, 1, 1], labels=["a", "a", "a"], with_counts=True)
    )


def test_equal_keys_are_one_and_others_are_dropped() -> None:
    labels = [1, True, "1", None, float("nan"), b"x", ("a",)]
    kept = select_partitions([1, 10**6, 10**6, *(10**6,) * 4], labels=labels, **COST)
    assert kept.labels == ("1",)
    for counts in ({}, {"a": 0}, {"a": -5}, {None: 10**6}):
        assert select_partitions(counts, **COST, with_counts=True).labels == ()


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
    table = keep_table(Fraction(1, 2), 1 - root, with_counts=True)
    source = TapeSource()
    strategy = partition_strategy(**TWO, with_counts=True, source=source)
    assert source.asked == 32
    assert strategy.terms.table.certain == table.certain
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


def test_the_pre_threshold_of_each_method() -> None:
    strategy = partition_strategy(**TWO, pre_threshold=100, with_counts=True)
    table = strategy.terms.table
    sure = 99 + table.certain
    for users, kept in ((99, False), (sure, True)):
        counts = strategy.noisy_count_if_kept(users), strategy.noisy_count_keyed("a", users)
        assert [strategy.should_keep(users), strategy.keep_keyed("a", users)] == [kept] * 2
        assert [count is not None for count in counts] == [kept] * 2
    assert strategy.keep_column([99, sure]).tolist() == [False, True]
    assert [strategy.probability_of_keep(n) for n in (99, 100)] == [0, table.chance(1)]


def test_keyed_answers_belong_to_the_key_and_the_seed() -> None:
    one, other = partition_strategy(**TWO), partition_strategy(**TWO)
    table = one.terms.table
    keys = [*range(300), *map(str, range(300))]
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
    for held in (*made, replace(strategy, terms=strategy.terms)):
        seed = held._secret.seed
        assert isinstance(held, PartitionStrategy)
        assert len(seed) == 32
        assert held.release == strategy.release
        for n in range(60):
            assert held.noisy_count_keyed(f"{n}", n) == strategy.noisy_count_keyed(f"{n}", n)
        assert held.should_keep(10**6)
        shown = [repr(held), str(held), f"{held}", pprint.pformat(held), held.release.to_json()]
        listed = {f.name: getattr(held, f.name) for f in fields_of(held)}
        for fields in (asdict(held), astuple(held), listed):
            shown += [repr(fields), pprint.pformat(fields), json.dumps(fields, default=str)]
            with pytest.raises(TypeError, match="a seed is not copied alone"):
                pickle.dumps(fields)
        spelled = repr(seed)[2:20], seed.hex(), base64.b64encode(seed).decode()
        for text in shown:
            assert not any(each in text for each in (*spelled, repr(list(seed))[1:20]))
        assert not hasattr(held, "__dict__")


EQUAL = {
    5: [5.0, Fraction(5), Decimal(5), Decimal("5.00"), np.int8(5), np.float16(5), mpz(5)],
    1: [True, np.True_, 1.0],
    10**300: [Decimal(10) ** 300, mpz(10) ** 300, Fraction(10**300)],
}


class Loud(Fraction):
    @property
    def numerator(self) -> int:
        raise KeyError(987_654_321)


BAD = [
    *(10**5000, mpz(10) ** 5000, Decimal("1e5000"), 5j, 5 + 0j, Loud(1, 3), 0.5, 987_654.5),
    *(None, "5", [5], float("nan"), object()),
]


def test_a_number_of_users_is_an_integer_of_any_type() -> None:
    strategy = partition_strategy(**COST)
    for users, same in EQUAL.items():
        chance = strategy.probability_of_keep(users)
        assert {strategy.probability_of_keep(each) for each in same} == {chance}
    ways = (
        strategy.should_keep,
        strategy.probability_of_keep,
        lambda users: strategy.keep_keyed("a", users),
        lambda users: strategy.keep_column([users]),
        lambda users: select_partitions({"987": users}, **COST),
    )
    huge = tuple(map(id, BAD[:3]))  # a column of counts is cut at its largest
    for bad in BAD:
        for ask in ways[: 3 if id(bad) in huge else None]:
            with pytest.raises(ScoreError, match="counts must be integers, of whatever") as told:
                ask(bad)
            assert "987" not in str(told.value)
            assert told.value.__context__ is None or ask not in ways[:3]


# ------------------------------------------------------------- refused, charged, written down


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_partitions": 0}, "max_partitions must be between 1"),
        ({"max_partitions": 2.0}, "max_partitions must be an integer"),
        ({"pre_threshold": 0}, "pre_threshold must be between 1"),
        ({"with_counts": 1}, "with_counts must be True or False"),
        ({"delta": None}, "needs epsilon and delta"),
        ({"delta": 0}, "delta must be greater than zero"),
        ({"epsilon": "1e-8", "delta": "1e-9"}, "half a million"),
        ({"counts": Counts({}, places="all", max_contributions=4)}, "capped at 4"),
        ({"counts": Counts({}, places="all")}, "not capped"),
        ({"counts": Counts({}, places=5, max_contributions=1)}, "5 largest counts"),
        ({"counts": Counts({}, "all", max_contributions=1, unit="one house")}, "one house"),
    ],
)
def test_what_is_wrong_is_refused_before_the_charge(arguments: dict, message: str) -> None:
    ledger = new(MemoryStore(), epsilon=3, delta="1e-3")
    with pytest.raises(ParameterError, match=message):
        select_partitions(**{"counts": USERS, **COST, **arguments}, ledger=scope(ledger))
    assert kinds(ledger) == []


def test_a_strategy_refuses_what_does_not_fit_it() -> None:
    strategy = partition_strategy(**TWO, ledger=scope(new(MemoryStore(), epsilon=1, delta="1e-6")))
    good = Counts({"a": 10**6, "b": 0}, places="all", max_contributions=2, unit="person")
    assert strategy.keep_column(good).tolist() == [True, False]
    for cap, unit, message in ((3, None, "capped at 3"), (1, "one house", "one house")):
        with pytest.raises(ParameterError, match=message):
            strategy.keep_column(Counts({}, places="all", max_contributions=cap, unit=unit))
    for ask in (strategy.noisy_count_if_kept, lambda n: strategy.noisy_count_keyed("a", n)):
        with pytest.raises(ParameterError, match="with_counts=True"):
            ask(5)


def test_neighbours_that_replace_are_refused() -> None:
    terms = {"unit": "person", "neighbours": "replace_one"}
    ledger = Ledger.create(MemoryStore(), {"a": Budget(**terms, epsilon=3, delta="1e-3")})
    there = ledger.scope("a", **terms, purpose="a test")
    with pytest.raises(ParameterError, match="replace_one"):
        select_partitions(USERS, **COST, ledger=there)
    with pytest.raises(ParameterError, match="replace_one"):
        partition_strategy(**COST, ledger=there)


@pytest.mark.claim("C8")
def test_each_is_charged_once_when_it_is_made() -> None:
    ledger = new(MemoryStore(), epsilon=2, delta="2e-6")
    kept = select_partitions(USERS, **COST, ledger=scope(ledger))
    strategy = partition_strategy(**TWO, ledger=scope(ledger))
    for users in (0, 5, 10**6):
        strategy.should_keep(users)
        strategy.keep_keyed("a", users)
    assert kinds(ledger) == ["charged", "released"] * 2
    charge = [record.content for record in ledger.records()][2]
    assert charge["mechanism"] == kept.mechanism == "select_partitions/1"
    assert charge["parameters"] == {
        "max_partitions": "1",
        "pre_threshold": "1",
        "with_counts": "no",
        "sensitivity": "1",
        "monotonic": "yes",
        "effective_range": "1",
    }
    assert None not in (kept.receipt, strategy.release.receipt)
    source = TapeSource()
    for make in (lambda **more: select_partitions(USERS, **more), partition_strategy):
        with pytest.raises(BudgetError, match="does not allow"):
            make(**COST, source=source, ledger=scope(ledger))
    assert source.asked == 0


def test_a_failure_keeps_the_charge() -> None:
    """A count that is none has one sentence; a source fails at the salt or at the seed."""
    ledger = new(MemoryStore(), epsilon=9, delta="1e-3")
    for bad in (float("nan"), 0.5, None, "9", 987_654.5):
        with pytest.raises(ScoreError, match="the scores cannot be read as") as failed:
            select_partitions({"secret": bad}, **COST, ledger=scope(ledger))
        assert str(failed.value) == UNREADABLE
        assert failed.value.__context__ is None
    assert kinds(ledger) == ["charged", "aborted"] * 5
    for lasts in (0, 1):
        ledger = new(MemoryStore(), epsilon=1, delta="1e-3")
        with pytest.raises(SourceError, match="gone"):
            partition_strategy(**COST, source=TapeSource(lasts=lasts), ledger=scope(ledger))
        assert kinds(ledger) == ["charged", "aborted"]


# ------------------------------------------------------------------------------- the flights


EXPECTED = {
    (1, "1", "1e-6"): (53.7, 1.7),
    (3, "1", "1e-6"): (52.7, 1.0),
    (10, "1", "1e-6"): (51.1, 0.5),
    (1, "1/5", "1e-9"): (15.4, 0.8),
    (3, "1/5", "1e-9"): (13.3, 0.4),
    (10, "1/5", "1e-9"): (0.95, 0.1),
}
"""Expected keys by (kappa, epsilon, delta): the mean over random boundings, and its spread."""


def test_the_flights_give_the_expected_number_of_keys() -> None:
    """The exact sum of chances, mean over 20 random boundings, within two spreads."""
    planes: dict[str, set[str]] = {}
    place = Path(__file__).parents[2] / "examples" / "flights.csv.gz"
    with gzip.open(place, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            planes.setdefault(row["plane"], set()).add(row["destination"])
    assert (len(planes), sum(map(len, planes.values()))) == (4043, 44_396)
    draw = random.Random(2013)
    for kappa in (1, 3, 10):
        sizes: Counter[int] = Counter()
        for _ in range(20):
            bounded = (draw.sample(sorted(to), min(kappa, len(to))) for to in planes.values())
            sizes.update(Counter(key for keys in bounded for key in keys).values())
        for (most, epsilon, delta), (mean, spread) in EXPECTED.items():
            if most == kappa:
                strategy = partition_strategy(epsilon=epsilon, delta=delta, max_partitions=kappa)
                expected = sum(strategy.probability_of_keep(n) * sizes[n] for n in sizes)
                assert abs(float(expected / 20) - mean) <= 2 * spread

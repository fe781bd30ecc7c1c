"""`select_partitions`: what is drawn, what is refused, what the flights give."""

from __future__ import annotations

import csv
import gzip
import hashlib
import random
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from checks.finding import Refuted
from checks.releases import gate
from ledgers import new, scope
from tapes import Stream, TapeSource

from safeselect import (
    Budget,
    BudgetError,
    Counts,
    Ledger,
    ParameterError,
    ScoreError,
    SelectedPartitions,
    compose,
    partition_strategy,
    select_partitions,
)
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.keys import draw_thresholds, keep_table, keyed_threshold
from safeselect.release.call import UNREADABLE

COST = {"epsilon": 1, "delta": "1e-6", "max_partitions": 1}
USERS = {"Oslo": 40, "Rome": 14, 7: 15, "rare": 1}


# --------------------------------------------------------------------------------- thresholds


def words(values: list[int]) -> bytes:
    return np.array(values, dtype=np.uint64).tobytes()


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("1/5", "1e-9"), (1, "1e-30")])
def test_a_threshold_is_the_least_count_that_is_kept(epsilon: object, delta: str) -> None:
    """All words around every row, and rows that share their leading bits, by the definition."""
    table = keep_table(Fraction(epsilon), Fraction(delta), with_counts=True)
    leads = [row >> (table.bits - 64) for row in table.rows[:-1]]
    tried = sorted({w for lead in leads for w in (lead - 1, lead, lead + 1) if 0 <= w < 2**64})
    stream = Stream(words(tried), seed=3)
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
    """By Chernoff's bound a false alarm has probability 1e-9.

    Power: a table whose rows are moved by one user fails.
    """
    table = keep_table(Fraction(1, 2), Fraction(1, 10), with_counts=True)
    count = 20_000
    drawn = draw_thresholds(table, count, Stream(seed=5)).tolist()
    chances = {(j,): (table.chance(j) - table.chance(j - 1),) * 2 for j in range(1, 7)}
    gate(Counter((j,) for j in drawn), count, chances)
    with pytest.raises(Refuted, match="shares"):
        gate(Counter((7 - j,) for j in drawn), count, chances)


def test_a_keyed_threshold_is_the_prf_of_the_key() -> None:
    """The same law, from HMAC-SHA-512 of a spelling that no two keys share."""
    table = keep_table(Fraction(1), Fraction(1, 10**6), with_counts=False)
    for key, spelled in (("7", b"s7"), ("-26", b"s-26"), ("ø\ud800", b"s\xc3\xb8\xed\xa0\x80")):
        block = b"safeselect/partition/1\x00" + bytes(4) + spelled
        code = _hmac_sha512(b"x" * 32, block)
        uniform = int.from_bytes(code, "big") >> (512 - table.bits)
        assert keyed_threshold(table, b"x" * 32, key) == bisect_right(table.rows, uniform)
    long = keep_table(Fraction(1), Fraction(1, 2**1000), with_counts=False)
    assert 1 <= keyed_threshold(long, b"x" * 32, "a") <= long.certain


def _hmac_sha512(key: bytes, message: bytes) -> bytes:
    """RFC 2104, written out."""
    key = key.ljust(128, b"\0")
    inner = hashlib.sha512(bytes(b ^ 0x36 for b in key) + message).digest()
    return hashlib.sha512(bytes(b ^ 0x5C for b in key) + inner).digest()


def test_keyed_thresholds_follow_the_table() -> None:
    """False alarm 1e-9; a table moved by one user fails."""
    table = keep_table(Fraction(1, 2), Fraction(1, 10), with_counts=True)
    drawn = Counter((keyed_threshold(table, b"seed", str(n)),) for n in range(20_000))
    chances = {(j,): (table.chance(j) - table.chance(j - 1),) * 2 for j in range(1, 7)}
    gate(drawn, 20_000, chances)


# -------------------------------------------------------------------------------- the release


def test_what_is_kept_follows_from_the_words() -> None:
    """One word a count, in the order of the counts; keys come out in the order of their labels."""
    table = keep_table(Fraction(1), Fraction(1, 10**6), with_counts=True)
    low = table.bits - 64
    needed = [table.rows[n] >> low for n in (14, 15, 1)]
    kept = select_partitions(USERS, **COST, with_counts=True, source=_tape(1, 1, 1, 2**63))
    assert kept.labels == ("7", "Oslo", "Rome")
    assert kept.counts == tuple(n + table.centre - 1 for n in (15, 40, 14))
    # Oslo has more users than are ever needed; the others are kept or not by one word.
    assert table.certain < 40
    for more, labels in ((-1, ("7", "Oslo", "Rome", "rare")), (1, ("Oslo",))):
        tape = _tape(2**64 - 1, *(word + more for word in needed))
        kept = select_partitions(USERS, **COST, with_counts=True, source=tape)
        assert kept.labels == labels


def _tape(*values: int) -> TapeSource:
    return TapeSource(words(list(values)), seed=1)


@pytest.mark.parametrize("with_counts", [False, True])
def test_the_result_says_what_it_cost(with_counts: bool) -> None:
    kept = select_partitions(
        USERS, epsilon=1, delta="1e-6", max_partitions=3, with_counts=with_counts
    )
    assert isinstance(kept, SelectedPartitions)
    assert (kept.counts is None) == (kept.mean_noise is None) == (not with_counts)
    assert kept.guarantee.epsilon == 1
    assert compose(kept.parts).guarantee.epsilon == 1
    assert compose(kept.parts).guarantee.delta <= Fraction(1, 10**6)
    assert '"schema": "safeselect.selected-partitions/1"' in kept.to_json()
    assert repr(kept).startswith("<SelectedPartitions [")


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


@pytest.mark.parametrize("counts", [{}, {"a": 0}, {"a": -5}, {None: 10**6}])
def test_a_table_without_keys_is_no_error(counts: dict) -> None:
    assert select_partitions(counts, **COST, with_counts=True).labels == ()


def test_a_pre_threshold_is_never_undercut() -> None:
    """Nine of ten are nine fewer, and a released count is of all of them."""
    at_ten = {"epsilon": 1, "delta": "1e-6", "max_partitions": 1, "pre_threshold": 10}
    zeros = TapeSource(bytes(8), seed=1)
    assert select_partitions({"a": 9}, **at_ten, source=zeros).labels == ()
    table = keep_table(Fraction(1), Fraction(1, 10**6), with_counts=True)
    least = _tape(table.rows[1] // 2**94 // 2)  # a word below half of p_1: the threshold is 1
    kept = select_partitions({"a": 10}, **at_ten, with_counts=True, source=least)
    assert (kept.labels, kept.counts) == (("a",), (10 + table.centre - 1,))
    sure = select_partitions({"a": 9 + table.certain}, **at_ten)
    assert sure.labels == ("a",)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (Counts({}, places="all", max_contributions=4), "capped at 4"),
        (Counts({}, places="all"), "not capped"),
        (Counts({}, places=5, max_contributions=3), "5 largest counts"),
        (Counts({}, places="all", max_contributions=3, unit="one house"), "one house"),
    ],
)
def test_counts_that_do_not_fit_are_refused_before_the_charge(counts: Counts, message: str) -> None:
    ledger = new(MemoryStore(), epsilon=3, delta="1e-3")
    with pytest.raises(ParameterError, match=message):
        select_partitions(counts, epsilon=1, delta="1e-6", max_partitions=3, ledger=scope(ledger))
    assert charged(ledger) == []


def charged(ledger: Ledger) -> list[dict]:
    return [r.content for r in ledger.records() if r.content["kind"] in ("charged", "aborted")]


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
    ],
)
def test_wrong_arguments_are_refused_before_the_charge(arguments: dict, message: str) -> None:
    ledger = new(MemoryStore(), epsilon=3, delta="1e-3")
    with pytest.raises(ParameterError, match=message):
        select_partitions(USERS, **{**COST, **arguments}, ledger=scope(ledger))
    assert charged(ledger) == []


def test_neighbours_that_replace_are_refused() -> None:
    terms = {"unit": "person", "neighbours": "replace_one"}
    ledger = Ledger.create(MemoryStore(), {"a": Budget(**terms, epsilon=3, delta="1e-3")})
    with pytest.raises(ParameterError, match="replace_one"):
        select_partitions(USERS, **COST, ledger=ledger.scope("a", **terms, purpose="a test"))


def test_a_release_is_charged_once_and_has_its_receipt() -> None:
    ledger = new(MemoryStore(), epsilon=1, delta="1e-6")
    kept = select_partitions(USERS, **COST, ledger=scope(ledger))
    (record,) = charged(ledger)
    assert record["mechanism"] == kept.mechanism == "select_partitions/1"
    assert record["parameters"] == {
        "max_partitions": "1",
        "pre_threshold": "1",
        "with_counts": "no",
        "sensitivity": "1",
        "monotonic": "yes",
        "effective_range": "1",
    }
    assert kept.receipt is not None
    with pytest.raises(BudgetError, match="does not allow"):
        select_partitions(USERS, **COST, ledger=scope(ledger))


@pytest.mark.parametrize("bad", [float("nan"), 0.5, None, "9", 987_654.5])
def test_a_count_that_is_no_integer_has_one_sentence_after_the_charge(bad: object) -> None:
    with pytest.raises(ScoreError, match="counts must be integers") as told:
        select_partitions({"secret": bad}, **COST)
    ledger = new(MemoryStore(), epsilon=3, delta="1e-3")
    with pytest.raises(
        ScoreError, match="the scores cannot be read as the arguments say; what was charged stays"
    ) as failed:
        select_partitions({"secret": bad}, **COST, ledger=scope(ledger))
    assert str(failed.value) == UNREADABLE
    assert failed.value.__context__ is None
    assert [each["kind"] for each in charged(ledger)] == ["charged", "aborted"]
    for error in (told, failed):
        assert "secret" not in str(error.value)
        assert "987" not in str(error.value)


# ------------------------------------------------------------------------------- the flights


def flights() -> dict[str, list[str]]:
    """Which airports each plane flew to: 4043 planes, 44 396 pairs, 104 keys."""
    place = Path(__file__).parents[2] / "examples" / "flights.csv.gz"
    with gzip.open(place, "rt", encoding="utf-8", newline="") as file:
        found: dict[str, set[str]] = {}
        for row in csv.DictReader(file):
            found.setdefault(row["plane"], set()).add(row["destination"])
    return {plane: sorted(places) for plane, places in found.items()}


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
    planes = flights()
    assert len(planes) == 4043
    assert sum(map(len, planes.values())) == 44_396
    draw = random.Random(2013)
    for kappa in (1, 3, 10):
        bounded = [
            Counter(
                place
                for places in planes.values()
                for place in draw.sample(places, min(kappa, len(places)))
            )
            for _ in range(20)
        ]
        for (most, epsilon, delta), (mean, spread) in EXPECTED.items():
            if most != kappa:
                continue
            strategy = partition_strategy(epsilon=epsilon, delta=delta, max_partitions=kappa)
            sizes = Counter(n for counts in bounded for n in counts.values())
            expected = sum(strategy.probability_of_keep(n) * sizes[n] for n in sizes)
            assert abs(float(expected / 20) - mean) <= 2 * spread

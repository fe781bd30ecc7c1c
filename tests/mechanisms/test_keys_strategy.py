"""A strategy: charged once, when it is made; asked about each key once, wherever it is."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import pprint
from dataclasses import asdict, astuple, replace
from dataclasses import fields as fields_of
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpz
from ledgers import new, scope
from tapes import TapeSource

from safeselect import (
    BudgetError,
    Counts,
    ParameterError,
    PartitionStrategy,
    ScoreError,
    SourceError,
    partition_strategy,
)
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.keys import keep_table

COST = {"epsilon": 1, "delta": "1e-6", "max_partitions": 2}


@pytest.mark.claim("C8")
def test_it_is_charged_once_when_it_is_made() -> None:
    ledger = new(MemoryStore(), epsilon=1, delta="1e-6")
    strategy = partition_strategy(**COST, ledger=scope(ledger))
    for users in (0, 5, 10**6):
        strategy.should_keep(users)
        strategy.keep_keyed("a", users)
    kinds = [record.content["kind"] for record in ledger.records()]
    assert kinds.count("charged") == kinds.count("released") == 1
    assert strategy.receipt is not None
    with pytest.raises(BudgetError, match="does not allow"):
        partition_strategy(**COST, ledger=scope(ledger))


def test_the_seed_is_nowhere_to_be_seen() -> None:
    source = TapeSource(b"\xab" * 32)
    strategy = partition_strategy(**COST, source=source)
    assert source.asked == 32
    for text in (repr(strategy), str(strategy), strategy.to_json()):
        assert "ab" * 8 not in text
        assert "\\xab" not in text


def test_a_pickle_gives_the_same_answers() -> None:
    strategy = partition_strategy(**COST, with_counts=True, pre_threshold=5)
    for twin in (pickle.loads(pickle.dumps(strategy)), copy.deepcopy(strategy)):  # noqa: S301
        assert isinstance(twin, PartitionStrategy)
        assert twin.to_json() == strategy.to_json()
        for n in range(60):
            key = f"key {n}"
            assert twin.keep_keyed(key, n) == strategy.keep_keyed(key, n)
            assert twin.noisy_count_keyed(key, n) == strategy.noisy_count_keyed(key, n)
        assert twin.should_keep(10**6)


def test_nothing_that_lists_the_fields_shows_the_seed() -> None:
    strategy = partition_strategy(**COST)
    twin = pickle.loads(pickle.dumps(strategy))  # noqa: S301 - our own
    for held in (strategy, twin, copy.copy(strategy), replace(strategy, receipt=None)):
        seed = held._secret.seed
        assert len(seed) == 32
        assert held._secret.seed == strategy._secret.seed
        as_dict, as_tuple = asdict(held), astuple(held)
        assert as_dict["mechanism"] == strategy.mechanism
        shown = [repr(held), str(held), f"{held}", pprint.pformat(held), held.to_json()]
        for fields in (as_dict, as_tuple, {f.name: getattr(held, f.name) for f in fields_of(held)}):
            shown += [repr(fields), pprint.pformat(fields), json.dumps(fields, default=str)]
            with pytest.raises(TypeError, match="a seed is not copied alone"):
                pickle.dumps(fields)
        for text in shown:
            assert repr(seed)[2:20] not in text
            assert seed.hex() not in text.lower()
            assert base64.b64encode(seed).decode() not in text
            assert repr(list(seed))[1:20] not in text
        assert not hasattr(held, "__dict__")


def test_keyed_answers_belong_to_the_key_and_the_seed() -> None:
    one, other = partition_strategy(**COST), partition_strategy(**COST)
    users = one.terms.table.centre
    keys = [*range(300), *map(str, range(300))]
    ours = [one.keep_keyed(key, users) for key in keys]
    assert ours == [one.keep_keyed(key, users) for key in keys]
    assert ours != [other.keep_keyed(key, users) for key in keys]
    assert ours[:300] == ours[300:]  # 7 and "7" are one key
    for n in range(100):
        spellings = (n, float(n), Decimal(f"{n}.00"), Fraction(2 * n, 2), np.int8(n), str(n))
        assert len({one.keep_keyed(each, users) for each in spellings}) == 1
        assert one.keep_keyed(n / 8, users) == one.keep_keyed(f"{n / 8:g}", users)
    # More users never lose a key: the draw is not of the number.
    for key in keys[:50]:
        kept = [one.keep_keyed(key, n) for n in range(one.terms.table.certain + 1)]
        assert kept == sorted(kept)
        assert kept[-1]


@pytest.mark.parametrize(
    "key", [None, float("nan"), b"a", ("a",), Fraction(1, 3), pytest.param(2 ** (2**16), id="huge")]
)
def test_a_key_that_is_no_item_is_not_kept(key: object) -> None:
    strategy = partition_strategy(**COST, with_counts=True)
    assert strategy.keep_keyed(key, 10**9) is False
    assert strategy.noisy_count_keyed(key, 10**9) is None


def test_answers_follow_from_the_words() -> None:
    """Each method draws one word for each key, and keeps where U < p_n."""
    table = keep_table(Fraction(1, 2), 1 - _root(), with_counts=True)
    source = TapeSource()
    strategy = partition_strategy(**COST, with_counts=True, source=source)
    assert strategy.terms.table.certain == table.certain
    before = source.asked
    strategy.should_keep(0)
    word = source.asked - before  # Bits asks for 256 bytes, or for a word: a public size
    strategy.should_keep(10**9)
    strategy.noisy_count_if_kept(3)
    assert source.asked - before == 3 * word
    kept = strategy.keep_column([0, 10**9, -4, table.certain, table.certain + 1])
    assert kept.dtype == np.bool_
    assert kept.tolist() == [False, True, False, True, True]
    assert strategy.noisy_count_if_kept(0) is None
    n = 10 * table.certain
    for found in (strategy.noisy_count_if_kept(n), strategy.noisy_count_keyed("a", n)):
        assert n + table.centre - table.certain <= found <= n + table.centre - 1


def _root() -> Fraction:
    """(1 - 1e-6) ** (1/2), nearly: what two keys leave."""
    from gmpy2 import isqrt, mpz

    return Fraction(int(isqrt(mpz(999_999 * 10**94))), 10**50)


def test_the_pre_threshold_of_each_method() -> None:
    strategy = partition_strategy(**COST, pre_threshold=100, with_counts=True)
    certain = strategy.terms.table.certain
    assert not strategy.should_keep(99)
    assert not strategy.keep_keyed("a", 99)
    assert strategy.noisy_count_if_kept(99) is None
    assert strategy.probability_of_keep(99) == 0
    assert strategy.probability_of_keep(100) == strategy.terms.table.chance(1)
    assert strategy.keep_column([99, 99 + certain]).tolist() == [False, True]
    assert strategy.should_keep(99 + certain)
    assert strategy.keep_keyed("a", 99 + certain)


def test_counts_without_the_option_are_refused() -> None:
    strategy = partition_strategy(**COST)
    for ask in (
        lambda: strategy.noisy_count_if_kept(5),
        lambda: strategy.noisy_count_keyed("a", 5),
    ):
        with pytest.raises(ParameterError, match="with_counts=True"):
            ask()


@pytest.mark.parametrize("bad", [None, "12", 1.5, float("nan"), object(), [3]])
def test_a_number_that_is_no_integer_is_refused_without_a_quote(bad: object) -> None:
    strategy = partition_strategy(**COST)
    for ask in (
        strategy.should_keep,
        strategy.probability_of_keep,
        lambda users: strategy.keep_keyed("a", users),
        lambda users: strategy.keep_column([users]),
    ):
        with pytest.raises(ScoreError, match="counts must be integers") as refused:
            ask(bad)
        assert "12" not in str(refused.value)


def test_counts_capped_above_are_refused() -> None:
    ledger = new(MemoryStore(), epsilon=1, delta="1e-6")
    strategy = partition_strategy(**COST, ledger=scope(ledger))
    good = Counts({"a": 10**6, "b": 0}, places="all", max_contributions=2, unit="person")
    assert strategy.keep_column(good).tolist() == [True, False]
    for cap, unit, message in ((3, None, "capped at 3"), (1, "one house", "one house")):
        with pytest.raises(ParameterError, match=message):
            strategy.keep_column(Counts({}, places="all", max_contributions=cap, unit=unit))


class Failing(TapeSource):
    """Fails once so many bytes have been asked for."""

    def __init__(self, after: int) -> None:
        super().__init__(seed=2)
        self._after = after

    def fill(self, buffer: object, /) -> None:
        if self.asked >= self._after:
            raise SourceError("the device is gone")
        super().fill(buffer)


@pytest.mark.parametrize("after", [0, 1])
def test_a_failure_keeps_the_charge_and_a_refusal_draws_nothing(after: int) -> None:
    ledger = new(MemoryStore(), epsilon=1, delta="1e-6")
    with pytest.raises(SourceError, match="gone"):
        partition_strategy(**COST, source=Failing(after), ledger=scope(ledger))
    assert [record.content["kind"] for record in ledger.records()][2:] == ["charged", "aborted"]
    source = TapeSource()
    with pytest.raises(BudgetError, match="does not allow"):
        partition_strategy(**COST, source=source, ledger=scope(ledger))
    assert source.asked == 0


@pytest.mark.parametrize(
    ("users", "same"),
    [
        (5, [5.0, Fraction(5), Decimal(5), Decimal("5.00"), np.int8(5), np.float16(5), mpz(5)]),
        (1, [True, np.True_, 1.0]),
        (10**300, [Decimal(10) ** 300, mpz(10) ** 300, Fraction(10**300)]),
    ],
)
def test_equal_numbers_of_users_are_the_same_number(users: Any, same: list[Any]) -> None:
    strategy = partition_strategy(epsilon=1, delta="1e-3", max_partitions=1)
    chance = strategy.probability_of_keep(users)
    assert {strategy.probability_of_keep(each) for each in same} == {chance}


class Loud(Fraction):
    @property
    def numerator(self) -> int:
        raise KeyError(987_654_321)


@pytest.mark.parametrize(
    "users",
    [10**5000, mpz(10) ** 5000, Decimal("1e5000"), 5j, 5 + 0j, Loud(1, 3), 0.5, None, "5", [5]],
    ids=lambda users: type(users).__name__,
)
def test_what_is_no_number_of_users_is_one_sentence(users: Any) -> None:
    strategy = partition_strategy(epsilon=1, delta="1e-3", max_partitions=1)
    for ask in (strategy.should_keep, strategy.probability_of_keep, lambda n: keyed(strategy, n)):
        with pytest.raises(ScoreError, match="counts must be integers, of whatever") as caught:
            ask(users)
        assert caught.value.__context__ is None


def keyed(strategy: PartitionStrategy, users: Any) -> bool:
    return strategy.keep_keyed("Oslo", users)

"""From a table to its keys in one call: what is counted, refused, and charged when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isqrt
from pathlib import Path
from typing import Any

import pytest
from quantile_laws import ledger as ledger_of
from table_sources import kept

from safeselect import (
    InputError,
    ParameterError,
    SafeSelectError,
    SafeSelectWarning,
    ScoreError,
    select_partitions,
)
from safeselect.release.call import UNREADABLE
from safeselect.tables import count_distinct_users, items, select_keys

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

COLUMNS = {"item": "city", "user": "rider"}
COST = {"epsilon": 1, "delta": "1e-6"}
ROWS = [(f"city {user * user % 23}", user // 3) for user in range(900)] * 2
ROWS += [(None, 5), ("city 1", None), ("", 7), ("only", 11)]
TABLE = pa.table({"city": [city for city, _ in ROWS], "rider": [rider for _, rider in ROWS]})


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_user_counts_for_so_many_items(most: int) -> None:
    counts = count_distinct_users(TABLE, **COLUMNS, max_contributions=most, unit="person")
    assert (dict(counts), list(counts)) == (kept(ROWS, most), sorted(counts, key=str.encode))
    assert (counts.places, counts.max_contributions, counts.unit) == ("all", most, "person")
    # So the counts fit a selection with this bound, and no smaller one.
    select_partitions(counts, **COST, max_partitions=most)
    if most > 1:
        with pytest.raises(ParameterError, match=f"capped at {most}"):
            select_partitions(counts, **COST, max_partitions=most - 1)


def test_a_bound_goes_without_candidates() -> None:
    with pytest.raises(ParameterError, match="without candidates"):
        count_distinct_users(TABLE, **COLUMNS, candidates=["city 1"], max_contributions=1)


def test_the_whole_table_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All counts, with the bound and the arguments; items below the pre-threshold are left out."""
    seen = spied(monkeypatch)
    found = select_keys(
        TABLE, **COLUMNS, **COST, max_partitions=2, pre_threshold=20, with_counts=True
    )
    assert found.mechanism == "select_partitions_with_counts/1"
    ((counts, terms),) = seen
    assert counts == {city: n for city, n in kept(ROWS, 2).items() if n >= 20}
    assert 0 < len(counts) < len(kept(ROWS, 2))
    assert (terms.max_partitions, terms.pre_threshold, terms.with_counts) == (2, 20, True)


def spied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, int], Any]]:
    """What the engine counted for each release, and its terms."""
    seen: list[tuple[dict[str, int], Any]] = []
    original = items.release_keys

    def spy(terms: Any, counts: Any, *more: Any) -> Any:
        users, labels = counts.read()
        found = dict(zip(labels.to_pylist(), users.to_pylist(), strict=True))
        seen.append((found, terms))
        return original(terms, found, *more)

    monkeypatch.setattr(items, "release_keys", spy)
    return seen


def weighed(rows: Iterable[tuple[Any, Any]], squared: int, most: int) -> Counter[str]:
    """The sums of weights by their definition, from the items that each user keeps."""
    sums: Counter[str] = Counter()
    for user in {user for item, user in rows if None not in (item, user)}:
        own = kept([row for row in rows if row[1] == user], most)
        sums.update(dict.fromkeys(own, isqrt(squared // len(own))))
    return sums


@pytest.mark.parametrize("most", [1, 7, 60])
def test_users_count_by_weights(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's weight follows from its own items; a row twice, or without an item, is no item."""
    seen = spied(monkeypatch)
    rows = [(each, user) for user in range(45) for each in (*range(user), None, 0, 0)]
    table = pa.table({"city": [item for item, _ in rows], "rider": [user for _, user in rows]})
    call = {**COLUMNS, **COST, "max_partitions": most, "noise": "gaussian"}
    found = select_keys(table, **call)
    ((sums, terms),) = seen
    assert found.mechanism == "select_partitions_gaussian/1"
    assert sums == weighed(rows, terms.squared, most)
    select_keys(table.filter(pc.not_equal(table["rider"], 44)), **call)
    moved = {key: value - seen[1][0].get(key, 0) for key, value in sums.items()}
    assert 0 < sum(value**2 for value in moved.values()) <= terms.squared


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"item": "town"}, InputError, "no column"),
        ({"max_partitions": 0}, ParameterError, "max_partitions"),
        ({"pre_threshold": 0}, ParameterError, "pre_threshold"),
        ({"delta": 1}, ParameterError, "delta"),
        ({"unit": "house"}, ParameterError, "house"),
        ({"rows": 0}, ParameterError, "rows"),
        ({"ledger": "replace_one"}, ParameterError, "add/remove"),
        ({"noise": "laplace"}, ParameterError, "noise must be"),
        ({"noise": "gaussian", "with_counts": True}, ParameterError, "with_counts and pre_"),
        ({"noise": "gaussian", "pre_threshold": 2}, ParameterError, "with_counts and pre_"),
        ({"noise": "gaussian", "max_partitions": 9, "epsilon": "1/999"}, ParameterError, "most 7"),
    ],
)
def test_what_is_wrong_without_the_rows_costs_nothing(
    arguments: dict[str, Any], error: type[SafeSelectError], message: str
) -> None:
    ledger, there = ledger_of(arguments.get("ledger", "add_remove"), epsilon=3, delta="1e-3")
    with pytest.raises(error, match=message):
        select_keys(TABLE, **{**COLUMNS, **COST, **arguments, "ledger": there})
    assert [r.content["kind"] for r in ledger.records()] == ["created", "scope"]


def test_rows_are_read_after_the_charge(tmp_path: Path) -> None:
    """A cell too many has the one sentence, and the charge stands."""
    path = tmp_path / "trips.csv"
    path.write_text("city,rider\n" + "Rome,1\n" * 50 + "Zebedee-4711,1,2\n", "utf-8")
    ledger, there = ledger_of(epsilon=3, delta="1e-3")
    with pytest.raises(ScoreError, match="The charge remains") as failed:
        select_keys(path, **COLUMNS, **COST, ledger=there)
    assert str(failed.value) == UNREADABLE
    assert " ".join(r.content["kind"] for r in ledger.records()) == "created scope charged aborted"


def test_a_delta_above_one_over_the_rows_is_warned_of() -> None:
    with pytest.warns(SafeSelectWarning, match="above 1/9999999"):
        select_keys(TABLE, **COLUMNS, **COST, rows=9_999_999)

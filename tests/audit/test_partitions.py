"""What `verify` says of partition tables: good ones pass, and each kind of wrong one does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from safeselect.audit import partitions
from safeselect.audit.finding import Refuted
from safeselect.audit.partitions import check_table, partition_tables
from safeselect.audit.verify import FULL, QUICK, checks
from safeselect.mechanisms.keys import KeepTable, keep_table

EPSILON, DELTA = Fraction(1, 2), Fraction(1, 1000)


@pytest.mark.parametrize("table", [*partition_tables()], ids=lambda table: table.name)
def test_the_shipped_tables_pass(table: partitions.PartitionTable) -> None:
    assert "rows" in table.examine(QUICK)


def test_verify_runs_them() -> None:
    names = [check.name for check in checks() if check.kind == "privacy"]
    assert {table.name for table in partition_tables()} <= set(names)


def examined(table: KeepTable, *, with_counts: bool) -> int:
    return check_table(table, EPSILON, DELTA, with_counts=with_counts, effort=FULL)


def with_row(table: KeepTable, place: int, change: int) -> KeepTable:
    rows = list(table.rows)
    rows[place] += change
    return replace(table, rows=tuple(rows))


@pytest.mark.parametrize("place", [1, 5, 9, 15])
@pytest.mark.parametrize("change", [2**90, -(2**90)])
def test_a_row_that_is_moved_is_refuted(place: int, change: int) -> None:
    for with_counts in (False, True):
        table = keep_table(EPSILON, DELTA, with_counts=with_counts)
        examined(table, with_counts=with_counts)
        with pytest.raises(Refuted, match="not private"):
            examined(with_row(table, place, change), with_counts=with_counts)


@pytest.mark.parametrize(
    ("wrong", "message"), [({"growth": 2**20}, "above e"), ({"delta": 2**20}, "above delta")]
)
def test_wrong_numbers_are_refuted(wrong: dict[str, int], message: str) -> None:
    table = keep_table(EPSILON, DELTA, with_counts=False)
    moved = {name: getattr(table, name) + change for name, change in wrong.items()}
    with pytest.raises(Refuted, match=message):
        examined(replace(table, **moved), with_counts=False)


def test_a_table_for_decisions_alone_is_refuted_for_counts() -> None:
    """Its roundings are private for each decision, and too many for a count."""
    table = keep_table(EPSILON, DELTA, with_counts=False)
    assert examined(table, with_counts=False) == 0
    with pytest.raises(Refuted, match="counts of"):
        examined(table, with_counts=True)


def test_a_wrong_centre_would_move_the_counts_together() -> None:
    """The centre is public: a wrong one moves every value by the same, and costs nothing."""
    table = keep_table(EPSILON, DELTA, with_counts=True)
    assert examined(replace(table, centre=table.centre + 3), with_counts=True) > 10


def test_thresholds_of_another_row_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = partitions.draw_thresholds
    monkeypatch.setattr(partitions, "draw_thresholds", lambda *given: draw(*given) + 1)
    with pytest.raises(Refuted, match="not of its row"):
        next(partition_tables()).examine_draws(QUICK)

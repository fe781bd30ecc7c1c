"""PipelineDP: its law of partition selection is ours, and its pipeline runs on ours.

`make pipeline-dp` runs it in an environment of its own, because PipelineDP pins other packages.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from chances import fits

from safeselect import ParameterError, partition_strategy
from safeselect.adapters.pipeline_dp import create_partition_selection_strategy

pipeline_dp = pytest.importorskip("pipeline_dp")
selection = pytest.importorskip("pydp.algorithms.partition_selection")

pytestmark = pytest.mark.filterwarnings("default")  # PipelineDP's own are not ours to repair

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "examples")
    import pipeline_keys

    return pipeline_keys


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"), [(1.0, 1e-6, 1), (1.0, 1e-6, 3), (0.2, 1e-9, 3), (1.0, 1e-6, 10)]
)
@pytest.mark.parametrize("least", [None, 10])
def test_the_truncated_geometric_selection_has_the_same_law(
    epsilon: float, delta: float, most: int, least: int | None
) -> None:
    """For every number of users; theirs is computed in doubles."""
    more = [] if least is None else [least]
    theirs = selection.create_partition_strategy("truncated_geometric", epsilon, delta, most, *more)
    ours = partition_strategy(
        epsilon=epsilon, delta=delta, max_partitions=most, pre_threshold=least or 1
    )
    for users in range(1, 700):
        own = float(ours.probability_of_keep(users))
        assert abs(theirs.probability_of_keep(users) - own) <= 1e-12 * own


def selected(table: dict[str, int], **more: Any) -> list[str]:
    """The keys that PipelineDP selects; each user is in one of them."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-4)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    rows = [(f"{key} {n}", key) for key, users in table.items() for n in range(users)]
    found = engine.select_partitions(
        rows,
        pipeline_dp.SelectPartitionsParams(max_partitions_contributed=2, **more),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1]
        ),
    )
    accountant.compute_budgets()
    return list(found)


@pytest.mark.parametrize("least", [None, 10])
def test_one_line_makes_its_engine_select_with_ours(
    monkeypatch: pytest.MonkeyPatch, least: int | None
) -> None:
    """With the budget of its accountant, and by its law: a key of few users now and then.

    False alarm: 1e-9; power: `chances.fits`.
    """
    asked: list[tuple[Any, ...]] = []

    def ours(*given: Any) -> Any:
        asked.append(given)
        return create_partition_selection_strategy(*given)

    monkeypatch.setattr(
        pipeline_dp.partition_selection, "create_partition_selection_strategy", ours
    )
    law = partition_strategy(
        epsilon=1, delta="1e-4", max_partitions=2, pre_threshold=least or 1
    ).probability_of_keep
    users = next(n for n in range(100) if law(n) > Fraction(1, 3))
    keys = {f"key {n}": users for n in range(600)}
    kept = selected({**keys, "large": 200, "small": (least or 2) - 1}, pre_threshold=least)
    assert "large" in kept
    assert "small" not in kept or least is None
    chosen = sum(key in keys for key in kept)
    assert fits(
        Counter(yes=chosen, no=600 - chosen),
        {"yes": float(law(users)), "no": 1 - float(law(users))},
        sees=0.22,
    )
    kind = pipeline_dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC
    assert (set(asked), len(asked)) == ({(kind, 1.0, 1e-4, 2, least)}, 602)


def test_other_strategies_are_refused_where_it_would_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pipeline_dp.partition_selection,
        "create_partition_selection_strategy",
        create_partition_selection_strategy,
    )
    kinds = pipeline_dp.PartitionSelectionStrategy
    for kind in set(kinds) - {kinds.TRUNCATED_GEOMETRIC}:
        with pytest.raises(ParameterError, match="strategy must be PartitionSelectionStrategy"):
            selected({"key": 900}, partition_selection_strategy=kind)


def test_the_example_runs(example: ModuleType, capsys: pytest.CaptureFixture[Any]) -> None:
    example.main()
    out = capsys.readouterr().out
    assert "guarantee of the keys: ApproximateDP(epsilon=Fraction(1, 1)" in out
    assert "airports shown: " in out

"""A PipelineDP pipeline whose partitions are selected by safeselect: `make pipeline-dp`.

How many planes flew to each airport?  The airports are found in the data, so which of them show is
private too.  PipelineDP bounds the planes, counts and adds noise; the decisions are exact, keyed
and on a ledger.

Neighbours: all flights of one plane are added or removed.
Guarantee: (1, 1e-6)-DP for the keys, by safeselect, and 1-DP for the counts, by PipelineDP.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pipeline_dp
from flights import Flight, flights

from safeselect import Budget, Ledger, PartitionStrategy, partition_strategy

MOST = 3  # airports for which a plane counts
TERMS = {"unit": "plane", "neighbours": "add_remove"}


class Engine(pipeline_dp.DPEngine):
    """PipelineDP's engine, but that a strategy of ours decides which partitions are kept."""

    strategy: PartitionStrategy

    def _select_private_partitions_internal(self, col, partitions, rows, *_):
        def keep(row: Any) -> bool:
            return self.strategy.keep_keyed(row[0], -(-row[1][0] // rows))

        return self._backend.filter(col, keep, "Filter private partitions")


def kept(table: list[Flight], strategy: PartitionStrategy) -> dict[str, float]:
    """The airports that are kept, with their noisy numbers of planes."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = Engine(accountant, pipeline_dp.LocalBackend())
    engine.strategy = strategy
    found = engine.aggregate(
        table,
        pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=MOST,
            max_contributions_per_partition=1,
        ),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda flight: flight.plane,
            partition_extractor=lambda flight: flight.destination,
            value_extractor=lambda _: 0,
        ),
    )
    accountant.compute_budgets()
    return {airport: counts.privacy_id_count for airport, counts in found}


def main() -> None:
    with TemporaryDirectory() as folder:  # in earnest a ledger stays
        budgets = {"planes": Budget(**TERMS, epsilon=1, delta="1e-6")}
        ledger = Ledger.create(Path(folder, "budget.log"), budgets)
        scope = ledger.scope("planes", **TERMS, purpose="airports that may be shown")
        strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=MOST, ledger=scope)
    found = kept(list(flights()), strategy)
    for airport, planes in sorted(found.items(), key=lambda pair: -pair[1])[:3]:
        print(f"{airport}: about {planes:.0f} planes")
    print(f"airports shown: {len(found)}")
    print(f"guarantee of the keys: {strategy.guarantee}")


if __name__ == "__main__":
    main()

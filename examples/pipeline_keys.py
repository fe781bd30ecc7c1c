"""A PipelineDP pipeline whose partitions are selected by safeselect; `make pipeline-dp` tests it.

How many planes flew to each airport?  The airports are found in the data, so the set of airports is
private, too.  First, safeselect selects the airports, with exact keyed decisions that are charged
to a ledger.  From then on, the airports are public, and PipelineDP bounds the contributions of
planes, counts the planes and adds noise.

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: (1, 1e-6)-DP for the keys, by safeselect, and 1-DP for the counts, by PipelineDP.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pipeline_dp
from flights import Flight, flights

from safeselect import Budget, Ledger, partition_strategy
from safeselect.adapters.pipeline_dp import kept_partitions
from safeselect.results import PartitionStrategy

MOST = 3  # airports for which a plane counts
TERMS = {"unit": "plane", "neighbours": "add_remove"}


def kept(table: list[Flight], strategy: PartitionStrategy) -> dict[str, float]:
    """Return the airports that are kept, with their noisy numbers of planes."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    backend = pipeline_dp.LocalBackend()
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda flight: flight.plane,
        partition_extractor=lambda flight: flight.destination,
        value_extractor=lambda _: 0,
    )
    found = pipeline_dp.DPEngine(accountant, backend).aggregate(
        table,
        pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=MOST,
            max_contributions_per_partition=1,
        ),
        extractors,
        public_partitions=kept_partitions(
            table, extractors=extractors, backend=backend, strategy=strategy
        ),
    )
    accountant.compute_budgets()
    return {airport: counts.privacy_id_count for airport, counts in found}


def main() -> None:
    with TemporaryDirectory() as folder:  # in production, keep the ledger
        budgets = {"planes": Budget(**TERMS, epsilon=1, delta="1e-6", own_delta="1e-6")}
        ledger = Ledger.create(Path(folder, "budget.log"), budgets)
        scope = ledger.scope("planes", **TERMS, purpose="airports that may be shown")
        strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=MOST, ledger=scope)
    found = kept(list(flights()), strategy)
    for airport, planes in sorted(found.items(), key=lambda pair: -pair[1])[:3]:
        print(f"{airport}: about {planes:.0f} planes")
    print(f"airports shown: {len(found)}")
    print(f"guarantee of the keys: {strategy.release.guarantee}")


if __name__ == "__main__":
    main()

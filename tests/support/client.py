"""A client's program with every public function: mypy and pyright read it, and it runs.

`tests/test_typing.py` sees that each name of `docs/interface.md` stands here, that both checkers
find nothing, and that what `assert_type` says of labels is so.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import safeselect as s
from safeselect import accounting, estimates, ledger, prepared, sources, tables, testing
from safeselect.adapters import diffprivlib, synthetic_data
from safeselect.adapters.pipeline_dp import create_partition_selection_strategy, kept_partitions
from safeselect.mechanisms.runs import CoveredScope
from safeselect.mechanisms.sessions import Answer
from safeselect.release import results
from safeselect.results import Batch, PartitionStrategy, Release, Selection, TopK, json_schema


def use(*found: object) -> None:
    """A client would go on from here."""


VOTES = {"tea": 5, "milk": 900}
YEARS = {1999: 5, 2003: 900}


def budget() -> ledger.Scope:
    """A ledger of its own for each call."""
    made = s.Ledger.create(":memory:", {"votes": s.Budget("person", "add_remove", epsilon=20)})
    return made.scope("votes", unit="person", neighbours="add_remove", purpose="types")


def one_choice() -> None:
    """The type of the labels is that of the result."""
    best = s.permute_and_flip(VOTES, epsilon=1, sensitivity=1, ledger=budget())
    assert_type(best, Selection[str])
    assert_type(best.label, str)
    assert_type(best.gap, Fraction | None)
    paid: results.Receipt | None = best.receipt
    said: results.Provenance = best.provenance
    year = s.exponential_mechanism(YEARS, rho="1/8", sensitivity=1, source=sources.SystemSource())
    assert_type(year.label, int)
    assert_type(s.exponential_mechanism_base2(VOTES, base="1/2", sensitivity=1), Selection[str])
    assert_type(
        s.report_noisy_max(
            [1, 2], noise="gumbel", epsilon=1, range_=Fraction(1), labels=["a", "b"]
        ),
        Selection[str],
    )
    assert_type(s.permute_and_flip_with_gap(YEARS, epsilon=1, sensitivity=1), Selection[int])
    assert_type(
        s.exponential_mechanism_with_gap(VOTES, epsilon=1, sensitivity=1, gap_grid="1/2").label, str
    )
    gap = s.report_noisy_max_with_gap(VOTES, noise="laplace", epsilon=1, sensitivity=1)
    assert_type(gap.label, str)
    use(paid, said.version, best.to_json())


def several() -> None:
    """Lists, sets and rows of choices."""
    assert_type(s.top_k(VOTES, k=1, epsilon=1, sensitivity=1), TopK[str])
    assert_type(s.top_k(YEARS, k=1, rho=1, sensitivity=1, mechanism="permute_and_flip"), TopK[int])
    chosen = s.top_k(VOTES, k=1, epsilon="0.1", delta="1e-9", sensitivity=1, mechanism="laplace")
    assert_type(chosen, TopK[str])
    assert_type(s.top_k_with_gaps(VOTES, k=1, epsilon=1, sensitivity=1), TopK[str])
    assert_type(s.top_k_above(YEARS, k=1, threshold=3, epsilon=1, sensitivity=1), TopK[int])
    rows = np.zeros((2, 3), dtype=np.int64)
    assert_type(s.select_many(rows, epsilon=1, sensitivity=1, labels=["a", "b", "c"]), Batch[str])
    others = s.select_many(rows, k=2, epsilon=1, sensitivity=1, labels=["a", "b", "c"])
    assert_type(others, Batch[str])


def called_again() -> None:
    """Labels belong to a call."""
    own = prepared.StatedLaw("first/1", s.PureDP, lambda scores, k, rate, bits: range(k))
    assert_type(s.top_k(YEARS, k=1, epsilon=1, sensitivity=1, mechanism=own), TopK[int])
    flip = prepared.PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
    assert_type(flip(VOTES).label, str)
    assert_type(flip(YEARS).label, int)
    assert_type(prepared.ExponentialMechanism(rho=1, sensitivity=1)(VOTES).label, str)
    base2 = prepared.ExponentialMechanismBase2(base="1/2", sensitivity=1)
    assert_type(base2([1, 2], labels=["a", "b"]).label, str)
    assert_type(
        prepared.ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1)(YEARS).label, int
    )
    assert_type(
        prepared.TopKMechanism(k=1, epsilon=1, sensitivity=1)(VOTES).labels, tuple[str, ...]
    )


def unknown_candidates() -> None:
    """Keys that are found in the data, partitions, sessions."""
    found = s.unknown_domain_top_k({"a": 9}, k=1, k_bar=1, places="all", epsilon=1, delta="1e-6")
    assert_type(found, results.TopK[str])
    assert_type(found.labels, tuple[str, ...])
    noise: results.Noise | None = found.noise
    kept = s.select_partitions({"tea": 5}, epsilon=1, delta="1e-6", max_partitions=1)
    assert_type(kept, results.TopK[str])
    assert_type(kept.labels, tuple[str, ...])
    strategy = s.partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
    assert_type(strategy, PartitionStrategy)
    assert_type(strategy.should_keep(5), bool)
    with s.SparseVector(threshold=2, k=1, epsilon=1, sensitivity=1) as above:
        assert_type(above.query(5), Answer)
    with s.AdaptiveSparseVector(threshold=2, k=2, epsilon=1, sensitivity=1) as adaptive:
        assert_type(adaptive.query_many([1, 2]), results.Answers)
    with s.PayWhatYouGet(outcomes=5, queries=2, epsilon=1, delta="1e-6") as session:
        assert_type(session.query({"a": 9}, k=1, k_bar=1, places="all").labels, tuple[str, ...])
    use(noise, s.Counts({"tea": 5}, places="all"))


def numbers() -> None:
    """Measurements, quantiles, runs that are private themselves."""
    assert_type(s.measure([1, 2], epsilon=1, sensitivity_l1=1), results.Numbers[int, Any])
    assert_type(s.measure(VOTES, epsilon=1, sensitivity_l1=1), results.Numbers[int, str])
    median = s.quantile([1, 2], quantile="1/2", lowest=0, highest=9, step=1, epsilon=1)
    assert_type(median, results.Numbers[Any, Fraction])
    asked = [Fraction(1, 4), Fraction(1, 2)]
    assert_type(
        s.quantiles([1, 2], quantiles=asked, lowest=0, highest=9, step=1, epsilon=1),
        results.Numbers[Any, Fraction],
    )

    def run(covered: CoveredScope) -> tuple[int, str]:
        return 1, s.permute_and_flip(VOTES, epsilon="1/4", sensitivity=1, ledger=covered).label

    base = s.LaplaceDominated(Fraction(1, 4))
    assert_type(s.best_of(run, base=base, mean=2), results.Numbers[Any, str])
    chosen = s.best_of(run, base=base, gamma="1/2", ledger=budget())
    assert_type(chosen, results.Numbers[Any, str])
    assert_type(chosen.labels, tuple[str, ...] | None)
    assert_type(s.first_above(run, threshold=0, base=base, gamma="1/2").value, Any)


def accounts() -> None:
    """Guarantees and what they cost together."""
    one = Fraction(1)
    total = s.compose([s.PureDP(one), s.LaplaceDominated(one)], delta="1e-6")
    assert_type(total, accounting.Composition)
    repeated = accounting.Repeated(s.PureDP(one), one, one / 2)
    poisson = accounting.PoissonRepeated(s.PureDP(one), one)
    laws = (
        accounting.DiscreteLaplace(one),
        accounting.DiscreteGaussian(one),
        accounting.RandomizedResponse(one / 4, 2),
    )
    assert_type(
        accounting.compose_delta([laws[2]] * 2, epsilon=1, precision="1e-2"), accounting.Composition
    )
    assert_type(s.calibrate(s.BoundedRange, k=5, epsilon=1, delta="1e-6"), Fraction)
    said: Release = s.from_json(s.measure([1, 2], epsilon=1, sensitivity_l1=1).to_json())
    fields = list(json_schema(Selection))
    costs = s.ApproximateDP(one, one / 10**6), s.ZeroConcentratedDP(one / 8)
    told = s.explain(k=2, epsilon=1), estimates.expected_error(n=5, gap=1, epsilon=1, sensitivity=1)
    use(repeated.pure, poisson.pure, said, fields, costs, told, laws, s.GaussianDP(one))


def planned() -> None:
    """Items and groups, before any data is touched."""
    plans = estimates.explain_items(2, [1, "1/2"], "1e-6")
    assert_type(plans, estimates.Plans)
    assert_type(plans.plans, tuple[estimates.Plan, ...])
    grouped = estimates.explain_groups(2, [1], "1e-6", groups=3, groups_per_user=1)
    assert_type(grouped, estimates.Plans)
    assert_type(grouped.plans, tuple[estimates.Plan, ...])
    keys = estimates.explain_keys([1], "1e-6")
    assert_type(keys, estimates.Plans)
    assert_type(keys.plans, tuple[estimates.Plan, ...])


def estimated() -> None:
    """What gaps tell afterwards."""
    bound = estimates.gap_confidence_bound(
        1, threshold=3, alpha="1/20", threshold_rate=1, value_rate=2, noise="laplace"
    )
    better = estimates.estimate_from_gaps([1, 2], [1], rate=1, noise="exponential", measured_rate=1)
    near = estimates.estimate_from_threshold(1, 1, threshold=2, variance_ratio=1)
    chance = estimates.gap_p_value(1, rate=1, noise="laplace")
    told = dict[str, Any](rate=1, noise="laplace", measured_rate=1)
    assert_type(
        estimates.intervals_from_gaps([1, 2], [1], **told), tuple[tuple[Fraction, Fraction], ...]
    )
    assert_type(estimates.error_from_gaps([1, 2], [1], **told), Fraction)
    assert_type(estimates.estimate_from_answers([1, 2], [1, 1], **told), tuple[Fraction, ...])
    assert_type(
        estimates.estimate_fixed_from_gaps([1, 2], [1], variance_ratio=1), tuple[Fraction, ...]
    )
    ratio = estimates.variance_ratio(1, noise="laplace", measured_rate=1)
    use(
        bound,
        better,
        near,
        chance,
        estimates.error_ratio(2, ratio) + estimates.threshold_error_ratio(ratio),
    )


def from_tables(table: Path, scope: ledger.Scope) -> None:
    """Rows in a file."""
    rows = dict[str, Any](item="city", user="rider")
    counted = tables.count_distinct_users(tables.TableAs(str(table)), candidates=["a", "b"], **rows)
    assert_type(counted, s.Counts)
    assert_type(
        tables.count_distinct_users(str(table), places=3, max_contributions=1, **rows), s.Counts
    )
    top = tables.top_items(
        str(table), k=1, epsilon=1, candidates=["a"], max_contributions=1, **rows
    )
    assert_type(top, TopK[str])
    cap = tables.choose_cap(str(table), epsilon=1, most=5, ledger=scope, **rows)
    assert_type(cap, Selection[int])
    keys = tables.select_keys(str(table), epsilon=1, delta="1e-6", **rows)
    assert_type(keys, results.TopK[str])
    column = dict[str, Any](value="rider", user="rider", of="largest")
    points = tables.table_quantiles(
        str(table), quantiles=["1/2"], lowest=0, highest=9, step=1, epsilon=1, **column
    )
    assert_type(points, results.Numbers[Any, Fraction])
    grouped = tables.top_items_by_group(str(table), group="ward", k=1, epsilon=1, **rows)
    assert_type(grouped, results.Groups[str])
    assert_type(tables.read_candidates(table), list[str])
    with tables.open_scores(table, label="city", score="rider") as (names, scores):
        assert_type(names, list[str])
        use(s.top_k(scores, labels=names, k=1, epsilon=1, sensitivity=1))


def charged(witness: ledger.Witness, outbox: ledger.Outbox, proposals: ledger.Proposals) -> None:
    """A ledger, and who may change it."""
    signer: ledger.Signer = ledger.Ed25519Signer(bytes(32), key_id="a")
    asked: ledger.Proposal = proposals.limit(
        "votes", limit="epsilon", to=2, reason="a second survey"
    )
    approval = ledger.approve(asked, signer)
    assert_type(approval, dict[str, str])
    place = ledger.repair("budget.log", signer=signer, witness=witness)
    use(ledger.append(place, [], head=None), outbox)


def told(event: ledger.Event, request: ledger.Request, external: ledger.Pending) -> str:
    """What a ledger tells its keepers."""
    return f"{event.kind} {request.asked} {external.released('a')}"


def random_bytes() -> None:
    """Random bytes."""
    source: sources.Source = sources.CombinedSource(
        sources.OpenSSLSource(), sources.CallbackSource(lambda count: bytes(count))
    )
    seen: sources.Observed = sources.observed(source)
    tape = testing.DeterministicSource(1, i_understand_this_is_not_private=True)
    use(
        seen.health,
        testing.RecordingSource(tape).data,
        testing.ReplaySource(b"").left,
        testing.check_source(sources.OpenSSLSource),
    )

    def scores(people: Iterable[int]) -> list[int]:
        return [sum(people)]

    assert_type(testing.check_sensitivity(scores, [([0], [1])], sensitivity=1, monotonic=True), int)
    drawn: testing.Simulation = testing.simulate(
        "exponential", VOTES, epsilon=1, sensitivity=1, k=2, repetitions=9, seed=1
    )
    replayed: testing.Report = testing.replay(
        lambda rows: s.permute_and_flip([len(rows), 1], epsilon=1, sensitivity=1).index,
        [("ann", 1), ("bob", 2)],
        unit=0,
    )
    mistakes: tuple[testing.Finding, ...] = replayed.findings
    assert_type([each.factor for each in mistakes], list[Fraction | None])
    law: testing.Probabilities = testing.probabilities(
        VOTES, mechanism="permute_and_flip", epsilon=1, sensitivity=1
    )
    use(drawn.indices, drawn.source, law.indices, law.values, law.source)
    assert_type(law.error, Fraction)


def dropped_in() -> None:
    """In place of the functions of other libraries."""
    pick = synthetic_data.exponential_mechanism({"a": 1.5, "b": 2}, 1.0, np.float64(1))
    flip = diffprivlib.PermuteAndFlip(epsilon=1.0, sensitivity=1, utility=[1, 2]).randomise()
    choose = diffprivlib.Exponential(epsilon=1.0, sensitivity=1, utility=[1, 2]).copy()
    middle = diffprivlib.median([1, 2], 1.0, (0, 9))
    low = diffprivlib.percentile([1, 2], 10, 1.0, (0, 9))
    both = diffprivlib.quantile([1, 2], [0.25, 0.75], 1.0, (0, 9))
    use(pick, flip, choose.randomise(), middle, low, both)


def selected(kind: object, rows: object, extractors: object, backend: object) -> object:
    """PipelineDP's own objects have no types here."""
    strategy = create_partition_selection_strategy(kind, 1, 1e-6, 1)
    assert_type(strategy.should_keep(5), bool)
    return kept_partitions(rows, extractors=extractors, backend=backend, strategy=strategy)


def failed(error: s.SafeSelectError) -> bool:
    """All that goes wrong has one base class."""
    return isinstance(error, s.InputError)


RUNS = (
    *(one_choice, several, called_again, unknown_candidates, numbers, accounts),
    *(planned, estimated, random_bytes, dropped_in),
)
"""What runs as it stands; the rest needs a table or a ledger in a file."""

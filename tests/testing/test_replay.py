"""Replay: it finds planted mistakes at their lines, and nothing where there is none."""

from __future__ import annotations

import sys
from ast import literal_eval
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from effort import some
from pipelines import PLANTED, Planted, visits

import safeselect
from safeselect import Budget, Ledger
from safeselect.adapters.opendp import make_top_k
from safeselect.errors import ParameterError
from safeselect.testing import replay

pandas = pytest.importorskip("pandas")

EACH = pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)


def line_of(finding):
    return str(finding).splitlines()[1].partition(": ")[2]


class TestPipelines:
    @pytest.mark.slow("two hundred runs of ordinary pipelines")
    @EACH
    def test_the_mistake_is_found_at_its_line(self, planted: Planted):
        report = replay(planted.pipeline(wrong=True), planted.data(), unit=planted.unit)
        assert report
        found = [each for each in report.findings if each.kind == planted.kind]
        assert [line_of(each).startswith(planted.at) for each in found][:1] == [True]
        assert planted.says in found[0].instead

    @pytest.mark.slow("two hundred runs, and more, of ordinary pipelines")
    @pytest.mark.parametrize("planted", some(PLANTED, 3), ids=lambda planted: planted.name)
    def test_without_the_mistake_nothing_is_found(self, planted: Planted):
        pipeline = planted.pipeline(wrong=False)
        assert not replay(pipeline, planted.data(), unit=planted.unit, seed=1, pairs=100)

    @pytest.mark.nightly("twenty seeds of all; one seed of a third is tried above")
    @EACH
    def test_nor_with_any_of_twenty_seeds(self, planted: Planted):
        for seed in range(20):
            pipeline = planted.pipeline(wrong=False)
            assert not replay(pipeline, planted.data(), unit=planted.unit, seed=seed)


def first_ward(rows):
    counts = Counter(row["ward"] for row in rows)
    return safeselect.permute_and_flip(counts, epsilon=1, sensitivity=1).label


class TestReports:
    def test_it_is_the_same_with_the_same_seed(self):
        reports = [repr(replay(first_ward, visits(), unit="patient", pairs=30)) for _ in range(2)]
        assert reports[0] == reports[1]

    def test_it_shows_the_smallest_difference_and_that_it_is_not_for_publication(self):
        def total(rows):
            costs = sum(row["cost"] for row in rows)
            return safeselect.measure([costs], epsilon=1, sensitivity_l1=100).values

        report = replay(total, visits(), unit="patient", pairs=20)
        assert "NOT FOR PUBLICATION" in repr(report).splitlines()[0]
        assert "Not checked:" in repr(report).splitlines()[2]
        (found,) = report.findings
        costs = [literal_eval(row)["cost"] for rows in found.rows for row in rows]
        assert sum(costs) > 100 >= sum(costs) - min(costs)
        assert found.neighbour.endswith("; 0 rows are the same in both")

    def test_an_error_on_odd_cells_is_a_note_and_no_finding(self):
        def careless(rows):
            return safeselect.measure(
                [sum(min(row["cost"], 1) > 2 for row in rows)], epsilon=1, sensitivity_l1=1
            ).values

        report = replay(careless, visits(), unit="patient")
        assert not report
        assert [each.kind for each in report.notes] == ["path"]

    def test_an_error_on_usual_rows_is_a_finding(self):
        def fails(rows):
            if len(rows) > size:
                raise KeyError("too many")
            return safeselect.measure([1], epsilon=1, sensitivity_l1=1).values

        size = len(visits())
        report = replay(fails, visits(), unit="patient")
        assert [(each.kind, line_of(each)) for each in report.findings] == [
            ("path", 'raise KeyError("too many")')
        ]

    def test_a_threshold_far_away_is_found_by_bisection(self):
        def rare(rows):
            if len({row["patient"] for row in rows}) < 45:
                return None
            return safeselect.measure([1], epsilon=1, sensitivity_l1=1).values

        (found,) = replay(rare, visits(), unit="patient").findings
        assert found.kind == "path"
        assert len(found.rows[0]) > len(found.rows[1]) == 0

    def test_of_arguments_that_differ_the_callers_own_is_named(self):
        def some(rows):
            wards = sorted({"eye", *(row["ward"] for row in rows)})
            scores, size = dict.fromkeys(["bone", "ear", "eye"], 1), 1 + (len(wards) > 3)
            return safeselect.top_k(scores, k=size, epsilon=1, sensitivity=1).labels

        (found,) = replay(some, visits(), unit="patient").findings
        assert (found.kind, found.seen) == ("public", "k is 2 and 1")

    def test_prints_and_files_are_compared_if_asked(self, tmp_path: Path):
        log = tmp_path / "log"

        def loud(rows):
            sys.stdout.write(f"{len(rows)} rows")
            log.write_text(f"{len(rows)} rows", "utf-8")
            return safeselect.measure([1], epsilon=1, sensitivity_l1=1).values

        assert not replay(loud, visits(), unit="patient", pairs=10)
        for capture in (["prints"], [log]):
            report = replay(loud, visits(), unit="patient", pairs=10, capture=capture)
            assert report.findings[0].seen.startswith("printed or written output")
            assert ("files" in report.unseen) == (capture == ["prints"])

        def rare(rows):
            if any(row["ward"] == "B" for row in rows):
                log.write_text("rare")

        log.write_text("rare")  # of an earlier run
        report = replay(rare, [visits()[0] | {"ward": "B"}], unit="patient", capture=[log])
        assert report.findings[0].seen.startswith("printed or written output")

    def test_the_answers_of_a_strategy_are_not_compared_and_it_says_so(self):
        def kept(rows):
            strategy = safeselect.partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
            return [ward for ward in {row["ward"] for row in rows} if strategy.should_keep(99)]

        report = replay(kept, visits(), unit="patient", pairs=20)
        assert not report
        assert "answers of a partition strategy" in report.unseen

    @pytest.mark.parametrize("scale", ["1/2", 100])
    def test_scores_of_opendp_are_not_judged_by_the_scale_and_it_says_so(self, scale):
        dp = pytest.importorskip("opendp.prelude")
        dp.enable_features("contrib", "honest-but-curious")
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        choose = make_top_k(*space, dp.max_divergence(), scale=scale, k=1)

        def chosen(rows):
            wards = Counter(row["ward"] for row in rows)
            return choose([wards[ward] for ward in ("ear", "eye", "lung")])

        report = replay(chosen, visits(), unit="patient", pairs=20)
        assert not report
        assert "whether scores of an OpenDP measurement change by at most d_in" in report.unseen

    def test_a_pipeline_that_does_not_repeat_itself_is_refused(self):
        def restless(rows):
            count = int(np.random.default_rng().integers(10**6))
            return safeselect.measure([count], epsilon=1, sensitivity_l1=1).values

        with pytest.raises(ParameterError, match="gives different results"):
            replay(restless, visits(), unit="patient")

        def seeded_by_replay(rows):
            count = int(np.random.randint(10**6))  # noqa: NPY002 - as programs do
            return safeselect.measure([count], epsilon=1, sensitivity_l1=1).values

        assert not replay(seeded_by_replay, visits(), unit="patient", pairs=10)


def test_the_budget_of_a_block_or_month_is_copied_too():
    blocks = Budget("patient", "add_remove", epsilon=1, blocks=["north", "south"])
    with Ledger.create(":memory:", {"ward": blocks}) as ledger:
        words = {"unit": "patient", "neighbours": "add_remove", "purpose": "a test"}
        both = ledger.scope("ward/north", **words) & ledger.scope("ward/south", **words)

        def chosen(rows):
            return safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1, ledger=both).index

        assert not replay(chosen, visits(), unit="patient", pairs=10)
        assert ledger.balance("ward/south").spent == {"epsilon": 0}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_neighbours_of_another_kind_than_the_scope_s_are_named(neighbours: str):
    with Ledger.create(
        ":memory:", {"trial": Budget("patient", "replace_one", epsilon=3)}
    ) as ledger:
        scope = ledger.scope("trial", unit="patient", neighbours="replace_one", purpose="a test")

        def constant(rows):
            return safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1, ledger=scope).index

        report = replay(constant, visits(), unit="patient", neighbours=neighbours, pairs=5)
    assert not report
    said = [each for each in report.unseen if each == "neighbours of trial, replace_one"]
    assert said == ["neighbours of trial, replace_one"] * (neighbours == "add_remove")


def test_a_release_that_reads_something_else_is_named():
    others = [1, 2, 3]

    def elsewhere(rows):
        return safeselect.permute_and_flip(others, epsilon=1, sensitivity=1).index

    report = replay(elsewhere, visits(), unit="patient", pairs=10)
    assert not report
    assert any("no data set that was tried changed it" in each for each in report.unseen)

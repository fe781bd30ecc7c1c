"""Replay: it finds planted mistakes at their lines, and nothing where there is none."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from ast import literal_eval
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import safeselect
from safeselect import Budget, Ledger, PureDP
from safeselect.errors import ParameterError
from safeselect.release.call import Call
from safeselect.testing import replay

sys.path.insert(0, str(Path(__file__).parent))
from pipelines import GENRES, PLANTED, WARDS, Planted, plays, visits

pandas = pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest_plugins = ["safeselect.testing.fixture"]

NEEDS = {"good_features": "sklearn"}
BOTH = pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)


def line_of(finding):
    return str(finding).splitlines()[1].partition(": ")[2]


class TestPipelines:
    @pytest.mark.slow("two hundred runs of ordinary pipelines")
    @BOTH
    def test_the_mistake_is_found_at_its_line(self, planted: Planted):
        pytest.importorskip(NEEDS.get(planted.name, "numpy"))
        report = replay(planted.pipeline(wrong=True), planted.data(), unit=planted.unit)
        assert report
        found = [each for each in report.findings if each.kind == planted.kind]
        assert [line_of(each).startswith(planted.at) for each in found][:1] == [True]
        assert planted.says in found[0].instead

    @pytest.mark.slow("two seeds of two hundred runs, and more, of ordinary pipelines")
    @BOTH
    @pytest.mark.parametrize("seed", [1, 2])
    def test_without_the_mistake_nothing_is_found(self, planted: Planted, seed: int):
        pytest.importorskip(NEEDS.get(planted.name, "numpy"))
        pipeline = planted.pipeline(wrong=False)
        assert not replay(pipeline, planted.data(), unit=planted.unit, seed=seed, pairs=100)

    @pytest.mark.nightly("twenty seeds; two are tried above")
    @BOTH
    def test_nor_with_any_of_twenty_seeds(self, planted: Planted):
        pytest.importorskip(NEEDS.get(planted.name, "numpy"))
        for seed in range(20):
            pipeline = planted.pipeline(wrong=False)
            assert not replay(pipeline, planted.data(), unit=planted.unit, seed=seed)

    def test_the_pipelines_are_ordinary(self):
        for planted in PLANTED:
            source = inspect.getsource(planted.pipeline(wrong=False))
            assert 20 <= len(source.rstrip().splitlines()) <= 60, planted.name


def counted(**more: Any):
    def pipeline(data):
        arguments = {"epsilon": 1, "labels": list("abc")} | more
        return safeselect.permute_and_flip(data, **arguments).label

    return pipeline


def asked(data):
    session = safeselect.SparseVector(threshold=5, k=9, epsilon=1, sensitivity=2, monotonic=True)
    return [session.query(value).above for value in data]


def private(name: str, **more: Any):
    return lambda data: getattr(safeselect, name)(data, epsilon=1, **more).labels


TABLE = {"a": 9, "b": 7, "c": 5, "d": 3}
LIST = {"k": 2, "k_bar": 2, "delta": "1e-6", "max_contributions": 2, "places": "all"}
KEYS = {"delta": "1e-6", "max_partitions": 2}


class Promise(NamedTuple):
    """A pipeline, its data, a neighbour exactly at what is promised, and one unit above it."""

    pipeline: Any
    base: Any
    at: Any
    above: Any
    kind: str


PROMISES = {
    "sensitivity": Promise(counted(sensitivity=2), [5, 5, 5], [7, 3, 5], [8, 5, 5], "sensitivity"),
    "all scores": Promise(counted(sensitivity=2), [5, 5, 5], [7, 7, 7], [8, 8, 8], "sensitivity"),
    "monotonic": Promise(
        counted(sensitivity=2, monotonic=True), [5, 5, 5], [3, 4, 5], [7, 4, 5], "monotonic"
    ),
    "range": Promise(counted(range_=3), [5, 5, 5], [7, 4, 5], [7, 3, 5], "sensitivity"),
    "grid": Promise(
        counted(sensitivity=1, grid="1/100", score_error=0),
        *([Fraction(each) for each in row] for row in ((5, 5, 5), (6, 4, 5))),
        [6 + Fraction(1, 100), 5, 5],
        "sensitivity",
    ),
    "floats": Promise(
        counted(sensitivity=1, grid="1/2", on_grid=True),
        *(np.array([5.0, 5.0, 5.0]), np.array([6.0, 4.0, 5.0]), np.array([6.5, 5.0, 5.0])),
        "sensitivity",
    ),
    "rows": Promise(
        lambda data: safeselect.select_many(
            data, max_rows=1, epsilon=1, sensitivity=1, monotonic=True
        ).indices.tolist(),
        *([[5, 5], [5, 5]], [[6, 6], [5, 5]], [[6, 5], [5, 6]]),
        "contributions",
    ),
    "l1": Promise(
        lambda data: safeselect.measure(data, epsilon=1, sensitivity_l1=3).values,
        *([5, 5], [7, 4], [7, 3]),
        "sensitivity",
    ),
    "l2": Promise(
        lambda data: safeselect.measure(data, rho=1, sensitivity_l2_squared=5).values,
        *([5, 5], [7, 4], [7, 3]),
        "sensitivity",
    ),
    "quantile": Promise(
        lambda data: (
            safeselect.quantile(
                data, quantile="1/2", lowest=0, highest=9, step=1, epsilon=1, max_contributions=2
            ).value
        ),
        *([1, 2, 3], [1, 2, 3, 4, 4], [1, 2, 9, 4]),
        "contributions",
    ),
    "quantile replaced": Promise(
        lambda data: (
            safeselect.quantile(
                data,
                quantile="1/2",
                lowest=0,
                highest=9,
                step=1,
                epsilon=1,
                neighbours="replace_one",
            ).value
        ),
        *([1, 2, 3], [1, 2, 9], [1, 8, 9]),
        "contributions",
    ),
    "items": Promise(
        private("unknown_domain_top_k", **LIST),
        *(TABLE, {"a": 8, "b": 6, "c": 5, "d": 3}, {"a": 8, "b": 6, "c": 4, "d": 3}),
        "contributions",
    ),
    "one item": Promise(
        private("unknown_domain_top_k", **LIST),
        *(TABLE, TABLE | {"a": 8}, TABLE | {"a": 7}),
        "sensitivity",
    ),
    "keys": Promise(
        private("select_partitions", **KEYS),
        *(TABLE, TABLE | {"e": 1, "f": 1}, TABLE | {"e": 1, "f": 1, "a": 10}),
        "contributions",
    ),
    "session": Promise(asked, [1, 9, 2], [3, 9, 2], [4, 9, 2], "sensitivity"),
    "session's values together": Promise(asked, [1, 9, 2], [2, 9, 4], [3, 9, 1], "monotonic"),
}


@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_a_change_at_the_promise_passes_and_one_unit_more_is_found(promise: Promise):
    for seed in range(5):
        told = {"unit": None, "seed": seed}
        assert not replay(promise.pipeline, promise.base, neighbours=[promise.at], **told)
        report = replay(promise.pipeline, promise.base, neighbours=[promise.above], **told)
        assert [each.kind for each in report.findings] == [promise.kind]
        assert report.findings[0].factor > 1


def test_the_factor_is_that_of_the_cost():
    report = replay(counted(sensitivity=2), [5, 5, 5], unit=None, neighbours=[[5, 5, 11]])
    assert report.findings[0].factor == 3
    assert "sensitivity=2; epsilon is multiplied by 3" in str(report)


def everything(rows):
    """Each kind of release, with what it needs."""
    frame = pandas.DataFrame(rows)
    pairs = frame.drop_duplicates(["person", "genre"])
    counts = pairs.groupby("genre").size().reindex(GENRES, fill_value=0)
    known = {"sensitivity": 1, "monotonic": True, "epsilon": 1}
    found: list[Any] = [
        safeselect.top_k_with_gaps(counts, k=2, **known),
        safeselect.top_k_above(counts, threshold=20, k=2, **known),
        safeselect.report_noisy_max(counts, noise="gumbel", **known),
        safeselect.permute_and_flip_with_gap(counts, **known),
        safeselect.exponential_mechanism(counts, **known, weights=dict.fromkeys(GENRES, 2)),
    ]
    table = dict(pairs.groupby("genre").size().sort_values(ascending=False))
    found.append(
        safeselect.unknown_domain_top_k(
            table, k=2, k_bar=(2, 4), epsilon=1, delta="1e-6", places="all"
        )
    )
    with safeselect.PayWhatYouGet(outcomes=6, queries=3, epsilon=1, delta="1e-6") as session:
        found += [session.query(table, k=2, k_bar=3, places="all") for _ in range(2)]
    values = frame.groupby("person")["minutes"].sum().clip(0, 300).tolist()
    found.append(
        safeselect.quantiles(
            values, quantiles=["1/4", "3/4"], lowest=0, highest=300, step=1, epsilon=1
        )
    )
    with safeselect.AdaptiveSparseVector(
        threshold=20, k=3, epsilon=1, sensitivity=1, monotonic=True
    ) as session:
        found += [session.query(int(count)).gap for count in counts]
    found.append(
        safeselect.first_above(
            lambda scope: (
                safeselect.measure(
                    [len(values)], epsilon="1/4", sensitivity_l1=1, ledger=scope
                ).values[0],
                "users",
            ),
            threshold=10,
            base=PureDP("1/4"),
            gamma="1/5",
        )
    )
    return found


def test_no_kind_of_release_raises_a_false_alarm():
    report = replay(everything, plays(), unit="person", pairs=40)
    assert not report


@pytest.mark.slow("opens a table for each run")
def test_groups_of_a_table_are_compared():
    from safeselect.tables import top_items_by_group

    def months(frame, user="person"):
        told = {"group": "month", "groups": ["May", "June", "July"], "epsilon": 1}
        return top_items_by_group(frame, item="genre", user=user, k=1, delta="1e-6", **told).labels

    frame = pandas.DataFrame(plays())
    assert not replay(months, frame, unit="person", pairs=20)
    report = replay(lambda data: months(data, "play"), frame, unit="person", pairs=20)
    assert [each.kind for each in report.findings[:1]] == ["identity"]


class TestData:
    """One mistake, in each kind of data."""

    @staticmethod
    def write(kind: str, folder: Path):
        import duckdb
        import polars
        import pyarrow

        rows = [{"patient": each["patient"], "ward": each["ward"]} for each in visits()[:40]]
        frame = pandas.DataFrame(rows)
        path = folder / f"visits.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        elif kind == "jsonl":
            frame.to_json(path, lines=True, orient="records")
        elif kind == "parquet":
            frame.to_parquet(path, index=False)
        made = {
            "rows": rows,
            "pandas": frame,
            "index": frame.set_index("patient"),
            "polars": polars.DataFrame(rows),
            "lazy": polars.LazyFrame(rows),
            "arrow": pyarrow.Table.from_pylist(rows),
            "relation": duckdb.from_arrow(pyarrow.Table.from_pylist(rows)),
            "dict": {"visits": frame, "wards": [{"ward": "ear"}]},
            "tuple": (rows, [{"ward": "ear"}]),
        }
        return path if path.exists() else made[kind]

    @staticmethod
    def wards(data) -> list[str]:
        import duckdb

        data = data["visits"] if isinstance(data, dict) else data
        data = data[0] if isinstance(data, tuple) else data
        if isinstance(data, Path):
            data = getattr(pandas, f"read_{data.suffix[1:].replace('jsonl', 'json')}")(
                data, **({"lines": True} if data.suffix == ".jsonl" else {})
            )
        if isinstance(data, duckdb.DuckDBPyRelation):
            return [ward for _, ward in data.fetchall()]
        if hasattr(data, "collect"):
            data = data.collect()
        if isinstance(data, list):
            return [row["ward"] for row in data]
        column = data["ward"]
        return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()

    @pytest.mark.parametrize(
        "kind",
        [
            *("rows", "pandas", "index", "polars", "lazy", "arrow", "relation", "dict", "tuple"),
            *("csv", "jsonl", "parquet"),
        ],
    )
    def test_each_kind_is_read_and_made_again(self, kind: str, tmp_path: Path):
        seen = []

        def pipeline(data):
            seen.append(type(data))
            counts = Counter(self.wards(data))
            scores = {ward: counts[ward] for ward in ("ear", "eye", "heart")}
            return safeselect.permute_and_flip(scores, epsilon=1, sensitivity=1).label

        data = self.write(kind, tmp_path)
        report = replay(pipeline, data, unit="patient", pairs=15)
        assert [each.kind for each in report.findings] == ["sensitivity"]
        assert set(seen) == {type(data)}

    def test_arrays_and_mappings(self):
        table = np.array([[each % 7, each % 3, 50 * (each % 2)] for each in range(30)])

        def best(array):
            sums = array[:, 2].sum()
            scores = [int(sums), 0]
            return safeselect.permute_and_flip(scores, epsilon=1, sensitivity=50).index

        assert replay(best, table, unit=0).findings[0].kind == "sensitivity"
        assert not replay(best, table, unit=None)

        def loudest(votes):
            counts = Counter(votes.values())
            return safeselect.permute_and_flip(
                [counts["a"], counts["b"]], epsilon=1, sensitivity=1, monotonic=True
            ).index

        votes = {f"user {each}": "ab"[each % 2] for each in range(20)}
        assert not replay(loudest, votes, unit=None)
        assert replay(loudest, votes, unit=None, neighbours="replace_one")

    def test_data_that_cannot_be_read_are_refused(self):
        with pytest.raises(ParameterError, match="none that replay can read"):
            replay(len, object(), unit=None)
        with pytest.raises(ParameterError, match="no table of the data has a column 'user'"):
            replay(len, visits(), unit="user")


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
        assert "Not looked at: " in repr(report).splitlines()[2]
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

    def test_prints_and_files_are_compared_if_asked(self, tmp_path: Path):
        log = tmp_path / "log"

        def loud(rows):
            sys.stdout.write(f"{len(rows)} rows")
            log.write_text(f"{len(rows)} rows", "utf-8")
            return safeselect.measure([1], epsilon=1, sensitivity_l1=1).values

        assert not replay(loud, visits(), unit="patient", pairs=10)
        for capture in (["prints"], [log]):
            report = replay(loud, visits(), unit="patient", pairs=10, capture=capture)
            assert report.findings[0].seen.startswith("what is printed or written")

    def test_the_answers_of_a_strategy_are_not_compared_and_it_says_so(self):
        def kept(rows):
            strategy = safeselect.partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
            return [ward for ward in {row["ward"] for row in rows} if strategy.should_keep(99)]

        report = replay(kept, visits(), unit="patient", pairs=20)
        assert not report
        assert "answers of a partition strategy" in report.unseen

    def test_a_pipeline_that_does_not_repeat_itself_is_refused(self):
        def restless(rows):
            count = int(np.random.default_rng().integers(10**6))
            return safeselect.measure([count], epsilon=1, sensitivity_l1=1).values

        with pytest.raises(ParameterError, match="does not repeat itself"):
            replay(restless, visits(), unit="patient")

        def seeded_by_replay(rows):
            count = int(np.random.randint(10**6))  # noqa: NPY002 - as programs do
            return safeselect.measure([count], epsilon=1, sensitivity_l1=1).values

        assert not replay(seeded_by_replay, visits(), unit="patient", pairs=10)


class TestTheWorldOutside:
    def test_no_byte_of_a_ledger_changes(self, tmp_path: Path):
        place = tmp_path / "ledger"
        budget = Budget("patient", "add_remove", epsilon=3)
        delivered = []

        def deliver(*answer, **more):
            delivered.append((answer, more))

        def spend(rows):
            told = {"unit": "patient", "neighbours": "add_remove", "purpose": "a test"}
            scope = ledger.scope("trial", **told)
            wards = Counter({row["ward"] for row in rows if row["patient"] == "P001"})
            found = safeselect.permute_and_flip(
                [1, 2], epsilon=1, sensitivity=1, ledger=scope.asked("one", outbox=deliver)
            )
            with scope.charge(PureDP(1), mechanism="opendp/laplace") as pending:
                pending.released("17")
            left = ledger.balance("trial").left["epsilon"]
            with safeselect.SparseVector(
                threshold=1, k=1, epsilon=left, sensitivity=1, ledger=scope
            ) as session:
                answer = session.query(len(wards) > 9).above
            return found.label, found.receipt.record, left, answer

        with Ledger.create(place, {"trial": budget}) as ledger:
            before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            for pairs in (5, 20):
                assert not replay(spend, visits(), unit="patient", pairs=pairs)
            after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            assert before == after
            assert delivered == []
            assert ledger.balance("trial").spent["epsilon"] == 0
            assert spend(visits())[2] == 1
            assert ledger.balance("trial").spent["epsilon"] == 3

    def test_what_production_runs_is_put_back(self):
        commit = Call.commit
        with pytest.raises(ZeroDivisionError):
            replay(lambda rows: 1 // 0, visits(), unit="patient")
        assert Call.commit is commit
        assert safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1).source == (
            "OpenSSLSource"
        )

    def test_another_thread_of_the_pipeline_is_refused(self):
        errors = []

        def work():
            try:
                safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1)
            except ParameterError as error:
                errors.append(str(error))

        def parallel(rows):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        assert not replay(parallel, visits(), unit="patient", pairs=1)
        assert all("in another thread" in error for error in errors)
        assert errors

    def test_it_is_refused_in_production(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
        with pytest.raises(ParameterError, match="replay is for tests"):
            replay(first_ward, visits(), unit="patient")

    def test_one_replay_at_a_time(self):
        def inner(rows):
            replay(first_ward, rows, unit="patient")

        with pytest.raises(ParameterError, match="another replay"):
            replay(inner, visits(), unit="patient")

    def test_the_package_does_not_load_it(self):
        code = "import sys, safeselect; print('safeselect.testing.replay' in sys.modules)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert found.stdout.strip() == "False"

    def test_there_is_a_fixture(self, request: pytest.FixtureRequest):
        assert request.getfixturevalue("replay") is replay


def shares(rows):
    """Of the greatest cost, which is private."""
    greatest = max((row["cost"] for row in rows), default=1)
    first = {row["patient"]: row for row in reversed(rows)}
    scores = {ward: Fraction(0) for ward in WARDS}
    for row in first.values():
        if row["ward"] in scores:
            scores[row["ward"]] += Fraction(row["cost"] or 0, greatest)
    return safeselect.permute_and_flip(scores, epsilon=1, sensitivity=1, grid="1/1000").label


def common(rows):
    """Rare wards are left out."""
    counts = Counter(ward for ward, _ in {(row["ward"], row["patient"]) for row in rows})
    scores = {ward: counts[ward] if counts[ward] >= 10 else 0 for ward in WARDS}
    return safeselect.permute_and_flip(scores, epsilon=1, sensitivity=1, monotonic=True).label


@pytest.mark.parametrize("pipeline", [shares, common])
def test_a_limit_that_other_rows_set_is_found(pipeline):
    (found,) = replay(pipeline, visits(), unit="patient").findings
    assert found.kind == "sensitivity"


def test_a_column_of_pandas_is_data_and_its_index_the_unit():
    wards = pandas.Series({each["patient"]: each["ward"] for each in visits()})

    def listed(wards):
        counts = wards.value_counts()
        return safeselect.permute_and_flip(counts, epsilon=1, sensitivity=1).label

    assert [each.kind for each in replay(listed, wards, unit=None).findings] == ["public"]


def test_a_release_that_reads_something_else_is_named():
    others = [1, 2, 3]

    def elsewhere(rows):
        return safeselect.permute_and_flip(others, epsilon=1, sensitivity=1).index

    report = replay(elsewhere, visits(), unit="patient", pairs=10)
    assert not report
    assert any("no data set that was tried changed it" in each for each in report.unseen)

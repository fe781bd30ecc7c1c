"""What a call promised, against what two neighbours gave it: exactly at the promise, and above."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from pipelines import GENRES, plays

import safeselect
from safeselect import PureDP
from safeselect.testing import replay

pandas = pytest.importorskip("pandas")


def counted(**more: Any):
    def pipeline(data):
        arguments = {"epsilon": 1, "labels": list("abc")} | more
        return safeselect.permute_and_flip(data, **arguments).label

    return pipeline


def asked(data):
    session = safeselect.SparseVector(threshold=5, k=9, epsilon=1, sensitivity=2, monotonic=True)
    return [session.query(value).above for value in data]


def private(name: str, what: str = "labels", **more: Any):
    return lambda data: getattr(getattr(safeselect, name)(data, epsilon=1, **more), what)


TABLE = {"a": 9, "b": 7, "c": 5, "d": 3}
LIST = {"k": 2, "k_bar": 2, "delta": "1e-6", "max_contributions": 2, "places": "all"}
KEYS = {"delta": "1e-6", "max_partitions": 2}
MEDIAN = {"quantile": "1/2", "lowest": 0, "highest": 9, "step": 1}


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
        private("measure", "values", sensitivity_l1=3), [5, 5], [7, 4], [7, 3], "sensitivity"
    ),
    "l2": Promise(
        lambda data: safeselect.measure(data, rho=1, sensitivity_l2_squared=5).values,
        *([5, 5], [7, 4], [7, 3]),
        "sensitivity",
    ),
    "quantile": Promise(
        private("quantile", "value", **MEDIAN, max_contributions=2),
        *([1, 2, 3], [1, 2, 3, 4, 4], [1, 2, 9, 4]),
        "contributions",
    ),
    "quantile replaced": Promise(
        private("quantile", "value", **MEDIAN, neighbours="replace_one"),
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


@pytest.mark.slow("every kind of release")
def test_no_kind_of_release_raises_a_false_alarm():
    assert not replay(everything, plays(), unit="person", pairs=40)

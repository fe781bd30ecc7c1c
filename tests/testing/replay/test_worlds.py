"""Data of each kind are read, and made again with other rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pipelines import visits

import safeselect
from safeselect.errors import ParameterError
from safeselect.testing import replay

pandas = pytest.importorskip("pandas")


class TestData:
    """One mistake, in each kind of data."""

    @staticmethod
    def write(kind: str, folder: Path):
        import duckdb
        import polars
        import pyarrow

        rows = [{"patient": each["patient"], "ward": each["ward"]} for each in visits()[:40]]
        frame, path = pandas.DataFrame(rows), folder / f"visits.{kind}"
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
            scores = [int(array[:, 2].sum()), 0]
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
        with pytest.raises(ParameterError, match="replay cannot read this kind of data"):
            replay(len, object(), unit=None)
        with pytest.raises(ParameterError, match="no table with rows has a column 'user'"):
            replay(len, visits(), unit="user")


def test_a_column_of_pandas_is_data_and_its_index_the_unit():
    wards = pandas.Series({each["patient"]: each["ward"] for each in visits()})

    def listed(wards):
        return safeselect.permute_and_flip(wards.value_counts(), epsilon=1, sensitivity=1).label

    assert [each.kind for each in replay(listed, wards, unit=None).findings] == ["public"]

"""Pipelines without a mistake, the data that they read, and one mistake for each of them."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
WARDS = ["bone", "ear", "eye", "heart", "lung", "skin"]
DRUGS = ["aspirin", "codeine", "ibuprofen", "insulin", "statin", "zinc"]
GENRES = ["crime", "drama", "horror", "nature", "sport", "travel"]


def visits() -> list[dict[str, Any]]:
    """Patients with 1 to 6 visits each."""
    rng, rows = np.random.default_rng(5), []
    for patient in range(60):
        for _ in range(int(rng.integers(1, 7))):
            rows.append(
                {
                    "patient": f"P{patient:03}",
                    "visit": 1000 + len(rows),
                    "ward": WARDS[int(rng.integers(6) ** 2 // 6)],
                    "drug": DRUGS[int(rng.integers(6))],
                    "cost": int(rng.integers(1, 150)),
                    "days": int(rng.integers(0, 40)),
                    "site": ["north", "south", "east", "west"][int(rng.integers(4))],
                }
            )
    return rows


def plays() -> list[dict[str, Any]]:
    """People with 1 to 5 plays each."""
    rng, rows = np.random.default_rng(5), []
    for person in range(50):
        for _ in range(int(rng.integers(1, 6))):
            rows.append(
                {
                    "person": person,
                    "play": 5000 + len(rows),
                    "genre": GENRES[int(rng.integers(6))],
                    "minutes": int(rng.integers(1, 120)),
                    "month": ["May", "June", "July"][int(rng.integers(3))],
                }
            )
    return rows


def two_tables() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    people = [{"person": person, "pays": int(rng.integers(0, 12))} for person in range(50)]
    return {"people": people, "plays": plays()}


def pandas_visits() -> Any:
    import pandas

    return pandas.DataFrame(visits())


def pandas_plays() -> Any:
    import pandas

    return pandas.DataFrame(plays())


def polars_visits() -> Any:
    import polars

    return polars.DataFrame(visits())


def features() -> Any:
    import pandas

    rng, size = np.random.default_rng(5), 80
    ends = {"age": (0, 100), "weight": (30, 150), "pulse": (40, 180), "iron": (0, 200)}
    columns = {name: rng.integers(*both, size) for name, both in ends.items()}
    ill = rng.integers(0, 2, size) == 1
    return pandas.DataFrame({"patient": range(size), **columns, "ill": ill})


class Planted(NamedTuple):
    """A pipeline, and what is written instead of a part of it.

    Args:
        at: how the line of the finding begins.
        says: a part of what to write instead.
    """

    file: str
    name: str
    data: Callable[[], Any]
    unit: str
    right: str
    wrong: str
    kind: str
    at: str
    says: str

    def pipeline(self, *, wrong: bool) -> Callable[[Any], object]:
        path = HERE / f"{self.file}.py"
        source = path.read_text("utf-8")
        assert source.count(self.right) == 1
        file = f"{path}#{self.name}" if wrong else str(path)
        source = source.replace(self.right, self.wrong) if wrong else source
        space: dict[str, Any] = {"__name__": f"pipelines.{self.file}"}
        exec(compile(source, file, "exec"), space)  # noqa: S102 - a program of the tests
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        found: Callable[[Any], object] = space[self.name]
        return found


_RANGES = "scaler.fit(np.array([[0, 30, 40, 0], [100, 150, 180, 200]], dtype=float))"
PLANTED = [
    Planted(
        *("frames", "busiest_wards", pandas_visits, "patient"),
        *("wards = WARDS", 'wards = sorted(visits["ward"].unique())'),
        *("public", "found = top_k(", "list the candidates publicly"),
    ),
    Planted(
        *("frames", "ward_report", pandas_visits, "patient"),
        *(".head(2)", ".head(4)"),
        *("sensitivity", "noisy = measure(", "cap what one patient adds"),
    ),
    Planted(
        *("frames", "wards_to_watch", pandas_visits, "patient"),
        *("        for ward in WARDS:", "        for ward in WARDS[: len(visits) // 60]:"),
        *("path", "answer = session.query(", "make the same releases"),
    ),
    Planted(
        *("frames", "busy_sites", polars_visits, "patient"),
        *('"patients": size.values[0]', '"patients": patients'),
        *("output", "return {", "return only results of releases"),
    ),
    Planted(
        *("frames", "good_features", features, "patient"),
        *(_RANGES, "scaler.fit(numbers)"),
        *("sensitivity", "chosen = top_k(", "limit that depends on other rows"),
    ),
    Planted(
        *("rows", "liked_genres", pandas_plays, "person"),
        *("count(DISTINCT person)", "count(DISTINCT play)"),
        *("identity", "best = top_k(", "count by 'person'"),
    ),
    Planted(
        *("rows", "best_channel", two_tables, "person"),
        *('min(row["pays"], 5)', 'row["pays"]'),
        *("sensitivity", "chosen = permute_and_flip(", "clip values and weights"),
    ),
    Planted(
        *("rows", "two_answers", plays, "person"),
        *("measure([fans], epsilon=1", "measure([fans], epsilon=1 if fans > 5 else 2"),
        *("charge", "second = measure(", "choose a constant"),
    ),
    Planted(
        *("rows", "by_month", plays, "person"),
        *("<= 2", "<= 3"),
        *("contributions", "winners = select_many(", "count each"),
    ),
    Planted(
        *("rows", "tuned_limit", plays, "person"),
        *("-abs(noisy.values[0] - 20)", "-abs(above - 20)"),
        *("output", "chosen = best_of(", "within base"),
    ),
]

"""The programs in examples/ run, print what their pages say, and are as sensitive as they claim."""

from __future__ import annotations

import functools
import importlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from safeselect import BoundedRange, Ledger
from safeselect.promises.guarantees import guarantee_record
from safeselect.testing import DeterministicSource, SensitivityExceeded, check_sensitivity

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(
    path.stem for path in (ROOT / "docs" / "examples").glob("*.md") if path.stem != "README"
)
TRAINED = pytest.param("search", marks=pytest.mark.nightly("trains hundreds of trees"))
WHEN = [TRAINED if name == "search" else name for name in PROGRAMS]
TOLD = ("guarantee", "or, at delta", "each of", "cost for", "offset", "spent")
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def load() -> Iterator[Callable[[str], ModuleType]]:
    """Import a program; the flights are read once for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        flights = importlib.import_module("flights")
        patch.setattr(flights, "by_plane", functools.cache(flights.by_plane))
        yield importlib.import_module


def test_there_are_eight() -> None:
    assert len(PROGRAMS) == 8


@pytest.mark.parametrize("name", WHEN)
def test_the_program_prints_what_its_page_shows(
    name: str, load: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    """Draws are fresh ones: what was drawn stands behind a colon, and the rest is the same."""
    if name in ("messy", "parquet"):
        pytest.importorskip("duckdb")
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text("utf-8")
    assert f"```{{literalinclude}} ../../examples/{name}.py\n" in page
    *_, shown = OUTPUT.findall(page)  # a page may show a command before
    load(name).main()
    for out, line in zip(capsys.readouterr().out.splitlines(), shown.splitlines(), strict=True):
        told = line.startswith(TOLD)
        assert out == line if told else out.partition(":")[0] == line.partition(":")[0]


# --------------------------------------------------------------------------------- sensitivity


def planes(flights: ModuleType, count: int, seed: int) -> list[list[Any]]:
    """Made-up planes with made-up flights."""
    draw = random.Random(seed)
    return [
        [
            flights.Flight(
                f"N{seed}-{plane}",
                draw.choice(flights.DESTINATIONS[:9]),
                draw.choice(flights.CARRIERS),
                draw.choice(flights.MONTHS),
            )
            for _ in range(draw.choice((1, 3, 60)))
        ]
        for plane in range(count)
    ]


def neighbours(flights: ModuleType) -> list[tuple[list[Any], list[Any]]]:
    """Pairs that differ by one plane, at one end or the other."""
    made = [planes(flights, 1 + seed % 5, seed) for seed in range(40)]
    return [(data[1:], data) for data in made] + [(data, data[:-1]) for data in made]


def checks(load: Callable[[str], ModuleType]) -> dict[str, tuple[Callable[..., Any], int, bool]]:
    """Score function of made-up planes, and what the program claims of it."""
    synthetic, tuning, quantile = load("synthetic_data"), load("tuning"), load("quantile")
    table = np.full(synthetic.SHAPE, 0.1)
    models = {name: tuning.train(name, planes(load("flights"), 9, 99)) for name in tuning.LOOKS}

    def quantiles(above: int, below: int) -> Callable[..., Any]:
        return lambda data: quantile.scores([5 * len(plane) for plane in data], above, below)

    return {
        "synthetic_data": (
            lambda data: synthetic.scores(synthetic.histogram(data), table).tolist(),
            1,
            False,
        ),
        "batch": (lambda data: load("batch").scores(data).ravel().tolist(), 1, True),
        "features": (load("features").scores, 1, True),
        "median": (quantiles(1, 1), 1, False),
        "ninth decile": (quantiles(1, 9), 9, False),
        "tuning": (functools.partial(tuning.scores, models), 1, True),
    }


@pytest.mark.parametrize(
    "name", ["synthetic_data", "batch", "features", "median", "ninth decile", "tuning"]
)
def test_the_sensitivity_is_what_the_page_says(
    name: str, load: Callable[[str], ModuleType]
) -> None:
    scores, sensitivity, monotonic = checks(load)[name]
    pairs = neighbours(load("flights"))
    check_sensitivity(scores, pairs, sensitivity=sensitivity, monotonic=monotonic)
    with pytest.raises(SensitivityExceeded, match="the declared sensitivity"):  # and not less
        check_sensitivity(scores, pairs, sensitivity=sensitivity - Fraction(1, 100))
    if not monotonic and name != "synthetic_data":
        with pytest.raises(SensitivityExceeded, match="the declared monotonic"):
            check_sensitivity(scores, pairs, sensitivity=sensitivity, monotonic=True)


def test_distances_from_synthetic_answers_are_not_monotonic(
    load: Callable[[str], ModuleType],
) -> None:
    synthetic, flights = load("synthetic_data"), load("flights")
    table = np.zeros(synthetic.SHAPE)
    table[0] = 1  # too much of one carrier, too little of the others

    def scores(data: list[Any]) -> Any:
        return synthetic.scores(synthetic.histogram(data), table).tolist()

    with pytest.raises(SensitivityExceeded, match="monotonic"):
        check_sensitivity(scores, neighbours(flights), sensitivity=1, monotonic=True)


def test_the_tables_of_the_models_change_in_one_number_by_1(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise taken away, what is released of neighbours differs by 1 in sum (L1)."""
    tuning, flights = load("tuning"), load("flights")
    exact = tuning.measure

    def noiseless(values: Any, **terms: Any) -> Any:
        assert terms == {"epsilon": tuning.EACH, "sensitivity_l1": 1}
        return replace(exact(values, **terms), values=tuple(values.values()))

    monkeypatch.setattr(tuning, "measure", noiseless)
    for name in tuning.LOOKS:
        for pair in neighbours(flights):
            left, right = (released(tuning, name, data) for data in pair)
            assert sum(abs(left[value] - right[value]) for value in left) == 1


def released(tuning: ModuleType, name: str, data: list[Any]) -> dict[Any, int]:
    model = tuning.train(name, data)
    (table,) = (
        cell.cell_contents for cell in model.__closure__ if isinstance(cell.cell_contents, dict)
    )
    return table


# ----------------------------------------------------------------------------- what is charged


def test_synthetic_data_draws_what_its_plan_lists(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the ledger was charged is the plan: no number is outside of it."""
    synthetic = load("synthetic_data")
    release, seen = synthetic.release, []

    def released(scope: Any) -> None:
        release(scope)
        records = [*Ledger.open(scope.book.name).records()]
        seen.extend(r.content["guarantee"] for r in records if r.content["kind"] == "charged")
        kinds = [record.content["kind"] for record in records]
        assert kinds.count("charged") == kinds.count("released")

    monkeypatch.setattr(synthetic, "release", released)
    synthetic.main()
    assert seen == [guarantee_record(each) for each in synthetic.PLAN]
    assert synthetic.PLAN.count(BoundedRange(synthetic.EACH)) == synthetic.ROUNDS == 15


def test_counts_without_a_cap_are_off_by_a_third_at_most_of_those_with_any(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where users have many items; bytes from a fixed seed."""
    pytest.importorskip("duckdb")
    counts = load("counts")
    monkeypatch.setattr(counts, "LISTS", 20)
    source = DeterministicSource(b"counts", i_understand_this_is_not_private=True)
    table, places = counts.made_up(), counts.PLACES + 1
    true, off = counts.count_distinct_users(table, **counts.COLUMNS), {}
    for cap in counts.CAPS:
        told = counts.count_distinct_users(
            table, **counts.COLUMNS, places=places, max_contributions=cap
        )
        found, off[cap] = counts.errors(told, true, cap, source)
    assert found == 5  # without a cap
    assert 3 * off.pop(None) <= min(off.values())


PRIVATE = re.compile(r"safeselect\.(?!estimates|results|tables|adapters\.pipeline_dp|testing)\w+")


@pytest.mark.parametrize("name", ["synthetic_data", "tuning", "gap_errors", "pipeline_keys"])
def test_programs_that_measure_need_no_private_name(name: str) -> None:
    assert not PRIVATE.search((ROOT / "examples" / f"{name}.py").read_text("utf-8"))
    assert not PRIVATE.search((ROOT / "docs" / "gaps.md").read_text("utf-8"))


def test_quantiles_are_near(load: Callable[[str], ModuleType]) -> None:
    """With probability 1 - 1e-9 no more than 2 D/e (ln n + ln 1e9) behind the best score."""
    quantile = load("quantile")
    values = [len(plane) for plane in load("flights").by_plane().values()]
    for above, below in ((1, 1), (1, 9)):
        scores = quantile.scores(values, above, below)
        found = quantile.quantile(values, above, below, quantile.HALF)
        bound = 4 * max(above, below) * (np.log(len(scores)) + np.log(1e9))
        assert max(scores) - scores[found.index] <= bound
        assert found.label == quantile.GRID[found.index]
        assert max(scores) - np.median(scores) > bound  # a choice at random would fail

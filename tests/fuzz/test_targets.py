"""The targets of `make fuzz`: nothing is found near their seeds, and faults would be."""

from __future__ import annotations

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import hostile_files
import pytest
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import ApproximateDP
from safeselect.accounting import Composition

PATH = Path(__file__).parents[2] / "fuzz" / "targets.py"
SPEC = importlib.util.spec_from_file_location("fuzz_targets", PATH)
targets = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(targets)


def near(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """Seeds with a piece of them replaced, and bytes of any kind."""
    changed = st.builds(
        lambda seed, at, gone, new: seed[: at % (len(seed) + 1)] + new + seed[at % 999 + gone :],
        st.sampled_from(seeds),
        st.integers(0, 9999),
        st.integers(0, 9),
        st.binary(max_size=6),
    )
    return st.one_of(st.sampled_from(seeds), changed, st.binary(max_size=60))


@pytest.mark.slow("hostile inputs for each target")
@pytest.mark.parametrize("name", targets.TARGETS)
def test_nothing_is_found(name):
    @settings(max_examples=60 if LONG else 15)
    @given(near(targets.SEEDS[name]))
    def run(data: bytes) -> None:
        targets.TARGETS[name](data)

    run()


def run_all(name: str) -> None:
    """The seeds of a target, and some that are no seeds of it."""
    for seed in [*targets.SEEDS[name], b"nan", b"d1 dNaN", b"?"]:
        targets.TARGETS[name](seed)


@pytest.mark.parametrize(
    ("name", "broken", "instead"),
    [
        ("parameter", "rational", lambda text, _, **__: Fraction(1, 2)),
        ("parameter", "rational", lambda text, _, **__: int(text)),
        ("record", "canonical", lambda content: "{}"),
        ("log", "check_log", lambda log, checker: []),
        ("candidates", "read_candidates", lambda path: ["a", "a"]),
        ("candidates", "escaped", lambda label: "a\nb"),
        ("scores", "read_scores", lambda numbers: SimpleNamespace(steps=lambda reading: None)),
        ("guarantees", "compose", lambda parts, delta: Composition(ApproximateDP(99, delta), "")),
    ],
)
def test_a_fault_is_found(monkeypatch, name, broken, instead):
    monkeypatch.setattr(targets, broken, instead)
    with pytest.raises(Exception, match=r"."):
        run_all(name)


@pytest.mark.parametrize(
    ("name", "broken", "instead"),
    [
        ("table", "read_scores", lambda *_, **__: (["b", "a"], [1, 2])),
        ("table", "read_scores", lambda *_, **__: (["a"], [1, 2])),
        ("table", "count_distinct_users", lambda *_, **__: {"a": 0}),
        ("table", "largest_counts", lambda *_, **__: {}),
        ("table", "largest_counts", lambda *_, **__: int("a cell")),
        ("command", "main", lambda words: 1),
        ("command", "main", lambda words: sys.stderr.write("Traceback") and 2),
        ("command", "main", lambda words: int("a word")),
    ],
)
def test_a_fault_in_reading_files_is_found(monkeypatch, name, broken, instead):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(hostile_files, broken, instead)
    with pytest.raises(Exception, match=r"."):
        run_all(name)


def test_every_target_has_seeds():
    assert targets.TARGETS.keys() == targets.SEEDS.keys()

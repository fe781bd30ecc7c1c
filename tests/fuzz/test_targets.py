"""The targets of `make fuzz`: nothing is found near their seeds, and faults would be."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_every_target_has_seeds():
    assert targets.TARGETS.keys() == targets.SEEDS.keys()

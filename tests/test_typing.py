"""What a type checker tells a client: mypy, strict, on a program that uses the public functions."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import safeselect

api = pytest.importorskip("mypy.api")

CLIENT = """
from fractions import Fraction
from typing import Literal

import numpy as np

from safeselect import (
    compose, exponential_mechanism, permute_and_flip, report_noisy_max, select_many, top_k,
    top_k_above, top_k_with_gaps,
)

cities = {"Bern": 5, "Basel": 3}
best = permute_and_flip(cities, epsilon="0.5", sensitivity=1, monotonic=True)
reveal_type(best.label)
reveal_type(exponential_mechanism([1, 2], labels=["a", "b"], rho=Fraction(1, 2), range_=1).label)
reveal_type(top_k(cities, k=1, epsilon=1, sensitivity=1))
reveal_type(top_k(cities, k=1, epsilon="0.1", delta="1e-9", sensitivity=1, mechanism="laplace"))
reveal_type(top_k(cities, k=1, rho=1, sensitivity=1, mechanism="permute_and_flip").labels)
reveal_type(top_k_with_gaps(cities, k=1, epsilon=1, sensitivity=1).labels)
reveal_type(select_many(np.zeros((2, 3), dtype=np.int64), epsilon=1, sensitivity=1).winners.shape)
reveal_type(top_k_above(cities, threshold=2, k=1, epsilon=1, sensitivity=1).labels)

permute_and_flip(cities, epsilon=[1], sensitivity=1)  # wrong
permute_and_flip(cities, epsilom=1, sensitivity=1)  # wrong
permute_and_flip(cities, epsilon=1, sensitivity=1, monotonic="yes")  # wrong
report_noisy_max(cities, noise="normal", epsilon=1, sensitivity=1)  # wrong
top_k(cities, epsilon=1, sensitivity=1)  # wrong
top_k_above(cities, threshold=2, k=1, epsilon=1, sensitivity=1, rho=1)  # wrong
"""

REVEALED = [
    "str",
    "str",
    "TopK[str]",
    "TopSet[str]",
    "tuple[str, ...]",
    "tuple[str, ...]",
    "tuple[Any, ...]",
    "tuple[str, ...]",
]


@pytest.mark.slow("mypy reads NumPy's types")
def test_a_client_is_told_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    said, _, _ = api.run(["--strict", "--python-executable", sys.executable, str(client)])
    wrong = [number for number, line in enumerate(CLIENT.splitlines(), 1) if "# wrong" in line]
    told = {int(line) for line in re.findall(r"client\.py:(\d+): error", said)}
    assert told == set(wrong), said
    revealed = re.findall(r'Revealed type is "([^"]*)"', said)
    plain = [
        re.sub(r"(builtins|safeselect\.selection\._results|typing)\.", "", each)
        for each in revealed
    ]
    assert plain == REVEALED


EVERY = """
from fractions import Fraction

import numpy as np

from safeselect import (
    AdaptiveSparseVector, ApproximateDP, BoundedRange, Budget, CallbackSource, CombinedSource,
    Counts, ExponentialMechanism, ExponentialMechanismBase2, HmacSigner, InputError,
    LaplaceDominated, Ledger, OpenSSLSource, PayWhatYouGet, PermuteAndFlip, PureDP, ReportNoisyMax,
    SafeSelectError, SparseVector, SystemSource, TopKMechanism, ZeroConcentratedDP, calibrate,
    compose, estimate_from_gaps, estimate_from_threshold, expected_error, expected_gap, explain,
    exponential_mechanism, exponential_mechanism_base2, exponential_mechanism_with_gap,
    gap_confidence_bound, gap_p_value, permute_and_flip, permute_and_flip_with_gap,
    report_noisy_max, report_noisy_max_with_gap, select_many, top_k, top_k_above, top_k_many,
    top_k_with_gaps, unknown_domain_top_k, best_of, first_above, from_json, json_schema, measure,
    partition_strategy, quantile, quantiles, select_partitions,
)
from safeselect.private_candidates import CoveredScope

votes = {"tea": 5, "milk": 900}
ledger = Ledger.create(":memory:", {"votes": Budget("person", "add_remove", epsilon=2)})
scope = ledger.scope("votes", unit="person", neighbours="add_remove", purpose="types")
names: list[str] = [
    permute_and_flip(votes, epsilon=1, sensitivity=1, ledger=scope).label,
    exponential_mechanism(votes, rho="1/8", sensitivity=1, source=SystemSource()).label,
    exponential_mechanism_base2(votes, base="1/2", sensitivity=1).label,
    report_noisy_max(votes, noise="gumbel", epsilon=1, range_=Fraction(1)).label,
    permute_and_flip_with_gap(votes, epsilon=1, sensitivity=1).label,
    exponential_mechanism_with_gap(votes, epsilon=1, sensitivity=1, gap_grid="1/2").label,
    report_noisy_max_with_gap(votes, noise="laplace", epsilon=1, sensitivity=1).label,
    *top_k(votes, k=1, epsilon=1, sensitivity=1).labels,
    *top_k_with_gaps(votes, k=1, epsilon=1, sensitivity=1).labels,
    *top_k_above(votes, k=1, threshold=3, epsilon=1, sensitivity=1).labels,
    PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)(votes).label,
    ExponentialMechanism(rho=1, sensitivity=1)(votes).label,
    ExponentialMechanismBase2(base="1/2", sensitivity=1)([1, 2], labels=["a", "b"]).label,
    ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1)(votes).label,
    *TopKMechanism(k=1, epsilon=1, sensitivity=1)(votes).labels,
]
rows = np.zeros((2, 3), dtype=np.int64)
places = select_many(rows, epsilon=1, sensitivity=1).indices
others = top_k_many(rows, k=2, epsilon=1, sensitivity=1, labels=["a", "b", "c"]).labels
people = unknown_domain_top_k({"a": 9}, k=1, k_bar=1, places="all", epsilon=1, delta="1e-6")
with SparseVector(threshold=2, k=1, epsilon=1, sensitivity=1) as above:
    answer = above.query(5)
with AdaptiveSparseVector(threshold=2, k=2, epsilon=1, sensitivity=1) as adaptive:
    adaptive.query(Fraction(1, 2))
with PayWhatYouGet(outcomes=5, queries=2, epsilon=1, delta="1e-6") as session:
    session.query({"a": 9}, k=1, k_bar=1, places="all")
one = Fraction(1)
total = compose([PureDP(one), LaplaceDominated(one), BoundedRange(one / 2)], delta="1e-6")
each: Fraction = calibrate(BoundedRange, k=5, epsilon=1, delta="1e-6")
costs = ApproximateDP(one, one / 10**6), ZeroConcentratedDP(one / 8)
lost = expected_error(n=5, gap=1, epsilon=1, sensitivity=1)
told = explain(k=2, epsilon=1)
gap = expected_gap([1, 2], rate=1)
chance = gap_p_value(1, rate=1, noise="laplace")
bound = gap_confidence_bound(
    1, threshold=3, alpha="1/20", threshold_rate=1, value_rate=2, noise="laplace"
)
better = estimate_from_gaps([1, 2], [1], rate=1, noise="exponential", measured_rate=1)
near = estimate_from_threshold(1, 1, threshold=2, variance_ratio=1)
kept = select_partitions({"tea": 5}, epsilon=1, delta="1e-6", max_partitions=1).to_json()
strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
released = from_json(measure([1, 2], epsilon=1, sensitivity_l1=1).to_json())
fields: list[str] = list(json_schema("safeselect.selection/3"))
middle = quantile([1, 2, 3], quantile="1/2", lowest=0, highest=9, epsilon=1)
several = quantiles([1, 2, 3], quantiles=["1/4", "1/2"], lowest=0, highest=9, epsilon=1)
def run(covered: CoveredScope) -> tuple[int, str]:
    return 1, permute_and_flip(votes, epsilon="1/4", sensitivity=1, ledger=covered).label
chosen: str | None = best_of(run, base=PureDP(Fraction(1, 4)), gamma="1/2").output
first: str | None = first_above(run, threshold=0, base=PureDP(Fraction(1, 4)), gamma="1/2").output
source = CombinedSource(OpenSSLSource(), CallbackSource(lambda count: bytes(count)))
signer = HmacSigner(bytes(32), key_id="a")
counts = Counts({"tea": 5}, places="all")
def failed(error: SafeSelectError) -> bool:
    return isinstance(error, InputError)
"""


@pytest.mark.slow("mypy reads NumPy's types")
def test_a_program_with_every_public_function_passes(tmp_path: Path) -> None:
    """What is a function or a class with a constructor of its own is used; the rest is returned."""
    client = tmp_path / "every.py"
    client.write_text(EVERY)
    said, _, status = api.run(["--strict", "--python-executable", sys.executable, str(client)])
    assert status == 0, said
    unused = [
        name
        for name in safeselect.__all__
        if inspect.isroutine(getattr(safeselect, name)) and f"{name}(" not in EVERY
    ]
    assert not unused


@pytest.mark.slow("pyright reads NumPy's types")
def test_pyright_agrees(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    (tmp_path / "every.py").write_text(EVERY)
    settings = {"typeCheckingMode": "strict", "include": ["every.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

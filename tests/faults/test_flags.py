"""The same under every flag of the interpreter: releases, refusals, records and sessions."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import safeselect

# With -I the environment names no directories.
PLACES = [str(Path(safeselect.__file__).parents[1])]
FIND = f"import sys; sys.path[:0] = {PLACES!r}\n"
PROGRAM = """
import warnings
import safeselect
from safeselect import Budget, Ledger
from safeselect.testing import DeterministicSource

def tape(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DeterministicSource(seed, i_understand_this_is_not_private=True)

terms = {"unit": "person", "neighbours": "add_remove"}
ledger = Ledger.create(":memory:", {"a": Budget(**terms, epsilon=9, delta="1e-3")})
there = ledger.scope("a", **terms, purpose="flags")
scores, cost = [5, 9, 2, 7], {"epsilon": 1, "sensitivity": 1}
counts = {"a": 90, "b": 70, "c": 1}
calls = [
    lambda **o: safeselect.permute_and_flip(scores, **cost, **o),
    lambda **o: safeselect.report_noisy_max_with_gap(scores, noise="laplace", **cost, **o),
    lambda **o: safeselect.top_k_above(scores, k=2, threshold=6, **cost, **o),
    lambda **o: safeselect.select_many([scores, scores], k=2, **cost, **o),
    lambda **o: safeselect.unknown_domain_top_k(
        counts, k=1, k_bar=2, places="all", epsilon=1, delta="1e-4", **o
    ),
]
for seed, call in enumerate(calls):
    print(call(source=tape(seed)).to_json())
try:
    for seed in range(100):
        calls[0](source=tape(b"ledger %d" % seed), ledger=there)
except safeselect.BudgetError as error:
    print(seed, error)
print(ledger.check().scopes["a"].spent)
session = safeselect.SparseVector(threshold=6, k=2, source=tape(b"s"), **cost)
print(session.query_many([1, 90, 2, 90, 3]))
wrong = [{"epsilon": -1}, {"epsilon": True}, {"sensitivity": 0}, {"epsilon": "1e-9999"},
         {"labels": ["a"]}, {"monotonic": 1}, {"grid": 0}, {"source": 7}, {"ledger": 7},
         {"epsilon": 10**5000}, {"range_": 1}]
for each in wrong:
    try:
        safeselect.permute_and_flip(scores, **{**cost, **each})
    except safeselect.ParameterError as error:
        print(error)
for bad in ([], [None], ["1"], [0.5], [float("nan")], [1j], {1}, 1, b"1"):
    try:
        safeselect.permute_and_flip(bad, **cost)
    except safeselect.ScoreError as error:
        print(error)
"""


@functools.cache
def said(flags: str) -> tuple[int, str, str]:
    names = {"PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONDEVMODE"}
    done = subprocess.run(
        [sys.executable, *flags.split(), "-c", FIND + PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={name: value for name, value in os.environ.items() if name not in names},
    )
    return done.returncode, done.stdout, done.stderr


def test_the_program_does_what_it_should():
    code, out, error = said("")
    assert (code, error) == (0, "")
    assert len(out.splitlines()) == 5 + 1 + 1 + 1 + 11 + 9
    assert "9 the budget (9, 0.001) of scope 'a' does not allow" in out


@pytest.mark.claim("C12")
@pytest.mark.parametrize("flags", ["-OO", "-I -W error -bb -X dev"])
def test_everything_is_the_same(flags):
    assert said(flags) == said("")

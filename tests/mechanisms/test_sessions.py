"""The sparse vector sessions: every run against the specification, and what a session refuses.

Laws are in `tests/laws`, certificates in `test_sessions_privacy.py`.
"""

from __future__ import annotations

import copy
import os
import pickle
from fractions import Fraction
from itertools import product
from math import floor
from unittest import mock

import numpy as np
import pytest
from children import in_child
from tapes import Known, TapeSource

from safeselect import AdaptiveSparseVector, BudgetError, SourceError, SparseVector
from safeselect.engine import single
from safeselect.engine.single import WholeNoise
from safeselect.mechanisms import sessions
from safeselect.spec import sessions as spec
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.claim("C2")]

KINDS = [SparseVector, AdaptiveSparseVector]
BASE = {"threshold": 5, "k": 2, "epsilon": 1, "sensitivity": 1}


def opened(kind=SparseVector, **options):
    return kind(**{**BASE, **options})


def deterministic(seed: int = 0) -> DeterministicSource:
    return DeterministicSource(seed, i_understand_this_is_not_private=True)


# ------------------------------------------------------------- all runs, against the specification


class Toy:
    """A rational noise of which one more binary digit is known each time."""

    def __init__(self, number: Fraction) -> None:
        self.number, self.precision = number, 0

    def bounds(self, precision: int, denominator: int) -> tuple[int, int]:
        known, shift = floor(self.number * 2**self.precision), precision - self.precision
        return known * denominator << shift, (known + 1) * denominator << shift

    def refine(self, bits: object) -> None:
        self.precision += 1


class Script:
    """An engine that draws what is written down, and remembers of which rate."""

    def __init__(self, numbers) -> None:
        self.numbers, self.rates = list(numbers), []

    def enclosed_noise(self, kind, noise_rate, digits, bits):
        self.rates.append(noise_rate.rate)
        number = self.numbers.pop(0)
        return WholeNoise(number) if kind == "geometric" else Toy(number)


def specified(values, numbers, ways, noise, budget, gap_grid):
    """The specification's answers for these noises: lists of (branch or None, gap, budget)."""
    noises = numbers if noise == "geometric" else map(Known, numbers)
    with mock.patch.object(spec, "draw", side_effect=noises):
        for found in spec.sparse_vector(values, noise, None, ways, budget, gap_grid, None):
            if found is None:
                yield None, None, budget
            else:
                budget -= ways[found[0]].cost
                yield found[0], found[1] * gap_grid, budget


VALUES = (4, 6, 3)
# With a seventh added for the threshold, continuous noise never ties here, as it never does.
CONTINUOUS = [Fraction(-7, 3), Fraction(1, 3), Fraction(5, 3), Fraction(13, 3)]
PLAIN = {"epsilon": 3, "split": "1/3", "k": 2}  # 1 for the threshold, 1 for each answer
ADAPTIVE = {**PLAIN, "sigma": "3/2"}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("kind", "options", "noise", "support"),
    [
        (SparseVector, PLAIN, "laplace", CONTINUOUS),
        (SparseVector, {**PLAIN, "gap_grid": "3/4"}, "exponential", CONTINUOUS[1:]),
        (SparseVector, PLAIN, "geometric", [0, 1, 4]),
        (AdaptiveSparseVector, ADAPTIVE, "laplace", CONTINUOUS[::3]),
        (AdaptiveSparseVector, {**ADAPTIVE, "gap_grid": 2}, "exponential", CONTINUOUS[1::2]),
        (AdaptiveSparseVector, ADAPTIVE, "geometric", [0, 3]),
    ],
)
@pytest.mark.claim("C1")
def test_every_run_is_the_one_specified(kind, options, noise, support, many, monkeypatch):
    """All noises of a support, for the threshold and for three values of one or two branches."""
    branches = 2 if kind is AdaptiveSparseVector else 1
    names = ("top", "middle") if branches == 2 else (None,)
    costs = [Fraction(1, 2), Fraction(1)] if branches == 2 else [Fraction(1)]
    margins = [Fraction(3, 2), Fraction(0)] if branches == 2 else [Fraction(0)]
    public = {"threshold": Fraction(9, 2), "sensitivity": 1, "noise": noise, **options}
    terms = kind(**public)._terms
    # What the noise adds on average: scales are 1 for the threshold, then 2 / cost.
    mean = {"exponential": [2 / cost - 1 for cost in costs], "laplace": [0] * branches}.get(noise)
    if noise == "geometric":
        mean = [Fraction(b.place, terms.denominator) - Fraction(9, 2) for b in terms.branches]
        exact = [1 / np.expm1(float(cost) / 2) - 1 / np.expm1(1) for cost in costs]
        assert np.allclose([float(each) for each in mean], exact, rtol=0, atol=2e-6)
    # Each branch compares with a threshold of its own recentring.
    ways = [
        spec.Branch(Fraction(9, 2) + each, margin, cost, None)
        for each, margin, cost in zip(mean, margins, costs, strict=True)
    ]
    gap_grid = Fraction(options.get("gap_grid", 1))
    apart = 0 if noise == "geometric" else Fraction(1, 7)
    for first, *others in product(support, repeat=1 + branches * len(VALUES)):
        numbers = [first + apart, *others]
        script = Script(numbers)
        expected = list(specified(VALUES, numbers, ways, noise, Fraction(2), gap_grid))
        monkeypatch.setattr(single, "enclosed_noise", script.enclosed_noise)
        run = sessions.Session(terms, deterministic())
        if many:
            found = run.query_many(VALUES)
            assert found.consumed == len(expected)
            above = [(i, each) for i, each in enumerate(expected) if each[0] is not None]
            assert found.indices == tuple(i for i, _ in above)
            assert found.gaps == tuple(gap for _, (_, gap, _) in above)
            assert found.branches == tuple(names[b] for _, (b, _, _) in above if names[b])
            assert found.costs == tuple(costs[branch] for _, (branch, _, _) in above)
            assert found.budget == run._below.budget == expected[-1][2]
            assert found.remaining == run.remaining == expected[-1][2] // max(costs)
        else:
            for value, (branch, gap, budget) in zip(VALUES, expected, strict=False):
                answer = run.query(value)
                assert (answer.above, answer.gap, answer.budget) == (
                    branch is not None,
                    gap,
                    budget,
                )
                assert answer.branch == (None if branch is None else names[branch])
                assert answer.cost == (0 if branch is None else costs[branch])
                assert answer.remaining == budget // max(costs)
        if len(expected) < len(VALUES):
            with pytest.raises(
                BudgetError, match="this session has released all the answers above t"
            ):
                run.query(0)
        # One noise for the threshold, then one for each branch of each value, of the right rate.
        rates = [1] + [cost / 2 for cost in costs] * len(expected)
        assert script.rates == rates


# ------------------------------------------------------------------- state, threads and processes


@pytest.mark.parametrize("kind", KINDS)
def test_no_copy_no_pickle_no_subclass_and_a_silent_repr(kind):
    session = opened(kind)
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        for thing in (session, session._noise):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                make(thing)
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Mine", (kind,), {})
    assert (repr(session), repr(session._noise)) == (f"<{kind.__name__}>", "<InvertedNoise>")
    assert repr(WholeNoise(7)) == "<WholeNoise>"
    assert not hasattr(session, "__dict__")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("exhausted", [False, True])
def test_a_child_of_a_fork_is_refused_even_while_the_session_is_locked(exhausted):
    session = opened(k=1, epsilon=2**20)
    if exhausted:
        session.query(50)

    def child() -> bytes:
        for call in (session.query, lambda value: session.query_many([value])):
            with pytest.raises(SourceError, match="another process"):
                call(0)
        session.close()
        return repr(session._noise).encode()

    with session._lock:  # as another thread would hold it at the fork
        assert in_child(child) == b"None"
    if not exhausted:
        assert session.query(0).above is False  # the parent goes on


# ------------------------------------------------------------------------------- sizes and limits


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_values_as_fit_into_a_request_and_around_it(kind):
    """Each gets an answer of its own."""
    fine = {**BASE, "k": 1000, "epsilon": 1000, "threshold": 0, "gap_grid": Fraction(1, 1 << 30)}
    probe = TapeSource(seed=1)
    session, before = kind(**fine, source=probe), probe.asked
    session.query(10**9)
    fit = sessions._MANY // (probe.asked - before)
    assert fit > 50
    for count in (fit - 1, fit, fit + 1, 2 * fit + 1):
        found = kind(**fine, source=TapeSource(seed=2)).query_many([10**9] * count)
        assert found.consumed == len(found.indices) == len(set(found.gaps)) == count

"""What gaps gain on real counts is what theory says: the simulation of the figure, with fewer runs.

Everything is drawn by the mechanisms themselves, `top_k_with_gaps` on all 17 770 counts and
`SparseVector`; measurements get the array engine's discrete Laplace noise.  That this noise is
discrete, and that the selection's has a say in who is chosen, moves the errors by less than a tenth
of what these tests can see.

False alarms: 1e-9 each, by the normal approximation of a mean of some hundred runs or more, which
lies within 6.1 standard errors of its expectation.  Power: at k = 10 a standard error is 1.4 points
of reduction or less, so what differs by 13 points is found with probability above 0.999; every
mutant here differs by more.  The random bytes are those of a fixed seed, so a pass stays a pass.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from safeselect.estimates import estimate_fixed_from_gaps, estimate_from_threshold
from safeselect.testing import DeterministicSource, InsecureSourceWarning

LIMIT = 6.1
PATH = Path(__file__).parents[2] / "examples" / "gap_errors.py"
NOISES = ("exponential", "laplace")
KINDS = ("top_k", "threshold")
RUNS = {2: 600, 10: 600, 50: 150}


def load():
    spec = spec_from_file_location("gap_errors", PATH)
    module = sys.modules["gap_errors"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


simulation = load()


@lru_cache
def runs(kind: str, noise: str, k: int):
    with pytest.warns(InsecureSourceWarning):
        source = DeterministicSource(b"gap errors", i_understand_this_is_not_private=True)
    return getattr(simulation, f"{kind}_runs")(noise, k, RUNS[k], source)


def errors(kind: str, noise: str, k: int):
    return getattr(simulation, f"{kind}_errors")(noise, k, runs(kind, noise, k))


@pytest.mark.slow("statistics with power")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_as_in_theory_and_near_their_limits(kind, noise):
    """Monotonic queries: up to 66 % (exponential) or 50 % (Laplace) of the error, as k grows."""
    found = [errors(kind, noise, k) for k in RUNS]
    for each in found:
        assert abs(each.deviation) < LIMIT
    two, ten, fifty = found
    assert fifty.reduction > two.reduction + LIMIT * (fifty.standard_error + two.standard_error) / 2
    limit = {"exponential": Fraction(2, 3), "laplace": Fraction(1, 2)}[noise]
    assert two.expected > ten.expected > fifty.expected > 1 - limit
    assert abs(fifty.reduction - float(limit)) < 0.06 + LIMIT * fifty.standard_error
    # The theory of the other noise is refused.
    other = errors(kind, NOISES[1 - NOISES.index(noise)], 10)
    assert abs(replace(ten, expected=other.expected).deviation) > LIMIT


def rolled(measured, gaps, **keywords):
    return estimate_fixed_from_gaps(measured, [*gaps[1:], gaps[0]], **keywords)


def without_gaps(measured, gaps, **keywords):
    return tuple(map(Fraction, measured.tolist()))


def too_sure_of_gaps(measured, gaps, *, variance_ratio, **keywords):
    return estimate_fixed_from_gaps(measured, gaps, variance_ratio=variance_ratio / 20, **keywords)


@pytest.mark.parametrize("mutant", [rolled, without_gaps, too_sure_of_gaps])
def test_wrong_estimates_from_gaps_are_noticed(monkeypatch, mutant):
    monkeypatch.setattr(simulation, "estimate_fixed_from_gaps", mutant)
    assert abs(errors("top_k", "laplace", 10).deviation) > LIMIT


def uncentred(measured, gap, **keywords):
    return estimate_from_threshold(measured, gap + 40, **keywords)


def threshold_alone(measured, gap, **keywords):
    return estimate_from_threshold(measured, 0, **keywords)


@pytest.mark.parametrize("mutant", [uncentred, threshold_alone])
def test_wrong_estimates_from_a_threshold_are_noticed(monkeypatch, mutant):
    monkeypatch.setattr(simulation, "estimate_from_threshold", mutant)
    assert abs(errors("threshold", "laplace", 10).deviation) > LIMIT

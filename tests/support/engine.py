"""The inside of the package, for the tests of evidence: the one place that knows where it stands.

Whoever moves a file of the engine mends this module, and no test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from safeselect import engine as lattice
from safeselect.engine import arrays, contenders, draws, geometric, rankings, rows, single, tables
from safeselect.engine.draws import Draws, Plan, tail_capacity
from safeselect.engine.draws import plan as ranking_plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, LAWS, Law
from safeselect.engine.rankings import Ranking
from safeselect.engine.rows import batch_plan, combine_rows
from safeselect.exact.interval import NoiseRate
from safeselect.mechanisms.items import HeldCounts
from safeselect.mechanisms.select import Asked
from safeselect.randomness.bits import FILL_REQUEST, MAX_TAKE, Bits
from safeselect.release import call
from safeselect.samplers import permutation
from safeselect.scores.candidates import Candidates

TOPS = {name: partial(lattice.noisy_top_k, name) for name in LAWS}
PEELED = {name: partial(lattice.peeled_top_k, name) for name in LAWS}
MANY = {name: partial(lattice.noisy_max_rows, name) for name in LAWS}

_DRAWS = ("noisy_top_k", "peeled_top_k", "noisy_max_rows", "discrete_laplace", "enclosed_noise")


def keep(patch: pytest.MonkeyPatch) -> tuple[list[Any], list[Bits]]:
    """Lists that fill with all private arrays that calls make, and with their bits."""
    held: list[Any] = []
    bits: list[Bits] = []

    def spied(function: Callable[..., Any], find: Callable[[Any], Any]) -> Callable[..., Any]:
        def spy(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            found = find(result)
            assert isinstance(found, (np.ndarray, Bits))
            (bits if isinstance(found, Bits) else held).append(found)
            return result

        return spy

    def given(function: Callable[..., Any]) -> Callable[..., Any]:
        def spy(*arguments: Any, **options: Any) -> Any:
            held.extend(given for given in arguments if isinstance(given, np.ndarray))
            return function(*arguments, **options)

        return spy

    read = spied(Candidates.scores_on_grid, lambda found: found)
    patch.setattr(Candidates, "scores_on_grid", read)
    patch.setattr(call, "Bits", spied(Bits, lambda found: found))
    patch.setattr(HeldCounts, "read", spied(HeldCounts.read, lambda found: found))
    # What is made on the way to the engine counts too.
    for room in (lattice, single, geometric):
        for name, function in list(vars(room).items()):
            if inspect.isfunction(function) and name in _DRAWS:
                patch.setattr(room, name, given(function))
    return held, bits


def change_decay(patch: pytest.MonkeyPatch, change: Callable[[NoiseRate], NoiseRate]) -> None:
    """Give every call another rate than the one that it is calibrated to."""
    right = Asked.calibrate

    def wrong(asked: Asked, *given: Any, **more: Any) -> Any:
        plan = right(asked, *given, **more)
        return replace(plan, noise_rate=change(plan.noise_rate))

    patch.setattr(Asked, "calibrate", wrong)


def noise_of_session(session: Any) -> object:
    """The noise of the threshold that a session holds."""
    return session._noise


def bits_of_session(session: Any) -> Bits:
    """The bits that a session draws its answers from."""
    bits: Bits = session._bits
    return bits

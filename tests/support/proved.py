"""The shipped code behind the seams at which it is compared with what is proved.

All that the tests of `tests/proofs` know of the engine's inside is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from safeselect.accounting.cost import PrivacyCost
from safeselect.engine import Ranking, contenders, geometric, rankings, single, tables
from safeselect.engine.draws import GUARD
from safeselect.engine.laws import EXPONENTIAL
from safeselect.engine.single import WholeNoise
from safeselect.mechanisms import sessions
from safeselect.mechanisms.sessions import SparseVector
from safeselect.mechanisms.table import LAWS, calibrate
from safeselect.scores import floats, numbers
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.sources import resolve
from safeselect.spec import rankings as _reference

__all__ = [
    "BELOW",
    "CONTENDERS",
    "DIGITS",
    "DYADIC",
    "EXPONENTIAL",
    "FINE",
    "FLIPPED",
    "LAWS",
    "Reading",
    "Sessions",
    "base_of",
    "combine_exponential",
    "combine_floors",
    "compare",
    "decide",
    "differences",
    "one_shot",
    "range_in_steps",
    "sparse_vector",
    "told",
]

CONTENDERS, DIGITS, FINE = contenders, geometric, tables
DYADIC = floats._dyadic


def _mask(kind: str, minimize: bool) -> int:
    """What integers of a kind are XORed with when they are read: what is written for 0."""
    out = np.empty(1, np.uint64)
    numbers.in_order(np.zeros(1, f"{kind}8"), minimize, out)
    return int(out[0])


FLIPPED = {(kind, best): _mask(kind, best) for kind in "iu" for best in (False, True)}

SCALE = 32  # at which a ceiling is in whole units


def told(ranking: Ranking | None) -> str:
    """A ranking as it stands in the tables."""
    if ranking is None:
        return "-"
    order = "".join(map(str, ranking.indices))
    return order if not ranking.gaps else f"{order}:{''.join(map(str, ranking.gaps))}"


def combine_exponential(
    scores: Sequence[int], floors: Sequence[int], ranks: Sequence[int], k: int, gaps: bool
) -> Ranking:
    """The scalar tier's combining step for exponential noise."""
    noise = _reference.ExponentialNoise(tuple(floors), tuple(ranks))
    return _reference.combine_exponential(scores, noise, k, gaps=gaps)


def combine_floors(scores: Sequence[int], floors: Sequence[int], k: int) -> Ranking | None:
    """The scalar tier's combining step for noise known to its floors, without gaps."""
    return _reference.combine_continuous(scores, floors, 0, k)


def decide(
    patch: pytest.MonkeyPatch,
    ends: Sequence[tuple[int, int]],
    k: int,
    unit: tuple[int, int, int] | None,
    ceiling: int | None,
    logs: Sequence[tuple[int, int]] = (),
) -> Ranking | None:
    """The array engine's decision for candidates whose Y lies within these ends, in units.

    A part of each number is given as the score, at a rate of one unit a step, or between `slow` and
    `fast` units where a unit of gaps is named; another as the enclosure of the logarithm of a
    weight, where `logs` has one for each; and the rest as the enclosure of the noise.
    """
    over, slow, fast = unit or (1, 1, 1)
    weights = SimpleNamespace(logs=lambda places, scale: [logs[place] for place in places])
    plan: Any = SimpleNamespace(
        law=None,
        k=k,
        ranked=k + (unit is not None),
        precision=SCALE,
        rate=(slow << GUARD, fast << GUARD),
        gap_unit=Fraction(1, over),
        weights=weights if logs else None,
    )
    scores = [place % 2 for place in range(len(ends))]
    noise = [
        (low - slow * score - least, high - fast * score - most)
        for (low, high), score, (least, most) in zip(
            ends, scores, logs or [(0, 0)] * len(ends), strict=True
        )
    ]
    patch.setattr(rankings, "upper_ends", lambda law, known, scale: [noise[v][1] for v, _ in known])
    patch.setattr(rankings, "lower_end", lambda high, v, bits, scale: noise[v][0])
    known = [(place, 0) for place in range(len(ends))]
    bound = None if ceiling is None else (0, ceiling)
    return rankings.certified_order(list(range(len(ends))), scores, known, bound, plan, SCALE)


compare = sessions.compare
BELOW = sessions.BELOW


def range_in_steps(step: Fraction, error: Fraction | None, size: Fraction, kind: str) -> int:
    """The range that noise is calibrated to; on the grid, where no error is given."""
    reading = Reading.read(grid=step, on_grid=error is None, score_error=error)
    declared = {"range_": size} if kind == "declared" else {"sensitivity": size}
    change = Sensitivity.read(
        sensitivity=declared.get("sensitivity"),
        range_=declared.get("range_"),
        monotonic=kind == "one way",
    )
    return int(change.range_in_steps(reading))


Rates = tuple[int, Fraction, Fraction]
"""How many draws, what each costs, and the rate of its noise."""


def one_shot(name: str, total: Fraction, range_: Fraction, k: int, rows: int) -> Rates:
    """The calibration of a one-shot mechanism; the rate is the one before it is rounded."""
    found = calibrate(name, PrivacyCost(total, None, None), range_, Fraction(1), k, rows)
    assert found.guarantee.epsilon == total  # type: ignore[union-attr]
    return found.draws, found.each.epsilon, found.noise_rate.rate


def base_of(name: str, total: Fraction, range_: Fraction, k: int, rows: int) -> Fraction | None:
    """The factor of a grid step, where it is a rational number."""
    cost = PrivacyCost(total, None, None)
    return calibrate(name, cost, range_, Fraction(1), k, rows).noise_rate.base


def sparse_vector(session: type, noise: str, **arguments: Any) -> list[tuple[Fraction, ...]]:
    """For each branch: the threshold's rate, what an answer costs, and the rate of its noise."""
    terms = session(threshold=0, noise=noise, **arguments)._terms
    start = terms.noise_rate.rate
    return [(start, each.epsilon, each.noise_rate.rate) for each in terms.branches]


def differences(scores: Any, step: Fraction) -> list[int]:
    """How many steps each score is read above the first, as mechanisms read them."""
    reading = Reading.read(grid=step, on_grid=False, score_error=0)
    steps = [int(each) for each in read_candidates(scores).scores_on_grid(reading)]
    return [each - steps[0] for each in steps]


class Sessions:
    """Sparse vector sessions with geometric noise, whose noises the test gives."""

    def __init__(self, k: int, *, monotonic: bool) -> None:
        arguments = {"k": k, "epsilon": 1, "sensitivity": 1, "monotonic": monotonic}
        made = SparseVector(threshold=0, noise="geometric", **arguments)
        self._terms = made._terms
        self._source = resolve(None)
        (branch,) = self._terms.branches
        # Differences of whole steps reach a place exactly where they reach its ceiling.
        self._place = -(-branch.place // self._terms.denominator)
        self._waiting: list[int] = []

    def enclosed_noise(self, kind: str, noise_rate: Any, digits: int, bits: Any) -> WholeNoise:
        """The next noise."""
        assert kind == "geometric"
        return WholeNoise(self._waiting.pop(0))

    def opened(self, threshold: int, noises: Sequence[int]) -> sessions.Session:
        """With this threshold, its noise included, and these noises of the values."""
        self._waiting = [threshold - self._place, *noises]
        return sessions.Session(self._terms, self._source)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """These noises in the place of those that an engine draws."""
        with mock.patch.object(single, "enclosed_noise", self.enclosed_noise):
            yield

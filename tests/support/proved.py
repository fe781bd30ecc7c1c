"""The shipped code behind the seams at which it is compared with what is proved.

All that the tests of `tests/proofs` know of the engine's inside is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import many
import numpy as np
import pytest

from safeselect.accounting.cost import PrivacyCost
from safeselect.engine import Ranking, contenders, draws, geometric, rankings, single, tables
from safeselect.engine.draws import GUARD, Draws
from safeselect.engine.laws import EXPONENTIAL, enclose
from safeselect.engine.laws import LAWS as NOISES
from safeselect.engine.single import WholeNoise
from safeselect.exact.interval import NoiseRate
from safeselect.mechanisms import keys as kept
from safeselect.mechanisms import sessions
from safeselect.mechanisms.sessions import SparseVector
from safeselect.mechanisms.table import LAWS, calibrate
from safeselect.scores import floats, numbers
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.sources import resolve
from safeselect.spec import rankings as _reference

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


def steps(scores: Any, step: Fraction, *, minimize: bool) -> list[int]:
    """The words of scores as mechanisms read them: 2**64 - 1 for the best."""
    reading = Reading.read(grid=step, on_grid=False, score_error=0)
    found = read_candidates(scores).scores_on_grid(reading, minimize=minimize)
    return [int(each) for each in found]


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


class _Narrowing:
    """A noise that is known to ever more places, and exactly to the test."""

    def __init__(self, exactly: Fraction) -> None:
        self._exactly, self.precision = exactly, 4

    def bounds(self, precision: int, denominator: int) -> tuple[int, int]:
        unit = denominator << precision
        wide = Fraction(unit, 1 << self.precision)
        low, high = self._exactly * unit - wide / 3, self._exactly * unit + wide / 5
        return low.__floor__(), high.__ceil__()

    def refine(self, bits: Any) -> None:
        self.precision += 4


def enclosed_answers(
    session: type, noises: Sequence[Fraction], values: Sequence[int], **arguments: Any
) -> list[Any]:
    """A session's answers, where bounds of noises are known: the threshold's, then values'."""
    with mock.patch.object(single, "enclosed_noise", side_effect=map(_Narrowing, noises)):
        opened = session(threshold=0, noise="laplace", **arguments)
        return [opened.query(value) for value in values if opened.remaining]


class _Undecided(Exception):
    """The digits drawn leave the order open; the winners before."""


class ManyCandidates:
    """The array engine's path for many candidates, with words, keys and enclosures of the test."""

    def __init__(self, case: many.Many) -> None:
        self._case = case
        over = 1 if case.unit is None else case.unit[0]
        self._plan: Any = SimpleNamespace(
            law=SimpleNamespace(lowest=0),
            noise_rate=None,
            k=case.k,
            ranked=case.ranked,
            precision=SCALE,
            rate=(1 << GUARD, 1 << GUARD),
            gap_unit=Fraction(1, over),
            weights=None,
            spread=0,
        )
        self._waiting = list(case.rounds)
        self._noise: Sequence[tuple[int, int]] = ()

    def _keys(self, *_: object) -> tables.Keys:
        words, more = (np.array(each, np.uint32) for each in (many.BOUNDS, many.MORE))
        bits = (2 * many.REACH + max(many.MORE)).bit_length()
        return tables.Keys(words, more, 0, many.REACH, bits, Fraction(1))

    def _draws(self, *_: object) -> Any:
        """The next round's words and tail words, which are padded as the engine pads them."""
        one, n = self._waiting.pop(0), len(self._case.rounds[0].scores)
        self._noise = one.noise
        return SimpleNamespace(
            noise=np.empty(0, np.int64),
            words=np.array(one.words, np.uint16),
            width=16,
            tail_bits=many.TAILS.bit_length() - 1,
            tails=np.array([*one.tails, n, n], np.int64),
            tail_counts=np.array([*(one.further[i] for i in one.tails), 0, 0], np.int64),
            slots=[0] * self._case.count,
            endless=(),
            known=lambda candidates, slots: [(i, 0) for i in candidates],
        )

    @property
    def _scores(self) -> Any:
        return np.array(self._case.rounds[0].scores, np.uint64)

    def _refined(
        self, scores: Any, draws: Any, plan: Any, bits: Any, removed: Sequence[int]
    ) -> Any:
        raise _Undecided(removed)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        with (
            mock.patch.multiple(
                contenders,
                GROUP=self._case.sizes.group,
                _BLOCK=self._case.sizes.most,
                _DIRECT=self._case.sizes.direct,
                keys=self._keys,
            ),
            mock.patch.multiple(
                rankings,
                plan=lambda *_: self._plan,
                draw=self._draws,
                refine=self._refined,
                upper_ends=lambda law, known, scale: [self._noise[v][1] for v, _ in known],
                lower_end=lambda high, v, bits, scale: self._noise[v][0],
            ),
        ):
            yield

    def contenders(self) -> str:
        """The contenders, and the largest key of the rest, as they stand in the tables."""
        with self._in_place():
            found = contenders.contenders(
                self._scores, self._draws(), self._plan, self._case.count, ()
            )
        places, ceiling = found
        assert ceiling is not None
        assert ceiling[0] == self._case.rounds[0].lowest(self._case.ranked)
        return f"{','.join(map(str, places))}:{ceiling[1]}"

    def ranked(self) -> str:
        """What is decided, or -."""
        with self._in_place():
            found = rankings.combine(self._scores, self._draws(), self._plan)
        if found is None:
            return "-"
        order, gaps = ",".join(map(str, found.indices)), ",".join(map(str, found.gaps or ()))
        return order if self._case.unit is None else f"{order}:{gaps}"

    def peeled(self) -> str:
        """The winners of all rounds, up to the first that is not decided."""
        rounds = len(self._case.rounds)
        with self._in_place():
            try:
                taken: Any = ("exponential", self._scores, rounds, None, None)
                found = rankings.peeled_top_k(*taken).indices
            except _Undecided as undecided:
                (found,) = undecided.args
        return ",".join(map(str, found))


def bounds(law: str) -> tables.BoundTable:
    """The bounds of all words, and of tail words."""
    return tables.bound_table(NOISES[law])


def keys(law: str, rate: Fraction) -> tables.Keys:
    """The same for a rate."""
    return tables.keys(NOISES[law], NoiseRate(rate))


def lowest(law: str) -> int:
    """In 1/64 nat: what bounds and keys count from."""
    return NOISES[law].lowest


def refuse(n: int, k: int, *, gaps: bool) -> None:
    """Rank k of n candidates, which nobody can; no digit is drawn."""
    taken: Any = ("exponential", np.zeros(n, np.uint64), k, NoiseRate(Fraction(1)), resolve(None))
    rankings.noisy_top_k(*taken, gaps=gaps)


def enclosed(law: str, v: int, bits: int, precision: int) -> tuple[int, int]:
    """Noise of which these digits of V are known, in units of 2**-precision nats."""
    return enclose(NOISES[law], v, bits, precision)


class _Digits:
    """Digits that the test gives; no more are drawn."""

    def __init__(self, v: int) -> None:
        self._v = v

    def take(self, count: int) -> int:
        assert count == 128
        return self._v


def whole(rate: Fraction, v: int) -> int:
    """The geometric number of these 128 digits."""
    found = single.enclosed_noise("geometric", NoiseRate(rate), 128, cast(Any, _Digits(v)))
    assert isinstance(found, WholeNoise)
    return found.steps


def drawn_noise(kind: Any, rate: Fraction, v: int, digits: int, *ends: int) -> tuple[int, int]:
    """The bounds of a session's noise of these digits of V."""
    taken: Any = (NoiseRate(rate), digits, SimpleNamespace(take=lambda count: v))
    return single.enclosed_noise(kind, *taken).bounds(*ends)


class _Given:
    """A request with lanes that the test gives."""

    def __init__(self, numbers: Any) -> None:
        self._given = numbers.tobytes()

    def fill(self, buffer: memoryview) -> None:
        buffer[:] = self._given


def drawn(law: str, words: Sequence[int], extra: Sequence[int]) -> Draws:
    """What is drawn for many candidates: these words, room for so many tail words, four slots."""
    lanes = np.array([*range(4), *extra], np.uint64).tobytes()
    fourths = np.array([*words, *[0] * (-len(words) % 4)], np.uint16).tobytes()
    numbers = np.frombuffer(lanes + fourths, np.uint8)
    with mock.patch.object(draws, "tail_capacity", return_value=len(extra)):
        return draws.draw_words(len(words), NOISES[law], cast(Any, _Given(numbers)), 4, 64)


def open_ranking(found: Draws) -> Ranking | None:
    """What is decided of candidates far apart, where these digits were drawn."""
    scores = np.arange(len(found.words), dtype=np.uint64) << np.uint64(40)
    return rankings.combine(
        scores, found, draws.plan(EXPONENTIAL, 1, NoiseRate(Fraction(1)), False)
    )


def weights_of(values: Sequence[Fraction] | None) -> Any:
    """Weights as the engine has them."""
    return None if values is None else draws.Weights.of(np.array(values))


def left_out(
    law: str, rate: Fraction, v: Sequence[int], bits: int, scores: Any, weights: Any, removed: Any
) -> tuple[list[int], tuple[int, int] | None]:
    """The contenders by the keys of words, or by noise of 64 digits; and the bound of the rest."""
    spread = 0 if weights is None else weights.spread
    plan = draws.plan(NOISES[law], 1, NoiseRate(rate), False, spread=spread)
    plan = plan._replace(weights=weights)
    if bits == 16:
        one = drawn(law, v, [1 << 63] * len(v))
    else:
        numbers = np.array([*v, *range(4)], np.uint64)
        one = draws.draw_noise(len(v), NOISES[law], cast(Any, _Given(numbers)), 4, 64)
    return contenders.contenders(np.array(scores, np.uint64), one, plan, 4, removed)


Refined = list[dict[int, tuple[int, int]]]
"""Round by round, the known digits of each contender."""


def refined(found: Draws, removed: Sequence[int], rounds: int) -> tuple[list[int], Refined]:
    """What is asked for until the last round decides, 64 digits each, and what is known then."""
    handed, seen = list[int](), Refined()

    def take(count: int) -> int:
        assert count == 64
        handed.append(len(handed) + 1)
        return handed[-1]

    def certified(candidates: list[int], scores: Any, known: Any, *_: object) -> Ranking | None:
        assert len(set(candidates)) == len(candidates) == len(known)
        seen.append(dict(zip(candidates, known, strict=True)))
        return Ranking((0,), None) if len(seen) == rounds else None

    scores = np.full(len(found.words), 1 << 40, np.uint64)
    plan = draws.plan(EXPONENTIAL, 1, NoiseRate(Fraction(1)), False)
    with mock.patch.object(rankings, "certified_order", certified):
        rankings.refine(scores, found, plan, cast(Any, SimpleNamespace(take=take)), removed)
    return handed, seen


def keep_rows(bits: int, growth: int, delta: int) -> list[int]:
    """The table that keeps keys, in units of 2**-bits."""
    return kept._rows(bits, growth, delta)


def keeps_its_promise(bits: int, growth: int, delta: int, rows: Sequence[int]) -> bool:
    """What is asked of every table before it decides about a key."""
    return kept.KeepTable(bits, growth, delta, tuple(rows), 1).keeps_its_promise(with_counts=False)

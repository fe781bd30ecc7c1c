"""Sessions: they answer one query after another, on one budget that is charged when they open.

The rules of all of them:

- A ledger is charged the whole cost before the first bit is drawn, and learns at the end, once, how
  much of it was used.  If the process dies before that, the charge has no outcome, and it stands.
- On a ledger whose scope is closed a session answers nothing, whatever the value.
- Whether private values can be read depends on them, so a session on a ledger says at most once
  that it cannot, and the ledger counts it.
- A session serves one thread at a time, and only in the process that opened it.

Two of them compare values, one after the other, with one noisy threshold:

- The threshold's noise is drawn once, when the session opens, and never leaves the session: no
  repr, copy or pickle shows it, and it is dropped when the session ends.
- Each value gets noise of its own.  The noise of all branches is drawn before any is compared.
- A session ends when its budget is used up, when it is closed, and when anything goes wrong after a
  value was looked at.  So noise that was half drawn is never drawn again.

The error that is raised depends on the parameters, on the answers released so far and on the
session's state, never on a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt, lcm
from threading import Lock, RLock
from typing import Any, ClassVar, Self, TypeVar, cast, final, get_args

import gmpy2

from safeselect.accounting.cost import read_epsilon
from safeselect.engine import single
from safeselect.engine.single import MORE, SPARE, EnclosedNoise, Kind
from safeselect.errors import (
    BudgetError,
    LedgerError,
    ParameterError,
    SafeSelectError,
    ScoreError,
    SourceError,
)
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.exact.parameters import Number, exact_text, integer, rational, read_choice
from safeselect.promises.guarantees import LaplaceDominated, PureDP
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.guard import generation, sealed
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, in_one_sentence, read_ledger, source_name
from safeselect.release.results import Answers, Receipt
from safeselect.scores.candidates import Column, Values, hand_over, read_values
from safeselect.scores.reading import Reading, flag

MAX_K = 2**20
"""The most answers above the threshold that a session may have."""

BELOW = -1
"""The result of `decide` for a value below the threshold; no gap is negative."""

_MOST_PARTS = 2**20  # the largest denominator of a fraction near an irrational number
SQRT2 = Fraction(isqrt(2 << 120), 1 << 60).limit_denominator(_MOST_PARTS)

_REACH = 2**64  # grid steps from the threshold; values farther away are cut
_MEAN_PLACES = 20  # binary places of the mean of geometric noise
_MANY = 4096  # bytes for which `query_many` asks the source at once

_EXHAUSTED = (
    BudgetError,
    (
        "this session has released all the answers above the threshold that its epsilon covers; a "
        "new session costs its full epsilon again"
    ),
)
_FAILED = (
    SourceError,
    ("this session ended because an answer could not be completed; the charge remains"),
)
_UNREAD = (
    ScoreError,
    ("this session ended because a value does not fit its arguments; the charge remains"),
)
_ELSEWHERE = (
    SourceError,
    ("this session belongs to another process; here its noise would be reused; open a new session"),
)

_Drawn = TypeVar("_Drawn")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether one value lies above the threshold, privately.

    Attributes:
        above: whether the noisy value reaches the noisy threshold.
        gap: by how much it does, rounded down to the gap grid, in score units; None if below.
        branch: "top" or "middle" in an adaptive session that answers above; otherwise None.
        cost: how much of the session's epsilon this answer used; 0 if below.
        budget: how much epsilon is left for further answers of this session.
        remaining: how many further answers above the threshold are guaranteed.
    """

    above: bool
    gap: Fraction | None
    branch: str | None
    cost: Fraction
    budget: Fraction
    remaining: int


class InTurns:
    """A session: who may ask it, one at a time, and what its ledger learns; for `with`, or without.

    A kind of session says what was used, and what must not outlive it.
    """

    __slots__ = ("_answering", "_born", "_call", "_end", "_header", "_lock", "_release")
    _closed: ClassVar[type[SafeSelectError]] = ParameterError

    def __init__(self) -> None:
        self._born = generation()
        self._lock = RLock()
        self._answering = Lock()
        self._end: tuple[type[SafeSelectError], str] | None = None
        self._call: Call[None] | None = None  # where a ledger is to learn of the end
        self._header: dict[str, Any] = {}
        self._release: Answers | None = None

    def _used(self) -> Mapping[str, int]:
        """How much of the session was used, for the ledger."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Drop what must not outlive the session."""

    @property
    def release(self) -> Answers | None:
        """With `ledger=`, once the session is settled: the public release to which the ledger
        commits, with the cost, the parameters, the receipt, and how much was used. Otherwise None.

        Save it with `to_json`, and audit it with `safeselect audit`. It contains no answers: these
        were released one by one, and have no receipts of their own.
        """
        return self._release

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of `release`."""
        return None if self._release is None else self._release.receipt

    def _open(
        self, charge: Charge, source: Source, scope: Scope | None, draw: Callable[[Bits], _Drawn]
    ) -> _Drawn:
        """Charge the whole cost, then draw the first noise; without a scope only draw."""
        call = Call(charge, lambda: None, source=source, scope=scope)
        with call.opened():
            drawn = draw(call.bits)
            self._header = call.header
        self._call = None if scope is None else call
        return drawn

    def _one(self) -> RLock:
        """The turn of one thread: `with self._one(), self._begin():` is around an answer.

        Both are locks, so an interrupt finds no function of Python between an answer's last line
        and the return of its turn.

        Raises:
            SourceError: the session belongs to another process.
        """
        if generation() != self._born:
            # Before the lock: a thread that held it at the fork holds it for ever.
            self._finish(_ELSEWHERE)
            raise SourceError(_ELSEWHERE[1])
        return self._lock

    def _begin(self) -> Lock:
        """Begin an answer in this thread's turn, within which nothing else begins.

        A handler of a signal runs in the thread that it interrupts, which has its turn already.

        Raises:
            ParameterError: it is answering.
        """
        if self._answering.locked():
            raise ParameterError("this session was called while it was answering another query")
        return self._answering

    def _check_open(self) -> None:
        """Refuse an answer that has begun, before a value is looked at.

        Raises:
            SafeSelectError: the session has ended, as the error says.
            BudgetError: a scope is closed.
            LedgerError: the ledger cannot be read.
        """
        if self._end is not None:
            kind, sentence = self._end
            # A refusal that could not be counted is told once it is.
            raise self._refused(self._end) if kind is ScoreError else kind(sentence)
        if self._call is not None:
            self._call.check_open()

    def _finish(self, end: tuple[type[SafeSelectError], str]) -> None:
        """Answer no more: from now on with this error, unless there is one already."""
        self._end = self._end or end
        self._forget()

    def _refused(self, end: tuple[type[SafeSelectError], str]) -> ScoreError:
        """Record that the session ended at a private value; return the one error to raise.

        Raises:
            BudgetError: a scope was closed in between.
            LedgerError: the record could not be written, so the refusal is not told.
        """
        self._finish(end)
        return ScoreError(end[1]) if self._call is None else self._call.refuse(end[1])

    def _settle(self) -> None:
        """Record what was used or that a value was refused, unless the end is recorded."""
        if self._end is not None and self._end[0] is ScoreError:
            with suppress(BudgetError):  # a closed scope counts no more
                self._refused(self._end)
        elif self._call is not None:
            spent = self._used()
            closed = Answers(**self._header, spent=tuple(sorted(spent.items())))
            if (receipt := self._call.settle(closed, spent)) is not None:
                self._release = replace(closed, receipt=receipt)

    def _exhausted(self) -> None:
        """Settle it, without losing an answer that is paid for: `close` tries it again."""
        with suppress(LedgerError):
            self._settle()

    def close(self) -> None:
        """End the session, drop its noise and, with a ledger, settle it, unless that was done.

        Raises:
            LedgerError: the record could not be written; `close` tries it again.
            ParameterError: a callback, or a handler of a signal, called this while the session
                was answering.
        """
        if generation() != self._born:
            self._finish(_ELSEWHERE)
            return
        with self._lock:
            if self._end is None:
                self._begin()  # refuses it within an answer
            self._finish((self._closed, "this session is closed"))
            self._settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # An error of the block is not hidden by another.
        with nullcontext() if error is None else suppress(LedgerError):
            self.close()


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to be above: value + noise exceeds the noisy threshold by `margin` or more.

    Attributes:
        name: its name in answers, or None if there is only one branch.
        margin: at least 0, in score units.
        epsilon: the cost of an answer by this branch.
        noise_rate: the rate of its noise, per grid step.
        place, least, cell: integers, in units of 1 / `denominator` of a grid step: the threshold
            with its public recentring; the margin; one step of the gap grid.
    """

    name: str | None
    margin: Fraction
    epsilon: Fraction
    noise_rate: NoiseRate
    place: int
    least: int
    cell: int


@dataclass(frozen=True, slots=True)
class Terms:
    """The public numbers of a session, after its budget is split.

    Attributes:
        epsilon: the total.
        start: the part of epsilon that the threshold's noise costs.
        noise_rate: the rate of the threshold's noise, per grid step.
        branches: the branches, in the order in which they are tried.
        reading: how values become steps.
        denominator: of all public numbers, in grid steps; in its units they are integers.
        middle: the threshold in grid steps, rounded down.
        digits: how many digits each noise by inversion starts with; see `_digits`.
        as_record: the parameters, for records.
    """

    mechanism: str
    noise: Kind
    epsilon: Fraction
    start: Fraction
    noise_rate: NoiseRate
    branches: tuple[Branch, ...]
    reading: Reading
    gap_grid: Fraction
    denominator: int
    middle: int
    digits: int
    as_record: Mapping[str, str]

    @property
    def guarantee(self) -> LaplaceDominated | PureDP:
        """The strongest guarantee that is proved: see `docs/mathematics.md`, section 12."""
        return PureDP(self.epsilon) if self.noise == "geometric" else LaplaceDominated(self.epsilon)

    def cut(self, value: int) -> int:
        """Move a value to within 2**64 steps of the threshold.

        The interval is public and does not depend on the data.  Cutting is monotone and
        1-Lipschitz, so it keeps the sensitivity and monotonicity.
        """
        return min(max(value, self.middle - _REACH), self.middle + _REACH)


def read_terms(
    name: str,
    reading: Reading,
    threshold: object,
    k: object,
    epsilon: object,
    sensitivity: object,
    monotonic: object,
    noise: object,
    split: object,
    gap_grid: object,
    sigma: object = None,
) -> Terms:
    """Read and check the parameters of a session of this name, and split its epsilon.

    Between neighbours every value moves within [-b, a] steps, or every value within [-a, b]; a is
    the larger one.  The threshold's noise must cover a, an answer's noise a + b.

    Raises:
        ParameterError: one of them is wrong.
    """
    one_way = flag(monotonic, "monotonic")
    read_choice(noise, "noise", get_args(Kind))
    kind = cast("Kind", noise)
    count = integer(k, "k", minimum=1, maximum=MAX_K)
    change, step = rational(sensitivity, "sensitivity"), reading.step
    rise, fall = reading.moves(change, monotonic=one_way)
    if kind == "geometric":
        # Geometric noise has whole steps only.
        rise, fall = Fraction(-(-rise // 1)), Fraction(-(-fall // 1))
    spread = rise + fall
    middle = rational(threshold, "threshold", signed=True)
    if reading.grid is not None:
        # Values are read to the nearest step, and so is the threshold.
        middle = reading.nearest(middle) * step
    total = read_epsilon(epsilon)
    best = optimal_share(spread / rise * count)
    share = best if split is None else rational(split, "split", below=1)
    gap_step = step if gap_grid is None else rational(gap_grid, "gap_grid")
    dear = total * (1 - share) / count
    ways: list[tuple[str | None, Fraction, Fraction]] = [(None, Fraction(0), dear)]
    if name == "adaptive_sparse_vector":
        cheap = dear / 2
        margin = SQRT2 * spread * step / cheap if sigma is None else rational(sigma, "sigma")
        ways = [("top", margin, cheap), ("middle", Fraction(0), dear)]
    noise_rate = NoiseRate(total * share / rise)
    decays = [NoiseRate(cost / spread) for _, _, cost in ways]
    # The noise's mean is public, so it is subtracted again.
    start = middle / step - _mean(kind, noise_rate)
    places = [start + _mean(kind, each) for each in decays]
    units = [*places, *(margin / step for _, margin, _ in ways), gap_step / step]
    denominator = lcm(*(number.denominator for number in units))
    recorded = {"sensitivity": change, "effective_range": spread * step, "threshold": middle}
    recorded |= {"split": share, "gap_grid": gap_step}
    recorded |= {f"{way}_margin": margin for way, margin, _ in ways if way}
    return Terms(
        mechanism=f"{name}_{kind}/1",
        noise=kind,
        epsilon=total,
        start=total * share,
        noise_rate=noise_rate,
        branches=tuple(
            Branch(
                *way,
                each,
                place=int(place * denominator),
                least=int(way[1] / step * denominator),
                cell=int(gap_step / step * denominator),
            )
            for way, each, place in zip(ways, decays, places, strict=True)
        ),
        reading=replace(reading, example=change / 1000),
        gap_grid=gap_step,
        denominator=denominator,
        middle=middle // step,
        digits=_digits(min(each.rate for each in (noise_rate, *decays)), gap_step / step),
        as_record={each: exact_text(value) for each, value in recorded.items()}
        | {**reading.as_record, "k": str(count), "monotonic": "yes" if one_way else "no"},
    )


def optimal_share(ratio: Fraction) -> Fraction:
    """1 / (1 + (c k)**(2/3)) for c k = ratio, as a fraction of denominator at most 2**20.

    c is (a + b) / a, as in `read_terms`: 1 for integers that are monotonic, 2 for others.
    It minimizes the variance of the gap (`docs/mathematics.md`, section 12).  Any other share is
    equally private.
    """
    root, _ = gmpy2.iroot((ratio.numerator**2 << 180) // ratio.denominator**2, 3)
    return Fraction(1 << 60, (1 << 60) + int(root)).limit_denominator(_MOST_PARTS)


def compare(low: int, high: int, least: int, cell: int) -> int | None:
    """Return the one answer for all numbers in low .. high: BELOW or a gap in cells; else None.

    Above means at least `least`; the gap is rounded down to whole cells.
    """
    if high < least:
        return BELOW
    if low < least:
        return None
    cells = low // cell
    return cells if cells == high // cell else None


def _mean(noise: Kind, noise_rate: NoiseRate) -> Fraction:
    """Return the mean of the noise in grid steps; that of geometric noise is rounded down."""
    if noise == "laplace":
        return Fraction(0)
    if noise == "exponential":
        return 1 / noise_rate.rate
    power = -Interval.of(noise_rate.rate, 128)
    mean = power.exp() / -power.expm1()
    return Fraction(mean.scaled(_MEAN_PLACES)[0], 1 << _MEAN_PLACES)


def _digits(rate: Fraction, cell: Fraction) -> int:
    """Return how many digits of V leave a comparison open with a probability below 2**-50.

    The bounds of a noise are a few units of 2**-scale nats apart; one unit is 2**-scale / rate
    steps.  A comparison is open if a multiple of a cell, or of a whole step, lies between them.
    """
    narrowest = rate * min(cell, Fraction(1))
    scale = 64 + (1 // narrowest).bit_length()
    return -(-(scale + SPARE) // 8) * 8


class Session(InTurns):
    """What both kinds have in common: a noisy threshold, and values that are compared with it.

    Args:
        terms: the public parameters, as charged.
        source, ledger, monotonic: as a caller gave them.
    """

    __slots__ = ("_below", "_bits", "_noise", "_source", "_terms")

    def __init__(
        self,
        terms: Terms,
        source: Source | None,
        ledger: Scope | None = None,
        monotonic: bool = False,
    ) -> None:
        super().__init__()
        scope = read_ledger(ledger, monotonic=monotonic)  # refused before a source begins
        self._terms, self._source = terms, resolve(source)
        self._below = self._answer_below(terms.epsilon - terms.start)
        # One answer's bytes at a time, so no random bits are left over between two answers.  Made
        # before the ledger records the opening, because a source may refuse to begin.
        self._bits = Bits(self._source, piece=self._bytes(1))
        self._noise: EnclosedNoise | None = self._open(
            Charge(terms.mechanism, terms.guarantee, ((terms.guarantee, 1),), terms.as_record),
            self._source,
            scope,
            lambda bits: self._draw(terms.noise_rate, bits),
        )

    @property
    def guarantee(self) -> LaplaceDominated | PureDP:
        """The cost of the whole session, however many queries there are and whatever it answers."""
        return self._terms.guarantee

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law, such as "sparse_vector_laplace/1"."""
        return self._terms.mechanism

    @property
    def source(self) -> str:
        """The name of the source of random bytes."""
        return source_name(self._source)

    @property
    def threshold_rate(self) -> Fraction:
        """The rate of the threshold's noise per score unit, 1 / scale."""
        return self._terms.noise_rate.rate / self._terms.reading.step

    @property
    def remaining(self) -> int:
        """How many further answers above the threshold are guaranteed."""
        return self._below.remaining

    def query(self, value: Number) -> Answer:
        """Answer for one value: an integer of any type, or any number if there is a `grid`.

        Raises:
            ScoreError: the value cannot be read, which ends the session.
            BudgetError: no further answer above the threshold is paid for, or the ledger's scope is
                closed.
            SourceError: the source failed, which ends the session; or the session had ended so
                before; or it was opened in another process.
            ParameterError: the session is closed.
        """
        column = hand_over([value])
        return self._run(lambda: self._answer(self._read(column)[0], self._bits))

    def query_many(self, values: Values) -> Answers:
        """Answer for value after value, as `query` does, until too little of the budget is left.

        Args:
            values: a list, a tuple, a one-dimensional NumPy array, or a column of another library.

        Raises:
            The same as `query`.
        """
        column = hand_over(values)
        return self._run(lambda: self._answers(self._read(column)))

    def _read(self, column: Column) -> list[int]:
        """Read values; a failure depends on them, so it ends the session."""
        read = partial(read_values, column, self._terms.reading)
        return read() if self._call is None else in_one_sentence(read, _UNREAD[1])

    def _run(self, work: Callable[[], _Result]) -> _Result:
        """Do the work if the session can answer; end it if anything goes wrong."""
        with self._one(), self._begin():
            self._check_open()
            try:
                found = work()
                self._one()  # a child that was forked meanwhile has no answer of its own
            except ScoreError:
                if self._call is None:
                    self._finish(_UNREAD)
                    raise
            except BaseException:
                self._finish(_FAILED)
                raise
            else:
                if self.remaining == 0:
                    self._exhausted()
                return found
            # The error depends on the value: with a ledger, all errors have one sentence.
            raise self._refused(_UNREAD)

    def _used(self) -> Mapping[str, int]:
        return {"k": int(self._terms.as_record["k"]) - self.remaining}

    def _forget(self) -> None:
        self._noise = None
        self._bits.close()

    def _answers(self, values: list[int]) -> Answers:
        found: list[tuple[int, Answer]] = []
        consumed = 0
        with Bits(self._source, piece=min(_MANY, self._bytes(len(values) or 1))) as bits:
            for consumed, value in enumerate(values, 1):
                answer = self._answer(value, bits)
                if answer.above:
                    found.append((consumed - 1, answer))
                    if self._noise is None:
                        break
        return Answers(
            consumed=consumed,
            indices=tuple(index for index, _ in found),
            gaps=tuple(answer.gap for _, answer in found if answer.gap is not None),
            branches=tuple(answer.branch for _, answer in found if answer.branch is not None),
            costs=tuple(answer.cost for _, answer in found),
            budget=self._below.budget,
            remaining=self.remaining,
            **self._header,
        )

    def _answer(self, value: int, bits: Bits) -> Answer:
        """Draw and compare: the first branch that finds the value above gives the answer."""
        terms = self._terms
        noises = [self._draw(branch.noise_rate, bits) for branch in terms.branches]
        distance = terms.denominator * terms.cut(value)
        for branch, noise in zip(terms.branches, noises, strict=True):
            cells = self._compare(distance - branch.place, branch, noise, bits)
            if cells != BELOW:
                return self._above(branch, cells)
        return self._below

    def _compare(self, distance: int, branch: Branch, noise: EnclosedNoise, bits: Bits) -> int:
        """Refine both noises until their bounds decide the comparison; see `compare`.

        Reveals: whether there was a second round; its probability is below 2**-50.
        """
        threshold, denominator = self._noise, self._terms.denominator
        if threshold is None:
            raise SourceError(_FAILED[1])
        for _ in rounds(MORE // 2):
            precision = max(noise.precision, threshold.precision)
            low, high = noise.bounds(precision, denominator)
            least, most = threshold.bounds(precision, denominator)
            cells = compare(
                (distance << precision) + low - most,
                (distance << precision) + high - least,
                branch.least << precision,
                branch.cell << precision,
            )
            if cells is not None:
                return cells
            (noise if noise.precision <= threshold.precision else threshold).refine(bits)
        raise exhausted()

    def _above(self, branch: Branch, cells: int) -> Answer:
        budget = self._below.budget - branch.epsilon
        self._below = self._answer_below(budget)
        if self._below.remaining == 0:
            self._finish(_EXHAUSTED)
        gap, cost = cells * self._terms.gap_grid, branch.epsilon
        return replace(self._below, above=True, gap=gap, branch=branch.name, cost=cost)

    def _answer_below(self, budget: Fraction) -> Answer:
        """Return the answer for all values below, until the next one above."""
        # The branch that a value will take is not known: the most expensive must be affordable.
        remaining = budget // max(branch.epsilon for branch in self._terms.branches)
        return Answer(False, None, None, Fraction(0), budget, remaining)

    def _draw(self, noise_rate: NoiseRate, bits: Bits) -> EnclosedNoise:
        return single.enclosed_noise(self._terms.noise, noise_rate, self._terms.digits, bits)

    def _bytes(self, answers: int) -> int:
        """Return how many bytes the noise of this many answers takes."""
        return answers * len(self._terms.branches) * self._terms.digits // 8


@final
@sealed
class SparseVector(Session):
    """A session that tests values against a threshold and ends after k "above" answers.

    The threshold gets noise X once, of scale sensitivity / (split * epsilon).  Each value gets its
    own noise Y, of scale c k sensitivity / ((1 - split) * epsilon); c is 2, or 1 if monotonic.
    If (value + Y) - (threshold + X) is at least 0, the answer is "above", and its gap is that
    difference rounded down to `gap_grid`.  Otherwise the answer is "below".  The means of
    exponential and geometric noise are public and are subtracted from the difference.  Values may
    be chosen after earlier answers were seen.

    Guarantee: all answers, gaps included, cost `epsilon`, which is charged when the session opens:
        LaplaceDominated(epsilon) with exponential and Laplace noise, PureDP(epsilon) with geometric
        noise (`docs/mathematics.md`, section 12; Ding et al. 2023).
    Neighbours: those for which `sensitivity` was computed; `monotonic=True` asserts add/remove
        neighbours for which all values that may be asked move the same way.
    Exactness: continuous noise is compared by bounds from the digits drawn. If these do not decide,
        further digits are drawn. Therefore ties cost nothing, and no number is rounded.
    Reveals: the number of random bits depends on values with a probability below 2**-50 per answer.
        The time depends slightly on the lengths of the integers.

    A session belongs to one process. It cannot be copied, pickled or used in a forked child, and it
    never shows noise. Threads may share it. It is a context manager.

    With a ledger, one record charges the whole cost when the session opens. A second record settles
    the charge when the session is exhausted or closed. It states how many of the k answers were
    used. If a value cannot be read, the session ends, and the second record counts this refusal.
    While the scope is closed, the session answers nothing.

    Args:
        threshold: public rational of either sign, in score units.
        k: number of "above" answers, from 1 to 2**20; "below" answers are free.
        epsilon: total cost of the session, a positive rational.
        sensitivity: largest change of any one value, in score units, if one unit of privacy (such
            as a person) is added, removed or changed.
        monotonic: no value rises while another falls between neighbours; halves the noise of the
            values.
        noise: "exponential" (the smallest variance), "laplace" or "geometric".
        split: share of `epsilon` for the noise of the threshold, between 0 and 1 (default: 1 / (1 +
            (c k)**(2/3)), which minimizes the variance of the gap).
        grid, on_grid, score_error: conversion of values, as for `permute_and_flip`. Without a grid
            every value must be an integer. With a grid, the threshold is rounded to the nearest
            step, too.
        gap_grid: public step of the gaps (default: the step of the values).
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon is charged there before the first bit is drawn. Close
            the session, or use a `with` block, to record its end.

    Raises:
        ParameterError: a parameter is wrong.
        SourceError: the source failed.
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        threshold: Number,
        k: int,
        epsilon: Number,
        sensitivity: Number,
        monotonic: bool = False,
        noise: Kind = "exponential",
        split: Number | None = None,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        gap_grid: Number | None = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
        asked = threshold, k, epsilon, sensitivity, monotonic, noise, split, gap_grid
        terms = read_terms("sparse_vector", reading, *asked)
        super().__init__(terms, source, ledger, monotonic)

    @property
    def value_rate(self) -> Fraction:
        """The rate of the noise in each value: 1 / scale, with the scale in score units."""
        return self._terms.branches[0].noise_rate.rate / self._terms.reading.step


@final
@sealed
class AdaptiveSparseVector(Session):
    """A session that tests values against a threshold and ends after k to 2k - 1 "top" or "middle"
    answers.

    The threshold gets noise X once, as in `SparseVector`. Let e1 = (1 - split) * epsilon / k and e2
    = e1 / 2. Each value gets two independent noises, of scale c sensitivity / e2 and c sensitivity
    / e1, where c is 2, or 1 if monotonic. If value + first noise exceeds the noisy threshold by at
    least `sigma`, the answer is "top" and costs e2. Otherwise, if value + second noise is at least
    the noisy threshold, the answer is "middle" and costs e1. Otherwise the answer is "below" and is
    free. Answers "top" and "middle" have a gap as in `SparseVector`, from the deciding noise.
    The session continues while at least e1 is left, so there can be up to 2k - 1 "top" answers.

    Guarantee, Neighbours, Exactness, Reveals: as for `SparseVector`.  The remaining budget can be
        used in this session only: all of `epsilon` was charged when it opened.

    Args:
        k: guaranteed number of answers above the threshold, from 1 to 2**20.
        sigma: positive rational, in score units (default: a fraction near c sensitivity / e2 times
            the square root of 2, the standard deviation of Laplace noise of this scale).
        threshold, epsilon, sensitivity, monotonic, noise, split, grid, on_grid, score_error,
            gap_grid, source, ledger: as for `SparseVector`.

    Raises:
        ParameterError, SourceError: as for `SparseVector`.
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        threshold: Number,
        k: int,
        epsilon: Number,
        sensitivity: Number,
        monotonic: bool = False,
        noise: Kind = "exponential",
        split: Number | None = None,
        sigma: Number | None = None,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        gap_grid: Number | None = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
        asked = threshold, k, epsilon, sensitivity, monotonic, noise, split, gap_grid
        terms = read_terms("adaptive_sparse_vector", reading, *asked, sigma)
        super().__init__(terms, source, ledger, monotonic)

    @property
    def budget(self) -> Fraction:
        """The part of epsilon that is left for further answers of this session."""
        return self._below.budget

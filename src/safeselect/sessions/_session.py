"""A session that compares values, one after the other, with one noisy threshold.

Its rules:

- The threshold's noise is drawn once, when the session opens, and never leaves the session: no
  repr, copy or pickle shows it, and it is dropped when the session ends.
- Each value gets noise of its own.  The noise of all branches is drawn before any is compared.
- A session ends when its budget is used up, when it is closed, and when anything goes wrong after a
  value was looked at.  So noise that was half drawn is never drawn again.  Whether a value can be
  read depends on the value, so a session says at most once that it cannot, and a ledger counts it.
- On a ledger whose scope is closed a session answers nothing, whatever the value.
- It serves one thread at a time, and only in the process that opened it.

The error that is raised depends on the parameters, on the answers released so far and on the
session's state, never on a value.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from threading import RLock
from typing import TypeVar, final

from safeselect.engine.single import EnclosedNoise, Variates
from safeselect.errors import (
    BudgetError,
    LedgerError,
    ParameterError,
    SafeSelectError,
    ScoreError,
    SourceError,
)
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.memory import generation, sealed
from safeselect.randomness.source import Source
from safeselect.release.call import Scope, once_charged
from safeselect.release.results import Receipt
from safeselect.scores.containers import Column, hand_over
from safeselect.scores.values import read_values
from safeselect.selection._arguments import Values
from safeselect.selection._results import source_name
from safeselect.sessions._answers import Answer, Answers
from safeselect.sessions._opening import reserve_session
from safeselect.sessions._terms import BELOW, Branch, SessionParameters, compare

_REFINED = 8  # digits by which the scalar tier refines one of two noises; the array engine takes 64
_MANY = 4096  # bytes for which `query_many` asks the source at once

_EXHAUSTED = (
    BudgetError,
    (
        "this session has given all the answers above the threshold that its epsilon pays for; "
        "a new session costs its whole epsilon again"
    ),
)
_CLOSED = ParameterError, "this session is closed"
_FAILED = (
    SourceError,
    ("this session ended when an answer could not be finished; what was charged stays charged"),
)
_UNREAD = (
    ScoreError,
    (
        "this session ended with a value that cannot be read as the arguments say; what was "
        "charged stays charged"
    ),
)
_ELSEWHERE = (
    SourceError,
    ("this session was opened in another process: its noise would be used twice; open a new one"),
)

_Result = TypeVar("_Result")


@final
@sealed
class Session:
    """The state of a session.

    Args:
        terms: the public parameters, as charged.
        source: a source that `sources.resolve` returned.
        engine: the tier that draws the noise.
        scope: the scope of a ledger to charge; or None.
    """

    __slots__ = (
        *("_below", "_bits", "_born", "_busy", "_end", "_engine", "_lock", "_most"),
        *("_noise", "_reserved", "_source", "terms"),
    )

    def __init__(
        self, terms: SessionParameters, source: Source, engine: Variates, scope: Scope | None = None
    ) -> None:
        self.terms = terms
        self._engine = engine
        self._source = source
        self._born = generation()
        self._lock = RLock()
        self._busy = False
        self._end: tuple[type[SafeSelectError], str] | None = None
        self._below = self._answer_below(terms.epsilon - terms.start)
        self._most = self._below.remaining
        # One answer's bytes at a time, so no random bits are left over between two answers.  Made
        # before the ledger records the opening, because a source may refuse to begin.
        self._bits = Bits(source, piece=self._bytes(1))
        self._noise: EnclosedNoise | None
        self._noise, self._reserved = reserve_session(
            scope,
            source,
            terms.guarantee,
            terms.mechanism,
            ((terms.guarantee, 1),),
            terms.as_record,
            lambda bits: self._draw(terms.noise_rate, bits),
        )

    @property
    def receipt(self) -> Receipt | None:
        """On a ledger, once the session is settled: the receipt of the record of its use."""
        return None if self._reserved is None else self._reserved.receipt

    @property
    def source(self) -> str:
        """The name of the source of random bytes."""
        return source_name(self._source)

    @property
    def budget(self) -> Fraction:
        """How much epsilon is left for further answers."""
        return self._below.budget

    @property
    def remaining(self) -> int:
        """How many further answers above the threshold are guaranteed."""
        return self._below.remaining

    def query(self, value: object) -> Answer:
        """Answer for one value."""
        column = hand_over([value])
        return self._run(lambda: self._answer(self._read(column)[0], self._bits))

    def query_many(self, values: Values) -> Answers:
        """Answer for one value after the other, until the values or the budget are used up."""
        column = hand_over(values)
        return self._run(lambda: self._answers(self._read(column)))

    def _read(self, column: Column) -> list[int]:
        """Read values; a failure depends on them, so it ends the session."""
        read = partial(read_values, column, self.terms.reading, self.terms.sensitivity)
        return read() if self._reserved is None else once_charged(read, _UNREAD[1])

    def close(self) -> None:
        """End the session, drop its noise and, on a ledger, settle it: see `SparseVector`."""
        if generation() != self._born:
            # Without the lock: a thread that held it at the fork holds it for ever.
            self._finish(_ELSEWHERE)
            return
        with self._lock:
            self._finish(_CLOSED)
            self._settle()

    def _run(self, work: Callable[[], _Result]) -> _Result:
        """Do the work if the session can answer; end it if anything goes wrong."""
        if generation() != self._born:
            self._finish(_ELSEWHERE)
            raise SourceError(_ELSEWHERE[1])
        with self._lock:
            if self._busy:
                raise ParameterError("this session was asked while it was answering")
            if self._end is not None:
                kind, sentence = self._end
                raise kind(sentence)
            if self._reserved is not None:
                self._reserved.check_open()
            self._busy = True
            try:
                found = work()
            except ScoreError:
                self._finish(_UNREAD)
                if self._reserved is None:
                    raise
            except BaseException:
                self._finish(_FAILED)
                raise
            else:
                if self.remaining == 0:
                    # A record that fails must not lose what is paid for; `close` tries it again.
                    with suppress(LedgerError):
                        self._settle()
                return found
            finally:
                self._busy = False
            # The error depends on the value: with a ledger, all errors have one sentence.
            raise self._reserved.refused(_UNREAD[1])

    def _finish(self, end: tuple[type[SafeSelectError], str]) -> None:
        self._end = self._end or end
        self._noise = None
        self._bits.close()

    def _settle(self) -> None:
        if self._reserved is not None:
            self._reserved.settle({"k": self._most - self.remaining})

    def _answers(self, values: list[int]) -> Answers:
        found: list[tuple[int, Answer]] = []
        consumed = 0
        with Bits(self._source, piece=min(_MANY, self._bytes(len(values) or 1))) as bits:
            for consumed, value in enumerate(values, 1):
                answer = self._answer(value, bits)
                if answer.above:
                    found.append((consumed - 1, answer))
                    if self._end is not None:
                        break
        return Answers(
            consumed=consumed,
            indices=tuple(index for index, _ in found),
            gaps=tuple(answer.gap for _, answer in found if answer.gap is not None),
            branches=tuple(answer.branch for _, answer in found),
            costs=tuple(answer.cost for _, answer in found),
            budget=self.budget,
            remaining=self.remaining,
        )

    def _answer(self, value: int, bits: Bits) -> Answer:
        """Draw and compare: the first branch that finds the value above gives the answer."""
        terms = self.terms
        noises = [self._draw(branch.noise_rate, bits) for branch in terms.branches]
        distance = terms.denominator * terms.cut(value)
        for branch, noise in zip(terms.branches, noises, strict=True):
            cells = self._compare(distance - branch.place, branch, noise, bits)
            if cells != BELOW:
                return self._above(branch, cells)
        return self._below

    def _compare(self, distance: int, branch: Branch, noise: EnclosedNoise, bits: Bits) -> int:
        """Refine both noises until their bounds decide the comparison; see `decide`.

        Reveals: whether there was a second round; its probability is below 2**-50 in the array
            engine.
        """
        threshold, denominator = self._noise, self.terms.denominator
        if threshold is None:
            raise SourceError(_FAILED[1])
        for _ in rounds(_REFINED):
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
        budget = self.budget - branch.epsilon
        self._below = self._answer_below(budget)
        if self._below.remaining == 0:
            self._finish(_EXHAUSTED)
        return Answer(
            above=True,
            gap=cells * self.terms.gap_grid,
            branch=branch.name,
            cost=branch.epsilon,
            budget=budget,
            remaining=self._below.remaining,
        )

    def _answer_below(self, budget: Fraction) -> Answer:
        """Return the answer for all values below, until the next one above."""
        # The branch that a value will take is not known: the most expensive must be affordable.
        remaining = budget // max(branch.epsilon for branch in self.terms.branches)
        return Answer(False, None, None, Fraction(0), budget, remaining)

    def _draw(self, noise_rate: NoiseRate, bits: Bits) -> EnclosedNoise:
        return self._engine.enclosed_noise(self.terms.noise, noise_rate, self.terms.digits, bits)

    def _bytes(self, answers: int) -> int:
        """Return how many bytes the noise of this many answers takes."""
        return answers * len(self.terms.branches) * self.terms.digits // 8

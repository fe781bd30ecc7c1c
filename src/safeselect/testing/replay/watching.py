"""Runs of a pipeline that are recorded, or in which recorded outcomes are played back.

While a run is watched, a few methods of the library's classes are replaced, in one thread, by
functions of this file that call them: where a call reads its values, where it commits its result,
and where a session answers.  No code of production knows of it.  Random bits follow from a seed,
and what a ledger would write goes to a copy of its budgets in memory.  What is recorded stays in
memory; a pipeline that writes files writes them in every run.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from traceback import walk_stack, walk_tb
from types import FrameType
from unittest.mock import patch

from safeselect.errors import ParameterError
from safeselect.ledger.book import Book
from safeselect.ledger.ledger import Ledger
from safeselect.ledger.scope import Scope
from safeselect.mechanisms.items import HeldCounts, merged, whole_counts
from safeselect.mechanisms.sessions import Session
from safeselect.mechanisms.unknown import PayWhatYouGet
from safeselect.randomness.bits import Bits
from safeselect.release.call import Call
from safeselect.scores.candidates import Candidates, Column, read_values
from safeselect.testing.replay.worlds import Foreign
from safeselect.testing.sources import DeterministicSource

_OURS, _PYTHON = Path(__file__).parents[2], Path(threading.__file__).parent
_OPENDP = str(_OURS / "adapters" / "opendp.py")
_INSTALLED = Path(str(sys.modules["numpy"].__file__)).parents[1]
_LIBRARIES = ("<frozen", *map(str, (_OURS, _PYTHON, _INSTALLED)))  # no files of the caller's

_STRAYED = "a release in another thread would be real, because replay watches one thread"

Method = Callable[..., Foreign]
"""A method of the library's, or what stands for it while a run is watched."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Private numbers that a call read below its door.

    Attributes:
        kind: "scores", in steps of their grid, "foreign" if nothing here says how far these may
            move, "counts" of private items, "values" of a measurement, "points" of a quantile with
            how often each occurs, or a "group".
        cells: the numbers, by name.
        names: what is public of the names.
        is_cut: these may be the largest alone.
    """

    kind: str
    cells: Mapping[str, int]
    names: tuple[str, ...] = ()
    is_cut: bool = False

    def cell(self, name: str, other: Numbers) -> int:
        """A number; of one that was cut off, the nearest to the other data's that it can be.

        Of two lists that were cut to one length, the shorter is whole.
        """
        is_cut = self.is_cut and len(self.cells) >= len(other.cells)
        least = min(self.cells.values(), default=0) if is_cut else 0
        return self.cells[name] if name in self.cells else min(least, other.cells[name])


@dataclass(slots=True, eq=False)
class Event:
    """One release, or one answer of a session.

    Attributes:
        place: the mechanism, and the caller's line as file:line.
        public: mechanism, cost, parameters and the name of the scope.
        session: which session answered; None for a release.
        read: what it read.
        outcome: what the caller got.
        chosen: the score and the output of a run that was chosen, as the run returned them.
    """

    place: tuple[str, str]
    public: Mapping[str, str]
    session: object = None
    read: list[Numbers] = field(default_factory=list)
    outcome: object = None
    chosen: object = None


@dataclass(slots=True, eq=False)
class Run:
    """One run of the pipeline.

    Attributes:
        playing: the run whose outcomes are played; None for the first.
        events: what was released, in order.
        is_elsewhere: it went another way than the run that is played, at the last event.
        returned: what the pipeline returned; `at`, where.
        error: what it raised instead; `at`, where.
        printed: what it printed, and the files it wrote.
    """

    playing: Run | None
    events: list[Event] = field(default_factory=list)
    is_elsewhere: bool = False
    returned: object = None
    error: BaseException | None = None
    at: str = ""
    printed: object = None
    reading: Event | None = None
    calls: dict[int, Event] = field(default_factory=dict)
    books: dict[Book, Book] = field(default_factory=dict)
    taken: int = 0

    def begin(self, event: Event) -> Event:
        """Record an event; in another place than in the run that is played this run ends."""
        known = [] if self.playing is None else self.playing.events[len(self.events) :]
        self.events.append(event)
        if self.playing is not None and [each.place for each in known[:1]] != [event.place]:
            self.is_elsewhere = True
        if self.is_elsewhere:
            raise Elsewhere
        return event

    def outcome(self, event: Event, drawn: object) -> object:
        """What the caller gets: what was drawn, or what was recorded in its place."""
        event.outcome = drawn
        if self.playing is not None:
            recorded = self.playing.events[self.events.index(event)].outcome
            event.outcome = drawn if recorded is None else recorded
        return event.outcome


class Elsewhere(BaseException):
    """The run goes another way than the one that is played: no outcome is known for it."""


class Watch:
    """Watches the runs of one pipeline, in the thread that made it.

    Args:
        pipeline: of the data alone.
        seed: of all random bits.
        captured: what to compare besides what it returns: "prints", and files that it writes.
    """

    def __init__(self, pipeline: Callable[[Foreign], object], seed: object, captured: list[object]):
        self.pipeline, self.seed, self.captured = pipeline, seed, captured
        self.files = [Path(str(each)) for each in captured if each != "prints"]
        self._run: Foreign = None
        self._thread = threading.get_ident()
        self._strayed: ParameterError | None = None

    def run(self, data: object, playing: Run | None = None) -> Run:
        """Run the pipeline on some data; what it raises is recorded."""
        run = self._run = Run(playing, at=playing.at if playing else "")
        printed, before = io.StringIO(), sys.getprofile()
        for file in filter(Path.is_file, self.files):
            os.utime(file, (0, 0))  # it has another time once this run has written it

        def look(frame: FrameType, event: str, _: object) -> None:
            if event == "return":  # the last of the caller's functions to return is the pipeline
                run.at = next(iter(_lines([(frame, frame.f_lineno)])), run.at)

        try:
            with redirect_stdout(printed), redirect_stderr(printed), _seeded(), suppress(Elsewhere):
                sys.setprofile(look if playing is None else before)
                found = self.pipeline(data)
                run.returned = list(found) if isinstance(found, Iterator) else found
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is a result
            run.error, run.at = error, next(reversed(_lines(walk_tb(error.__traceback__))), "")
        finally:
            sys.setprofile(before)
            self._run = None
        if self._strayed is not None:
            raise self._strayed
        wrote = [f.read_bytes() if f.is_file() and f.stat().st_mtime else None for f in self.files]
        run.printed = (printed.getvalue(), wrote) if self.captured else None
        return run

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the functions of this file in the place of those methods.

        Raises:
            ParameterError: another replay is going on.
        """
        if hasattr(Call.commit, "__wrapped__"):
            raise ParameterError("another replay is running in this process")
        places: tuple[tuple[type, str, Method], ...] = (
            (Bits, "__init__", self._drawing),
            (Call, "__enter__", self._entering),
            (Call, "commit", self._committing),
            (Candidates, "scores_on_grid", self._reading),
            (HeldCounts, "columns", self._counting),
            (Session, "_compare", self._answering),
            (PayWhatYouGet, "_draw", self._listing),
            (Scope, "charge", self._charge),
            (Scope, "pay", self._paying),
            (Book, "write", self._booking),
            (Book, "state", self._booking),
        )
        with ExitStack() as stack:
            for kind, name, instead in places:
                either = self._here(getattr(kind, name), instead)
                stack.enter_context(patch.object(kind, name, either))
            yield

    def _here(self, method: Method, instead: Method) -> Method:
        """The method, and in a run of this thread what stands for it."""

        @wraps(method)
        def either(*given: object, **named: object) -> object:
            if self._run is None:
                return method(*given, **named)
            if threading.get_ident() != self._thread:
                self._strayed = ParameterError(_STRAYED)  # the thread may swallow it
                raise self._strayed
            return instead(method, *given, **named)

        return either

    # ------------------------------------------------------------------------ what is recorded

    def _drawing(self, method: Method, bits: Bits, source: object, *, piece: int = 256) -> None:
        self._run.taken += 1
        seed = f"{self.seed} {self._run.taken}"
        method(bits, DeterministicSource(seed, i_understand_this_is_not_private=True), piece=piece)

    def _event(self, public: Foreign, scope: Foreign, session: object = None) -> Foreign:
        public |= {"scope": f"{scope.name}, {scope.neighbours}"} if isinstance(scope, Scope) else {}
        texts = {name: str(value) for name, value in public.items()}
        line = next(iter(_lines(walk_stack(None))), "a library")
        return self._run.begin(Event((texts["mechanism"], line), texts, session))

    def _entering(self, method: Method, call: Call[object]) -> object:
        run, charge, scope = self._run, call.charge, call.scope
        public: dict[str, object] = {"guarantee": charge.guarantee, "parts": charge.parts}
        public |= {"mechanism": charge.mechanism, **charge.parameters}
        event = run.calls[id(call)] = self._event(public, scope)
        before, run.reading = run.reading, event
        try:
            entered = method(call)
        finally:
            run.reading = before
        if isinstance(call.values, dict):
            event.read += [Numbers("group", dict(counts)) for counts in call.values.values()]
        elif isinstance(call.values, list) and charge.mechanism.startswith("quantile"):
            event.read.append(Numbers("points", Counter(map(str, call.values))))
        elif isinstance(call.values, list):
            values = {f"value {number}": each for number, each in enumerate(call.values)}
            event.read.append(Numbers("values", values))
        return entered

    def _committing(self, method: Method, call: Call[object], result: Foreign) -> object:
        event, committed = self._run.calls[id(call)], method(call, result)
        if event.place[0].startswith(("best_of", "first_above")):
            event.chosen = result.values, result.labels
        return self._run.outcome(event, committed)

    def _reading(
        self, method: Method, candidates: Candidates, *given: Foreign, **named: Foreign
    ) -> object:
        rows, size = candidates.rows, candidates.size
        columns = [row if isinstance(row, Column) else Column(row, size) for row in rows]
        # Read once, because an open table answers once.
        held = tuple(Column(column.numbers(), column.size) for column in columns)
        own = replace(candidates, rows=held) if isinstance(rows, tuple) else candidates
        found = method(own, *given, **named)
        names = [repr(name) for name in own.labels or range(size)]
        public = tuple(names if own.positions else sorted(names))
        # A measurement of OpenDP is called with the scale of its noise; who knows d_in is outside.
        walked = (frame.f_code.co_filename for frame, _ in walk_stack(None))
        kind = "foreign" if _OPENDP in walked else "scores"
        for column in held if self._run.reading else ():
            steps = read_values(column, given[0])
            numbers = Numbers(kind, dict(zip(names, steps, strict=True)), public)
            self._run.reading.read.append(numbers)
        return found

    def _counting(self, method: Method, held: HeldCounts) -> object:
        column, labels = method(held)
        labels = [*labels] if isinstance(labels, Iterator) else labels
        column = Column(column.numbers(), column.size) if column.size else column
        if self._run.reading is not None:
            items = merged(whole_counts(column), labels)
            self._run.reading.read.append(Numbers("counts", items, is_cut=held.size > 0))
        return column, labels

    def _answering(
        self, method: Method, session: Session, distance: int, branch: Foreign, *more: object
    ) -> object:
        terms = session._terms
        public = {"mechanism": terms.mechanism, "guarantee": terms.guarantee, **terms.as_record}
        event = self._event(public, None, session)
        value = (distance + branch.place) // terms.denominator
        event.read.append(Numbers("scores", {f"value {len(self._run.events)}": value}))
        return self._run.outcome(event, method(session, distance, branch, *more))

    def _listing(self, method: Method, *given: object) -> object:
        drawn = method(*given)
        return self._run.outcome(self._run.events[-1], drawn)

    # ------------------------------------------------------------------------ ledgers

    def _charge(self, method: Method, scope: Scope, guarantee: object, **named: Foreign) -> object:
        """A release of another library: only its charge is seen."""
        public = {"guarantee": guarantee, "mechanism": named["mechanism"]}
        self._event(public | dict(named.get("parameters") or {}), scope)
        return method(scope, guarantee, **named)

    def _paying(self, method: Method, scope: Scope, payment: object) -> object:
        """Charge a copy in memory, whose outbox delivers nothing."""
        asking = scope.asking and replace(scope.asking, outbox=None)
        return method(replace(scope, book=self._copy(scope.book), asking=asking), payment)

    def _booking(self, method: Method, book: Book, *given: object, **named: object) -> object:
        return method(self._copy(book), *given, **named)

    def _copy(self, book: Book) -> Foreign:
        """A ledger in memory with the budgets of this one, of which nothing is spent."""
        run, books = self._run, self._run.books
        if book not in books and book not in books.values():
            self._run = None
            try:
                named = book.state(lambda known: [(n, s.budget) for n, s in known.scopes.items()])
                budgets = {name.rpartition("/")[0] if of.blocks else name: of for name, of in named}
                books[book] = Ledger.create(":memory:", budgets)._book
            finally:
                self._run = run
        return books.get(book, book)


@contextmanager
def _seeded() -> Iterator[None]:
    """Give the two global generators, which pipelines use, one state; no noise comes of them."""
    generators: list[Foreign] = [import_module(name) for name in ("random", "numpy.random")]
    with ExitStack() as stack:
        for each in generators:
            state = each.getstate if hasattr(each, "getstate") else each.get_state
            stack.callback(getattr(each, state.__name__.replace("get", "set", 1)), state())
            each.seed(0)
        yield


def _lines(frames: Iterable[tuple[FrameType, int]]) -> list[str]:
    """The lines among these that are the caller's."""
    places = ((frame.f_code.co_filename, line) for frame, line in frames)
    return [f"{file}:{line}" for file, line in places if not file.startswith(_LIBRARIES)]

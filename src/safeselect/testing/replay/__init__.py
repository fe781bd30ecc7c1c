"""Find the mistake in the caller's code: run it on neighbours, with the same outcomes.

Everything private enters a release through a few doors, and everything released leaves through one.
So a pipeline runs as it is.  Its first run is recorded.  On neighbouring data the recorded outcomes
are played back: whatever depends on them goes the same way, and what differs all the same depends
on the data.  The private inputs are compared with what each call promised of them.

What is public must be the same on all data, not on neighbours alone.  So data sets far away are
tried too; where one differs, bisection finds two neighbours on the way to it that do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer, read_choice
from safeselect.randomness.source import require_production
from safeselect.testing.replay.comparing import Finding, Report, compare, differences
from safeselect.testing.replay.watching import Run, Watch
from safeselect.testing.replay.worlds import (
    Data,
    Dice,
    Maker,
    Pair,
    Row,
    World,
    exchanged,
    read_data,
)

__all__ = ["Finding", "Report", "replay"]

_Data = TypeVar("_Data")
_TRIALS = 40  # runs by which a pair is made smaller
_AFTER = 8  # once something is found, one in so many pairs is still tried
_SIZES = ("sensitivity", "contributions", "monotonic")
_UNSEEN = (
    *("data and outcomes that were not tried", "time", "memory"),
    *("other threads and processes, whose releases would be real",),
)


def replay(
    pipeline: Callable[[_Data], object],
    data: _Data,
    *,
    unit: Hashable,
    neighbours: Literal["add_remove", "replace_one"] | Iterable[_Data] = "add_remove",
    pairs: int = 200,
    seed: int = 1,
    capture: Iterable[str | Path] = (),
) -> Report:
    """Run a pipeline on neighbouring data with the same outcomes; report what should not differ.

    Nothing is charged: ledgers are replaced by copies of their budgets in memory.  Use made-up
    data: the report quotes rows.

    Args:
        pipeline: takes the data, and makes releases; the source as it is.
        data: a frame of pandas or polars, an Arrow table, a relation of DuckDB, an array, the path
            of a csv, tsv, jsonl or parquet file, a list of rows, or a mapping unit -> value; or
            several of them as a dict or a tuple.
        unit: the column, or the place in a row, that says whose a row is; None if each row is a
            unit of its own.
        neighbours: "add_remove" or "replace_one"; or neighbours of your own, each like `data`.
        pairs: how many neighbours to try.
        seed: of the neighbours and of all random bits.
        capture: what to compare besides the returned value: "prints", and paths of files that the
            pipeline writes.

    Returns:
        Report: true if something was found, so that a test says `assert not replay(...)`.

    Raises:
        ParameterError: an argument is wrong; SAFESELECT_REQUIRE_PRODUCTION is set; or the pipeline
            does not repeat itself on the same data.
        BaseException: what the pipeline raises on the data themselves.

    Example:
        >>> from safeselect import permute_and_flip
        >>> from safeselect.testing import replay
        >>> visits = [("ann", "tea"), ("ann", "tea"), ("bob", "milk"), ("cid", "tea")]
        >>> def favourite(rows):
        ...     counts = {drink: sum(row[1] == drink for row in rows) for drink in ("tea", "milk")}
        ...     return permute_and_flip(counts, epsilon=1, sensitivity=1, monotonic=True).label
        >>> report = replay(favourite, visits, unit=0, pairs=20)
        >>> report.findings[0].kind, report.findings[0].seen
        ('sensitivity', "'tea' changes by -2")
    """
    if require_production():
        raise ParameterError("replay is for tests, and SAFESELECT_REQUIRE_PRODUCTION is set")
    count, asked = integer(pairs, "pairs", minimum=1, maximum=10**6), [*capture]
    watch = Watch(pipeline, seed, [Path(each) for each in asked if each != "prints"])
    with TemporaryDirectory() as folder, watch.installed():
        search = _Search(watch, bool(asked))
        if isinstance(neighbours, str):
            read_choice(neighbours, "neighbours", ("add_remove", "replace_one"))
            dice = Dice(seed)
            found = read_data(data, unit, Path(folder))
            _Made(search, found, Maker(found, neighbours, dice), str(unit or "unit")).search(count)
        else:
            search.given(data, neighbours)
    unseen = [*_UNSEEN, *search.random, *["prints", "files"] * (not asked)]
    return Report(
        findings=tuple(search.findings.values()),
        notes=tuple(each for key, each in search.notes.items() if key not in search.findings),
        pairs=search.tried,
        releases=search.releases,
        unseen=tuple(unseen),
    )


class _Search:
    """Compares runs, and keeps what they show."""

    def __init__(self, watch: Watch, is_captured: bool) -> None:
        self.watch, self.is_captured = watch, is_captured
        self.findings: dict[tuple[str, str], Finding] = {}
        self.notes: dict[tuple[str, str], Finding] = {}
        self.tried = self.releases = 0
        self.random: set[str] = set()

    def first(self, data: Callable[[], object]) -> Run:
        """The run that is recorded, once it repeats itself on the same data.

        Raises:
            ParameterError: it does not.
        """
        base = self.watch.run(data())
        if base.error is not None:
            raise base.error
        again = self.watch.run(data(), base)
        self.random |= {*differences(base.returned, again.returned)}
        if any(each.place[1].startswith("partition_str") for each in base.events):
            self.random.add("the answers of a partition strategy, and what is made of them")
        for broken in self.compare(base, again):
            raise ParameterError(
                "on the same data, with the same outcomes, the pipeline does not repeat itself "
                f"({broken.line}: {broken.seen}): it draws random numbers of its own, which need a "
                "seed, or it changes something outside"
            )
        self.releases = max(self.releases, len(base.events))
        return base

    def compare(self, base: Run, other: Run, *, far: bool = False) -> list[Finding]:
        """What should not differ; what is made of a strategy's answers may."""
        named = {"far": far, "printed": self.is_captured}
        found = compare(base, other, ignored=self.random, **named)
        is_blind = any(each.startswith("the answers of") for each in self.random)
        return [each for each in found if not (is_blind and each.kind == "output")]

    def given(self, data: object, neighbours: Iterable[object]) -> None:
        """Compare with the caller's own neighbours."""
        base = self.first(lambda: data)
        for other in neighbours:
            self.tried += 1
            for broken in self.compare(base, self.watch.run(other, base)):
                key, shown = (broken.kind, broken.line), ((f"{data!r}",), (f"{other!r}",))
                made = replace(broken, neighbour=f"your neighbour {self.tried}", rows=shown)
                self.findings.setdefault(key, made)


class _Made:
    """Tries neighbours that are made up; makes those smaller that show something."""

    def __init__(self, search: _Search, data: Data, maker: Maker, who: str) -> None:
        self.all, self.data, self.maker, self.who = search, data, maker, who
        self.left = 0

    def search(self, count: int) -> None:
        """Try so many pairs, and data sets far away."""
        world, watch = self.data.world, self.all.watch
        base = self.all.first(lambda: self.data.make(world))
        for number, pair in enumerate(self.maker.pairs(count)):
            if self.all.findings and number % _AFTER:
                continue
            if number == count // 2:
                watch.seed = f"{watch.seed} again"  # other outcomes may lead elsewhere
                base = self.all.first(lambda: self.data.make(world))
            if number == min(20, count - 1):
                for made, steps in self.maker.far():
                    self._along(made, steps, base)
            try:
                other = self.data.make(pair.other)
            except Exception:  # noqa: BLE001, S112 - a frame that cannot hold an odd cell
                continue
            self.all.tried += 1
            for broken in self.all.compare(base, watch.run(other, base)):
                self._keep(broken, pair)

    def _along(self, made: str, steps: list[tuple[Hashable, list[Row]]], base: Run) -> None:
        """Find two neighbours on the way that differ in what is public, if its end does."""

        def at(size: int) -> World:
            return exchanged(self.data.world, dict(steps[:size]))

        def run(size: int) -> Run:
            self.all.tried += 1
            return self.all.watch.run(self.data.make(at(size)), base)

        def differs(other: Run) -> list[Finding]:
            # Few rows are no neighbour, so that an error there may be a true one.
            if other.error is not None and not other.is_elsewhere:
                return []
            return self.all.compare(base, other, far=True)

        low, high, found = 0, len(steps), differs(run(len(steps)))
        while found and high - low > 1:
            middle = (low + high) // 2
            here = differs(run(middle))
            low, high, found = (low, middle, here) if here else (middle, high, found)
        for broken in found:
            self._keep(broken, Pair(made, at(low), at(high), steps[low][0]))

    def _keep(self, broken: Finding, pair: Pair) -> None:
        """Keep what was found, with the smallest pair, unless the same was found before."""
        is_size = broken.kind in _SIZES
        is_note = pair.odd == "case" or (pair.odd == "beyond" and is_size)
        is_note = is_note or (bool(pair.odd) and " ends with " in broken.seen)
        kept = self.all.notes if is_note else self.all.findings
        key = "size" if is_size else broken.kind, broken.line
        if key in kept:
            return
        small, shown = self._smaller(broken, pair)
        factor = max(shown.factor, broken.factor) if shown.factor and broken.factor else None
        if is_size:
            shown = self._explained(shown, small)
        before, after = (
            tuple(self.data.tables[row.table].shown(row) for row in small.rows(world))
            for world in (small.base, small.other)
        )
        kept[key] = replace(
            shown,
            factor=factor,
            neighbour=small.made,
            rows=(before, after),
            others=len(small.base) - len(before),
        )

    def _shows(self, pair: Pair, broken: Finding) -> Finding | None:
        """What a pair shows of the same kind at the same line, in two runs of its own."""
        self.left -= 1
        base = self.all.watch.run(self.data.make(pair.base))
        if base.error is not None:
            return None
        other = self.all.watch.run(self.data.make(pair.other), base)
        alike = _SIZES if broken.kind in _SIZES else (broken.kind,)
        for found in self.all.compare(base, other):
            if found.line == broken.line and found.kind in alike:
                return found
        return None

    def _smaller(self, broken: Finding, pair: Pair) -> tuple[Pair, Finding]:
        """The smallest pair that shows the same, by leaving out units and rows while it does."""
        self.left = _TRIALS
        units = [*{row.unit: None for row in pair.base if row.unit not in (None, pair.unit)}]
        parts: list[set[object]] = []
        size = len(units)
        while size:
            parts += [set(units[start : start + size]) for start in range(0, len(units), size)]
            size //= 2
        found = self._shows(pair, broken)
        own: list[set[object]] = [{row} for row in pair.rows(pair.base + pair.other)]
        for part in (*parts[: _TRIALS // 2], *own):
            less = pair.each(lambda row, gone=part: None if {row, row.unit} & gone else row)
            if found is None or self.left <= 0:  # the outcomes of another run may hide it
                break
            shown = self._shows(less, broken) if less.base != pair.base or part in own else None
            if shown is not None:
                pair, found = less, shown
        return pair, found or broken

    def _explained(self, broken: Finding, pair: Pair) -> Finding:
        """What to write instead of what changes too much: found out on the smallest pair."""
        who = self.who
        for column, same in self.maker.identities(pair):
            if not self._shows(same, broken):
                advice = (
                    f"count by {who!r}: one {who} has several values of {column!r}, and each of "
                    f"them counts like a {who} of its own"
                )
                return replace(broken, kind="identity", instead=advice)
        if len(pair.rows(pair.base)) > 1 or len(pair.rows(pair.other)) > 1:
            advice = (
                f"one {who} has several rows: count each {who} once (in pandas: drop_duplicates or "
                f"nunique), or cap what one {who} adds before it is counted or summed, and declare "
                "that cap"
            )
        else:
            advice = (
                "one row is enough: clip its value before it is summed, to what is declared; use "
                "no mean, total, weight or limit that other rows change too; or declare the change "
                "that there is"
            )
        first = {
            "monotonic": "leave monotonic=True out where a unit moves scores both ways; or ",
            "contributions": f"let one {who} count in so many only, before counting; or ",
        }
        return replace(broken, instead=first.get(broken.kind, "") + advice)

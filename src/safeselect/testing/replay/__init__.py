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
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer, read_choice, read_list
from safeselect.testing.replay.comparing import Finding, Report, compare, differences
from safeselect.testing.replay.watching import Run, Watch
from safeselect.testing.replay.worlds import Maker, Pair, Steps, exchanged
from safeselect.testing.sources import refuse_in_production

_Data = TypeVar("_Data")
_TRIALS = 40  # runs by which a pair is made smaller
_REPEATS = 8
_WALKS = 4  # one in so many pairs is a step of a walk, on each way
_SIZES = ("sensitivity", "contributions", "monotonic")
_IDENTITY = "count by {0!r}: one {0} has several values of {1!r}, which count separately"
_CAP = (
    "count each {0} once, or cap what one {0} adds before counting or summing; clip values and "
    "weights to the declared bounds; use no mean, total or limit that depends on other rows; ask "
    "a session the same questions in the same order; omit monotonic=True if one {0} can move "
    "scores in both directions"
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
    """Run a pipeline on neighbouring data sets, and report unexpected differences between the runs.

    The outcomes of the mechanisms are the same in all runs.

    Nothing is charged, because ledgers are replaced by copies of their budgets in memory. Use
    synthetic data, because the report quotes rows.

    Args:
        pipeline: function that takes the data and makes releases.
        data: a frame of pandas or polars, an Arrow table, a relation of DuckDB, an array, the path
            of a csv, jsonl or parquet file, a list of rows (mappings, tuples, dataclasses), or a
            mapping from units to values; or several of them as a dict or a tuple.
        unit: column, or position in a row, that identifies the unit; None if each row is a separate
            unit.
        neighbours: "add_remove" or "replace_one"; or your own neighbouring data sets, in the form
            of `data`.
        pairs: number of neighbours to try.
        seed: seed of the neighbours and of all random bits.
        capture: additional outputs to compare: "prints", and paths of files that the pipeline
            writes. Before each run, the modification times of these files are set to 1970, which
            shows whether the run writes them.

    Returns:
        Report: true if there is a finding, so that a test can use `assert not replay(...)`.

    Raises:
        ParameterError: an argument is wrong; SAFESELECT_REQUIRE_PRODUCTION is set; or the pipeline
            behaves differently when repeated on the same data.
        BaseException: the error that the pipeline raises on the original data.

    Example:
        >>> from safeselect import permute_and_flip
        >>> from safeselect.testing import replay
        >>> visits = [("ann", "tea"), ("ann", "tea"), ("bob", "milk"), ("cid", "tea")]
        >>> def favourite(rows):
        ...     counts = {drink: sum(row[1] == drink for row in rows) for drink in ("tea", "milk")}
        ...     return permute_and_flip(counts, epsilon=1, sensitivity=1, monotonic=True).label
        >>> report = replay(favourite, visits, unit=0, pairs=20)
        >>> report.findings[0].kind, report.findings[0].seen
        ('sensitivity', "'tea' changes by 2")
    """
    refuse_in_production("replay")
    count = integer(pairs, "pairs", minimum=1, maximum=10**6)
    watch = Watch(pipeline, seed, read_list(capture, "capture"))
    with TemporaryDirectory() as folder, watch.installed():
        search = _Search(watch, str(unit or "unit"), neighbours)
        if isinstance(neighbours, str):
            read_choice(neighbours, "neighbours", ("add_remove", "replace_one"))
            search.made(Maker(data, unit, neighbours, seed, Path(folder)), count)
        else:
            search.given(data, neighbours)
    return search.report()


class _Search:
    """Compares runs, and keeps what they show."""

    def __init__(self, watch: Watch, who: str, neighbours: object) -> None:
        self.watch, self.who, self.asked = watch, who, str(neighbours)
        self.findings: dict[tuple[str, str], Finding] = {}
        self.notes: dict[tuple[str, str], Finding] = {}
        self.tried = self.left = 0
        self.blind: set[str] = set()
        self.lines: dict[str, bool] = {}  # of the releases, and whether one read anything else

    def report(self) -> Report:
        """What was found."""
        notes = (note for key, note in self.notes.items() if key not in self.findings)
        unseen = ["untested data and outcomes", "time", "memory", *sorted(self.blind)]
        unseen += ["tables that the pipeline reads besides its data"]
        unseen += ["other processes", "releases of other libraries (each run repeats them)"]
        still = [line for line, is_read in self.lines.items() if not is_read]
        unseen += [f"what {line} reads: no data set that was tried changed it" for line in still]
        unseen += ["prints"] * (not self.watch.captured) + ["files"] * (not self.watch.files)
        return Report((*self.findings.values(),), (*notes,), self.tried, (*unseen,))

    def compare(self, base: Run, other: Run, *, far: bool = False) -> list[Finding]:
        """What should not differ."""
        for before, after in zip(base.events, other.events, strict=False):
            is_read = not before.read or before.read != after.read
            self.lines[before.place[1]] = is_read or self.lines.get(before.place[1], False)
        return [*compare(base, other, self.blind, far=far)]

    def first(self, data: Callable[[], object]) -> Run:
        """The run that is recorded, once it repeats itself on the same data.

        Raises:
            ParameterError: it does not.
        """
        base = self.watch.run(data())
        if base.error is not None:
            raise base.error
        for _ in range(_REPEATS):  # noise of another library may be the same by chance
            again = self.watch.run(data(), base)
            self.blind |= {*differences(base.returned, again.returned)}
        if any(each.place[0].startswith("partition_str") for each in base.events):
            self.blind |= {"answers of a partition strategy", "the returned value"}
        if any(each.kind == "foreign" for event in base.events for each in event.read):
            self.blind |= {"whether scores of an OpenDP measurement change by at most d_in"}
        for broken in self.compare(base, again):
            raise ParameterError(
                "the pipeline gives different results on the same data, perhaps because it draws "
                f"its own random numbers or keeps state between runs ({broken.line}: {broken.seen})"
            )
        return base

    def given(self, data: object, neighbours: Iterable[object]) -> None:
        """Compare with the caller's own neighbours."""
        base = self.first(lambda: data)
        for other in read_list(neighbours, "neighbours"):
            self.tried += 1
            for broken in self.compare(base, self.watch.run(other, base)):
                rows = (repr(data),), (repr(other),)
                shown = replace(broken, neighbour=f"your neighbour {self.tried}", rows=rows)
                self.findings.setdefault((broken.kind, broken.line), shown)

    def made(self, maker: Maker, count: int) -> None:
        """Try so many pairs that are made up, and data sets far away."""
        self.maker = maker
        base = self.first(lambda: maker.make(maker.world))
        scopes = {event.public["scope"] for event in base.events if "scope" in event.public}
        self.blind |= {f"neighbours of {each}" for each in scopes if self.asked not in each}
        for how, steps in maker.far():
            self._along(how, steps, base, count // _WALKS)
        for number, pair in enumerate(chain(maker.levelled(), maker.pairs(count))):
            if number == count // 2:
                self.watch.seed = f"{self.watch.seed} again"  # other outcomes may lead elsewhere
                base = self.first(lambda: maker.make(maker.world))
            try:
                other = maker.make(pair.other)
            except Exception:  # noqa: BLE001, S112 - a frame that cannot hold an odd cell
                continue
            self.tried += 1
            before = base if pair.base is maker.world else self.watch.run(maker.make(pair.base))
            if before.error is None:
                for broken in self.compare(before, self.watch.run(other, before)):
                    self._keep(broken, pair)

    def _along(self, how: str, steps: Steps, base: Run, most: int) -> None:
        """Find two neighbours on the way that differ in what is public, if its end does.

        On the last steps, where limits lie, compare each data set with the next one as well.
        """
        ends = range(len(steps) + 1)
        worlds = [exchanged(self.maker.world, dict(steps[:size])) for size in ends]

        def run(size: int) -> Run:
            self.tried += 1
            return self.watch.run(self.maker.make(worlds[size]), base)

        def differs(size: int) -> list[Finding]:
            other = run(size)
            # Few rows are no neighbour, so that an error there may be a true one.
            is_lost = other.error is not None and not other.is_elsewhere
            return [] if is_lost else self.compare(base, other, far=True)

        low, high, found = 0, len(steps), differs(len(steps))
        while found and high - low > 1:
            middle = (low + high) // 2
            here = differs(middle)
            low, high, found = (low, middle, here) if here else (middle, high, found)
        for broken in found:
            self._keep(broken, Pair(how, worlds[low], worlds[high], steps[low][0]))
        last = [(size, run(size)) for size in ends[-most - 1 :]]
        for (_, before), (size, after) in pairwise(last):
            pair = Pair(how, worlds[size - 1], worlds[size], steps[size - 1][0], "few")
            for broken in [] if before.is_elsewhere else self.compare(before, after):
                self._keep(broken, pair)

    # ------------------------------------------------------------------------ what is kept

    def _keep(self, broken: Finding, pair: Pair) -> None:
        """Keep what was found, with the smallest pair, unless the same was found before."""
        is_size = broken.kind in _SIZES
        is_note = pair.odd == "case" or (pair.odd != "" and " raises " in broken.seen)
        kept, kind = self.notes if is_note else self.findings, "size" if is_size else broken.kind
        if (kind, broken.line) in kept:
            return
        small, shown = self._smaller(broken, pair)
        shown = self._explained(shown, small) if is_size else shown
        worlds = small.base, small.other
        before, after = (tuple(repr(row.value) for row in small.rows(each)) for each in worlds)
        kept[kind, broken.line] = replace(
            shown,
            factor=broken.factor,
            neighbour=f"{small.made}; {len(small.base) - len(before)} rows are the same in both",
            rows=(before, after),
        )

    def _shows(self, pair: Pair, broken: Finding) -> Finding | None:
        """What a pair shows of the same kind at the same line, in two runs of its own."""
        self.left -= 1
        base = self.watch.run(self.maker.make(pair.base))
        if base.error is not None:
            return None
        kinds = _SIZES if broken.kind in _SIZES else (broken.kind,)
        other = self.watch.run(self.maker.make(pair.other), base)
        alike = (each for each in self.compare(base, other) if each.line == broken.line)
        return next((each for each in alike if each.kind in kinds), None)

    def _smaller(self, broken: Finding, pair: Pair) -> tuple[Pair, Finding]:
        """The smallest pair that shows the same, by leaving out units and rows while it does."""
        self.left, parts = _TRIALS, list[set[object]]()
        units = [*{row.unit: None for row in pair.base if row.unit not in (None, pair.unit)}]
        size = len(units)
        while size and len(parts) < _TRIALS // 2:
            parts += [set(units[start : start + size]) for start in range(0, len(units), size)]
            size //= 2
        found = self._shows(pair, broken)
        own: list[set[object]] = [{row} for row in pair.rows(pair.base + pair.other)]
        for part in (*parts, *own):
            gone = (row for row in pair.base + pair.other if {row, row.unit} & part)
            less = pair.each(dict.fromkeys(gone))
            if found is not None and self.left > 0 and (part in own or less.base != pair.base):
                shown = self._shows(less, broken)
                pair, found = (pair, found) if shown is None else (less, shown)
        return pair, found or broken  # the outcomes of another run may hide it

    def _explained(self, broken: Finding, pair: Pair) -> Finding:
        """What to write instead of what changes too much: found out on the smallest pair."""
        for column, same in self.maker.identities(pair):
            if not self._shows(same, broken):
                return replace(broken, kind="identity", instead=_IDENTITY.format(self.who, column))
        return replace(broken, instead=_CAP.format(self.who))

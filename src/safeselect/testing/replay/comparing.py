"""What two runs on neighbours must have in common, and by how much their private inputs may differ.

Both ran with the same outcomes.  So all that is public must be the same; of what is private, each
call has promised by its public parameters how far it moves.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pickle import dumps

import numpy as np

from safeselect.exact.parameters import exact_text
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.testing.replay.watching import Event, Run
from safeselect.testing.replay.worlds import Foreign
from safeselect.testing.sensitivity import excess

_FROM = "choose a constant without looking at the data, or use an earlier release"
_LABELS = "list the candidates publicly, each with a score, or use unknown_domain_top_k"
_PATH = "make the same releases for all data, and decide by their results"
_RETURN = (
    "return only results of releases or values computed from them; release numbers by measure(...)"
)
_RUN = "compute the score from releases with the run's scope, all within base"
_DERIVED = "parts", "noise", "factor", "offset"  # a caller's own argument says more
_SHOWN, _WIDEST, _ROWS = 3, 200, 6


@dataclass(frozen=True, slots=True)
class Finding:
    """An actual or possible mistake in a pipeline, with two neighbouring data sets that show it.

    Attributes:
        kind: "sensitivity", "monotonic", "contributions", "identity" (an id does not identify the
            unit), "public" (an argument depends on the data), "charge" (the cost depends on the
            data), "path" (the releases depend on the data) or "output" (data reach the output
            without a release).
        line: line of the caller's code, as file:line: the call, or the return of the value.
        promise: the declaration that was broken.
        seen: the observed difference.
        instead: suggested code.
        factor: factor by which the cost of the release grows on these data; None if it has no
            bound.
        neighbour: construction of the second data set, and the number of equal values.
        rows: rows that differ, in the first and in the second data set.
    """

    kind: str
    line: str
    promise: str
    seen: str
    instead: str = "cap what one unit adds before counting or summing, or declare it"
    factor: Fraction | None = None
    neighbour: str = ""
    rows: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def __str__(self) -> str:
        file, _, number = self.line.rpartition(":")
        code = linecache.getline(file, int(number or 0)).strip()
        factor = "without a bound" if self.factor is None else f"by {exact_text(self.factor)}"
        lines = [f"{self.kind}: {self.seen}", f"  at {self.line}: {code}"]
        lines += [f"  promised: {self.promise}; epsilon is multiplied {factor}"]
        lines += [f"  fix: {self.instead}", f"  shown by: {self.neighbour}"]
        for when, rows in zip(("before", "after"), self.rows, strict=True):
            lines += [f"    only {when}, of {len(rows)}: {row:.{_WIDEST}}" for row in rows[:_ROWS]]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The mistakes and possible mistakes that `replay` found in a pipeline.

    A report is true if it has findings, so you can write `assert not replay(...)`.

    It quotes rows of the data. Do not publish it.

    Attributes:
        findings: mistakes.
        notes: possible mistakes that only unusual data show, such as an empty cell in a column
            without empty cells, or an error with few units.
        pairs: number of data sets that were compared.
        unseen: parts that were not checked.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    pairs: int
    unseen: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __repr__(self) -> str:
        """The report as text."""
        first = (
            "Replay, NOT FOR PUBLICATION: this report quotes rows of the data.\n"
            f"Compared: {self.pairs} data sets; they prove nothing about others.\n"
            f"Not checked: {'; '.join(self.unseen)}.\n"
            f"Findings: {len(self.findings) or 'none'}."
        )
        found = [f"{number}. {each}" for number, each in enumerate(self.findings, 1)]
        notes = [f"Worth checking (found only with unusual data): {each}" for each in self.notes]
        return "\n\n".join([first, *found, *notes])


def compare(base: Run, other: Run, ignored: Set[str], *, far: bool) -> Iterator[Finding]:
    """All that differs between two runs and should not.

    Args:
        ignored: places of the returned value that differ by themselves.
        far: the data are no neighbours, so that private inputs may differ.
    """
    sessions: dict[object, dict[str, int]] = {}
    found = False
    for number, (before, after) in enumerate(zip_longest(base.events, other.events), 1):
        if other.error is not None and not other.is_elsewhere and after is None:
            break
        if before is None or after is None or before.place != after.place:
            both = ["none" if each is None else " in ".join(each.place) for each in (before, after)]
            seen = f"release number {number} is {both[0]} on one data set, {both[1]} on the other"
            promise = "which and how many releases are made does not depend on the data"
            yield Finding("path", (after or before).place[1], promise, seen, _PATH)
            return
        broken = next(_public(before, after), None)
        if broken is None and not far:
            broken = next(_private(before, after, sessions.setdefault(before.session, {})), None)
        if broken is not None:
            found = True
            yield broken
    if type(base.error) is not type(other.error):
        run = base if other.error is None else other
        seen = f"one of the two runs raises {type(run.error).__name__} here"
        promise = "whether a run raises an error does not depend on the data"
        yield Finding("path", run.at, promise, seen, _PATH)
        return
    leaks = [*differences(base.returned, other.returned)]
    leaks = [each for each in leaks if not each.startswith(tuple(ignored))]
    leaks += ["printed or written output"] * (base.printed != other.printed)
    if leaks and not found:
        promise = "with the same outcomes of all releases, the output is the same"
        seen = f"{leaks[0]} differs, so it depends on private data without a release"
        yield Finding("output", base.at, promise, seen, _RETURN)


def _public(before: Event, after: Event) -> Iterator[Finding]:
    for left, right in zip(before.read, after.read, strict=False):
        if left.names != right.names:
            some = [*set(left.names) ^ set(right.names)][:_SHOWN]
            seen = f"only one data set has {', '.join(some)}" if some else "their order differs"
            yield Finding("public", before.place[1], "the candidates are public", seen, _LABELS)
    for name in sorted(
        {**before.public, **after.public}, key=lambda name: name.startswith(_DERIVED)
    ):
        old, new = (event.public.get(name, "none") for event in (before, after))
        if old != new:
            kind = "charge" if name == "guarantee" else "public"
            promise, seen = f"{name} is public", f"{name} is {old} and {new}"
            yield Finding(kind, before.place[1], promise, seen, _FROM)
    if any(differences(before.chosen, after.chosen)):
        promise = "the base covers the score and the output of a run"
        seen = "with the same outcomes of its releases, the chosen run has other results"
        yield Finding("output", before.place[1], promise, seen, _RUN)


def _private(before: Event, after: Event, asked: dict[str, int]) -> Iterator[Finding]:
    """What one call read, on both.

    Args:
        asked: by how much the values moved that the same session was asked about before.
    """
    said, changed = before.public, 0
    for left, right in zip(before.read, after.read, strict=False):
        names = {**left.cells, **right.cells}
        moved = {name: right.cell(name, left) - left.cell(name, right) for name in names}
        more, less = (sum(max(sign * each, 0) for each in moved.values()) for sign in (1, -1))
        changed += more + less > 0
        if left.kind == "points":
            count = max(more, less) if said["neighbours"] == "replace_one" else more + less
            yield from _many(before, "values", count, said["max_contributions"])
        elif left.kind == "values":
            yield from _sums(before, [*moved.values()])
        elif left.kind not in ("group", "foreign") and moved:
            asked |= moved
            yield from _moves(before, moved if before.session is None else asked)
        if left.kind == "counts":
            most = said.get("max_contributions", said.get("max_partitions"))
            yield from _many(before, "counts", sum(map(bool, moved.values())), most)
    most = said.get("max_rows", said.get("max_groups"))
    yield from _many(before, "rows or groups", changed, most)


def _many(event: Event, what: str, changed: int, most: str | None) -> Iterator[Finding]:
    if most is not None and changed > int(most):
        promise, seen = f"one unit changes at most {most} {what}", f"one unit changes {changed}"
        factor = Fraction(changed, int(most))
        yield Finding("contributions", event.place[1], promise, seen, factor=factor)


def _sums(event: Event, moved: list[int]) -> Iterator[Finding]:
    """Values that are measured, against the sensitivity of their noise."""
    for name, power in (("sensitivity_l1", 1), ("sensitivity_l2_squared", 2)):
        total, most = sum(abs(each) ** power for each in moved), event.public.get(name)
        if most is not None and total > Fraction(most):
            seen = f"the changes in all values{', squared,' * (power - 1)} add up to {total}"
            promise, factor = f"{name}={most}", Fraction(total) / Fraction(most)
            yield Finding("sensitivity", event.place[1], promise, seen, factor=factor)


def _moves(event: Event, moved: Mapping[str, int]) -> Iterator[Finding]:
    """How numbers move together, against sensitivity, range and monotonic."""
    is_said = event.public.keys() & {"sensitivity", "range"}  # counts in a group have none
    said = event.public if is_said else {"sensitivity": "1", "monotonic": "yes"}
    grid, size, range_ = said.get("grid", "none"), said.get("sensitivity"), said.get("range")
    is_on, error = said.get("on_grid") == "yes", said.get("score_error")
    reading = Reading.read(grid=None if grid == "none" else grid, on_grid=is_on, score_error=error)
    one_way = said["monotonic"] == "yes"
    change = Sensitivity.read(sensitivity=size, range_=range_, monotonic=one_way)
    if (found := excess(moved, reading, change)) is not None:
        rule, name, observed, factor = found
        kind, promise, seen = {
            "range": ("sensitivity", f"range_={range_}", f"changes differ by {observed}"),
            "sensitivity": ("sensitivity", f"sensitivity={size}", f"{name} changes by {observed}"),
            "monotonic": ("monotonic", "monotonic=True", f"{name} rises while another falls"),
        }[rule]
        yield Finding(kind, event.place[1], promise, seen, factor=factor)


def differences(left: Foreign, right: Foreign, at: str = "the returned value") -> Iterator[str]:
    """The places where two returned values differ, or cannot be compared."""
    old, new = (each.tolist() if isinstance(each, np.ndarray) else each for each in (left, right))
    if type(left) is type(right) and isinstance(old, (Mapping, list, tuple)):
        first = dict(old if isinstance(old, Mapping) else enumerate(old))
        second = dict(new if isinstance(new, Mapping) else enumerate(new))
        if [*first] != [*second]:
            yield f"{at}, its keys or its length,"
        else:
            for key, value in first.items():
                yield from differences(value, second[key], f"{at}[{key!r}]")
    elif left is not right and (type(left) is not type(right) or not _equal(left, right)):
        yield at


def _equal(left: Foreign, right: Foreign) -> bool:
    if hasattr(left, "equals"):  # a frame or a column
        return bool(left.equals(right))
    with suppress(Exception):
        return bool(left == right) or dumps(left) == dumps(right)
    return False  # it cannot be pickled; on the same data too, so that the report says it

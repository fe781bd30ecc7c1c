"""What two runs on neighbours must have in common, and by how much their private inputs may differ.

Both ran with the same outcomes.  So all that is public must be the same; of what is private, each
call has promised by its public parameters how far it moves.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from itertools import zip_longest

import numpy as np

from safeselect.exact.parameters import exact_text
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.testing.replay.watching import Counted, Event, Run, Steps
from safeselect.testing.replay.worlds import Foreign

_SHOWN = 3
_FROM = (
    "write it as a constant that was fixed without looking at the data, or pay for it by a release "
    "of its own and use what that returned"
)
_LABELS = (
    "write the candidates as a public list, and give those that do not occur a score of 0 (in "
    "pandas: counts.reindex(PUBLIC, fill_value=0)); or, where the list is private, use "
    "unknown_domain_top_k or select_partitions"
)
_PATH = (
    "which releases are made, and how many, may follow from public numbers and from earlier "
    "releases alone: make them all, whatever the data, and decide by what they returned"
)
_RETURN = (
    "return nothing but what releases returned, and what follows from it; pay for a number with "
    "measure(...)"
)
_RUN = "compute the score from releases that are made with the run's scope, all within base"
_CLEAN = "make the code work for whatever rows a unit may have"
_WIDEST, _MOST_ROWS = 200, 6


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake, or what may be one, with two data sets that show it.

    Attributes:
        kind: "sensitivity", "monotonic", "contributions", "identity" (an id is no unit), "public"
            (an argument follows from the data), "charge" (so does the cost), "path" (so does which
            releases are made, or whether) or "output" (data reach it by no release).
        line: of the caller's code, as file:line; the call, or where the value is returned.
        promise: what was promised.
        seen: what was seen.
        instead: what to write instead.
        factor: by which the cost of the release grows, as far as these data show it; None where it
            has no bound.
        neighbour: how the second data set was made.
        rows: those that differ, in the one data set and in the other.
        others: how many rows both have besides.
    """

    kind: str
    line: str
    promise: str
    seen: str
    instead: str = ""
    factor: Fraction | None = None
    neighbour: str = ""
    rows: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    others: int = 0

    def __str__(self) -> str:
        file, _, number = self.line.rpartition(":")
        code = linecache.getline(file, int(number or 0)).strip()
        factor = "without a bound" if self.factor is None else f"by {exact_text(self.factor)}"
        lines = [
            f"{self.kind}: {self.seen}",
            f"  at {self.line}: {code}",
            f"  promised: {self.promise}",
            f"  epsilon is multiplied {factor}",
            f"  write instead: {self.instead}",
            f"  shown by {self.neighbour}; {self.others} rows are the same in both",
        ]
        for when, rows in zip(("before", "after"), self.rows, strict=True):
            lines += [f"    only {when}: {row:.{_WIDEST}}" for row in rows[:_MOST_ROWS]]
            lines += [f"    and {len(rows) - _MOST_ROWS} more"] * (len(rows) > _MOST_ROWS)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a replay found.  It is true if there is a finding: `assert not replay(...)`.

    It quotes rows of the data: not for publication.

    Attributes:
        findings: mistakes.
        notes: what may be one: seen with odd cells alone, such as an empty one in a column that has
            none.
        pairs: how many data sets were compared.
        releases: how many releases a run makes.
        unseen: what was not looked at.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    pairs: int
    releases: int
    unseen: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __repr__(self) -> str:
        """The report as text."""
        notes = (
            "\nWorth a look, seen with odd cells alone:",
            *(f"\n- {each}" for each in self.notes),
        )
        lines = [
            "Replay, NOT FOR PUBLICATION: this report quotes rows of the data.",
            f"Compared: {self.pairs} data sets, {self.releases} releases in a run.  What was made "
            "up proves nothing about what was not.",
            f"Not looked at: {'; '.join(self.unseen)}.",
            f"Findings: {len(self.findings) or 'none'}.",
            *(f"\n{number}. {each}" for number, each in enumerate(self.findings, 1)),
            *(notes if self.notes else ()),
        ]
        return "\n".join(lines)


def compare(
    base: Run, other: Run, ignored: Set[str], *, far: bool = False, printed: bool = False
) -> Iterator[Finding]:
    """All that differs between two runs and should not.

    Args:
        far: the data are no neighbours, so that private inputs may differ.
        printed: whether to compare what they printed and wrote.
        ignored: places of the returned value that differ by themselves.
    """
    sessions: dict[object, list[int]] = {}
    found = False
    for number, (before, after) in enumerate(zip_longest(base.events, other.events), 1):
        if other.error is not None and not other.is_elsewhere and after is None:
            break
        if before is None or after is None or before.place != after.place:
            line = (after or before).line
            places = [
                " at ".join((each.place[1], each.line)) if each else "none"
                for each in (before, after)
            ]
            seen = (
                f"release number {number} is {places[0]} on one data set, {places[1]} on the other"
            )
            promise = "which releases are made, and how many, does not follow from the data"
            yield Finding("path", line, promise, seen, _PATH)
            return
        broken = next(_public(before, after), None)
        if broken is None and not far:
            broken = next(_private(before, after, sessions.setdefault(before.session, [])), None)
        if broken is not None:
            found = True
            yield broken
    if type(base.error) is not type(other.error):
        run = base if other.error is None else other
        seen = f"one of the two runs ends with {type(run.error).__name__} here"
        promise = "whether a run ends with an error does not follow from the data"
        yield Finding("path", run.at, promise, seen, _CLEAN)
        return
    leaks = [*differences(base.returned, other.returned)]
    leaks = [each for each in leaks if not each.startswith(tuple(ignored))]
    leaks += ["what is printed or written"] * (printed and base.printed != other.printed)
    if leaks and not found:
        promise = "with the same outcomes of all releases, the output is the same"
        seen = f"{leaks[0]} differs: private data reach it by no release"
        yield Finding("output", base.at, promise, seen, _RETURN)


def _public(before: Event, after: Event) -> Iterator[Finding]:
    for left, right in zip(before.read, after.read, strict=False):
        if isinstance(left, Steps) and isinstance(right, Steps) and _names(left) != _names(right):
            names = [Counter(map(repr, steps.labels or ())) for steps in (left, right)]
            some = [*(names[0] - names[1]), *(names[1] - names[0])][:_SHOWN]
            seen = (
                f"only one data set has {', '.join(some)}"
                if some
                else "their number or order differs"
            )
            yield Finding("public", before.line, "the candidates are public", seen, _LABELS)
    if before.cost[0] != after.cost[0]:
        seen = f"it is {before.cost[0]} and {after.cost[0]}"
        yield Finding("charge", before.line, "the cost does not follow from the data", seen, _FROM)
    for name in {**before.public, **after.public}:
        values = [event.public.get(name, "none") for event in (before, after)]
        if values[0] != values[1]:
            promise, seen = f"{name} is public", f"{name} is {values[0]} and {values[1]}"
            yield Finding("public", before.line, promise, seen, _FROM)
    if any(differences(before.chosen, after.chosen)):
        promise = "the base covers the score and the output of a run"
        seen = "with the same outcomes of its releases the chosen run has another score or output"
        yield Finding("output", before.line, promise, seen, _RUN)


def _names(steps: Steps) -> object:
    if steps.labels is None or steps.is_ordered:
        return steps.labels, len(steps.rows[0])
    return sorted(map(repr, steps.labels))


# ---------------------------------------------------------------------------- what is private


def _private(before: Event, after: Event, asked: list[int]) -> Iterator[Finding]:
    """What one call read, on both.

    Args:
        asked: by how much the earlier values moved that its session was asked about.
    """
    for left, right in zip(before.read, after.read, strict=False):
        if isinstance(left, Steps) and isinstance(right, Steps):
            yield from _steps(before, left, right)
        elif isinstance(left, Counted) and isinstance(right, Counted):
            yield from _counts(before, left, right)
    old, new, said = before.values, after.values, before.public
    if isinstance(old, int) and isinstance(new, int):
        asked.append(new - old)
        yield from _moves(before, [f"value {each + 1}" for each in range(len(asked))], asked)
    elif isinstance(old, list) and isinstance(new, list) and before.place[1].startswith("quantile"):
        counts = (Counter(old) - Counter(new)).total(), (Counter(new) - Counter(old)).total()
        changed = max(counts) if said["neighbours"] == "replace_one" else sum(counts)
        yield from _contributions(before, "values", changed, said["max_contributions"])
    elif isinstance(old, list) and isinstance(new, list):
        moved = [abs(late - early) for early, late in zip(old, new, strict=True)]
        for name, power in (("sensitivity_l1", 1), ("sensitivity_l2_squared", 2)):
            total, most = sum(each**power for each in moved), said.get(name)
            if most is not None and total > Fraction(most):
                what = "changes" if power == 1 else "squares of the changes"
                seen = f"the {what} of all values add up to {total}"
                promise, factor = f"{name}={most}", total / Fraction(most)
                yield Finding("sensitivity", before.line, promise, seen, factor=factor)
    elif isinstance(old, dict) and isinstance(new, dict):
        changed = sum(old[group] != new.get(group) for group in old)
        yield from _contributions(before, "groups", changed, said["max_groups"])


def _contributions(event: Event, what: str, changed: int, most: str | None) -> Iterator[Finding]:
    if most is not None and changed > int(most):
        promise, seen = f"one unit changes {most} {what} at most", f"one unit changes {changed}"
        factor = Fraction(changed, int(most))
        yield Finding("contributions", event.line, promise, seen, factor=factor)


def _steps(event: Event, left: Steps, right: Steps) -> Iterator[Finding]:
    """Scores, in each row; where the order of labels is not public they are matched by label."""
    changed = 0
    for before, after in zip(left.rows, right.rows, strict=False):
        names: Sequence[object] = left.labels or range(len(before))
        late: Sequence[int] = after
        if left.labels and right.labels and not left.is_ordered:
            by_name = dict(zip(map(repr, right.labels), after, strict=True))
            late = [by_name[repr(name)] for name in names]
        moved = [new - old for old, new in zip(before, late, strict=True)]
        changed += any(moved)
        yield from _moves(event, names, moved)
    yield from _contributions(event, "rows of scores", changed, event.public.get("max_rows"))


def _moves(event: Event, names: Sequence[object], moved: Sequence[int]) -> Iterator[Finding]:
    """How numbers move together, against sensitivity, range and monotonic."""
    said = {"sensitivity": "1", "monotonic": "yes"}  # counts in a group say nothing of their own
    if "sensitivity" in event.public or "range" in event.public:
        said = dict(event.public)
    is_read = said.get("grid", "none") != "none"
    reading = Reading.read(
        grid=said["grid"] if is_read else None,
        on_grid=said.get("on_grid") == "yes",
        score_error=said.get("score_error") if is_read else None,
    )
    sensitivity, range_, one_way = said.get("sensitivity"), said.get("range"), said["monotonic"]
    change = Sensitivity.read(sensitivity=sensitivity, range_=range_, monotonic=one_way == "yes")
    highest, lowest = max(moved, default=0), min(moved, default=0)
    factor = (highest - lowest) / change.range_in_steps(reading)
    first, last = ([*moved, each].index(each) for each in (highest, lowest))
    if change.sensitivity is None:
        if factor > 1:
            seen = f"changes differ by {exact_text((highest - lowest) * reading.step)}"
            yield Finding("sensitivity", event.line, f"range_={range_}", seen, factor=factor)
        return
    most, back = reading.moves(change.sensitivity, monotonic=change.monotonic)
    largest = highest if highest >= -lowest else lowest
    if abs(largest) > most:
        name = names[first if largest == highest else last]
        seen = f"{name!r} changes by {exact_text(largest * reading.step)}"
        promise, factor = f"sensitivity={sensitivity}", abs(largest) / most
        yield Finding("sensitivity", event.line, promise, seen, factor=factor)
    elif min(highest, -lowest) > back:
        seen = f"{names[first]!r} rises while {names[last]!r} falls"
        yield Finding("monotonic", event.line, "monotonic=True", seen, factor=factor)


def _counts(event: Event, left: Counted, right: Counted) -> Iterator[Finding]:
    """Counts of users: 1 each, all the same way, and of no more items than is said."""
    moved: dict[str, int] = {}
    for item in sorted({*left.counts, *right.counts}):
        change = _count(right, item, left) - _count(left, item, right)
        if change:
            moved[item] = change
    yield from _moves(event, [*moved], [*moved.values()])
    most = event.public.get("max_contributions", event.public.get("max_partitions"))
    yield from _contributions(event, "counts", len(moved), most)


def _count(table: Counted, item: str, other: Counted) -> int:
    """The count of an item; below all that were handed over, the nearest that it may have."""
    if item in table.counts:
        return table.counts[item]
    least = min(table.counts.values()) if 0 < table.size <= len(table.counts) else 0
    return min(least, other.counts[item])


# ---------------------------------------------------------------------------- returned values


def differences(left: object, right: object, at: str = "the returned value") -> Iterator[str]:
    """The places where two returned values differ; what cannot be compared is left out."""
    if left is right:
        return
    old, new = _parts(left), _parts(right)
    if type(left) is not type(right) or (old is None) != (new is None):
        yield at
    elif old is not None and new is not None:
        if [*old] != [*new]:
            yield f"what is in {at}"
        else:
            for key, value in old.items():
                yield from differences(value, new[key], f"{at}[{key!r}]")
    elif hasattr(left, "equals"):  # a frame or a column
        equals: Foreign = left.equals
        if not equals(right):
            yield at
    elif (
        type(left).__eq__ is not object.__eq__
        and left != right
        and (left == left or right == right)
    ):
        yield at


def _parts(value: Foreign) -> Mapping[object, object] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if isinstance(value, np.ndarray):
        return {"shape": value.shape, "cells": value.tolist()}
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return (
        vars(value) if type(value).__eq__ is object.__eq__ and hasattr(value, "__dict__") else None
    )

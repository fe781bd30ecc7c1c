"""Whether an output is one that its plan can have: what was drawn, within what was fixed before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

from safeselect.audit.plan import Plan
from safeselect.errors import SafeSelectError
from safeselect.exact.parameters import rational
from safeselect.mechanisms.quantiles import Grid
from safeselect.release.codec import OtherLabel
from safeselect.release.results import Answers, Batch, Groups, Numbers, Release, Selection, TopK

_Stated = Mapping[str, str]
_ENDS: tuple[Callable[[str], Any], ...] = (int, str, Decimal, date.fromisoformat)
_FOUND = "unknown_domain_top_k_", "pay_what_you_get_", "select_partitions"
_SETS = "top_k_laplace", "select_partitions"


def wrong_output(release: Release, plan: Plan) -> str | None:
    """Return what is wrong with the output, in a sentence; None if it is one of this plan."""
    stated: Any = release.provenance.parameters
    return next(_faults(release, plan, dict(stated)), None)


def _faults(release: Any, plan: Plan, stated: _Stated) -> Iterator[str]:
    k = int(stated.get("k", "1"))
    if isinstance(release, (Selection, TopK)) and not release.mechanism.startswith(_FOUND):
        labels = [release.label] if isinstance(release, Selection) else [*release.labels]
        if len(labels) > k or (len(labels) < k and "threshold" not in stated):
            yield f"It has {len(labels)} labels, but {k} were charged."
        yield from _rows([labels], _places(release), k, stated)
        yield from _gaps(release, stated)
    if isinstance(release, TopK) and release.ordered is release.mechanism.startswith(_SETS):
        yield "Its order does not match its mechanism."
    if isinstance(release, Batch):
        yield from _batch(release, k, stated)
    if release.mechanism.startswith("unknown_domain_"):
        yield from _found(release.labels, release.counts, min(k, release.k_bar), plan)
    if isinstance(release, Groups):
        yield from _groups(release, k, plan, stated)
    if release.mechanism.startswith("select_partitions"):
        yield from _found(release.labels, release.counts, None, plan)
    if release.mechanism.startswith("measure_") and stated["values"] != str(len(release.values)):
        yield "Its number of values differs from its parameters."
    if isinstance(release, Numbers) and _repeats(release.labels or ()):
        yield "It names a value twice."
    if release.mechanism.startswith("quantile"):
        yield from _points(release, stated)
    if release.mechanism.startswith(("best_of", "first_above")):
        yield from _run(release, stated)
    if isinstance(release, Answers):
        yield from _session(release, stated)


def _places(release: Any) -> list[list[int]]:
    if isinstance(release, Selection):
        return [] if release.index is None else [[release.index]]
    return [] if release.indices is None else [[*release.indices]]


def _rows(
    rows: Iterable[Sequence[object]], places: list[list[int]], k: int, stated: _Stated
) -> Iterator[str]:
    """Labels and positions of each row: different ones, of candidates that there are."""
    size = int(stated["candidates"]) - ("threshold" in stated)
    if any(_repeats(row) for row in chain(rows, places)):
        yield "It names a candidate twice."
    # With weights, candidates of weight 0 have places too, and are not counted.
    if k > size or ("weights" not in stated and any(i >= size for row in places for i in row)):
        yield "It has more places than candidates."


def _repeats(labels: Sequence[object]) -> bool:
    """Whether a label is there twice, of those that are read as what they were."""
    known = [label for label in labels if not isinstance(label, OtherLabel)]
    return len(set(known)) < len(known)


def _gaps(release: Any, stated: _Stated) -> Iterator[str]:
    found = [release.gap] if isinstance(release, Selection) else getattr(release, "gaps", None)
    gaps = [gap for gap in found or () if gap is not None]
    lacks = len(gaps) < (1 if isinstance(release, Selection) else len(release.labels))
    if "gap_grid" not in stated:
        if gaps:
            yield "It has gaps that its parameters exclude."
    elif lacks or any(gap < 0 or gap % Fraction(stated["gap_grid"]) for gap in gaps):
        yield "Its gaps are not multiples of their grid step, from 0."


def _batch(release: Batch[Any], k: int, stated: _Stated) -> Iterator[str]:
    rows, several = int(stated["rows"]), release.mechanism.startswith("top_k_many_")
    if release.winners.shape != ((rows, k) if several else (rows,)) or not (several or k == 1):
        yield f"Its winners have shape {release.winners.shape}, which differs from its charge."
    labels = [row if several else [row] for row in release.labels]
    places = [] if release.indices is None else release.indices.reshape(len(release), -1).tolist()
    yield from _rows([*labels, release.names or ()], places, k, stated)
    if release.names is None and places != labels:
        yield "Its labels are positions that differ from its positions."
    # One label has one place, wherever it wins; other labels may have one text.
    both = zip(chain(*labels), chain(*places), strict=False)
    pairs = {(one, at) for one, at in both if not isinstance(one, OtherLabel)}
    if not len(pairs) == len({one for one, _ in pairs}) == len({at for _, at in pairs}):
        yield "It gives a label two positions, or a position two labels."


def _found(
    labels: tuple[object, ...], counts: tuple[int, ...] | None, most: int | None, plan: Plan
) -> Iterator[str]:
    """Labels that were found in the data; `most` of them in the order of their counts."""
    if most is not None and len(labels) > most:
        yield f"It has {len(labels)} labels, but at most {most} were charged."
    if _repeats(labels) or any(isinstance(label, OtherLabel) for label in labels):
        yield "It names an item twice, or names a value that is not an item."
    if (counts is None) is not (plan.least is None):
        yield "Its counts do not match its parameters."
    elif counts and plan.least is not None and min(counts) < plan.least:
        yield f"It has a count of {min(counts)}, but the smallest possible count is {plan.least}."
    if counts and most is not None and any(one < other for one, other in pairwise(counts)):
        yield "Its labels are not in the order of their counts."


def _groups(release: Groups[str], k: int, plan: Plan, stated: _Stated) -> Iterator[str]:
    if str(len(release.groups)) != stated["groups"]:
        yield f"It has {len(release.groups)} groups, but {stated['groups']} were charged."
    counts = release.counts or (None,) * len(release.groups)
    for row, counted in zip(release.labels, counts, strict=True):
        yield from _found(row, counted, k, plan)
        if "k_bar" not in stated and len(row) != k:
            yield f"A group has {len(row)} of the known candidates, but {k} are chosen."


def _points(release: Numbers[Any, Any], stated: _Stated) -> Iterator[str]:
    pairs = sorted(zip(release.labels or (), map(_number, release.values), strict=True))
    if any(one[1] > other[1] for one, other in pairwise(pairs)):
        yield "A larger quantile has a smaller point."
    for kind in _ENDS:
        with suppress(SafeSelectError, ValueError, ArithmeticError):
            highest: Any = stated["highest"] if kind is Decimal else kind(stated["highest"])
            grid = Grid.read(kind(stated["lowest"]), highest, stated["step"])
            ends = {name: stated[name] for name in ("lowest", "highest", "step")}
            places = [(_number(each) - grid.lowest) / grid.step for each in release.values]
            own = [grid.point(int(place)) for place in places]
            if grid.as_record() == ends and all(
                0 <= place < grid.points and type(one) is type(each) and one == each
                for place, one, each in zip(places, own, release.values, strict=True)
            ):
                return
    yield "It has a point that is not on its grid."


def _session(release: Answers, stated: _Stated) -> Iterator[str]:
    limits = {"k"} if "k" in stated else {"outcomes", "queries"} & stated.keys()
    took = dict(release.spent)
    if release.consumed:
        yield "It has answers, which a session releases one by one."
    if took.keys() != limits or any(took[each] > int(stated[each]) for each in limits):
        yield "It states a use beyond its charge."


def _run(release: Numbers[Any, Any], stated: _Stated) -> Iterator[str]:
    if len(release) > 1 or (not release.values and release.mechanism == "best_of/1"):
        yield "It must have exactly one run, as best_of releases one."
    if release.values and "threshold" in stated:
        # A score of a class of one's own is its text; an infinite one has no lead.
        with suppress(ValueError, OverflowError):
            lead = _number(release.value) - Fraction(stated["threshold"])
            if lead and (lead > 0) is (stated["minimize"] == "yes"):
                yield "Its score is below the threshold."


def _number(point: Any) -> Fraction:
    """A point or a score; the text of one may be long to read, and is read as a parameter is."""
    if isinstance(point, (str, OtherLabel)):
        return rational(str(point), "a number", signed=True)
    return Fraction(point.toordinal() if isinstance(point, date) else point)

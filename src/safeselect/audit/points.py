"""Quantiles and chosen runs against their own parameters."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from safeselect.accounting.repetition import PoissonRepeated, Repeated
from safeselect.audit.line import Line
from safeselect.errors import SafeSelectError
from safeselect.grid_quantiles import Quantiles
from safeselect.private_candidates import ChosenRun
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP
from safeselect.promises.records import exact_text
from safeselect.releases._fields import count, exact

_RUNS = {"best_of/1": Repeated, "best_of_poisson/1": PoissonRepeated, "first_above/1": PureDP}
"""What the best of runs costs, by the mechanism."""
_BASES = (PureDP, LaplaceDominated, BoundedRange)
"""What a run of `first_above` may promise."""
_TIES = {"1": "below", "3": "interval"}


def shape_of_points(release: Quantiles) -> Line:
    """The points are those of the grid and of the quantiles that were paid for."""
    stated = dict(release.statement.parameters)
    if stated.get("quantiles") != ", ".join(map(exact_text, release.quantiles)):
        return Line("shape", False, "It has other quantiles than its parameters say.")
    ties = _TIES.get(release.mechanism.split("/")[1])
    several = release.mechanism.startswith("quantiles/")
    if stated.get("ties") != ties or (len(release.values) > 1) is not several:
        return Line("shape", False, "Its mechanism is not that of its parameters.")
    pairs = sorted(zip(release.quantiles, map(_number, release.values), strict=True))
    if any(one[1] > other[1] for one, other in pairwise(pairs)):
        return Line("shape", False, "A larger quantile has a smaller point.")
    try:
        low, high = (_number(_like(release.values[0], stated[e])) for e in ("lowest", "highest"))
        step = Fraction(stated["step"])
        off = [each for _, each in pairs if not low <= each <= high or (each - low) % step]
    except (KeyError, ValueError, ArithmeticError):
        return Line("shape", False, "Its parameters do not say what the grid is.")
    if off:
        return Line("shape", False, "It has a point that is not on the grid of its parameters.")
    return Line("shape", True, f"{len(pairs)} points of the grid, in the order of their quantiles.")


def range_of_points(release: Quantiles) -> Line:
    """The range of ranks follows from the quantile; a unit's number of values is what is said."""
    stated = dict(release.statement.parameters)
    try:
        most = count(stated.get("max_contributions", ""), "max_contributions")
    except SafeSelectError:
        most = 0
    if most < 1 or (most > 1 and len(release.values) > 1):
        return Line("range", False, "It does not say how many values a unit may have.")
    if stated.get("neighbours") != release.statement.neighbours:
        return Line("range", False, "The noise is for other neighbours than those of the scope.")
    return Line(
        "range",
        True,
        f"The range of ranks is proved for {stated['neighbours']} neighbours and at most {most} "
        "values of a unit.",
    )


def shape_of_run(release: ChosenRun[Any]) -> Line:
    """One run was released, or none where the mechanism may release none."""
    if not release.found and release.mechanism == "best_of/1":
        return Line("shape", False, "It has no run, and best_of always releases one.")
    said = "One run" if release.found else "No run"
    return Line("shape", True, f"{said} was released, as the mechanism allows.")


def range_of_run(release: ChosenRun[Any]) -> Line:
    """The guarantee is of the kind that the mechanism has; runs were held to its base."""
    if not isinstance(release.guarantee, _RUNS.get(release.mechanism, ())):
        kind = type(release.guarantee).__name__
        return Line("range", False, f"{release.mechanism} has no guarantee of type {kind}.")
    if isinstance(release.guarantee, PureDP):  # that of `first_above`; others hold their base
        stated = dict(release.statement.parameters)
        half = exact_text(release.guarantee.epsilon / 2)
        if stated.get("base") not in {f"{kind.__name__} {half}" for kind in _BASES}:
            base = stated.get("base")
            return Line("range", False, f"Its guarantee is not twice that of its base, {base}.")
        try:
            goes_on = 0 < exact(stated.get("gamma"), "gamma") < 1
        except SafeSelectError:
            goes_on = False
        if not goes_on:
            return Line("range", False, "Its gamma is no probability between 0 and 1.")
    return Line("range", True, "What a run may release was compared with its base by each run.")


def _number(point: Any) -> Fraction:
    return Fraction(point.toordinal()) if isinstance(point, date) else Fraction(point)


def _like(point: Any, written: str) -> Any:
    """A parameter as the points are."""
    if isinstance(point, date):
        return date.fromisoformat(written)
    return Fraction(Decimal(written)) if isinstance(point, Decimal) else Fraction(written)

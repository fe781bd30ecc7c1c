"""One quantile of values, or several, by the exponential mechanism over a public grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from typing import Any, Literal, get_args

from safeselect.accounting.cost import PrivacyCost
from safeselect.charged import charged
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.grid_quantiles._grid import Grid
from safeselect.grid_quantiles._part import Part
from safeselect.grid_quantiles._point import Law, draw_point
from safeselect.grid_quantiles._results import Quantiles
from safeselect.grid_quantiles._values import reader
from safeselect.promises.guarantees import BoundedRange
from safeselect.promises.records import exact_text
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import UNREADABLE, Charge, Scope, read_ledger
from safeselect.selection._arguments import Values
from safeselect.selection._results import source_name
from safeselect.selection._table import read_choice

Neighbours = Literal["add_remove", "replace_one"]
Ties = Literal["interval", "below"]
_FINE = 16
"""Of several quantiles, a cut divides equal values to a sixteenth."""


def quantile(
    values: Values,
    *,
    quantile: Number,
    lowest: Number | date,
    highest: Number | date,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add_remove",
    max_contributions: int = 1,
    ties: Ties = "interval",
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Quantiles:
    """Choose a point g of a public grid with about a share `quantile` of the values below it.

    P(g) is proportional to exp(-rate d(g)) for each point g of the grid, d(g) being how far
    quantile n lies outside of the interval #{x < g} .. #{x <= g}, for n values x, each clamped to
    the grid and rounded down to it; inside, d(g) is minus the way to the nearer end.  What of d is
    above 0 is the error in ranks: at most (R / epsilon) ln(M / beta) with probability 1 - beta, M
    being the number of points: a wide grid costs little.
    Where no bounds are known, write those of the type, such as lowest=-2**63, highest=2**63 - 1,
    which costs 44 R / epsilon ranks.

    Guarantee: BoundedRange(epsilon), with rate = epsilon / R: R = 2 max(quantile, 1 - quantile) for
        add/remove neighbours, 2 for replace-one, 1 for the quantiles 0 and 1; each
        `max_contributions` times (`docs/mathematics.md`, section 18).
    Neighbours: those that `neighbours` names, which must be the ledger's: values of one unit are
        added or removed, or replaced by others.
    Method: classes of points with equally many values below are drawn by inversion of one uniform
        number with certified sums: the law over the points is exact, for any number of points and
        any values: none, equal ones, duplicates.
    Ties: at a run of equal values every quantile that falls into the run has error 0, and the run
        is the likelier the deeper the quantile lies in it.  With ties="below", d(g) =
        |#{x < g} - quantile n| instead, which counts what lies below alone.
    Reveals: the requests to the source follow from the grid.  The time depends on how many values
        there are, on their order and on their types; it is not protected.

    Args:
        values: one for each unit of privacy: a list, a tuple, a range, an array or a column of
            numbers or dates.  Infinities are clamped.  A float stands for its shortest decimal, and
            so does a number of any other type that equals a float and no integer: equal numbers lie
            at one point.  True is 1.  Dates are those of the years 1 to 9999; of a time, its day
            where its zone is.
        quantile: rational from 0 to 1, such as "1/2".
        lowest, highest: the ends of the grid, public: integers, dates, decimals or other rationals.
        step: the distance of its points, a positive rational; of dates, a whole number of days.  A
            small one costs little: a thousandth of the distance of the ends, say.
        epsilon: total cost of this call; positive rational.  Or:
        rho: total cost of this call in zCDP.
        neighbours: "add_remove" or "replace_one".
        max_contributions: how many values one unit may have.
        ties: "interval" or "below".
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: charged before the values are looked at.

    Returns:
        Quantiles: with one `value`.

    Raises:
        ParameterError: a parameter is wrong.
        ScoreError: the values have a class that is not read, which is found before the charge; or
            one is missing, NaN, or no number or date: after a charge there is one sentence for all.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> from safeselect import quantile
        >>> found = quantile(range(1000), quantile="1/2", lowest=0, highest=999, step=1, epsilon=1)
        >>> 400 <= found.value <= 600, found.guarantee
        (True, BoundedRange(epsilon=Fraction(1, 1)))
    """
    return _quantiles(
        values,
        [quantile],
        (lowest, highest, step),
        (epsilon, None, rho),
        neighbours,
        (max_contributions, ties),
        source,
        ledger,
    )


def quantiles(
    values: Values,
    *,
    quantiles: Iterable[Number],
    lowest: Number | date,
    highest: Number | date,
    step: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add_remove",
    max_contributions: int = 1,
    ties: Ties = "interval",
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Quantiles:
    """Choose points for several quantiles; larger quantiles never get smaller points.

    The middle quantile is drawn first; the values below it and the others are then cut apart, each
    with its half of the grid and of the quantiles, down to single ones.  A unit is in one part a
    level, so m quantiles cost floor(log2 m) + 1 draws, not m (after Kaplan, Schnapp and Stemmer
    2022; `docs/mathematics.md`, section 18).  Equal values are cut apart too: each counts as 16
    sixteenths at 16 places of its point.

    Guarantee: with `epsilon` alone LaplaceDominated(epsilon) (BoundedRange where m = 1); with
        `delta` ApproximateDP(epsilon, delta); with `rho` ZeroConcentratedDP(rho).  `parts` holds
        the guarantees of the levels.  For replace-one neighbours a level costs twice as much as a
        draw, because the value may leave one part and enter another.
    Neighbours, Method, Reveals: as for `quantile`.
    Ties: as for `quantile`; with ties="below" values are not cut, and a point just above a run of
        equal values is the first with the run below it.

    Args:
        quantiles: rationals from 0 to 1, all different, in any order.
        delta: with epsilon: an (epsilon, delta) total, which allows less noise.
        values, lowest, highest, step, epsilon, rho, neighbours, max_contributions, ties, source,
            ledger: as for `quantile`; max_contributions is 1 where there are several quantiles.

    Returns:
        Quantiles: `values` in the order of `quantiles`.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `quantile`.

    Example:
        >>> from safeselect import quantiles
        >>> found = quantiles(
        ...     range(1000),
        ...     quantiles=["1/4", "1/2", "3/4"],
        ...     lowest=0,
        ...     highest=999,
        ...     step=1,
        ...     epsilon=2,
        ... )
        >>> [abs(value - near) < 100 for value, near in zip(found.values, (250, 500, 750))]
        [True, True, True]
    """
    if isinstance(quantiles, (str, bytes)) or not isinstance(quantiles, Iterable):
        raise ParameterError(
            f"quantiles must be a list of numbers, got {describe(quantiles)}; write for example "
            "quantiles=['1/4', '1/2', '3/4']"
        )
    return _quantiles(
        values,
        list(quantiles),
        (lowest, highest, step),
        (epsilon, delta, rho),
        neighbours,
        (max_contributions, ties),
        source,
        ledger,
    )


def _quantiles(
    values: object,
    asked: list[Any],
    ends: tuple[Any, Any, Any],
    cost: tuple[Any, Any, Any],
    neighbours: object,
    treated: tuple[object, object],
    source: Source | None,
    ledger: object,
) -> Quantiles:
    """The steps of both: read what is public, charge, read the values, draw, report."""
    targets = tuple(_share(each) for each in asked)
    if not targets or len(set(targets)) != len(targets):
        raise ParameterError("quantiles must be different from one another, and at least one")
    grid = Grid.read(*ends)
    most, ties = treated
    read_choice(neighbours, "neighbours", get_args(Neighbours))
    read_choice(ties, "ties", get_args(Ties))
    scope, several = read_ledger(ledger, monotonic=False), len(targets) > 1
    others = set(get_args(Neighbours)) - {neighbours}
    if scope is not None and scope.neighbours in others:
        raise ParameterError(
            f"neighbours={neighbours!r} are not those of scope {scope.name!r}; write "
            f"neighbours={scope.neighbours!r}"
        )
    count = integer(most, "max_contributions", minimum=1, maximum=2**32)
    if several and count > 1:
        raise ParameterError("several quantiles are proved for max_contributions=1; ask for one")
    paid = PrivacyCost.read(epsilon=cost[0], delta=cost[1], rho=cost[2])
    levels = len(targets).bit_length()
    each = paid.per_draw(BoundedRange, levels)
    guarantee = paid.guarantee(BoundedRange, each, levels)
    replaced = neighbours == "replace_one"
    # Of several, a replaced value may change two parts of a level: each is drawn at half the cost.
    spent = each / 2 if several and replaced else each
    source = resolve(source)
    later = reader(values)
    version = 1 if ties == "below" else 3
    mechanism = f"quantiles/{version}" if several else f"quantile/{version}"
    fine = _FINE if several and ties == "interval" else 1
    parameters = {
        **grid.as_record(),
        "neighbours": str(neighbours),
        "max_contributions": str(count),
    }
    parameters |= {"quantiles": ", ".join(map(exact_text, targets)), "ties": str(ties)}
    charge = Charge(mechanism, guarantee, ((BoundedRange(each), levels),), parameters)

    def law_of(target: Fraction) -> Law:
        moved = count * _range(target, replaced and not several) * fine
        return Law(target, spent / moved, str(ties))

    with charged(
        scope,
        source,
        charge,
        lambda: grid.cells(later.read()),
        unit=later.unit,
        neighbours=str(neighbours),
        unreadable=UNREADABLE.replace("scores", "values"),
    ) as call:
        order = sorted(targets)
        part = Part.whole(call.values, grid.points, fine)
        points = [point // fine for point in _split(part, order, law_of, call.bits)]
        drawn = dict(zip(order, points, strict=True))
        return call.commit(
            Quantiles(
                tuple(grid.point(drawn[target]) for target in targets),
                targets,
                guarantee,
                (BoundedRange(each),) * levels,
                mechanism,
                source_name(source),
                call.statement,
            )
        )


def _share(value: Any) -> Fraction:
    share = rational(value, "quantile", zero=True)
    if share > 1:
        raise ParameterError(f"quantile must be at most 1, got {describe(value)}")
    return share


def _range(target: Fraction, replaced: bool) -> int:
    """The range of the change of t d(g) for one value, whatever counts for ties."""
    s, t = target.numerator, target.denominator
    if s in (0, t):
        return t  # d(g) is a number of values on one side of g: all move the same way, by t at most
    return 2 * t if replaced else 2 * max(s, t - s)


def _split(
    part: Part, order: list[Fraction], law_of: Callable[[Fraction], Law], bits: Bits
) -> list[int]:
    """Fine points for some quantiles of a part of the values, in order."""
    if not order:
        return []
    middle = (len(order) - 1) // 2
    target = order[middle]
    point = draw_point(part, law_of(target), bits)
    lower, upper = part.split(point)
    # Quantiles of a part are relative to its own values.
    below = [each / target for each in order[:middle]]
    above = [(each - target) / (1 - target) for each in order[middle + 1 :]]
    return [*_split(lower, below, law_of, bits), point, *_split(upper, above, law_of, bits)]

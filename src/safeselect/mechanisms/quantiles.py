"""Quantiles of values on a public grid, by the exponential mechanism over all its points, exactly.

Values are clamped to the grid and rounded down to it (`Grid`).  A point, or one of the fine points
into which several quantiles cut it (`Part`), is drawn by inversion of one uniform number.

Law: P(p) is proportional to exp(-rate distance(p)): the exponential mechanism over the points.

Runs: points between two values have one distance, and lie side by side.  So a product of a size and
a power for each run gives the sums of all probabilities.  Privacy comes from the law over points;
the runs are data.

Exactness: powers are integers in units of 2**-precision, rounded down, and each error is bounded.
Runs are made from the middle outwards until a power is 0: what lies beyond is smaller than the
error.  A point stands only if it holds for every value within the bounds and for all digits not yet
drawn.  Otherwise both get more digits.

Reveals: the requests to the source follow from the number of points, but with probability below
2**-100.  Time follows from the values; nothing is claimed about it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, islice
from typing import Any, Literal, get_args

import numpy as np

from safeselect.accounting.cost import PrivacyCost
from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import (
    FLOATS,
    Number,
    describe,
    exact_text,
    integer,
    rational,
    read_choice,
    read_list,
)
from safeselect.promises.guarantees import BoundedRange
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import UNREADABLE, Call, Charge, Scope, in_one_sentence, read_ledger
from safeselect.release.results import Numbers
from safeselect.scores.candidates import Values, hand_over, label_text
from safeselect.scores.columns import cells_of, hushed
from safeselect.scores.reals import Place, place_of


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Later:
    """Values that are read once they are paid for, and whose they are, where that is said."""

    read: Callable[[], Sequence[object]]
    unit: str | None


def reader(values: object) -> Later:
    """How to read values once they are paid for; only their class and their shape are looked at.

    Raises:
        ScoreError: another class, or not one dimension.
    """
    if type(values) is Later:
        return values
    if type(values) is range:
        return Later(lambda: values, None)
    column: Any = None
    with hushed():  # only the class, or the shape, is wrong; the sentence below says it of values
        column = hand_over(values)
    if column is None:
        kind, got, axes, instead = type(values), type(values).__name__, 1, ""
        wanted = "be a one-dimensional list, tuple, range, NumPy array or data frame column"
        with hushed():  # a class of its own may raise anything
            axes = len(getattr(values, "shape", "1"))
        if axes > 1:
            got += f" with {axes}"
            wanted, instead = "have one dimension", "one column, such as table['fare'], with "
        elif axes and issubclass(kind, Iterable) and not issubclass(kind, (str, bytes)):
            instead = f"list(values{'.values()' * issubclass(kind, Mapping)}), "
        raise ScoreError(
            f"values must {wanted}, got {got}; pass {instead}one value for each unit of privacy"
        )
    return Later(partial(cells_of, column.held), None)


_MOST_BITS = 256
_WRONG = (
    "values must be numbers if the ends of the grid are numbers, and dates if they are dates, "
    "without missing values or NaN"
)
End = Number | date | None
_KEPT = frozenset((int, Decimal, date, *FLOATS))  # classes of values that are looked at once


@dataclass(frozen=True, slots=True)
class Grid:
    """The points lowest, lowest + step, ..., all public.

    Attributes:
        lowest: the first point; of dates, its ordinal.
        step: the distance of neighbours; of dates, in days.
        points: how many points there are.
        kind: what a point is: int, Fraction, Decimal or date.
    """

    lowest: Fraction
    step: Fraction
    points: int
    kind: type

    @classmethod
    def read(cls, lowest: End, highest: End, step: Number | None) -> Grid:
        """Read the two ends and the step.

        Raises:
            ParameterError: an end or the step is missing; they are no numbers, or no dates; the
                grid is empty or too long.
        """
        if lowest is None or highest is None:
            raise ParameterError(
                "pass lowest and highest, the ends of the grid; choose them without looking at "
                "the data, for example lowest=0, highest=100"
            )
        if isinstance(lowest, date) or isinstance(highest, date):
            ends = [_ordinal(lowest, "lowest"), _ordinal(highest, "highest")]
            kind: type = date
        else:
            both = (lowest, "lowest"), (highest, "highest")
            ends = [rational(end, name, signed=True) for end, name in both]
            kind = Decimal if isinstance(lowest, Decimal) else Fraction
            if all(isinstance(end, (int, np.integer)) for end, _ in both):
                kind = int
        if step is None:
            raise ParameterError(
                "pass step, the distance between adjacent points of the grid; for example "
                f"{_proposed(ends[1] - ends[0], kind)}"
            )
        width = rational(step, "step")
        if kind in (int, date) and width.denominator != 1:
            if kind is date:
                raise ParameterError("step must be a whole number of days")
            kind = Fraction
        points = (ends[1] - ends[0]) // width + 1
        if not 1 <= points <= 1 << _MOST_BITS:
            raise ParameterError(
                f"highest must not be below lowest; a grid can have at most 2**{_MOST_BITS} points"
            )
        return cls(ends[0], width, points, kind)

    def cells(self, values: Iterable[object]) -> list[int]:
        """The point of each value: the last one that is not above it, or the first; sorted.

        Raises:
            ScoreError: a value is missing, or of another kind; it is not quoted.
        """
        known: dict[tuple[type, object], int] = {}

        def cell(value: object) -> int:
            key = type(value), value
            if key[0] not in _KEPT:  # only these are compared: a class may compare as it likes
                return self._cell(value)
            if key not in known:
                known[key] = self._cell(value)
            return known[key]

        # A value's class may raise anything, and quote the value.
        return in_one_sentence(lambda: sorted(map(cell, values)), _WRONG)

    def _cell(self, value: object) -> int:
        side, exact = _day_of(value) if self.kind is date else place_of(value)
        if side == 0:
            raise ScoreError(_WRONG)
        if side != 2:
            return 0 if side == 1 else self.points - 1
        (above, below), (p, q) = exact.as_integer_ratio(), self.lowest.as_integer_ratio()
        step, part = self.step.as_integer_ratio()
        place = (above * q - p * below) * part // (below * q * step)
        return min(max(place, 0), self.points - 1)

    def point(self, place: int) -> int | Fraction | Decimal | date:
        """The point at a place, as the ends were given."""
        exact = self.lowest + place * self.step
        if self.kind is date:
            return date.fromordinal(int(exact))
        if self.kind is Decimal:
            return _decimal(exact)
        return int(exact) if self.kind is int else exact

    def as_record(self) -> dict[str, str]:
        """As text, for a ledger."""
        ends = [label_text(self.point(place)) for place in (0, self.points - 1)]
        return {"lowest": ends[0], "highest": ends[1], "step": exact_text(self.step)}


def _proposed(width: Fraction, kind: type) -> str:
    """A thousandth of the distance of the ends as a step, in words; of dates, whole days."""
    if kind is date:
        return f"step={max(width // 1000, 1)}, in days"
    return f"step='{exact_text(width / 1000 if width > 0 else Fraction(1))}'"


def _ordinal(value: object, name: str) -> Fraction:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ParameterError(
            f"the ends of a grid must be two dates or two numbers, got {describe(value)} as {name}"
            "; for times, use numbers, such as seconds"
        )
    return Fraction(value.toordinal())


def _day_of(value: Any) -> Place:
    """The ordinal of a date, of its own time zone if it has a time, as `place_of` says it.

    Raises:
        ScoreError: it is none, or lies outside the years 1 to 9999.
    """
    day = value
    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]").item()
    homes = {str(each.__module__).partition(".")[0] for each in type(day).__mro__}
    # pandas' missing time, and its times beyond the year 9999, are datetimes of other years.
    if not issubclass(type(day), date) or ("pandas" in homes and not 1 <= day.year <= 9999):
        raise ScoreError(_WRONG)
    return 2, Fraction(date.toordinal(day))


def _decimal(exact: Fraction) -> Decimal | Fraction:
    """The decimal that is equal; a Fraction where there is none."""
    below = exact.denominator
    places = next((n for n in range(below.bit_length()) if 10**n % below == 0), None)
    return exact if places is None else Decimal(f"{int(exact * 10**places)}E-{places}")


Run = tuple[int, int, int, int]
"""The first fine point of a run, the one after its last, and the shares below and up to each."""


@dataclass(frozen=True, slots=True)
class Part:
    """The fine points first .. last, and the shares at fine points first <= p < end.

    Args:
        places: the points at which there are values, ascending, and one behind the grid; a part is
            cut out by its ends alone.
        below: how many values lie below each of these.
        fine: how many fine points a point is.
        first, last: fine points.
        end: last + 1, or last, where what lies at `last` belongs to the next part.
    """

    places: list[int]
    below: list[int]
    fine: int
    first: int
    last: int
    end: int

    @classmethod
    def whole(cls, cells: list[int], points: int, fine: int) -> Part:
        """All values, each at one of so many points, in their order."""
        counted = Counter(cells)
        below = [*accumulate(counted.values(), initial=0), len(cells)]
        return cls([*counted, points], below, fine, 0, points * fine - 1, points * fine)

    def split(self, point: int) -> tuple[Part, Part]:
        """What lies below a fine point, and the rest: each share is in one of them."""
        lower = replace(self, last=point, end=point)
        return lower, replace(self, first=point)

    @property
    def points(self) -> int:
        """How many fine points there are."""
        return self.last - self.first + 1

    @property
    def size(self) -> int:
        """How many shares there are."""
        return self._shares(self.end) - self._shares(self.first)

    def _shares(self, point: int) -> int:
        """How many shares lie below a fine point, in this part or not."""
        g, j = divmod(point, self.fine)
        i = bisect_left(self.places, g)
        shares = self.below[i] * self.fine
        return shares + j * self._equal(i) if j and self.places[i] == g else shares

    def _equal(self, i: int) -> int:
        """How many values lie at a place."""
        return self.below[i + 1] - self.below[i]

    def middle(self, wanted: int) -> int:
        """The last fine point with at most so many shares below it."""
        wanted += self._shares(self.first)
        i = bisect_right(self.below, wanted // self.fine) - 1
        if i == len(self.places):
            return self.last
        beyond = wanted - self.below[i] * self.fine
        return min(self.places[i] * self.fine + beyond // self._equal(i), self.last)

    def runs(self, point: int, step: Literal[1, -1]) -> Iterator[Run]:
        """The runs from a fine point on, upwards or downwards, the nearest first."""
        first, after, fine = self.first, self.last + 1, self.fine
        before, size = self._shares(first), self.size
        i = bisect_left(self.places, point // fine)  # of the place at the point, or of the next
        while first <= point < after:
            start, shares = self.places[i] * fine, self.below[i] * fine - before
            if start <= point:
                equal, end = self._equal(i), (start + fine if step == 1 else start - 1)
                for p in range(point, min(max(end, first - 1), after), step):
                    low = shares + (p - start) * equal
                    yield p, p + 1, min(low, size), min(low + equal, size)
                point, i = end, i + (step == 1)
                continue
            # No value lies between the end of the place before and this one.
            least = max((self.places[i - 1] + 1) * fine, first) if i else first
            low, high = (point, min(start, after)) if step == 1 else (least, point + 1)
            if low < high:
                yield low, high, min(shares, size), min(shares, size)
            point, i = (high, i) if step == 1 else (low - 1, i - 1)


_MORE = 64

Powered = tuple[int, int, int]
"""The first point of a run, the one after its last, and the power of each."""


@dataclass(frozen=True, slots=True)
class Law:
    """What one draw is to find, in public terms.

    Args:
        quantile: s / t, from 0 to 1.
        rate: of the distance, in nats; above 0.
        ties: "interval": the distance of a point is how far s n lies outside of the interval
            t #{x < p} .. t #{x <= p}, n and both numbers in shares; inside it is minus the way to
            the nearer end.  "below": how far s n is from the lower end.
    """

    quantile: Fraction
    rate: Fraction
    ties: str

    def powers(self, part: Part, precision: int) -> tuple[list[Powered], int]:
        """Runs with their powers, in order, and a bound on all errors.

        A power is exp(-rate (distance - least)) in units of 2**-precision.  It is too small by less
        than the error; that of a point in no run is less than the error.
        """
        wanted = self.quantile.numerator * part.size
        middle = part.middle(wanted // self.quantile.denominator)
        sides = [part.runs(middle, -1), part.runs(middle + 1, 1)]
        firsts = [list(islice(side, 1)) for side in sides]
        least = min(self._distance(run, wanted) for first in firsts for run in first)
        found, most, known = [], 0, {0: 1 << precision}
        for first, side in zip(firsts, sides, strict=True):
            runs: list[Powered] = []
            power, before = 1 << precision, least
            for run in chain(first, side):
                # Away from the middle distances do not fall, so no factor is above 1.
                distance = self._distance(run, wanted)
                more = distance - before
                if more not in known:
                    known[more] = _factor(self.rate * more, precision)
                power = power * known[more] >> precision
                if not power:
                    break
                runs.append((run[0], run[1], power))
                before = distance
            found.append(runs)
            most = max(most, len(runs))
        # A step adds the error of its factor, less than two units, and less than one more; one more
        # step gave the 0.
        return found[0][::-1] + found[1], 4 * (most + 2)

    def _distance(self, run: Run, wanted: int) -> int:
        _, _, low, high = run
        above = self.quantile.denominator * low - wanted
        if self.ties == "below":
            return abs(above)
        return max(above, wanted - self.quantile.denominator * high)


def _factor(exponent: Fraction, precision: int) -> int:
    """exp(-exponent) in units of 2**-precision, less than two units too small."""
    extra = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length())
    # So many digits that the ends lie less than a unit apart before they are rounded.
    digits = precision + min(extra, 4096) + 32
    return (-Interval.of(exponent, digits)).exp().scaled(precision)[0]


def draw_point(part: Part, law: Law, bits: Bits) -> int:
    """Draw a fine point of a part."""
    size = -(-(128 + part.points.bit_length()) // _MORE) * _MORE
    u = bits.take(size)
    for _ in rounds(_MORE):
        found = _point(part, law, u, size)
        if found is not None:
            return found
        u, size = u << _MORE | bits.take(_MORE), size + _MORE
    raise exhausted()


def _point(part: Part, law: Law, u: int, size: int) -> int | None:
    """The point for U in [u, u + 1] / 2**size, or None where that leaves it open."""
    most = part.fine * (part.below[-1] + 1)
    precision = size + part.points.bit_length() + most.bit_length() + 16
    runs, error = law.powers(part, precision)
    sums = [0, *accumulate(power * (after - start) for start, after, power in runs)]
    # The true sum up to any point of a run is at least the one here, and exceeds it by less than
    # the slack.
    total, slack = sums[-1], part.points * error
    low, high = u * total >> size, ((u + 1) * (total + slack) >> size) + 1
    # low < total, so this run is there, and has a power.
    place = bisect_right(sums, low) - 1
    start, _, power = runs[place]
    steps = (low - sums[place]) // power
    point, begins = start + steps, sums[place] + steps * power
    sure = point == part.first or begins + slack <= low
    ends = point == part.last or high < begins + power
    return point if sure and ends else None


Neighbours = Literal["add_remove", "replace_one"]
Ties = Literal["interval", "below"]
_FINE = 16
"""Of several quantiles, a cut divides equal values to a sixteenth."""


def quantile(
    values: Values,
    *,
    quantile: Number,
    lowest: Number | date | None = None,
    highest: Number | date | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add_remove",
    max_contributions: int = 1,
    ties: Ties = "interval",
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[Any, Fraction]:
    """From equally spaced public points, choose one that is close to a quantile of private values.

    The n values x are first clamped to the grid and rounded down to its points. Each point g of the
    grid is chosen with probability proportional to exp(-rate d(g)). Let I be the interval from
    #{x < g} to #{x <= g}. If quantile * n is outside I, d(g) is its distance from I; inside, it is
    minus the distance to the nearer end. A positive d(g) is an error in ranks. With probability 1 -
    beta it is at most (R / epsilon) ln(M / beta), where M is the number of points, so a wide grid
    costs little. If you know no bounds, pass those of the data type, such as lowest=-2**63 and
    highest=2**63 - 1: their 2**64 points contribute 44 R / epsilon ranks to this bound.

    Guarantee: BoundedRange(epsilon), with rate = epsilon / R: R = 2 max(quantile, 1 - quantile) for
        add/remove neighbours, 2 for replace-one, 1 for the quantiles 0 and 1; each
        multiplied by `max_contributions` (`docs/mathematics.md`, section 18).
    Neighbours: those that `neighbours` names, which must be those of the ledger: the values of one
        unit are added or removed, or replaced by others.
    Method: points with the same number of values below them form a class. One class is drawn by
        inversion of a uniform number with certified sums. The law of the points is exact for any
        number of points and any values, including none and duplicates.
    Ties: a quantile that falls into a run of equal values has error 0 there, and the probability of
        the run is larger if the quantile lies deeper in it. With ties="below", d(g) = |#{x < g} -
        quantile n|, which counts only the values below.
    Reveals: the requests to the source follow from the grid.  The running time depends on the
        number of values, on their order and on their types; it is not protected.

    Args:
        values: one value for each unit of privacy, as a list, a tuple, a range, an array or a
            column of numbers or dates. Infinities are clamped. Integers, and floats that are
            integers, are exact. Any other float, and any number of another type that equals such a
            float, stands for the float's shortest decimal, so equal numbers lie at the same point.
            True is 1. Dates are those of the years 1 to 9999;
            a time counts as its day in its own zone.
        quantile: rational from 0 to 1, such as "1/2".
        lowest, highest: public ends of the grid: integers, dates, decimals or other rationals.
        step: distance between adjacent points of the grid, a positive rational; for dates, an
            integer number of days. A small step costs little, for example a thousandth of the
            distance between the ends.
        epsilon: total cost of this call, a positive rational; or pass `rho`.
        rho: total cost of this call in zCDP.
        neighbours: "add_remove" or "replace_one".
        max_contributions: largest number of values of one unit.
        ties: "interval" or "below".
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: charged before the values are read.

    Returns:
        Numbers: with one `value`, a point of the grid. It is an integer, a date, a decimal or a
            fraction, like the ends of the grid.

    Raises:
        ParameterError: a parameter is wrong.
        ScoreError: the type of the container is not supported (found before the charge), or a value
            is missing, NaN, or not a number or date. After a charge, the message is the same for
            all values.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> from safeselect import quantile
        >>> found = quantile(range(1000), quantile="1/2", lowest=0, highest=999, step=1, epsilon=1)
        >>> 400 <= found.value <= 600, found.guarantee
        (True, BoundedRange(epsilon=Fraction(1, 1)))
    """
    grid, treated = Grid.read(lowest, highest, step), (neighbours, max_contributions, ties)
    paid = PrivacyCost.read(epsilon=epsilon, rho=rho)
    return release_quantiles(values, [quantile], grid, paid, treated, source, ledger)


def quantiles(
    values: Values,
    *,
    quantiles: Iterable[Number],
    lowest: Number | date | None = None,
    highest: Number | date | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add_remove",
    max_contributions: int = 1,
    ties: Ties = "interval",
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Numbers[Any, Fraction]:
    """For each of several quantiles of private values, choose a close point from equally spaced
    public points.

    The points are in nondecreasing order.

    The middle quantile is drawn first. It splits the values, the grid and the other quantiles into
    two parts, which are treated in the same way, until each part has one quantile. At each level a
    unit is in one part, so m quantiles cost floor(log2 m) + 1 draws, not m (after Kaplan, Schnapp
    and Stemmer 2022; `docs/mathematics.md`, section 18). Equal values can be split, too: each
    counts as 16 sixteenths at 16 places of its point.

    Guarantee: with `epsilon` alone LaplaceDominated(epsilon) (BoundedRange where m = 1); with
        `delta` ApproximateDP(epsilon, delta); with `rho` ZeroConcentratedDP(rho).  `parts` holds
        the guarantees of the levels.  For replace-one neighbours a level costs twice as much as a
        draw, because the value may leave one part and enter another.
    Neighbours, Method, Reveals: as for `quantile`.
    Ties: as for `quantile`. With ties="below" equal values are not split, and the first point with
        a run below it is the point just above the run.

    Args:
        quantiles: rationals from 0 to 1, all different, in any order.
        delta: with epsilon, for an (epsilon, delta) total, which allows less noise.
        values, lowest, highest, step, epsilon, rho, neighbours, max_contributions, ties, source,
            ledger: as for `quantile`; with several quantiles max_contributions must be 1.

    Returns:
        Numbers: `values` in the order of `quantiles`, which are their labels.

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
    grid, treated = Grid.read(lowest, highest, step), (neighbours, max_contributions, ties)
    paid = PrivacyCost.read(epsilon=epsilon, delta=delta, rho=rho)
    return release_quantiles(values, quantiles, grid, paid, treated, source, ledger)


def release_quantiles(
    values: object,
    asked: Iterable[Number],
    grid: Grid,
    paid: PrivacyCost,
    treated: tuple[object, object, object],
    source: Source | None,
    ledger: object,
) -> Numbers[Any, Fraction]:
    """The steps of both: read what is public, charge, read the values, draw, report.

    Args:
        asked: the quantiles.
        treated: neighbours, max_contributions and ties, as a caller gave them.
    """
    example = "; for example quantiles=['1/4', '1/2', '3/4']"
    targets = tuple(map(_share, read_list(asked, "quantiles", example)))
    if not targets or len(set(targets)) != len(targets):
        raise ParameterError("quantiles must be one or more distinct numbers")
    charge, each = charge_of(targets, grid.as_record(), paid, treated)
    neighbours, _, ties = treated
    scope, several = read_ledger(ledger, monotonic=False), len(targets) > 1
    others = set(get_args(Neighbours)) - {neighbours}
    if scope is not None and scope.neighbours in others:
        raise ParameterError(
            f"neighbours={neighbours!r} does not match scope {scope.name!r}; use "
            f"neighbours={scope.neighbours!r}"
        )
    replaced = neighbours == "replace_one"
    # Of several, a replaced value may change two parts of a level: each is drawn at half the cost.
    spent = each / 2 if several and replaced else each
    source = resolve(source)
    later = reader(values)
    fine = _FINE if several and ties == "interval" else 1

    def law_of(target: Fraction) -> Law:
        moved = _range(target, replaced and not several) * fine
        return Law(target, spent / moved, str(ties))

    with Call(
        charge,
        lambda: grid.cells(later.read()),
        source=source,
        scope=scope,
        unit=later.unit,
        neighbours=str(neighbours),
        unreadable=UNREADABLE.replace("scores", "values"),
    ) as call:
        order = sorted(targets)
        part = Part.whole(call.values, grid.points, fine)
        points = [point // fine for point in _split(part, order, law_of, call.bits)]
        drawn = dict(zip(order, points, strict=True))
        values = tuple(grid.point(drawn[target]) for target in targets)
        return call.commit(Numbers(values=values, labels=targets, **call.header))


def charge_of(
    targets: Sequence[Fraction],
    grid: Mapping[str, str],
    paid: PrivacyCost,
    treated: tuple[object, object, object],
) -> tuple[Charge, Fraction]:
    """The charge of these quantiles, and the epsilon of a draw for each value of a unit.

    Args:
        grid: as a record states it.
        treated: neighbours, max_contributions and ties, as a caller gave them.

    Raises:
        ParameterError: one of these is wrong.
    """
    neighbours, most, ties = treated
    read_choice(neighbours, "neighbours", get_args(Neighbours))
    read_choice(ties, "ties", get_args(Ties))
    count, several = integer(most, "max_contributions", minimum=1, maximum=2**32), len(targets) > 1
    if several and count > 1:
        raise ParameterError(
            "several quantiles have a privacy proof only for max_contributions=1; "
            "request one quantile"
        )
    levels = len(targets).bit_length()
    each = paid.per_draw(BoundedRange, levels)
    guarantee = paid.guarantee(BoundedRange, each, levels)
    parameters = {**grid, "neighbours": str(neighbours), "max_contributions": str(count)}
    parameters |= {"quantiles": ", ".join(map(exact_text, targets)), "ties": str(ties)}
    mechanism = f"quantile{'s' * several}{'_below' * (ties == 'below')}/1"
    charge = Charge(mechanism, guarantee, ((BoundedRange(each), levels),), parameters)
    return charge, each / count


def _share(value: object) -> Fraction:
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

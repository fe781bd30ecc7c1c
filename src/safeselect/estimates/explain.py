"""The cost and the expected error of a planned release, before any data is touched.

The scores are made up: the k equal best candidates are called good, the b others bad, and
p = exp(-rate * gap) is the weight of a bad candidate relative to a good one.  All numbers are
enclosures.  Every sum has positive terms, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, describe, integer, rational, read_choice
from safeselect.ledger import Balance, Budget
from safeselect.mechanisms.select import CANDIDATES, Asked, calibrate_unordered, top_k
from safeselect.mechanisms.table import LAWS, MECHANISMS, ORDERED, Calibration, Ordered
from safeselect.release.page import Section, as_part

_Miss = Callable[[int, int], Interval]
"""(good left, bad left) -> P(the next candidate chosen is bad)."""
_LARGEST = 10_000  # made-up candidates
_MOST_WORK = 200_000  # enclosures that one expectation may take: about a second
_FARTHEST = 2**13  # nats between the two levels: exp(-2**13) is below 2**-11000


def expected_error(
    *,
    n: int,
    gap: Number,
    k: int = 1,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    mechanism: Ordered | None = None,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
) -> Fraction:
    """Return the expected loss in score when `top_k` chooses from synthetic scores.

    k of n candidates have the score `gap`; all others have 0. The loss is the sum of the k best
    scores minus the sum of the chosen scores, that is, `gap` for each of the k best that is missed.

    Exactness: the exact expectation, rounded up to 64 significant bits.  Where the noise rate times
        the gap exceeds 2**13, the result is an upper bound below 2**-7000.

    Args:
        n: number of candidates, up to 10 000.
        gap: lead of the k best candidates, in score units; a positive rational.
        k, epsilon, delta, rho, sensitivity, range_, monotonic, mechanism, grid, on_grid,
            score_error: as for `top_k`, but mechanism="laplace" is not supported. With a grid, the
            noise covers the effective range. The synthetic scores lie on the grid if `gap` does.

    Raises:
        ParameterError: as for `top_k`; or n k is too large.

    Example:
        >>> from safeselect.estimates import expected_error
        >>> lost = expected_error(n=100, gap=10, k=5, epsilon=1, sensitivity=1, monotonic=True)
        >>> f"{float(lost):.2f}"  # of 50
        '35.48'
    """
    size, count = _sizes(n, k)
    distance = rational(gap, "gap")
    scored = sensitivity, range_, monotonic, False, grid, on_grid, score_error
    asked = Asked.read((epsilon, delta, rho), scored, None, None, None)
    if mechanism is not None:
        read_choice(mechanism, "mechanism", ORDERED)
    plan = asked.calibrate_in_order(mechanism, count)
    missed = _missed(plan, size, distance / asked.reading.step)
    if missed is None:
        raise ParameterError("n and k are too large for an exact result; use smaller values")
    return missed * distance


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each mechanism would cost and lose; `print` and notebooks show it as a table.

    Attributes:
        title: what was asked, in a line.
        example: the made-up scores, in a line.
        rows: the names of the columns, and a row for each mechanism.
        legend: what the table shows, in a line.
        budget: the budget, if one was asked about, with how many such releases it takes.
    """

    title: str
    example: str
    rows: tuple[tuple[str, ...], ...]
    legend: str
    budget: tuple[str, tuple[tuple[str, ...], ...]] | None = None

    def to_dict(self) -> dict[str, list[str]]:
        """The columns of the table."""
        return {name: list(cells) for name, *cells in zip(*self.rows, strict=True)}

    def __str__(self) -> str:
        lines = [self.title, f"example: {self.example}", *aligned(self.rows), self.legend]
        if self.budget:
            lines += [self.budget[0], *aligned(self.budget[1][1:])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        tables = dict([(self.legend, self.rows), *([self.budget] if self.budget else ())])
        return as_part(Section(self.title, {"example": self.example}, tables)).text


def explain(
    k: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    rho: Number | None = None,
    n: int | None = None,
    gap: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool | None = None,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    budget: Budget | Balance | None = None,
) -> Explanation:
    """Return a table of the cost and the expected error of each mechanism of `top_k`; the expected
    error of "laplace" is not known.

    The scores are synthetic: n candidates, k of which score higher than the others by `gap`. By
    default the scores are counts of users, with sensitivity 1 and monotonic changes. No data are
    read.

    Args:
        k: number of candidates to choose.
        epsilon, delta, rho: total cost, as for `top_k`.
        n: number of candidates (default: the larger of 100 and 10 k).
        gap: gap in score units (default: 4 divided by the noise rate of "exponential", rounded up
            to a step).
        sensitivity, range_, monotonic, grid, on_grid, score_error: as for `top_k` (default:
            sensitivity=1, monotonic=True). The table shows the effective range, for which the noise
            is calibrated and which shows the cost of a coarse grid.
        budget: a new `Budget`, or the balance of a scope. The table then shows how many such
            releases fit, and which limit is reached first.

    Raises:
        ParameterError: as for `expected_error`.

    Example:
        >>> from safeselect import explain
        >>> print(explain(k=5, epsilon=1))
        top 5 of 100 candidates for a total of epsilon = 1
        example: 5 of them score 20 more than the other 95; sensitivity 1, monotonic; ...
        mechanism             noise rate  guarantee of a draw           missed of k  error
        ...
        one_shot_exponential  0.2000      LaplaceDominated(1)           1.157        23.14
        noise rate: per unit of score; error: average loss per call, in units of score
    """
    usual = min(_LARGEST, max(100, 10 * integer(k, "k", minimum=1, maximum=_LARGEST)))
    size, count = _sizes(usual if n is None else n, k)
    if sensitivity is None and range_ is None:
        sensitivity, monotonic = 1, True if monotonic is None else monotonic
    one_way = False if monotonic is None else monotonic
    scored = sensitivity, range_, one_way, False, grid, on_grid, score_error
    asked = Asked.read((epsilon, delta, rho), scored, None, None, None)
    if gap is None:
        each = asked.cost.per_draw(LAWS["top_k_exponential"].promise, count)
        distance = -(-4 * asked.range_in_steps // each) * asked.reading.step
    else:
        distance = rational(gap, "gap")
    rows = [("mechanism", "noise rate", "guarantee of a draw", "missed of k", "error")]
    for name in MECHANISMS:
        row = _row(asked, name, size, count, distance)
        rows += [row] if row else []
    promised = ", ".join(
        f"{field.name} = {decimal(value, up=True)}"
        for field in fields(asked.cost)
        if (value := getattr(asked.cost, field.name)) is not None
    )
    verb = "scores" if count == 1 else "score"
    example = (
        f"{count} of them {verb} {decimal(distance)} more than the other {size - count}; "
        f"{_declared(asked)}"
    )
    legend = "noise rate: per unit of score; error: average loss per call, in units of score"
    title = f"top {count} of {size} candidates for a total of {promised}"
    forecasts = None
    if budget is not None:
        named = {"epsilon": epsilon, "delta": delta, "rho": rho, "sensitivity": sensitivity}
        named |= {"range_": range_, "monotonic": one_way, "k": count}
        forecasts = _forecasts(budget, size, {**named, "grid": grid, "on_grid": on_grid})
    return Explanation(title, example, tuple(rows), legend, forecasts)


def _forecasts(
    budget: Budget | Balance, n: int, asked: Mapping[str, Any]
) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """How many calls of each mechanism a budget takes; nothing is charged or drawn."""
    if not isinstance(budget, (Budget, Balance)):
        raise ParameterError(f"budget must be a Budget or a Balance, got {describe(budget)}")
    balance = Balance.fresh(budget) if isinstance(budget, Budget) else budget
    rows: list[tuple[str, ...]] = [("mechanism", "releases")]
    for name in MECHANISMS:
        with suppress(ParameterError):  # no guarantee is proved for this cost
            said = balance.forecast(
                lambda scope, name=name: top_k([0] * n, mechanism=name, ledger=scope, **asked)
            )
            rows.append((name, said))
    return f"in a budget of {balance.budget.numbers()}", tuple(rows)


def _declared(asked: Asked) -> str:
    """The declared change of the scores, and the range that the noise is calibrated to."""
    change = asked.size
    name = "range" if change.sensitivity is None else "sensitivity"
    said = f"{name} {decimal(change.size)}{', monotonic' * change.monotonic}"
    return f"{said}; effective range {decimal(asked.range_in_steps * asked.reading.step)}"


def _sizes(n: object, k: object) -> tuple[int, int]:
    size = integer(n, "n", minimum=1, maximum=_LARGEST)
    return size, integer(k, "k", minimum=1, maximum=size, limit=CANDIDATES)


def _missed(plan: Calibration, n: int, gap: Fraction) -> Fraction | None:
    """The expected number of the k best that are not chosen, rounded up; None for too many."""
    k, drawn, noise_rate = plan.k, plan.law.drawn, plan.noise_rate
    if {"one": n, "again": 2 * (k + 1) * (n + k), "each": k * k}[drawn] > _MOST_WORK:
        return None
    bad = n - k
    # A larger gap misses less, so this is an upper bound.  exp(-rate * gap) itself would need as
    # many digits as the gap is large.
    slowest, _ = noise_rate.nats(64).fractions()
    distance = min(gap, _FARTHEST / slowest)

    def missed(precision: int) -> Interval:
        p = (-(noise_rate.nats(precision) * distance)).exp()
        if drawn == "one":
            return _missed_by_one_shot(k, bad, p)
        if drawn == "again":
            return _missed_by_peeling(k, bad, _misses_of_flips(k, bad, p), precision)
        # The exponential mechanism has the weights 1 and p.
        return _missed_by_peeling(
            k, bad, lambda good, left: left * p / (good + left * p), precision
        )

    return rounded_up(missed) if bad else Fraction(0)


def _row(
    asked: Asked, name: str, n: int, k: int, gap: Fraction
) -> tuple[str, str, str, str, str] | None:
    step = asked.reading.step
    if name == "laplace":
        try:
            plan = calibrate_unordered(asked, n, k)
        except ParameterError:
            return None  # no guarantee is proved for this cost
        rate = plan.noise_rate.rate / step
        return name, decimal(rate), "the whole set", "not known", "not known"
    plan = asked.calibrate(f"top_k_{name}", k)
    rate = rounded_up(plan.noise_rate.nats) / step
    times = f"{plan.draws} x " if plan.draws > 1 else ""
    draw = f"{times}{type(plan.each).__name__}({decimal(plan.each.epsilon, up=True)})"
    missed = _missed(plan, n, gap / step)
    if missed is None:
        return name, decimal(rate), draw, "too large", "too large"
    return name, decimal(rate), draw, decimal(missed), decimal(missed * gap)


def _misses_of_flips(k: int, bad: int, p: Interval) -> _Miss:
    """Permute-and-flip: the winner is uniform among the candidates whose coins accept.

    All the good accept, and of the bad J ~ Bin(bad, p), so a bad one wins with probability
    1 - E[g / (g + J)] = E[J / (g + J)] = bad p E[1 / (g + 1 + J')], J' ~ Bin(bad - 1, p).
    """
    fewest = max(0, bad - 1 - k)
    # inverse[b][g] is E[1 / (g + J)] for J ~ Bin(b, p), computed from inverse[b - 1].
    law = _binomial(fewest, p)
    inverse = {fewest: {g: _mean_inverse(law, g) for g in range(1, 2 * k + 3)}}
    for b in range(fewest + 1, bad):
        below = inverse[b - 1]
        inverse[b] = {
            g: (1 - p) * below[g] + p * below[g + 1] for g in range(1, 2 * k + 2 - (b - fewest))
        }

    def miss(good: int, left: int) -> Interval:
        if not left:
            return Interval.of(0, p.precision)
        return left * p * inverse[left - 1][good + 1]

    return miss


def _missed_by_peeling(k: int, bad: int, miss: _Miss, precision: int) -> Interval:
    """The expected number of bad candidates among k chosen one after the other."""
    one, zero = Interval.of(1, precision), Interval.of(0, precision)
    chances = [one]  # chances[j]: P(j bad candidates were chosen)
    expected = zero
    for chosen in range(k):
        following = [zero] * (len(chances) + 1)
        for wrong, chance in enumerate(chances):
            if wrong > bad:
                continue
            next_wrong = miss(k - chosen + wrong, bad - wrong)
            step = chance * next_wrong
            expected = expected + step
            following[wrong + 1] = following[wrong + 1] + step
            following[wrong] = following[wrong] + chance * (one - next_wrong)
        chances = following
    return expected


def _missed_by_one_shot(k: int, bad: int, p: Interval) -> Interval:
    """The expected number of bad candidates among the k largest with exponential noise.

    J ~ Bin(bad, p) bad candidates reach the upper level.  Exponential noise has no memory, so the
    k winners are uniform among these k + J: E[k J / (k + J)].
    """
    terms = [chance * (k * j) / (k + j) for j, chance in enumerate(_binomial(bad, p))]
    return sum(terms, Interval.of(0, p.precision))


def _binomial(trials: int, p: Interval) -> list[Interval]:
    """The law of Bin(trials, p)."""
    one = Interval.of(1, p.precision)
    kept, misses = one - p, [one]
    for _ in range(trials):
        misses.append(misses[-1] * kept)
    ways, hits, law = 1, one, []
    for j in range(trials + 1):
        law.append(ways * hits * misses[trials - j])
        ways, hits = ways * (trials - j) // (j + 1), hits * p
    return law


def _mean_inverse(law: list[Interval], g: int) -> Interval:
    """E[1 / (g + J)]."""
    terms = (chance / (g + j) for j, chance in enumerate(law))
    return sum(terms, Interval.of(0, law[0].precision))


def decimal(value: Fraction, *, up: bool = False) -> str:
    """Write a number of at least 0 with four significant digits; a whole number in full."""
    if value.denominator == 1 and value < 10**9:
        return str(value)
    above, below = value.as_integer_ratio()
    places, limit = 0, 4 * below.bit_length()
    while above < 1000 * below and places < limit:
        above, places = 10 * above, places + 1
    digits = -(-above // below) if up else round(Fraction(above, below))
    return f"{Decimal(digits).scaleb(-places):.4g}"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]

"""The cost and the expected error of a planned release, before any data is touched."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

from safeselect.accounting.cost import PrivacyCost
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, describe, integer, rational
from safeselect.exact.rate import NoiseRate
from safeselect.planning._expected import (
    miss_of_exponential,
    missed_by_one_shot,
    missed_by_peeling,
    misses_of_flips,
)
from safeselect.planning._numbers import aligned, decimal
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.selection._call import CANDIDATES
from safeselect.selection._table import MECHANISMS, TABLE, Mechanism

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
    mechanism: Mechanism | None = None,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
) -> Fraction:
    """Return how much score `top_k` would lose on average, on made-up scores.

    k of n candidates have the score `gap`; all others have 0.  The loss is the sum of the k best
    scores minus the sum of the chosen scores: `gap` for each of the k best that is missed.  The
    result is in score units.

    Exactness: the exact expectation, rounded up to 64 significant bits.  Where the noise rate times
        the gap exceeds 2**13, the result is an upper bound below 2**-7000.

    Args:
        n: number of candidates, up to 10 000.
        gap: how much better the k best are, in score units; positive rational.
        k, epsilon, delta, rho, sensitivity, range_, monotonic, mechanism, grid, on_grid,
            score_error: as for `top_k`, but without mechanism="laplace", whose law has no short
            form.  With a grid, the noise covers the effective range.  The made-up scores lie on
            the grid if `gap` does.

    Raises:
        ParameterError: as for `top_k`; or n k is too large.

    Example:
        >>> from safeselect import expected_error
        >>> lost = expected_error(n=100, gap=10, k=5, epsilon=1, sensitivity=1, monotonic=True)
        >>> f"{float(lost):.2f}"  # of 50
        '35.48'
    """
    total = PrivacyCost.read(epsilon=epsilon, rho=rho, delta=delta)
    size, count = _sizes(n, k)
    distance = rational(gap, "gap")
    change = Sensitivity.read(sensitivity=sensitivity, range_=range_, monotonic=monotonic)
    name = mechanism or ("one_shot_exponential" if total.is_pure else "exponential")
    if name not in MECHANISMS or name == "laplace":
        names = ", ".join(each for each in MECHANISMS if each != "laplace")
        raise ParameterError(f"mechanism must be one of {names}; got {describe(mechanism)}")
    if not _short_enough(name, size, count):
        raise ParameterError("n and k are too large for an exact expectation")
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    plan = TABLE[name].calibrate(name, total, change.range_in_steps(reading), count)
    return _missed(name, size, count, distance / reading.step, plan.noise_rate) * distance


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
) -> str:
    """Return a table of what each mechanism of `top_k` would cost and lose, in text.

    The example is public and made up: n candidates, k of which score `gap` more than all others.
    By default the scores are counts of users: the sensitivity is 1 and the change monotonic.  No
    data is touched.

    Args:
        k: how many to choose.
        epsilon, delta, rho: the total, as for `top_k`.
        n: candidates of the example; by default the larger of 100 and 10 k.
        gap: of the example, in score units; by default 4 over the noise rate of "exponential",
            rounded up to a whole step.
        sensitivity, range_, monotonic, grid, on_grid, score_error: as for `top_k`; by default
            sensitivity=1, monotonic=True.  The table shows the effective range, to which the noise
            is calibrated; there one sees what a coarse grid costs.

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
        noise rate: per unit of score; error: units of score lost per call, on average
    """
    total = PrivacyCost.read(epsilon=epsilon, rho=rho, delta=delta)
    usual = min(_LARGEST, max(100, 10 * integer(k, "k", minimum=1, maximum=_LARGEST)))
    size, count = _sizes(usual if n is None else n, k)
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    if sensitivity is None and range_ is None:
        sensitivity, monotonic = 1, True if monotonic is None else monotonic
    change = Sensitivity.read(
        sensitivity=sensitivity, range_=range_, monotonic=False if monotonic is None else monotonic
    )
    range_in_steps = change.range_in_steps(reading)
    if gap is None:
        each = total.per_draw(TABLE["exponential"].promise, count)
        distance = -(-4 * range_in_steps // each) * reading.step
    else:
        distance = rational(gap, "gap")
    rows = [("mechanism", "noise rate", "guarantee of a draw", "missed of k", "error")]
    for name in MECHANISMS:
        row = _row(name, size, count, distance, total, range_in_steps, reading.step)
        rows += [row] if row else []
    promised = ", ".join(
        f"{field.name} = {decimal(value)}"
        for field in fields(total)
        if (value := getattr(total, field.name)) is not None
    )
    verb = "scores" if count == 1 else "score"
    example = (
        f"example: {count} of them {verb} {decimal(distance)} more than the other {size - count}; "
        f"{_declared(change, reading)}"
    )
    legend = "noise rate: per unit of score; error: units of score lost per call, on average"
    title = f"top {count} of {size} candidates for a total of {promised}"
    return "\n".join([title, example, *aligned(rows), legend])


def _declared(change: Sensitivity, reading: Reading) -> str:
    """The declared change of the scores, and the range that the noise is calibrated to."""
    name = "range" if change.sensitivity is None else "sensitivity"
    said = f"{name} {decimal(change.size)}{', monotonic' * change.monotonic}"
    effective = decimal(change.range_in_steps(reading) * reading.step)
    return f"{said}; effective range {effective}"


def _sizes(n: object, k: object) -> tuple[int, int]:
    size = integer(n, "n", minimum=1, maximum=_LARGEST)
    return size, integer(k, "k", minimum=1, maximum=size, limit=CANDIDATES)


def _short_enough(name: str, n: int, k: int) -> bool:
    work = {"one_shot_exponential": n, "permute_and_flip": 2 * (k + 1) * (n + k)}
    return work.get(name, k * k) <= _MOST_WORK


def _missed(name: str, n: int, k: int, gap: Fraction, noise_rate: NoiseRate) -> Fraction:
    """The expected number of the k best that are not chosen, rounded up."""
    bad = n - k
    # A larger gap misses less, so this is an upper bound.  exp(-rate * gap) itself would need as
    # many digits as the gap is large.
    slowest, _ = noise_rate.nats(64).fractions()
    distance = min(gap, _FARTHEST / slowest)

    def missed(precision: int) -> Interval:
        p = (-(noise_rate.nats(precision) * Interval.of(distance, precision))).exp()
        if name == "one_shot_exponential":
            return missed_by_one_shot(k, bad, p)
        miss = misses_of_flips(k, bad, p) if name == "permute_and_flip" else miss_of_exponential(p)
        return missed_by_peeling(k, bad, miss, precision)

    return rounded_up(missed) if bad else Fraction(0)


def _row(
    name: str,
    n: int,
    k: int,
    gap: Fraction,
    total: PrivacyCost,
    range_in_steps: Fraction,
    step: Fraction,
) -> tuple[str, str, str, str, str] | None:
    if name == "laplace":
        try:
            _, rate = total.unordered(n, k, range_in_steps * step)
        except ParameterError:
            return None  # no guarantee is proved for this cost
        return name, decimal(rate), "the whole set", "not known", "not known"
    plan = TABLE[name].calibrate(name, total, range_in_steps, k)
    rate = rounded_up(plan.noise_rate.nats) / step
    times = f"{plan.draws} x " if plan.draws > 1 else ""
    draw = f"{times}{type(plan.each).__name__}({decimal(plan.each.epsilon)})"
    if not _short_enough(name, n, k):
        return name, decimal(rate), draw, "too large", "too large"
    missed = _missed(name, n, k, gap / step, plan.noise_rate)
    return name, decimal(rate), draw, decimal(missed), decimal(missed * gap)

"""The most frequent items where even the list of items is private.

Noisy counts compete, in order, with a bottom, itself a candidate.  How far it lies above the first
count that is left out is public: it depends on parameters only, is rounded up once and is exact
from then on.  Proofs: `docs/mathematics.md`, section 15.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import count
from typing import Any, Literal, final, get_args

import numpy as np
import numpy.typing as npt

from safeselect import engine
from safeselect.accounting.cost import read_epsilon
from safeselect.accounting.moments import bun_steinke_rho
from safeselect.accounting.rate import per_draw_epsilon
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.accounting.search import largest, rounded
from safeselect.engine.geometric import discrete_laplace
from safeselect.errors import BudgetError, ParameterError, ScoreError
from safeselect.exact.interval import Interval, NoiseRate, rounded_up
from safeselect.exact.parameters import Number, describe, exact_text, integer, rational, read_choice
from safeselect.mechanisms.items import HeldCounts, check_unknown, hold_counts
from safeselect.mechanisms.measure import Law, count_noise, noise_of
from safeselect.mechanisms.sessions import InTurns
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP, ZeroConcentratedDP
from safeselect.randomness.guard import sealed
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, in_one_sentence, read_ledger, unit_of
from safeselect.release.results import TopK
from safeselect.scores.candidates import Labels, Scores
from safeselect.scores.reading import flag

Noisy = Literal["gumbel", "laplace"]
Counted = npt.NDArray[np.int64]
"""The largest counts of a table, in the fixed order; private."""
Parts = tuple[tuple[AnyGuarantee, int], ...]

_UNREAD = "this session ended because its counts cannot be read; the charge remains"
_MECHANISM = "pay_what_you_get_gumbel/1"
COUNTED = {"sensitivity": "1", "monotonic": "yes", "effective_range": "1"}
"""A user counts once for an item, a key or a group, so this is no choice of the caller's."""

_LISTED = {**COUNTED, "grid": "none", "minimize": "no"}
_MOST_PLACES = 2**20
_FINEST = 20  # the grid is 1 / 2**20 or coarser: 2**42 counts of it, and any offset, fit 64 bits
_PER_NAT = 64  # grid steps a nat, at least: rounding the offset up costs at most 1/64 nat


@lru_cache(maxsize=1 << 14)
def gumbel_offset(epsilon: Fraction, odds: Fraction, m: int, grid: Fraction) -> int:
    """Return the least s >= 0 such that s * grid >= ln(m / odds) / epsilon, in grid steps.

    With Gumbel noise of scale 1/epsilon, if m items lie this far below the threshold, some item
    beats it with probability at most odds / (1 + odds).

    Args:
        odds: delta / (1 - delta) for the delta that the threshold may cost.
    """

    def offset(precision: int) -> Interval:
        return Interval.of(m / odds, precision).log() / (epsilon * grid)

    whole = rounded_up(offset)
    return max(0, -(-whole.numerator // whole.denominator))


def laplace_failure(epsilon: Fraction, t: int, precision: int) -> Interval:
    """Enclose P(X - Y >= t), t >= 0, for independent discrete Laplace X, Y of scale 1/epsilon.

    a**t (t (1 - a) + (1 + a + 2 a**2) / (1 + a)) / (1 + a)**2 with a = e**-epsilon.
    """
    a, rest = (-Interval.of(epsilon, precision)).exp(), -Interval.of(-epsilon, precision).expm1()
    sides = 1 + a
    inner = t * rest + (sides + a * a + a * a) / sides
    return (-Interval.of(epsilon * t, precision)).exp() * inner / (sides * sides)


@lru_cache(maxsize=256)
def laplace_offset(epsilon: Fraction, delta: Fraction, m: int) -> int:
    """Return the least tau >= 0 such that m * P(X - Y > tau) <= delta.

    X and Y are integers, so "> tau" is ">= tau + 1".  The comparison uses the upper end of a
    128-bit enclosure, so it is certified.
    """

    def allowed(tau: int) -> bool:
        chance = laplace_failure(epsilon, tau + 1, 128) * m
        return bool(chance.bounded and chance.fractions()[1] <= delta)

    high = next(1 << power for power in count() if allowed(1 << power))
    return bisect_left(range(high), True, key=allowed)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The public numbers of one list.

    Args:
        k: how many labels at most.
        least, most: the range in which k_bar, the number of candidates, is chosen.
        epsilon: of each draw.
        odds: p / (1 - p) for the probability p that the bottom fails to hide an item.
        contributions: how many items one user may change; None for any number.

    Raises:
        ParameterError: epsilon is outside the range of the noise rate.
    """

    k: int
    least: int
    most: int
    epsilon: Fraction
    odds: Fraction
    contributions: int | None

    def __post_init__(self) -> None:
        _ = self.noise_rate

    @property
    def draws(self) -> int:
        """The most draws: one for each label, and one more where k_bar is chosen."""
        return self.k + (self.least < self.most)

    @property
    def as_record(self) -> dict[str, str]:
        """The parameters that only such a list has, for records."""
        said = {"least_k_bar": str(self.least), "most_k_bar": str(self.most)}
        said |= {"noise_rate": exact_text(self.epsilon)}
        if self.least == self.most:
            said |= {"offset": exact_text(Fraction(self.offset(self.most), 1 << self.fineness))}
        cap = self.contributions
        return said if cap is None else said | {"max_contributions": str(cap)}

    @property
    def fineness(self) -> int:
        """The public grid is 2**-fineness counts."""
        return min(_FINEST, max(0, (-(-_PER_NAT * self.epsilon // 1) - 1).bit_length()))

    @property
    def noise_rate(self) -> NoiseRate:
        """Gumbel noise of scale 1 / epsilon, per grid step."""
        return NoiseRate(self.epsilon / (1 << self.fineness))

    def offset(self, k_bar: int) -> int:
        """Grid steps from the (k_bar + 1)-th count to the bottom."""
        m = k_bar if self.contributions is None else min(k_bar, self.contributions)
        grid = Fraction(1, 1 << self.fineness)
        return (1 << self.fineness) + gumbel_offset(self.epsilon, self.odds, m, grid)


def read_total(epsilon: object, delta: object) -> ApproximateDP:
    """Read the total cost; both numbers are required and positive.

    Raises:
        ParameterError: one of them is missing or wrong.
    """
    if epsilon is None or delta is None:
        raise ParameterError(
            "an unknown domain requires epsilon and delta; for each user, delta bounds the "
            "probability that a release shows an item that no other user has"
        )
    return ApproximateDP(read_epsilon(epsilon), rational(delta, "delta", below=1))


def read_contributions(max_contributions: object) -> int | None:
    """Read how many items one user may change; None for any number."""
    if max_contributions is None:
        return None
    return integer(max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)


def read_places(k: object, k_bar: object) -> tuple[int, int, int]:
    """Read k, and k_bar as an integer or a pair (least, most); return k, least and most.

    Raises:
        ParameterError: they are not integers with 1 <= k <= least <= most <= 2**20.
    """
    count = integer(k, "k", minimum=1, maximum=_MOST_PLACES)
    if not isinstance(k_bar, tuple):
        places = integer(k_bar, "k_bar", minimum=count, maximum=_MOST_PLACES)
        return count, places, places
    if len(k_bar) != 2:
        raise ParameterError(f"k_bar must be an integer or (least, most), got {describe(k_bar)}")
    least = integer(k_bar[0], "the least k_bar", minimum=count, maximum=_MOST_PLACES)
    return count, least, integer(k_bar[1], "the largest k_bar", minimum=least, maximum=_MOST_PLACES)


def plan_list(
    total: ApproximateDP,
    places: tuple[int, int, int],
    contributions: int | None,
    *,
    draws: int,
    lists: int,
) -> tuple[ListQuery, Fraction]:
    """Return the list that a total cost allows, and the part of delta for the bottoms of all lists.

    That part is all of delta, with epsilon / draws for each draw, or half of delta: the one that
    puts the bottom lower.  The choice depends on parameters only, so it is public.

    Args:
        places: k, and the least and the most k_bar, as `read_places` returns them.
        draws: how many draws the total pays for.
        lists: how many bottoms it pays for.
    """
    k, least, most = places
    m = most if contributions is None else min(most, contributions)
    grid = Fraction(1, 1 << _FINEST)
    splits = []
    for part in (total.delta, total.delta / 2):
        rest = total.delta - part or None
        each = per_draw_epsilon(BoundedRange, draws, epsilon=total.epsilon, delta=rest)
        splits.append((gumbel_offset(each, odds(part / lists), m, grid), each, part))
    _, each, part = min(splits)
    return ListQuery(k, least, most, each, odds(part / lists), contributions), part


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho of 32 bits such that rho-zCDP gives this epsilon at this delta."""

    def cost(rho: Fraction) -> Fraction:
        return ZeroConcentratedDP(rho).approximate(delta).epsilon

    return largest(cost, epsilon, bun_steinke_rho(epsilon, delta))


@lru_cache(maxsize=64)
def plan_with_counts(
    total: ApproximateDP, places: tuple[int, int, int], contributions: int | None
) -> tuple[ListQuery, Fraction, Law]:
    """Return a list whose counts are released too, the part of delta for its bottom, their noise.

    Half of delta is for the bottom.  What epsilon and the other half allow as zCDP is for the draws
    and for the counts, about half for each.  The noise covers as many counts as a list has at most:
    it depends neither on the items that occur nor on those that come out.

    Args:
        places: k, and the least and the most k_bar, as `read_places` returns them.
    """
    k, least, most = places
    part = total.delta / 2
    whole = rho_within(total.epsilon, part)
    draws = k + (least < most)
    each = per_draw_epsilon(BoundedRange, draws, rho=whole / 2)
    rho = rounded(whole - draws * BoundedRange(each).zcdp.rho)
    # One user moves each count by at most 1, so this is the largest sum of squares.
    moved = Fraction(k if contributions is None else min(k, contributions))
    law = Law.of(ZeroConcentratedDP(rho), moved)
    return ListQuery(k, least, most, each, odds(part), contributions), part, law


Drawn = tuple[tuple[str, ...], tuple[int, ...] | None, int]
"""The labels of a list, their noisy counts or None, and the k_bar that it was drawn from."""


@dataclass(frozen=True, slots=True)
class ListPlan:
    """A list in one of the three ways of `unknown_domain_top_k`, all of it public.

    Attributes:
        law: how its mechanisms' names end.
        parts: what draws, counts and bottom cost.
        said: its parameters, for records.
        draw: what to do with the counts, once they are read.
    """

    law: str
    parts: Parts
    said: dict[str, str]
    draw: Callable[[HeldCounts, Call[Counted]], Drawn]


def plan_of_list(
    total: ApproximateDP,
    places: tuple[int, int, int],
    contributions: int | None,
    *,
    laplace: bool,
    with_counts: bool = False,
    lists: int = 1,
) -> ListPlan:
    """Plan one list, of several that a total pays for.

    Args:
        places: k, and the least and the most k_bar, as `read_places` returns them.
        laplace: whether the noise is Laplace noise, and counts are released.
        with_counts: whether a list with Gumbel noise has counts too; then it is one list.

    Raises:
        ParameterError: a list with Laplace noise whose k_bar is chosen.
    """
    k, least, most = places
    if laplace:
        if least < most:
            raise ParameterError("noise='laplace' requires a single k_bar, not a pair")
        share = ApproximateDP(total.epsilon / lists, total.delta / lists)
        offset, noise_rate, said = plan_counts(share, least, contributions or 0)
        said["max_contributions"] = str(contributions)
        bottom = ApproximateDP(Fraction(0), share.delta)

        def above(held: HeldCounts, call: Call[Counted]) -> Drawn:
            return *_apart(_above_bottom(held, call, offset, noise_rate)[:k]), least

        return ListPlan("laplace", ((PureDP(share.epsilon), lists), (bottom, lists)), said, above)
    if with_counts:
        query, part, law = plan_with_counts(total, places, contributions)
        draws, bottom = (BoundedRange(query.epsilon), query.draws), ApproximateDP(Fraction(0), part)
        said = query.as_record | noise_of(law.name, law.parameter).as_parameters()
        said["sigma_squared"] = exact_text(law.parameter)
        paid = draws, (law.guarantee, 1), (bottom, 1)
        return ListPlan("gumbel_with_counts", paid, said, partial(_with_counts, query, law))
    draws_of_all = lists * (k + (least < most))
    query, part = plan_list(total, places, contributions, draws=draws_of_all, lists=lists)
    bottom = ApproximateDP(Fraction(0), part / lists)

    parts = (BoundedRange(query.epsilon), draws_of_all), (bottom, lists)
    return ListPlan("gumbel", parts, query.as_record, partial(draw_list, query))


def plan_counts(
    total: ApproximateDP, k_bar: int, contributions: int
) -> tuple[int, NoiseRate, dict[str, str]]:
    """What a list with counts adds to a call; all of it is public.

    Returns:
        The bottom's offset above the (k_bar + 1)-th count, the noise, and both for records.
    """
    noise_rate = NoiseRate(each := total.epsilon / contributions)  # refuses extreme rates, first
    offset = 1 + laplace_offset(each, total.delta, min(k_bar, contributions))
    said = {"noise_rate": exact_text(each), "offset": str(offset), "k_bar": str(k_bar)}
    return offset, noise_rate, said | count_noise(each).as_parameters()


def odds(delta: Fraction) -> Fraction:
    """Return the odds d of the probability delta: d / (1 + d) = delta."""
    return delta / (1 - delta)


def draw_list(query: ListQuery, held: HeldCounts, call: Call[Counted]) -> Drawn:
    """Return the labels of one noisy list, without counts.

    The bottom lies 1 + tau above the (k_bar + 1)-th count; the list ends before the bottom, before
    the first dummy, or with k labels.

    Reveals: nothing but the result; shapes and requests follow from the query and, where it was
        chosen, from k_bar.
    """
    counts, chosen = call.values, query.least < query.most
    k_bar = _choose_places(query, call) if chosen else query.least
    scores_on_grid = np.empty(k_bar + 1, dtype=np.uint64)
    # Only differences matter, and no count here lies below the (k_bar + 1)-th.
    np.subtract(counts[:k_bar], counts[k_bar], out=scores_on_grid[:k_bar], casting="unsafe")
    np.left_shift(scores_on_grid[:k_bar], np.uint64(query.fineness), out=scores_on_grid[:k_bar])
    scores_on_grid[k_bar] = query.offset(k_bar)
    try:
        ranking = engine.noisy_top_k("gumbel", scores_on_grid, query.k, query.noise_rate, call.bits)
    finally:
        scores_on_grid.fill(0)
    labels: list[str] = []
    for place in ranking.indices:
        label = held.items[place] if place < k_bar else None
        if label is None:
            break
        labels.append(label)
    return tuple(labels), None, k_bar


def _choose_places(query: ListQuery, call: Call[Counted]) -> int:
    """Choose the k_bar whose bottom is low, by one exponential mechanism.

    The score of k_bar is minus its bottom.  Between neighbours all (k_bar + 1)-th counts move the
    same way and by at most 1, and so do all scores.
    """
    offsets = [query.offset(k_bar) for k_bar in range(query.least, query.most + 1)]
    highest = max(offsets)
    below = call.values[query.least] - call.values[query.least : query.most + 1]
    scores_on_grid = below.astype(np.uint64)
    below.fill(0)
    np.left_shift(scores_on_grid, np.uint64(query.fineness), out=scores_on_grid)
    lowered = np.array([highest - offset for offset in offsets], np.uint64)
    np.add(scores_on_grid, lowered, out=scores_on_grid)
    try:
        ranking = engine.noisy_top_k("gumbel", scores_on_grid, 1, query.noise_rate, call.bits)
        return query.least + ranking.indices[0]
    finally:
        scores_on_grid.fill(0)


def unknown_domain_top_k(
    counts: Scores[Any],
    *,
    k: int,
    k_bar: int | tuple[int, int],
    epsilon: Number,
    delta: Number,
    max_contributions: int | None = None,
    noise: Noisy | None = None,
    with_counts: bool = False,
    places: int | Literal["all"] | None = None,
    labels: Labels[Any] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[str]:
    """Choose up to k items with large counts from a table whose set of items is private.

    The k_bar largest counts compete with a threshold, the bottom, which lies 1 + tau above the
    (k_bar + 1)-th count.

    - "gumbel": all of them get Gumbel noise of scale 1 / epsilon_0. The result contains the labels
      in the order of their noisy counts, down to the bottom. One user may have any number of items.
    - "laplace": all of them get discrete Laplace noise of scale max_contributions / epsilon. The
      result contains at most k labels *and* noisy counts above the noisy bottom.
    - "gumbel" with `with_counts`: the labels are chosen as above, with a smaller epsilon_0. Each
      count gets additional discrete Gaussian noise. One user may have any number of items, because
      the noise covers k counts in any case.

    A user counts at most once for an item. Pass the whole table. If the counting engine returns
    only the largest counts, pass at least the k_bar + 1 largest in the order (count descending,
    label ascending). The (k_bar + 1)-th count sets the bottom, which would be too low without it.
    `Counts` state which counts they contain, and are refused if unsuitable. For other counts,
    pass `places`.

    Items are strings. A number stands for its shortest plain decimal: 1, 1.0, True and '1' are one
    item. If several labels are the same item, the largest count is kept. Labels of other types
    (None, NaN, a date, a tuple, bytes) are dropped. A label never raises an error: labels are
    private. Read items as text (`dtype=str`), because a reader may change values such as `007`,
    `1.50` or `1e3` unnoticed.

    Guarantee: ApproximateDP(epsilon, delta).  For "gumbel", a part d of delta pays for the bottom:
        tau = ln(m (1 - d) / d) / epsilon_0, rounded up, with m = min(k_bar, max_contributions).
        The rest of delta pays for the composition of k draws (k + 1 where k_bar is chosen), each
        BoundedRange(epsilon_0).  d is delta, with epsilon_0 = epsilon / draws, or half of it: the
        one that gives the lower bottom.  For "laplace", all of delta pays for the bottom:
        m P(X - Y > tau) <= delta for the noise X of an item and Y of the bottom.  With "gumbel"
        and counts, half of delta is d, and (epsilon, delta / 2) follows from the zCDP of the draws
        and of the counts, rho, together; sigma**2 = min(k, max_contributions) / (2 rho).
    Neighbours: tables that differ by all rows of one user, so that counts change by at most 1, all
        in the same direction. With `max_contributions`, at most that many counts change.
        Replace-one neighbours are not covered.
    Source: Durfee and Rogers (2019), Algorithms 1 and 2, with the thresholds that are proved in
        `docs/mathematics.md`, section 15; counts without a cap: after Rogers (2024), Theorem 15.1.
    Exactness: all computation uses integers; the bottom is rounded up once to a public rational.
    Reveals: the time to find the k_bar + 1 largest depends on the table; the time after that does
        not.

    Args:
        counts: `Counts`, a mapping from labels to numbers of users, a pandas column with its index,
            or numbers with `labels`; integers of any type. Fewer than k items, or none, is not an
            error.
        k: largest number of labels.
        k_bar: number of items that compete, k or more; or a pair (least, most), from which an
            additional draw chooses it.
        epsilon: total cost of this call, together with delta; a positive rational.
        delta: total cost of this call, together with epsilon; a positive rational.
        max_contributions: largest number of items that one user can change; required for "laplace".
        noise: see above (default: "laplace" with max_contributions, otherwise "gumbel").
        with_counts: also release noisy counts with "gumbel"; "laplace" always does.
        places: number of largest counts that you pass, or "all"; required except for `Counts`.
        labels: labels of the items, if counts is not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there before the first bit is
            drawn, and the result has a receipt.

    Returns:
        TopK: at most k labels, best first; the list can be empty. With "laplace" and `with_counts`
            it also has the noisy numbers of users, largest first.

    Raises:
        ParameterError: a parameter is wrong, or does not match the `Counts`.
        ScoreError: the counts cannot be read.
        SourceError: the source failed.

    Example:
        >>> from safeselect import unknown_domain_top_k
        >>> users = {"tea": 50_000, "milk": 20_000, "a rare item": 1}
        >>> found = unknown_domain_top_k(users, k=2, k_bar=2, epsilon=1, delta="1e-9", places="all")
        >>> found.labels, found.guarantee.delta == Fraction(1, 10**9)
        (('tea', 'milk'), True)
    """
    total = read_total(epsilon, delta)
    places_of_list = count, _, most = read_places(k, k_bar)
    contributions = read_contributions(max_contributions)
    scope = read_ledger(ledger, monotonic=True)
    flag(with_counts, "with_counts")
    if noise is not None:
        read_choice(noise, "noise", get_args(Noisy))
    if noise == "laplace" and contributions is None:
        raise ParameterError("noise='laplace' requires max_contributions")
    check_unknown(counts, places, k_bar=most, contributions=contributions, unit=unit_of(scope))
    laplace = contributions is not None and noise != "gumbel"
    listed = total, places_of_list, contributions
    plan = plan_of_list(*listed, laplace=laplace, with_counts=with_counts)
    held = hold_counts(counts, labels, most + 1)
    said = {**_LISTED, **plan.said, "k": str(count), "candidates": str(most + 1)}
    charge = Charge(f"unknown_domain_top_k_{plan.law}/1", total, plan.parts, said)
    bytes_from = None if source is None else resolve(source)
    with Call(charge, held.read, source=bytes_from, scope=scope, unit=held.unit) as call:
        found, noisy, used = plan.draw(held, call)
        return call.commit(TopK(labels=found, counts=noisy, k_bar=used, **call.header))


def _with_counts(query: ListQuery, law: Law, held: HeldCounts, call: Call[Counted]) -> Drawn:
    """A list, and a count with noise of its own for each label."""
    found, _, used = draw_list(query, held, call)
    # As many as there are at most, so that only the labels tell how many came out.
    drawn = law.draw(query.k, call.bits)
    exact = dict(zip(held.items, call.values.tolist(), strict=True))
    shown = _largest_first(
        (label, exact[label] + extra) for label, extra in zip(found, drawn, strict=False)
    )
    return *_apart(shown), used


def _apart(shown: list[tuple[str, int]]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    return tuple(label for label, _ in shown), tuple(each for _, each in shown)


def _above_bottom(
    held: HeldCounts, call: Call[Counted], offset: int, noise_rate: NoiseRate
) -> list[tuple[str, int]]:
    """Return the items whose noisy count is above the noisy bottom, the largest first.

    Strictly above: to pass, an item needs noise of at least the offset.
    """
    noise = discrete_laplace(held.size, noise_rate, call.bits).tolist()
    noisy = [count + extra for count, extra in zip(call.values.tolist(), noise, strict=True)]
    bottom = noisy.pop() + offset
    return _largest_first(
        (label, count)
        for label, count in zip(held.items[:-1], noisy, strict=True)
        if label is not None and count > bottom
    )


def _largest_first(shown: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return items in the order of their noisy counts, equal ones in the order of their labels.

    So the order reveals no more than the released pairs.
    """
    return sorted(shown, key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a session's queries, or the budget that is left for them.

    Attributes:
        outcomes: the labels returned, one more for each query that returned fewer than it asked
            for, and one more for each that chose k_bar.
        queries: the number of queries.
    """

    outcomes: int
    queries: int


def plan_lists(
    total: ApproximateDP, outcomes: object, queries: object
) -> tuple[ListQuery, Charge, Spent]:
    """Return a list of a session that a total pays for, what the session costs, and its limits.

    Raises:
        ParameterError: outcomes or queries are no such numbers.
    """
    most = integer(outcomes, "outcomes", minimum=1, maximum=_MOST_PLACES)
    limit = Spent(most, integer(queries, "queries", minimum=1, maximum=_MOST_PLACES))
    query, part = plan_list(total, (1, 1, 1), None, draws=most, lists=limit.queries)
    parts = (BoundedRange(query.epsilon), most), (ApproximateDP(Fraction(0), part), 1)
    limits = {name: str(number) for name, number in asdict(limit).items()} | COUNTED
    return query, Charge(_MECHANISM, total, parts, limits), limit


@final
@sealed
class PayWhatYouGet(InTurns):
    """A session whose top-k queries on unknown domains share a limit on the number of draws. A
    query that succeeds uses up only the draws that it makes.

    A query has the law of `unknown_domain_top_k` with Gumbel noise, with the session's epsilon per
    draw and delta per query. A list of k labels takes k draws. A list that ends at the bottom after
    r < k labels takes r + 1 draws. A query therefore costs min(r + 1, k) outcomes, or one more if
    it also chooses k_bar. Before each query, its largest cost of k (or k + 1) outcomes is reserved.
    Afterwards the unused part is returned, unless the query failed.

    Guarantee: all queries together are ApproximateDP(epsilon, delta), however the queries and their
        tables are chosen.  There are at most `outcomes` draws, each BoundedRange(epsilon_0), and
        `queries` bottoms; the bound for all of them is fixed when the session opens.
    Neighbours: as for `unknown_domain_top_k`, in all tables at once.
    Source: Durfee and Rogers (2019), "pay what you get", with the accounting that is proved in
        `docs/mathematics.md`, Theorem 9.
    Reveals: `spent` follows from what was released.

    A session belongs to one process. It cannot be copied, and a forked child cannot use it. Threads
    take turns.

    With a ledger, one record charges the whole cost when the session opens. A second record settles
    the charge when the session is exhausted or closed. It states how many outcomes and queries were
    used. The charge remains in any case. If counts cannot be read, the session ends, and the second
    record counts this refusal. While the scope is closed, the session answers nothing.

    Args:
        outcomes: largest number of outcomes of all queries together.
        queries: largest number of queries.
        epsilon, delta: total cost of the session, charged when it opens.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there when the session opens.
            Close the session, or use a `with` block, to record the part that was used.
        source: as for `unknown_domain_top_k`.

    Raises:
        ParameterError: a parameter is wrong.
    """

    __slots__ = ("_charge", "_guarantee", "_limit", "_list", "_source", "_spent", "_unit")
    _closed = BudgetError

    def __init__(
        self,
        *,
        outcomes: int,
        queries: int,
        epsilon: Number,
        delta: Number,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        super().__init__()
        whole = self._guarantee = read_total(epsilon, delta)
        self._list, self._charge, self._limit = plan_lists(whole, outcomes, queries)
        self._source = source if source is None else resolve(source)
        scope = read_ledger(ledger, monotonic=True)
        self._unit = unit_of(scope)
        self._spent = Spent(0, 0)
        if scope is not None:
            self._open(self._charge, resolve(source), scope, lambda _: None)

    def _used(self) -> Mapping[str, int]:
        return asdict(self._spent)

    @property
    def guarantee(self) -> ApproximateDP:
        """The cost of the whole session; it does not depend on how much of the session is used."""
        return self._guarantee

    @property
    def parts(self) -> tuple[AnyGuarantee, ...]:
        """The guarantees of the draws and thresholds; their composition is `guarantee`."""
        return tuple(part for part, times in self._charge.parts for _ in range(times))

    @property
    def spent(self) -> Spent:
        """The number of outcomes and the number of queries used so far."""
        return self._spent

    @property
    def remaining(self) -> Spent:
        """The number of outcomes and the number of queries that remain.

        A query for k labels requires k outcomes, or k + 1 if it also chooses k_bar.
        """
        spent = self._spent
        return Spent(self._limit.outcomes - spent.outcomes, self._limit.queries - spent.queries)

    def query(
        self,
        counts: Scores[Any],
        *,
        k: int,
        k_bar: int | tuple[int, int],
        max_contributions: int | None = None,
        places: int | Literal["all"] | None = None,
        labels: Labels[Any] = None,
    ) -> TopK[str]:
        """Choose up to k items with large counts, as one query of the session.

        The arguments are those of `unknown_domain_top_k`.

        The `guarantee` of each result is that of the whole session. Do not add them up.

        Raises:
            ParameterError, ScoreError: an argument is wrong, and nothing was used; or the counts
                cannot be read. In the second case the query was used, because the error depends on
                the counts, and with a ledger the session ends.
            BudgetError: the session has too little budget left, or the session or the scope is
                closed (`LedgerError`: the ledger cannot be used); nothing was used.
            SourceError: the source failed, or the session belongs to another process.
        """
        k, least, most = read_places(k, k_bar)
        contributions = read_contributions(max_contributions)
        check_unknown(counts, places, k_bar=most, contributions=contributions, unit=self._unit)
        query = replace(self._list, k=k, least=least, most=most, contributions=contributions)
        with self._one():
            with self._begin():
                self._check_open()
                self._require(query.draws)
                held = hold_counts(counts, labels, most + 1)
                # The largest cost, before a count is looked at and before the first bit of noise.
                self._spend(query.draws, 1)
                found = self._draw(query, held)
                self._one()  # a child that was forked meanwhile has no answer of its own
                # Returns the draws that were reserved and not made: min(r + 1, k) were.
                self._spend(min(len(found) + 1, k) - k, 0)
            if 0 in (self.remaining.outcomes, self.remaining.queries):
                self._exhausted()
        return found

    def _draw(self, query: ListQuery, held: HeldCounts) -> TopK[str]:
        """Read the counts, on which no later error depends, and draw one list."""
        read = held.read if self._call is None else partial(in_one_sentence, held.read, _UNREAD)
        counted = {"k": str(query.k), "candidates": str(held.size)}
        charge = replace(self._charge, parameters={**_LISTED, **query.as_record, **counted})
        unit = self._unit or held.unit
        try:
            with Call(charge, read, source=self._source, scope=None, unit=unit) as call:
                labels, _, k_bar = draw_list(query, held, call)
                return TopK(labels=labels, k_bar=k_bar, **call.header)
        except ScoreError:
            if self._call is None:
                raise
        # The error depends on the counts: on a ledger, one sentence, which is counted.
        raise self._refused((ScoreError, _UNREAD))

    def _require(self, worst: int) -> None:
        left = self.remaining
        if left.queries < 1:
            raise BudgetError("the session has no queries left")
        if left.outcomes < worst:
            raise BudgetError(
                f"outcomes left in the session: {left.outcomes}; this query can use up to {worst}; "
                "a smaller k, or a number as k_bar, uses fewer"
            )

    def _spend(self, outcomes: int, queries: int) -> None:
        self._spent = Spent(self._spent.outcomes + outcomes, self._spent.queries + queries)

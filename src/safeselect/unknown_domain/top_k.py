"""The most frequent items where even the list of items is private."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, get_args

from safeselect.engine import single
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, PureDP
from safeselect.promises.records import exact_text
from safeselect.randomness.source import Source
from safeselect.release.call import Scope, read_ledger, unit_of
from safeselect.scores.counts import check_unknown
from safeselect.selection._arguments import Labels, Scores
from safeselect.selection._call import Call
from safeselect.selection._table import named_engine
from safeselect.unknown_domain._bottom import (
    ListQuery,
    draw_list,
    odds,
    open_call,
    read_contributions,
    read_places,
    read_total,
    split_delta,
)
from safeselect.unknown_domain._discovered import DiscoveredTopK
from safeselect.unknown_domain._histogram import HeldCounts, hold_counts
from safeselect.unknown_domain._threshold import laplace_offset

Noise = Literal["gumbel", "laplace"]
_NOISES: tuple[str, ...] = get_args(Noise)


def unknown_domain_top_k(
    counts: Scores[Any],
    *,
    k: int,
    k_bar: int | tuple[int, int],
    epsilon: Number,
    delta: Number,
    threshold_delta: Number | None = None,
    max_contributions: int | None = None,
    noise: Noise | None = None,
    places: int | Literal["all"] | None = None,
    labels: Labels[Any] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> DiscoveredTopK:
    """Choose at most k of the items with the largest counts; the set of items is private too.

    The k_bar largest counts compete with a bottom, which lies 1 + tau above the (k_bar + 1)-th.

    - "gumbel": all of them get Gumbel noise of scale 1 / epsilon_0.  The result is the labels in
      the order of their noisy counts, down to the bottom.  One user may have any number of items.
    - "laplace": all get discrete Laplace noise of scale max_contributions / epsilon.  The result is
      the labels *and* noisy counts above the noisy bottom, k at most.

    A user counts at most once for an item.  Pass the whole table.  If the counting engine cut it,
    pass at least the k_bar + 1 largest counts in the order (count descending, label ascending): the
    (k_bar + 1)-th sets the bottom, which would lie too low without it.  `Counts` state what they
    are, and are refused if they do not fit; for other counts `places` states it.

    Items are texts, and labels are private, so no label is an error.  A number is its shortest
    plain decimal: 1, 1.0, True and '1' are one item.  Several labels of one item keep the larger
    count.  A label that can be no item (None, NaN, a date, a tuple, bytes) is dropped.  What a
    reader made of `007`, `1.50` or `1e3` cannot be seen here: read items as text (`dtype=str`).

    Guarantee: ApproximateDP(epsilon, delta).  For "gumbel", `threshold_delta` of delta pays for the
        bottom: tau = ln(m (1 - threshold_delta) / threshold_delta) / epsilon_0, rounded up, with
        m = min(k_bar, max_contributions).  The rest of delta pays for the composition of k draws
        (k + 1 where k_bar is chosen), each BoundedRange(epsilon_0).  For "laplace", all of delta
        pays for the bottom: m P(X - Y > tau) <= delta for the noise X of an item and Y of the
        bottom.
    Neighbours: tables that differ by all rows of one user, so that counts change by at most 1 and
        all the same way; with `max_contributions`, at most that many counts change.  Not
        replace-one.
    Source: Durfee and Rogers (2019), Algorithms 1 and 2, with the thresholds that are proved in
        `docs/mathematics.md`, section 15.
    Exactness: integers throughout; the bottom is rounded up once to a public rational.
    Reveals: the time to find the k_bar + 1 largest depends on the table; the time after does not.

    Args:
        counts: `Counts`, a mapping label -> number of users, a pandas column with its index, or
            numbers with `labels`; integers of any type.  Fewer than k items, or none, are not an
            error.
        k: the largest number of labels.
        k_bar: how many items compete, k or more; or a pair (least, most), in which one more draw
            chooses it.
        epsilon: total cost of this call, with delta; a positive rational.
        delta: total cost of this call, with epsilon; a positive rational.
        threshold_delta: the part of delta that pays for the bottom.  By default all of delta, with
            epsilon_0 = epsilon / draws, or half of delta: the one that gives the lower bottom.
        max_contributions: how many items one user may change; required for "laplace".
        noise: see above; by default "laplace" if max_contributions is given, else "gumbel".
        places: how many of the largest counts these are, or "all"; required except for `Counts`.
        labels: the items' labels, if counts is not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there before the first bit is
            drawn, and the result has a receipt.
        engine: "reference" for the scalar tier.

    Returns:
        DiscoveredTopK: at most k labels, best first, often none; with "laplace" their noisy counts
        too, in users.

    Raises:
        ParameterError: a parameter is wrong, or does not fit the `Counts`.
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
    count, least, most = read_places(k, k_bar)
    contributions = read_contributions(max_contributions)
    scope = read_ledger(ledger, monotonic=True)
    if noise is not None and not (isinstance(noise, str) and noise in _NOISES):
        raise ParameterError(f"noise must be 'gumbel' or 'laplace', got {describe(noise)}")
    if noise == "laplace" and contributions is None:
        raise ParameterError("noise='laplace' needs max_contributions")
    check_unknown(counts, places, k_bar=most, contributions=contributions, unit=unit_of(scope))
    if contributions is not None and noise != "gumbel":
        if isinstance(k_bar, tuple) or threshold_delta is not None:
            raise ParameterError("noise='laplace' takes one k_bar, and no threshold_delta")
        offset, noise_rate = plan_counts(total, least, contributions)
        held = hold_counts(counts, labels, least + 1)
        call = open_call(held, source, engine, ledger)
        tier: single.Variates = named_engine(engine, single, single.REFERENCE)
        return _with_counts(total, count, held, call, tier, offset, noise_rate)
    query, part = plan_list(total, (count, least, most), contributions, threshold_delta)
    held = hold_counts(counts, labels, query.most + 1)
    call = open_call(held, source, engine, ledger)
    return _list(total, part, query, held, call)


def _list(
    total: ApproximateDP, part: Fraction, query: ListQuery, held: HeldCounts, call: Call
) -> DiscoveredTopK:
    """Return labels in the order of their counts with Gumbel noise, down to the bottom."""
    each, bottom = BoundedRange(query.epsilon), ApproximateDP(Fraction(0), part)
    mechanism = "unknown_domain_top_k_gumbel/1"
    parts = (each, query.draws), (bottom, 1)
    with call.release(total, mechanism, parts=parts, k=query.k, more=query.as_record):
        found, chosen = draw_list(query, held, call)
        return call.released(
            DiscoveredTopK(
                labels=found,
                counts=None,
                k_bar=chosen,
                offset=query.offset_in_counts(chosen),
                guarantee=total,
                parts=(*(each,) * query.draws, bottom),
                mechanism=mechanism,
                source=call.source_name,
                statement=call.statement,
            )
        )


def _with_counts(
    total: ApproximateDP,
    k: int,
    held: HeldCounts,
    call: Call,
    tier: single.Variates,
    offset: int,
    noise_rate: NoiseRate,
) -> DiscoveredTopK:
    """Return the labels and counts that lie above the bottom, all with Laplace noise."""
    parts = (PureDP(total.epsilon), ApproximateDP(Fraction(0), total.delta))
    mechanism = "unknown_domain_top_k_laplace/1"
    k_bar = held.size - 1
    more = {"k_bar": str(k_bar), "max_contributions": exact_text(total.epsilon / noise_rate.rate)}
    with call.release(total, mechanism, parts=tuple((part, 1) for part in parts), k=k, more=more):
        found = _above_bottom(held, call, tier, offset, noise_rate)[:k]
        return call.released(
            DiscoveredTopK(
                labels=tuple(label for label, _ in found),
                counts=tuple(noisy for _, noisy in found),
                k_bar=k_bar,
                offset=Fraction(offset),
                guarantee=total,
                parts=parts,
                mechanism=mechanism,
                source=call.source_name,
                statement=call.statement,
            )
        )


def plan_list(
    total: ApproximateDP, places: tuple[int, int, int], contributions: int | None, share: object
) -> tuple[ListQuery, Fraction]:
    """Return the query that the total cost allows, and the part of delta for its bottom."""
    k, least, most = places
    m = most if contributions is None else min(most, contributions)
    each, part = split_delta(total, share, k + (least < most), 1, m)
    return ListQuery(k, least, most, each, odds(part), contributions), part


def plan_counts(total: ApproximateDP, k_bar: int, contributions: int) -> tuple[int, NoiseRate]:
    """Return the bottom's offset above the (k_bar + 1)-th count, and the noise; both are public."""
    each = total.epsilon / contributions
    return 1 + laplace_offset(each, total.delta, min(k_bar, contributions)), NoiseRate(each)


def _above_bottom(
    held: HeldCounts, call: Call, tier: single.Variates, offset: int, noise_rate: NoiseRate
) -> list[tuple[str, int]]:
    """Return the items whose noisy count is above the noisy bottom, the largest first.

    Equal noisy counts are in the order of their labels, so the order reveals no more than the
    released pairs.  Strictly above: to pass, an item needs noise of at least the offset.
    """
    places = held.size
    noise = tier.discrete_laplace(places, noise_rate, call.bits).tolist()
    # The sign bit is stored flipped, so 2**63 stands for 0.
    counts = [step - (1 << 63) for step in call.scores_on_grid.tolist()]
    noisy = [count + extra for count, extra in zip(counts, noise, strict=True)]
    bottom = noisy.pop() + offset
    found = [
        (label, count)
        for label, count in zip(held.items[:-1], noisy, strict=True)
        if label is not None and count > bottom
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))

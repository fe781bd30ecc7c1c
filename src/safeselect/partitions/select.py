"""All keys of a table that may be shown, where the set of keys is private."""

from __future__ import annotations

from typing import Any

from safeselect.charged import charged, unit_of
from safeselect.counts import check_partitions
from safeselect.exact.parameters import Number
from safeselect.mechanisms.items import Found, hold_counts
from safeselect.partitions.results import SelectedPartitions
from safeselect.partitions.terms import Terms
from safeselect.partitions.thresholds import draw_thresholds
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, resolve
from safeselect.selection._arguments import Labels, Scope, Scores, read_ledger
from safeselect.selection._results import source_name


def select_partitions(
    counts: Scores[Any],
    *,
    epsilon: Number,
    delta: Number,
    max_partitions: int,
    pre_threshold: int = 1,
    with_counts: bool = False,
    labels: Labels[Any] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> SelectedPartitions:
    """Keep each key of a table with the largest probability that privacy allows.

    A key (a partition) with n users is kept with probability p_n, independently of the others.  No
    private rule keeps a key of any size more often at the same cost for each key.  With counts, the
    noisy number of users of each kept key is released too, for the same cost.

    Pass the whole table, in which each user counts for at most `max_partitions` keys, once for
    each: `count_distinct_users(..., max_contributions=...)` bounds users by a hash.  `Counts` state
    what they are, and are refused if they do not fit; for other counts the caller asserts it.

    Keys are texts, and private, so no key is an error.  A number is its shortest plain decimal: 1,
    1.0, True and '1' are one key.  Several counts of one key keep the larger.  A key that can be no
    item (None, NaN, a date, a tuple, bytes) is dropped, and so are keys without users.  What a
    reader made of `007`, `1.50` or `1e3` cannot be seen here: read keys as text (`dtype=str`).

    Guarantee: ApproximateDP(epsilon, delta).  The decision about one key costs epsilon' and delta',
        and so do the decisions with their counts; `max_partitions` of them compose to the total.
    Neighbours: tables that differ by all rows of one user, so that at most `max_partitions` counts
        change, by 1 each.  Not replace-one.
    Source: Desfontaines, Voss and Gipson (2022), Theorem 1; `docs/keys.md` for integers and counts.
    Exactness: a table of integers, rounded down, certified when it is made; it lies below the
        optimum by less than 2**-130 of it.
    Bits: 64 for each count that is passed.
    Reveals: the number of counts, in the size of the request; the time depends on the table.

    Args:
        counts: `Counts`, a mapping key -> number of users, a pandas column with its index, or
            numbers with `labels`; integers of any type.  An empty table is not an error.
        epsilon, delta: total cost of this call; positive rationals.
        max_partitions: for how many keys one user counts at most; not chosen by looking at data.
        pre_threshold: keys with fewer users are never kept, and others as if they had
            pre_threshold - 1 users fewer; a rule beside privacy, such as "ten people at least".
        with_counts: whether noisy counts are released too.  Their law is the same table, up to
            2**-130.
        labels: the keys, if counts is not a mapping.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: epsilon and delta are charged there before the first bit is
            drawn, and the result has a receipt.

    Returns:
        SelectedPartitions: the kept keys in the order of their labels, perhaps none.

    Raises:
        ParameterError: a parameter is wrong, or does not fit the `Counts`.
        ScoreError: the counts cannot be read.
        SourceError: the source failed.

    Example:
        >>> from safeselect import select_partitions
        >>> users = {"Oslo": 4000, "Rome": 5000, "a rare place": 1}
        >>> kept = select_partitions(users, epsilon=1, delta="1e-9", max_partitions=1)
        >>> kept.labels
        ('Oslo', 'Rome')
    """
    terms = Terms.read(
        epsilon=epsilon,
        delta=delta,
        max_partitions=max_partitions,
        pre_threshold=pre_threshold,
        with_counts=with_counts,
    )
    scope = read_ledger(ledger, monotonic=True)
    check_partitions(counts, terms.max_partitions, unit_of(scope))
    chosen = resolve(source)
    held = hold_counts(counts, labels, 0)
    charge = terms.charge("select_partitions")
    with charged(scope, chosen, charge, held.found, unit=held.unit) as call:
        kept = _kept(call.values, terms, call.bits)
        return call.released(
            SelectedPartitions(
                labels=tuple(label for label, _ in kept),
                counts=tuple(count for _, count in kept) if terms.with_counts else None,
                mean_noise=terms.table.mean_noise if terms.with_counts else None,
                standard_deviation=terms.table.standard_deviation if terms.with_counts else None,
                noise_95=terms.table.noise_95 if terms.with_counts else None,
                max_partitions=terms.max_partitions,
                pre_threshold=terms.pre_threshold,
                guarantee=terms.total,
                parts=terms.parts,
                mechanism=charge.mechanism,
                source=source_name(chosen),
                statement=call.statement,
            )
        )


def _kept(found: Found, terms: Terms, bits: Bits) -> list[tuple[str, int]]:
    """The keys that are kept, with their noisy counts, in the order of the labels.

    As many thresholds are drawn as counts were passed, whether or not they are keys.
    """
    thresholds = draw_thresholds(terms.table, found.rows, bits).tolist()
    kept = [
        (label, terms.released_count(users, threshold))
        for (label, users), threshold in zip(found.largest.items(), thresholds, strict=False)
        if terms.counted(users) >= threshold
    ]
    return sorted(kept)

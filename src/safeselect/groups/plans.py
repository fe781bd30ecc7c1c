"""What a release by group will draw and cost: public, and fixed before the charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from safeselect.accounting.cost import PrivacyCost
from safeselect.counts import Counts
from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer
from safeselect.mechanisms.items import hold_counts
from safeselect.mechanisms.unknown import (
    draw_list,
    open_call,
    plan_counts,
    plan_list,
    read_places,
    unknown_domain_top_k,
)
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, Guarantee, PureDP
from safeselect.randomness.source import Source
from safeselect.selection import top_k_many
from safeselect.selection._table import TABLE, Peeled, read_choice

ALL = 2**31 - 1
Tables = Mapping[str, Mapping[str, int]]
Row = tuple[tuple[str, ...], tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything public about the release, fixed before the charge.

    Attributes:
        places: how many of the largest counts of a group are needed.
        draw: from the counts of all groups to the rows of the release.
    """

    guarantee: Guarantee
    parts: tuple[tuple[Guarantee, int], ...]
    mechanism: str
    noise_rate: Fraction
    k_bar: int | None
    offset: Fraction | None
    places: int
    draw: Callable[[Tables, Source], list[Row]]


def plan_unknown(
    total: ApproximateDP, asked: tuple[int, int], changed: int, contributions: int | None
) -> Plan:
    k, k_bar, _ = read_places(*asked)
    if contributions is not None:
        return _plan_counts(total, k, k_bar, changed, contributions)
    # A user changes `changed` lists: so many times k draws, and so many bottoms that may fail.
    draws = changed * k
    query, part = plan_list(total, (k, k_bar, k_bar), None, draws=draws, lists=changed)
    parts = (
        (BoundedRange(query.epsilon), draws),
        (ApproximateDP(Fraction(0), part / changed), changed),
    )
    name = "top_k_by_group_gumbel/1"

    def draw(tables: Tables, source: Source) -> list[Row]:
        rows: list[Row] = []
        for counts in tables.values():
            held = hold_counts(dict(counts), None, k_bar + 1)
            call = open_call(held, source, None)
            with call.release(total, name):
                rows.append((draw_list(query, held, call)[0], None))
        return rows

    offset = query.offset_in_counts(k_bar)
    return Plan(total, parts, name, query.epsilon, k_bar, offset, k_bar + 1, draw)


def _plan_counts(
    total: ApproximateDP, k: int, k_bar: int, changed: int, contributions: int
) -> Plan:
    epsilon, delta = total.epsilon / changed, total.delta / changed
    parts = ((PureDP(epsilon), changed), (ApproximateDP(Fraction(0), delta), changed))

    def one(counts: Mapping[str, int], source: Source) -> Any:
        return unknown_domain_top_k(
            Counts(counts, places=k_bar + 1, max_contributions=contributions),
            k=k,
            k_bar=k_bar,
            epsilon=epsilon,
            delta=delta,
            max_contributions=contributions,
            source=source,
        )

    def draw(tables: Tables, source: Source) -> list[Row]:
        found = [one(counts, source) for counts in tables.values()]
        return [(each.labels, each.counts) for each in found]

    offset, noise = plan_counts(ApproximateDP(epsilon, delta), k_bar, contributions)
    name = "top_k_by_group_laplace/1"
    return Plan(total, parts, name, noise.rate, k_bar, Fraction(offset), k_bar + 1, draw)


def plan_known(
    total: PrivacyCost, known: list[str], k: int, changed: int, mechanism: object
) -> Plan:
    if mechanism is not None:
        read_choice(mechanism, "mechanism", get_args(Peeled))
    chosen: Any = mechanism or ("permute_and_flip" if total.is_pure else "exponential")
    if chosen == "exponential_base2":
        raise ParameterError("mechanism must be 'permute_and_flip' or 'exponential' for groups")
    integer(k, "k", minimum=1, maximum=len(known), limit="the number of candidates")
    name = f"top_k_by_group_{chosen}/1"
    plan = TABLE[chosen].calibrate(name, total, Fraction(1), k, changed)

    def draw(tables: Tables, source: Source) -> list[Row]:
        matrix = [[counts.get(label, 0) for label in known] for counts in tables.values()]
        found = top_k_many(
            matrix,
            k=k,
            max_rows=changed,
            mechanism=chosen,
            epsilon=total.epsilon,
            delta=total.delta,
            rho=total.rho,
            sensitivity=1,
            monotonic=True,
            labels=known,
            source=source,
        )
        return [(tuple(row), None) for row in found.labels]

    parts: tuple[tuple[Guarantee, int], ...] = ((plan.each, plan.draws),)
    return Plan(plan.guarantee, parts, name, plan.noise_rate.rate, None, None, ALL, draw)

"""The best items of each group of a public list, from the counts of all groups, in one release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any, get_args

from safeselect.accounting.cost import PrivacyCost
from safeselect.errors import ParameterError
from safeselect.exact.parameters import integer, read_choice
from safeselect.mechanisms.items import hold_counts
from safeselect.mechanisms.select import select_many
from safeselect.mechanisms.table import Peeled, calibrate
from safeselect.mechanisms.unknown import (
    CountNoise,
    draw_list,
    plan_counts,
    plan_list,
    read_places,
    unknown_domain_top_k,
)
from safeselect.presentation import to_json_line
from safeselect.promises.guarantees import ApproximateDP, BoundedRange, Guarantee, PureDP
from safeselect.promises.records import exact_text, guarantee_record
from safeselect.randomness.source import Source
from safeselect.release.call import Call, Charge, Scope
from safeselect.release.results import Receipt, Statement
from safeselect.scores.counts import Counts
from safeselect.selection._results import presented, views
from safeselect.selection._table import choose_engine

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
    bottom = ApproximateDP(Fraction(0), part / changed)
    parts = (BoundedRange(query.epsilon), draws), (bottom, changed)
    charge = Charge("top_k_by_group_gumbel/1", total, parts, {})

    def draw(tables: Tables, source: Source) -> list[Row]:
        rows: list[Row] = []
        for counts in tables.values():
            held = hold_counts(dict(counts), None, k_bar + 1)
            with Call(charge, held.read, source=source, scope=None) as call:
                rows.append((draw_list(query, held, call, choose_engine(None))[0], None))
        return rows

    offset = query.offset_in_counts(k_bar)
    return Plan(total, parts, charge.mechanism, query.epsilon, k_bar, offset, k_bar + 1, draw)


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
    one = Fraction(1)
    plan = calibrate(f"top_k_many_{chosen}", total, one, one, k, changed)

    def draw(tables: Tables, source: Source) -> list[Row]:
        matrix = [[counts.get(label, 0) for label in known] for counts in tables.values()]
        found = select_many(
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


@dataclass(frozen=True, slots=True, repr=False)
class GroupedTopK:
    """The best items of each group of a public list, in one release.

    Attributes:
        groups: the groups, in the order in which they were stated.
        labels: for each group, its items, best first; fewer than k where the domain is unknown.
        counts: for each group, the noisy counts of its items, or None.
        max_groups: in how many groups a user was counted at most.
        noise_rate: the rate of the noise in each group, per user.
        k_bar, offset: as in `DiscoveredTopK`, for each group; None where candidates are known.
        guarantee: what the whole release costs.
        parts: the guarantees whose composition `guarantee` is: of the draws of `max_groups` groups.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    groups: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: tuple[tuple[int, ...], ...] | None
    max_groups: int
    noise_rate: Fraction
    k_bar: int | None
    offset: Fraction | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__ = presented("short_text", "One line.")
    to_dict, to_pandas, to_polars, plot = views("item of a group")

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __getitem__(self, group: str) -> tuple[str, ...]:
        """The items of a group, best first."""
        return dict(zip(self.groups, self.labels, strict=True))[group]

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the counts of a group: 1 user."""
        return self.statement.effective_range

    @property
    def count_noise(self) -> CountNoise | None:
        """What the counts are, and how noisy; None without counts."""
        if self.counts is None:
            return None
        cap = int(dict(self.statement.parameters)["max_contributions"])
        return CountNoise.of(self.noise_rate * cap, cap)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.grouped-top-k/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        content: dict[str, object] = {
            "groups": list(self.groups),
            "labels": [list(row) for row in self.labels],
            "noise_rate": exact_text(self.noise_rate),
            "parts": [
                {"count": str(len(list(equal))), "each": guarantee_record(part)}
                for part, equal in groupby(self.parts)
            ],
        }
        if self.counts is not None and (noise := self.count_noise) is not None:
            content["counts"] = [[str(count) for count in row] for row in self.counts]
            content["count_noise"] = noise.as_record()
        return to_json_line("safeselect.grouped-top-k/1", self, **content)


def release_by_group(
    plan: Plan,
    groups: list[str],
    changed: int,
    parameters: Mapping[str, str],
    source: Source,
    read: Callable[[], Tables],
    *,
    unit: str | None = None,
    scope: Scope | None = None,
) -> GroupedTopK:
    """Charge, read the counts, draw, and tell the ledger, in this order.

    Args:
        changed: in how many groups a user is counted at most.
        parameters: what the record and the release say of the counts and of what was asked for.
        read: from nothing to the counts of all groups, called once.
        unit: who is protected, where the counts say it.
    """
    recorded = {"sensitivity": "1", "monotonic": "yes", "effective_range": "1", **parameters}
    recorded |= {"groups": str(len(groups)), "max_groups": str(changed)}
    recorded |= {"noise_rate": exact_text(plan.noise_rate)}
    recorded |= {} if plan.k_bar is None else {"k_bar": str(plan.k_bar)}
    charge = Charge(plan.mechanism, plan.guarantee, plan.parts, recorded)
    with Call(charge, read, source=source, scope=scope, unit=unit) as call:
        rows = plan.draw(call.values, source)
        return call.commit(
            GroupedTopK(
                groups=tuple(groups),
                labels=tuple(labels for labels, _ in rows),
                counts=(
                    None
                    if plan.places == ALL or rows[0][1] is None
                    else tuple(counts or () for _, counts in rows)
                ),
                max_groups=changed,
                noise_rate=plan.noise_rate,
                k_bar=plan.k_bar,
                offset=plan.offset,
                guarantee=plan.guarantee,
                parts=tuple(part for part, times in plan.parts for _ in range(times)),
                mechanism=plan.mechanism,
                source=call.source_name,
                statement=call.statement,
            )
        )

"""The best items in each group, for a public list of groups, from all counts, in one release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from safeselect.accounting.cost import PrivacyCost
from safeselect.exact.parameters import exact_text, integer, read_choice
from safeselect.mechanisms.items import hold_counts
from safeselect.mechanisms.select import select_many
from safeselect.mechanisms.table import Peeled, calibrate
from safeselect.mechanisms.unknown import COUNTED, plan_of_list, read_places
from safeselect.promises.guarantees import ApproximateDP
from safeselect.randomness.source import Source
from safeselect.release.call import Call, Charge, Scope
from safeselect.release.results import Groups

ALL = 2**31 - 1
OF_GROUPS = "permute_and_flip", "exponential"
"""The mechanisms for groups of known candidates."""

Tables = Mapping[str, Mapping[str, int]]
Row = tuple[tuple[str, ...], tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything public about the release, fixed before the charge.

    Attributes:
        charge: as a ledger is told it, with the parameters that follow from the arguments.
        places: how many of the largest counts of a group are needed.
        draw: from the counts of all groups to the rows of the release.
    """

    charge: Charge
    places: int
    draw: Callable[[Tables, Source], list[Row]]


def plan_unknown(
    total: ApproximateDP, asked: tuple[int, int], changed: int, contributions: int | None
) -> Plan:
    """A list for each group, where a user changes `changed` of them."""
    places = _, k_bar, _ = read_places(*asked)
    capped = contributions is not None
    listed = plan_of_list(total, places, contributions, laplace=capped, lists=changed)
    own = ("least_k_bar", "most_k_bar", "max_contributions")
    parameters = {name: each for name, each in listed.said.items() if name not in own}
    parameters["k_bar"] = str(k_bar)
    charge = Charge(f"top_k_by_group_{listed.law}/1", total, listed.parts, parameters)

    def draw(tables: Tables, source: Source) -> list[Row]:
        rows: list[Row] = []
        for counts in tables.values():
            held = hold_counts(dict(counts), None, k_bar + 1)
            with Call(charge, held.read, source=source, scope=None) as call:
                rows.append(listed.draw(held, call)[:2])
        return rows

    return Plan(charge, k_bar + 1, draw)


def plan_known(
    total: PrivacyCost, known: list[str], k: int, changed: int, mechanism: object
) -> Plan:
    default = "permute_and_flip" if total.is_pure else "exponential"
    chosen = cast("Peeled", default if mechanism is None else mechanism)
    read_choice(chosen, "mechanism", OF_GROUPS)
    integer(k, "k", minimum=1, maximum=len(known), limit="the number of candidates")
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

    parameters = {"noise_rate": exact_text(plan.noise_rate.rate)}
    parts = ((plan.each, plan.draws),)
    charge = Charge(f"top_k_by_group_{chosen}/1", plan.guarantee, parts, parameters)
    return Plan(charge, ALL, draw)


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
) -> Groups[str]:
    """Charge, read the counts, draw, and tell the ledger, in this order.

    Args:
        changed: in how many groups a user is counted at most.
        parameters: what the record and the release say of the counts and of what was asked for.
        read: from nothing to the counts of all groups, called once.
        unit: who is protected, where the counts say it.
    """
    recorded = {**COUNTED, **parameters, "groups": str(len(groups)), "max_groups": str(changed)}
    charge = replace(plan.charge, parameters=recorded | dict(plan.charge.parameters))
    with Call(charge, read, source=source, scope=scope, unit=unit) as call:
        labels, counts = zip(*plan.draw(call.values, source), strict=True)
        found = None if counts[0] is None else counts
        return call.commit(Groups(groups=tuple(groups), labels=labels, counts=found, **call.header))

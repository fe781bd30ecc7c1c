"""One release of the best items of each group: charged once, then read, then drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from safeselect.charged import charged
from safeselect.groups.plans import ALL, Plan, Tables
from safeselect.groups.results import GroupedTopK
from safeselect.promises.records import exact_text
from safeselect.randomness.source import Source
from safeselect.release.call import Charge, Scope
from safeselect.selection._results import source_name


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
    with charged(scope, source, charge, read, unit=unit) as call:
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
                source=source_name(source),
                statement=call.statement,
            )
        )

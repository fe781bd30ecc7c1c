"""How to read a release, in sentences for standard error: public facts only."""

from __future__ import annotations

from fractions import Fraction

from safeselect.accounting.cost import rounded_text
from safeselect.cli._output import escaped
from safeselect.estimates.users import plan_keys
from safeselect.mechanisms.keys import SelectedPartitions
from safeselect.mechanisms.unknown import DiscoveredTopK
from safeselect.tables import GroupedTopK

_NAMED = 10  # so many groups without items are named
_STATED_GROUPS = "; groups must be named as in the table: --trim and --casefold read both alike"


def how_to_read(result: object) -> list[str]:
    """Return what the counts are and how sure they are, or why a list may be empty."""
    if isinstance(result, SelectedPartitions):
        return _keys(result)
    grouped = isinstance(result, GroupedTopK)
    said = [_groups(result)] if isinstance(result, GroupedTopK) else []
    if not isinstance(result, (DiscoveredTopK, GroupedTopK)):
        return said
    found = any(result.labels) if grouped else bool(result.labels)
    noise = result.count_noise
    if found and noise is not None:
        cap, width = noise.capped_at, noise.within_95
        said += [
            _counts(cap, noise.standard_deviation, (-width, width)),
            (
                f"the cap makes counts too small where users have more than {_items(cap)}, never "
                "too large; if none has more than M, the true number is on average at most "
                f"M/{cap} times as large"
            ),
        ]
    if found and isinstance(result, GroupedTopK) and (empty := _empty_groups(result)):
        said.append(empty)
    if not found and result.k_bar is not None and result.offset is not None:
        said.append(
            "nothing was found, which is no error: an item shows if its users, with noise, exceed "
            f"those of the item in place {result.k_bar + 1} by {rounded_text(result.offset)}; a "
            f"larger epsilon or delta, or a smaller -k, shows rarer items{_STATED_GROUPS * grouped}"
        )
    return said


def _keys(result: SelectedPartitions) -> list[str]:
    most = result.max_partitions
    if not result.labels:
        users = plan_keys(result.terms).users
        needed = f"{users} users to show, each counted for {_items(most)} at most"
        wider = "a larger epsilon or delta shows rarer items"
        return [f"nothing was found, which is no error: an item needs about {needed}; {wider}"]
    if result.standard_deviation is None or result.noise_95 is None:
        return []
    return [
        _counts(most, result.standard_deviation, result.noise_95),
        (
            "the cap makes counts too small where users have more items, never too large; counts "
            "that are shown are larger on average, because noise helps a count to be shown"
        ),
    ]


def _counts(cap: int, deviation: Fraction, noise: tuple[int, int]) -> str:
    low, high = noise
    return (
        f"counts: distinct users, each counted for {_items(cap)} at most, with noise of standard "
        f"deviation {rounded_text(deviation)}; 95 % interval: the count {-high:+} to {-low:+}"
    )


def _groups(result: GroupedTopK) -> str:
    some, every = result.max_groups, len(result)
    facts = dict(result.statement.parameters).get("groups_per_user")
    chosen = f"; so chosen for {facts} groups, as stated" if facts else ""
    if some == every:
        return (
            f"groups: {every}; users count in all of theirs, and all groups share the budget"
            f"{chosen}"
        )
    share = "each group has the whole budget" if some == 1 else f"{some} groups share the budget"
    return (
        f"groups: {every}; a user counts in {some} of them at most, chosen by a hash, so that "
        f"{share}; users of more groups are missing in the others{chosen}"
    )


def _empty_groups(result: GroupedTopK) -> str:
    """Which groups print no line: what the release says, for a reader who looks for them."""
    names = [escaped(name) for name in result if not result[name]]
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"nothing was found in {len(names)} of {len(result)} groups, which is no error: "
        f"{', '.join(names[:_NAMED])}{more}"
    )


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"

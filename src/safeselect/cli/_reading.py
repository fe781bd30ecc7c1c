"""How to read a release, in sentences for standard error: public facts only."""

from __future__ import annotations

from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.cli._output import escaped
from safeselect.estimates.users import plan_keys
from safeselect.mechanisms.keys import Terms
from safeselect.mechanisms.measure import noise_of
from safeselect.release.results import Groups, Noise, TopK

_NAMED = 10  # so many groups without items are named
_STATED_GROUPS = "; groups must be named as in the table: --trim and --casefold read both alike"


def how_to_read(result: Any) -> list[str]:
    """Return what the counts are and how sure they are, or why a list may be empty."""
    if result.mechanism.startswith("select_partitions"):
        return _keys(result)
    grouped, number = isinstance(result, Groups), result.statement.number
    if not grouped and not result.mechanism.startswith("unknown_domain_"):
        return []
    said = [_groups(result)] if grouped else []
    found = any(result.labels) if grouped else bool(result.labels)
    if found and result.counts is not None:
        cap = int(number("max_contributions"))
        said += [_counts(noise_of("discrete Laplace", result.noise_rate), cap), _bias(cap)]
    if found and grouped and (empty := _empty_groups(result)):
        said.append(empty)
    k_bar, offset = (getattr(result, name, number(name)) for name in ("k_bar", "offset"))
    if not found and k_bar is not None and offset is not None:
        said.append(
            "nothing was found, which is no error: an item shows if its users, with noise, exceed "
            f"those of the item in place {k_bar + 1} by {rounded_text(offset)}; a larger epsilon "
            "or delta, or a smaller -k, shows rarer items" + _STATED_GROUPS * grouped
        )
    return said


def _keys(result: TopK[str]) -> list[str]:
    terms = Terms.of(result)
    if not result.labels:
        users, cap = plan_keys(terms).users, _items(terms.max_partitions)
        needed = f"{users} users to show, each counted for {cap} at most"
        wider = "a larger epsilon or delta shows rarer items"
        return [f"nothing was found, which is no error: an item needs about {needed}; {wider}"]
    if result.noise is None:
        return []
    bias = (
        "the cap makes counts too small where users have more items, never too large; counts that "
        "are shown are larger on average, because noise helps a count to be shown"
    )
    return [_counts(result.noise, terms.max_partitions), bias]


def _counts(noise: Noise, cap: int) -> str:
    return (
        f"counts: distinct users, each counted for {_items(cap)} at most, with noise of standard "
        f"deviation {rounded_text(noise.deviation)}; 95 % interval: the count "
        f"{-noise.high_95:+} to {-noise.low_95:+}"
    )


def _bias(cap: int) -> str:
    return (
        f"the cap makes counts too small where users have more than {_items(cap)}, never too "
        f"large; if none has more than M, the true number is on average at most M/{cap} times as "
        "large"
    )


def _groups(result: Groups[str]) -> str:
    stated, every = dict(result.statement.parameters), len(result)
    some, facts = int(stated["max_groups"]), stated.get("groups_per_user")
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


def _empty_groups(result: Groups[str]) -> str:
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

"""How to read a release, in sentences for standard error: public facts only."""

from __future__ import annotations

from safeselect.accounting.cost import rounded_text
from safeselect.unknown_domain import DiscoveredTopK

__all__ = ["how_to_read"]


def how_to_read(result: object) -> list[str]:
    """Return what the counts are and how sure they are, or why a list may be empty."""
    if not isinstance(result, DiscoveredTopK):
        return []
    return [*_counts(result), *_empty(result)]


def _counts(result: DiscoveredTopK) -> list[str]:
    noise = result.count_noise
    if noise is None or not len(result):
        return []
    cap, width = noise.capped_at, noise.within_95
    return [
        f"counts: distinct users, each counted for {cap} items at most, with noise of standard "
        f"deviation {rounded_text(noise.standard_deviation)}; 95 % interval: the count -{width} "
        f"to +{width}",
        f"the cap makes counts too small where users have more than {cap} items, never too large; "
        f"if none has more than M, the true number is on average at most M/{cap} times as large",
    ]


def _empty(result: DiscoveredTopK) -> list[str]:
    if len(result):
        return []
    # The offset is public; that the list is empty was released.
    return [
        "nothing was found, which is no error: an item shows if its users, with noise, exceed "
        f"those of the item in place {result.k_bar + 1} by {rounded_text(result.offset)}; a larger "
        "epsilon or delta, a smaller -k or a larger --k-bar shows rarer items"
    ]

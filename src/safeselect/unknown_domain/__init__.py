"""Choosing among items that nobody listed: which items exist is private too."""

from safeselect.unknown_domain._discovered import CountNoise, DiscoveredTopK
from safeselect.unknown_domain.top_k import unknown_domain_top_k

__all__ = ["CountNoise", "DiscoveredTopK", "unknown_domain_top_k"]

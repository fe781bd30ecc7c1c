"""What each mechanism releases, and how many draws that takes: a table written by hand.

It shares nothing with the code that plans a release, so that a mistake there is not made here too.
Draws of one guarantee stand together: k draws and a bottom are (k, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from safeselect.release import results
from safeselect.release.codec import read_count

_Drawn = Callable[[Mapping[str, int]], tuple[int, ...]]


def _once(_: Mapping[str, int]) -> tuple[int, ...]:
    return (1,)


_TABLE: tuple[tuple[str, type[Any], _Drawn], ...] = (
    ("select_many_", results.Batch, lambda n: (n["rows"],)),
    ("top_k_many_", results.Batch, lambda n: (n["k"] * n["rows"],)),
    ("top_k_with_gaps_", results.TopK, _once),
    ("top_k_above_", results.TopK, _once),
    ("top_k_one_shot_", results.TopK, _once),
    ("top_k_laplace", results.TopK, _once),
    ("top_k_by_group_gumbel", results.Groups, lambda n: (n["k"] * n["groups"], n["groups"])),
    ("top_k_by_group_laplace", results.Groups, lambda n: (n["groups"], n["groups"])),
    ("top_k_by_group_", results.Groups, lambda n: (n["k"] * n["groups"],)),
    ("top_k_", results.TopK, lambda n: (n["k"],)),
    ("unknown_domain_top_k_gumbel_with", results.TopK, lambda n: (n["k"] + n["chosen"], 1, 1)),
    ("unknown_domain_top_k_gumbel", results.TopK, lambda n: (n["k"] + n["chosen"], 1)),
    ("unknown_domain_top_k_laplace", results.TopK, lambda _: (1, 1)),
    ("pay_what_you_get_", results.Answers, lambda n: (n["outcomes"], 1)),
    ("sparse_vector_", results.Answers, _once),
    ("adaptive_sparse_vector_", results.Answers, _once),
    ("select_partitions", results.TopK, lambda n: (n["max_partitions"],)),
    ("partition_strategy", results.Answers, lambda n: (n["max_partitions"],)),
    ("measure_", results.Numbers, _once),
    ("quantiles", results.Numbers, lambda n: (n["levels"],)),
    ("quantile", results.Numbers, _once),
    ("best_of", results.Numbers, _once),
    ("first_above/", results.Numbers, _once),
    ("permute_and_flip", results.Selection, _once),
    ("exponential_mechanism", results.Selection, _once),
    ("report_noisy_max_", results.Selection, _once),
)
"""How a name begins, the class of its releases, its draws.  The first row that fits counts."""

_NUMBERS = ("k", "rows", "max_rows", "max_groups", "max_partitions", "outcomes")


def drawn(mechanism: str, stated: Mapping[str, str]) -> tuple[type[Any], tuple[int, ...]]:
    """Return the class of a mechanism's releases, and the number of its draws.

    Args:
        stated: the public parameters.

    Raises:
        InputError: a parameter is no number.
        LookupError: a parameter is missing.
        StopIteration: the mechanism has no row.
    """
    numbers = {name: read_count(stated[name], name) for name in _NUMBERS if name in stated}
    # Only as many rows and groups count as one unit of privacy may change.
    numbers["rows"] = numbers.get("max_rows", numbers.get("rows", 0))
    numbers["groups"] = numbers.get("max_groups", 0)
    # One more draw chooses how many items compete, where that is not fixed.
    numbers["chosen"] = int(stated.get("least_k_bar") != stated.get("most_k_bar"))
    # The middle quantile first, then those of both halves at once, and so on.
    numbers["levels"] = len(f"{stated.get('quantiles', '').count(',') + 1:b}")
    kind, draws = next(row[1:] for row in _TABLE if mechanism.startswith(row[0]))
    return kind, draws(numbers)

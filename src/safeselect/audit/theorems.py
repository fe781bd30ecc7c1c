"""What each mechanism releases, how many draws that takes, and whose theorem is behind it.

A table written by hand, by the mechanism's name in records.  It shares nothing with the code that
plans a release, so that a mistake there is not made here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from safeselect.promises.guarantees import STATED
from safeselect.release.codec import read_count
from safeselect.release.results import Answers, Batch, Groups, Numbers, Release, Selection, TopK

_THEOREM, _SECTION = "docs/mathematics.md, theorem", "docs/mathematics.md, section"
_LAPLACE_DOMINATED = f"walk along the line between score vectors ({_SECTION} 2)"
_PERMUTE_AND_FLIP = f"McKenna and Sheldon (2020); {_LAPLACE_DOMINATED}"
_EXPONENTIAL = "McSherry and Talwar (2007); bounded range: Dong, Durfee and Rogers (2020)"
_BASE2 = f"{_EXPONENTIAL}; rational weights: Ilvento (2020)"
_DURFEE = "Durfee and Rogers (2019)"
_PEELED = f"Gumbel noise drawn once is peeling: {_DURFEE}"
_FLIPPED = f"peeling; {_PERMUTE_AND_FLIP}"
_MANY = "rows fixed in advance, composed"
_GAPS = f"Ding et al. (2023); {_THEOREM} 6"
_SPARSE = "Ding et al. (2023); docs/mathematics.md, theorems 12.1 and 12.2"
_SPARSE_WHOLE = f"{_THEOREM} 12.1"
_LISTS = f"{_DURFEE}; {_THEOREM} 7"
_LISTS_COUNTED = f"{_LISTS}; counts: {_THEOREM} 15.1"
_COUNTED = f"{_DURFEE}; {_THEOREM} 8"
_GROUPS = "composition over the groups that a user can change"
_KEYS = f"Desfontaines, Voss and Gipson (2022), theorem 1; {_SECTION} 19"
_WEIGHTS = f"public weights: {_SECTION} 18"
_ROUNDED = "Dong, Roth and Su (2022); rounding of a Gaussian mechanism"
_QUANTILE = f"{_EXPONENTIAL}; ranges: {_SECTION} 18"
_QUANTILES = f"{_QUANTILE}; levels: after Kaplan, Schnapp and Stemmer (2022)"

_ONCE = ("",)

_ROWS: dict[str, tuple[type[Release], tuple[str, ...], str]] = {
    "permute_and_flip": (Selection, _ONCE, _PERMUTE_AND_FLIP),
    "exponential_mechanism": (Selection, _ONCE, _EXPONENTIAL),
    "exponential_mechanism_base2": (Selection, _ONCE, _BASE2),
    "report_noisy_max_exponential": (Selection, _ONCE, _PERMUTE_AND_FLIP),
    "report_noisy_max_laplace": (Selection, _ONCE, f"Ding et al. (2021); {_LAPLACE_DOMINATED}"),
    "report_noisy_max_gumbel": (Selection, _ONCE, _EXPONENTIAL),
    "top_k_one_shot_exponential": (TopK, _ONCE, f"Ding et al. (2023); {_THEOREM} 5"),
    "top_k_exponential": (TopK, ("k",), f"{_PEELED}; {_EXPONENTIAL}"),
    "top_k_exponential_base2": (TopK, ("k",), f"{_PEELED}; {_BASE2}"),
    "top_k_permute_and_flip": (TopK, ("k",), f"peeling, composed; {_PERMUTE_AND_FLIP}"),
    "top_k_laplace": (TopK, _ONCE, "Qiao, Su and Zhang (2021), theorem 2.2"),
    "select_many_permute_and_flip": (Batch, ("rows",), f"{_MANY}; {_PERMUTE_AND_FLIP}"),
    "select_many_exponential": (Batch, ("rows",), f"{_MANY}; {_EXPONENTIAL}"),
    "select_many_exponential_base2": (Batch, ("rows",), f"{_MANY}; {_BASE2}"),
    "top_k_many_permute_and_flip": (Batch, ("k rows",), f"{_MANY}; {_FLIPPED}"),
    "top_k_many_exponential": (Batch, ("k rows",), f"{_MANY}; {_PEELED}; {_EXPONENTIAL}"),
    "top_k_many_exponential_base2": (Batch, ("k rows",), f"{_MANY}; {_PEELED}; {_BASE2}"),
    "permute_and_flip_with_gap": (Selection, _ONCE, _GAPS),
    "exponential_mechanism_with_gap": (Selection, _ONCE, _GAPS),
    "report_noisy_max_with_gap_exponential": (Selection, _ONCE, _GAPS),
    "report_noisy_max_with_gap_laplace": (Selection, _ONCE, _GAPS),
    "report_noisy_max_with_gap_gumbel": (Selection, _ONCE, _GAPS),
    "top_k_with_gaps_exponential": (TopK, _ONCE, _GAPS),
    "top_k_with_gaps_laplace": (TopK, _ONCE, _GAPS),
    "top_k_above_exponential": (TopK, _ONCE, f"{_THEOREM} 12.3"),
    "top_k_above_laplace": (TopK, _ONCE, f"{_THEOREM} 12.3"),
    "sparse_vector_exponential": (Answers, _ONCE, _SPARSE),
    "sparse_vector_laplace": (Answers, _ONCE, _SPARSE),
    "sparse_vector_geometric": (Answers, _ONCE, _SPARSE_WHOLE),
    "adaptive_sparse_vector_exponential": (Answers, _ONCE, _SPARSE),
    "adaptive_sparse_vector_laplace": (Answers, _ONCE, _SPARSE),
    "adaptive_sparse_vector_geometric": (Answers, _ONCE, _SPARSE_WHOLE),
    "unknown_domain_top_k_gumbel": (TopK, ("listed", ""), _LISTS),
    "unknown_domain_top_k_gumbel_with_counts": (TopK, ("listed", "", ""), _LISTS_COUNTED),
    "unknown_domain_top_k_laplace": (TopK, ("", ""), _COUNTED),
    "best_of": (Numbers, _ONCE, f"Papernot and Steinke (2022), theorem 2; {_THEOREM} 10"),
    "best_of_poisson": (Numbers, _ONCE, f"Papernot and Steinke (2022), theorem 6; {_SECTION} 18"),
    "first_above": (Numbers, _ONCE, f"Liu and Talwar (2019), algorithm 1; {_SECTION} 18"),
    "pay_what_you_get_gumbel": (Answers, ("outcomes", ""), f"{_DURFEE}; {_THEOREM} 9"),
    "top_k_by_group_gumbel": (Groups, ("k groups", "groups"), f"{_GROUPS}; {_LISTS}"),
    "top_k_by_group_laplace": (Groups, ("groups", "groups"), f"{_GROUPS}; {_COUNTED}"),
    "top_k_by_group_permute_and_flip": (Groups, ("k groups",), f"{_GROUPS}; {_FLIPPED}"),
    "top_k_by_group_exponential": (Groups, ("k groups",), f"{_GROUPS}; {_PEELED}; {_EXPONENTIAL}"),
    "select_partitions": (TopK, ("max_partitions",), _KEYS),
    "select_partitions_with_counts": (TopK, ("max_partitions",), _KEYS),
    "select_partitions_gaussian": (TopK, ("", ""), f"{_THEOREM} 19.4"),
    "partition_strategy": (Answers, ("max_partitions",), _KEYS),
    "partition_strategy_with_counts": (Answers, ("max_partitions",), _KEYS),
    "measure_discrete_laplace": (Numbers, _ONCE, "Ghosh, Roughgarden and Sundararajan (2009)"),
    "measure_discrete_gaussian": (Numbers, _ONCE, "Canonne, Kamath and Steinke (2020), theorem 14"),
    "measure_rounded_gaussian": (Numbers, _ONCE, _ROUNDED),
    "quantile": (Numbers, _ONCE, _QUANTILE),
    "quantile_below": (Numbers, _ONCE, _QUANTILE),
    "quantiles": (Numbers, ("levels",), _QUANTILES),
    "quantiles_below": (Numbers, ("levels",), _QUANTILES),
}
"""The class of the releases; the draws; the theorem.

Draws of one guarantee stand together, each a product of numbers: ("k rows", "") is k times as many
as there are rows, and one more.
"""

_WEIGHTED = """\
permute_and_flip exponential_mechanism exponential_mechanism_base2 report_noisy_max_gumbel
top_k_permute_and_flip top_k_exponential top_k_exponential_base2
select_many_permute_and_flip select_many_exponential select_many_exponential_base2
top_k_many_permute_and_flip top_k_many_exponential top_k_many_exponential_base2"""
"""Those that take public weights; permute-and-flip for one candidate alone."""

_TABLE = {f"{name}/1": row for name, row in _ROWS.items()} | {
    f"{name}_weighted/1": (*_ROWS[name][:2], f"{_ROWS[name][2]}; {_WEIGHTS}")
    for name in _WEIGHTED.split()
}
"""By the names in records, with the version of the law."""

_NUMBERS = ("k", "rows", "max_rows", "max_groups", "max_partitions", "outcomes")


def is_known(mechanism: str) -> bool:
    """Whether this library has a mechanism of this name and version of its law."""
    return mechanism in _TABLE


def is_one_shot(mechanism: str) -> bool:
    """Whether this is a known mechanism that shows everything at once, and is no session."""
    return is_known(mechanism) and _TABLE[mechanism][0] is not Answers


def theorem(mechanism: str) -> str:
    """Return the theorem of this very mechanism, or where to look for it."""
    if mechanism.startswith(STATED):
        return "stated by the caller, and not proved by this library"
    return _TABLE[mechanism][2] if is_known(mechanism) else "see the mechanism's documentation"


def drawn(mechanism: str, stated: Mapping[str, str]) -> tuple[type[Release], tuple[int, ...]]:
    """Return the class of a known mechanism's releases, and the number of its draws.

    Args:
        stated: the public parameters.

    Raises:
        InputError: a parameter is no number.
        LookupError: a parameter is missing.
    """
    numbers = {name: read_count(stated[name], name) for name in _NUMBERS if name in stated}
    # Only as many rows and groups count as one unit of privacy may change.
    numbers["rows"] = numbers.get("max_rows", numbers.get("rows", 0))
    numbers["groups"] = numbers.get("max_groups", 0)
    # One more draw chooses how many items compete, where that is not fixed.
    chosen = stated.get("least_k_bar") != stated.get("most_k_bar")
    numbers["listed"] = numbers.get("k", 0) + chosen
    # The middle quantile first, then those of both halves at once, and so on.
    numbers["levels"] = len(f"{stated.get('quantiles', '').count(',') + 1:b}")
    kind, draws, _ = _TABLE[mechanism]
    return kind, tuple(prod(numbers[name] for name in each.split()) for each in draws)

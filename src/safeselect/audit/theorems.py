"""The theorems behind the mechanisms' guarantees, by the mechanism's name in records."""

from __future__ import annotations

_LAPLACE_DOMINATED = "walk along the line between score vectors (docs/mathematics.md, section 2)"
_PERMUTE_AND_FLIP = f"McKenna and Sheldon (2020); {_LAPLACE_DOMINATED}"
_EXPONENTIAL = "McSherry and Talwar (2007); bounded range: Dong, Durfee and Rogers (2020)"
_BASE2 = f"{_EXPONENTIAL}; rational weights: Ilvento (2020)"
_PEELED = "Gumbel noise drawn once is peeling: Durfee and Rogers (2019)"
_MANY = "rows fixed in advance, composed"
_GAPS = "Ding et al. (2023); docs/mathematics.md, theorem 6"
_SPARSE = "Ding et al. (2023); docs/mathematics.md, theorems 12.1 and 12.2"
_SPARSE_WHOLE = "docs/mathematics.md, theorem 12.1"
_LISTS = "Durfee and Rogers (2019); docs/mathematics.md, theorem 7"
_COUNTED = "Durfee and Rogers (2019); docs/mathematics.md, theorem 8"
_GROUPS = "groups of which a user changes so many, composed"
_KEYS = "Desfontaines, Voss and Gipson (2022), theorem 1; docs/keys.md"

_WEIGHTS = "public weights: docs/mathematics.md, section 18"
_QUANTILE = f"{_EXPONENTIAL}; ranges: docs/mathematics.md, section 18"
_QUANTILES = f"{_QUANTILE}; levels: after Kaplan, Schnapp and Stemmer (2022)"

_THEOREMS = {
    "permute_and_flip": _PERMUTE_AND_FLIP,
    "exponential_mechanism": _EXPONENTIAL,
    "exponential_mechanism_base2": _BASE2,
    "report_noisy_max_exponential": _PERMUTE_AND_FLIP,
    "report_noisy_max_laplace": f"Ding et al. (2021); {_LAPLACE_DOMINATED}",
    "report_noisy_max_gumbel": _EXPONENTIAL,
    "top_k_one_shot_exponential": "Ding et al. (2023); docs/mathematics.md, theorem 5",
    "top_k_exponential": f"{_PEELED}; {_EXPONENTIAL}",
    "top_k_exponential_base2": f"{_PEELED}; {_BASE2}",
    "top_k_permute_and_flip": f"peeling, composed; {_PERMUTE_AND_FLIP}",
    "top_k_laplace": "Qiao, Su and Zhang (2021), theorem 2.2",
    "select_many_permute_and_flip": f"{_MANY}; {_PERMUTE_AND_FLIP}",
    "select_many_exponential": f"{_MANY}; {_EXPONENTIAL}",
    "select_many_exponential_base2": f"{_MANY}; {_BASE2}",
    "top_k_many_permute_and_flip": f"{_MANY}; peeling; {_PERMUTE_AND_FLIP}",
    "top_k_many_exponential": f"{_MANY}; {_PEELED}; {_EXPONENTIAL}",
    "top_k_many_exponential_base2": f"{_MANY}; {_PEELED}; {_BASE2}",
    "permute_and_flip_with_gap": _GAPS,
    "exponential_mechanism_with_gap": _GAPS,
    "report_noisy_max_with_gap_exponential": _GAPS,
    "report_noisy_max_with_gap_laplace": _GAPS,
    "report_noisy_max_with_gap_gumbel": _GAPS,
    "top_k_with_gaps_exponential": _GAPS,
    "top_k_with_gaps_laplace": _GAPS,
    "top_k_above_exponential": "docs/mathematics.md, theorem 12.3",
    "top_k_above_laplace": "docs/mathematics.md, theorem 12.3",
    "sparse_vector_exponential": _SPARSE,
    "sparse_vector_laplace": _SPARSE,
    "sparse_vector_geometric": _SPARSE_WHOLE,
    "adaptive_sparse_vector_exponential": _SPARSE,
    "adaptive_sparse_vector_laplace": _SPARSE,
    "adaptive_sparse_vector_geometric": _SPARSE_WHOLE,
    "unknown_domain_top_k_gumbel": _LISTS,
    "unknown_domain_top_k_gumbel_with_counts": f"{_LISTS}; counts: theorem 15.1",
    "unknown_domain_top_k_laplace": _COUNTED,
    "best_of": "Papernot and Steinke (2022), theorem 2; docs/mathematics.md, theorem 10",
    "best_of_poisson": "Papernot and Steinke (2022), theorem 6; docs/mathematics.md, section 18",
    "first_above": "Liu and Talwar (2019), algorithm 1; docs/mathematics.md, section 18",
    **dict.fromkeys(("quantile", "quantile_below"), _QUANTILE),
    **dict.fromkeys(("quantiles", "quantiles_below"), _QUANTILES),
    "pay_what_you_get_gumbel": "Durfee and Rogers (2019); docs/mathematics.md, theorem 9",
    "top_k_by_group_gumbel": f"{_GROUPS}; {_LISTS}",
    "top_k_by_group_laplace": f"{_GROUPS}; {_COUNTED}",
    "top_k_by_group_permute_and_flip": f"{_GROUPS}; peeling; {_PERMUTE_AND_FLIP}",
    "top_k_by_group_exponential": f"{_GROUPS}; {_PEELED}; {_EXPONENTIAL}",
    "select_partitions": _KEYS,
    "select_partitions_with_counts": _KEYS,
    "partition_strategy": _KEYS,
    "partition_strategy_with_counts": _KEYS,
    "measure_discrete_laplace": "Ghosh, Roughgarden and Sundararajan (2009)",
    "measure_discrete_gaussian": "Canonne, Kamath and Steinke (2020), theorem 14",
    "measure_rounded_gaussian": "Dong, Roth and Su (2022); rounding of a Gaussian mechanism",
}


def is_known(mechanism: str) -> bool:
    """Whether this library has a mechanism of this name and version of its law."""
    name, _, version = mechanism.partition("/")
    return name.removesuffix("_weighted") in _THEOREMS and version == "1"


def theorem(mechanism: str) -> str:
    """Return the theorem of this very mechanism, or where to look for it."""
    name, weighted, _ = mechanism.split("/")[0].partition("_weighted")
    found = _THEOREMS.get(name, "see the mechanism's documentation")
    return f"{found}; {_WEIGHTS}" if weighted else found

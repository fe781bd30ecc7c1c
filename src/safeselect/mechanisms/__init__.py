"""Choosing from private scores."""

from safeselect.mechanisms._answers import Answer, Answers
from safeselect.mechanisms._discovered import DiscoveredTopK
from safeselect.mechanisms._results import Selection, Selections, TopK, TopSet
from safeselect.mechanisms.adaptive_sparse_vector import AdaptiveSparseVector
from safeselect.mechanisms.counts import Counts
from safeselect.mechanisms.explain import expected_error, explain
from safeselect.mechanisms.exponential import exponential_mechanism, exponential_mechanism_base2
from safeselect.mechanisms.gaps import (
    exponential_mechanism_with_gap,
    permute_and_flip_with_gap,
    report_noisy_max_with_gap,
    top_k_with_gaps,
)
from safeselect.mechanisms.many import select_many, top_k_many
from safeselect.mechanisms.noisy_max import report_noisy_max
from safeselect.mechanisms.pay_what_you_get import PayWhatYouGet
from safeselect.mechanisms.permute_and_flip import permute_and_flip
from safeselect.mechanisms.sparse_vector import SparseVector
from safeselect.mechanisms.top_k import top_k
from safeselect.mechanisms.top_k_above import TopAbove, top_k_above
from safeselect.mechanisms.unknown_domain import unknown_domain_top_k

__all__ = [
    "AdaptiveSparseVector",
    "Answer",
    "Answers",
    "Counts",
    "DiscoveredTopK",
    "PayWhatYouGet",
    "Selection",
    "Selections",
    "SparseVector",
    "TopAbove",
    "TopK",
    "TopSet",
    "expected_error",
    "explain",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "exponential_mechanism_with_gap",
    "permute_and_flip",
    "permute_and_flip_with_gap",
    "report_noisy_max",
    "report_noisy_max_with_gap",
    "select_many",
    "top_k",
    "top_k_above",
    "top_k_many",
    "top_k_with_gaps",
    "unknown_domain_top_k",
]

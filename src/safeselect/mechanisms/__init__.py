"""Choosing from private scores."""

from safeselect.mechanisms._answers import Answer, Answers
from safeselect.mechanisms._results import Selection, Selections, TopK, TopSet
from safeselect.mechanisms.adaptive_sparse_vector import AdaptiveSparseVector
from safeselect.mechanisms.exponential import exponential_mechanism, exponential_mechanism_base2
from safeselect.mechanisms.many import select_many, top_k_many
from safeselect.mechanisms.noisy_max import report_noisy_max
from safeselect.mechanisms.permute_and_flip import permute_and_flip
from safeselect.mechanisms.sparse_vector import SparseVector
from safeselect.mechanisms.top_k import top_k
from safeselect.mechanisms.top_k_above import TopAbove, top_k_above

__all__ = [
    "AdaptiveSparseVector",
    "Answer",
    "Answers",
    "Selection",
    "Selections",
    "SparseVector",
    "TopAbove",
    "TopK",
    "TopSet",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "permute_and_flip",
    "report_noisy_max",
    "select_many",
    "top_k",
    "top_k_above",
    "top_k_many",
]

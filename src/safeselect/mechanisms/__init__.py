"""Choosing from private scores."""

from safeselect.mechanisms._results import Selection, Selections, TopK, TopSet
from safeselect.mechanisms.explain import expected_error, explain
from safeselect.mechanisms.exponential import exponential_mechanism, exponential_mechanism_base2
from safeselect.mechanisms.many import select_many, top_k_many
from safeselect.mechanisms.noisy_max import report_noisy_max
from safeselect.mechanisms.permute_and_flip import permute_and_flip
from safeselect.mechanisms.top_k import top_k

__all__ = [
    "Selection",
    "Selections",
    "TopK",
    "TopSet",
    "expected_error",
    "explain",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "permute_and_flip",
    "report_noisy_max",
    "select_many",
    "top_k",
    "top_k_many",
]

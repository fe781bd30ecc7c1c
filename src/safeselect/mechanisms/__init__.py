"""Choosing from private scores."""

from safeselect.mechanisms._discovered import DiscoveredTopK
from safeselect.mechanisms._results import Selection, Selections, TopK, TopSet
from safeselect.mechanisms.exponential import exponential_mechanism, exponential_mechanism_base2
from safeselect.mechanisms.many import select_many, top_k_many
from safeselect.mechanisms.noisy_max import report_noisy_max
from safeselect.mechanisms.pay_what_you_get import PayWhatYouGet
from safeselect.mechanisms.permute_and_flip import permute_and_flip
from safeselect.mechanisms.top_k import top_k
from safeselect.mechanisms.unknown_domain import unknown_domain_top_k

__all__ = [
    "DiscoveredTopK",
    "PayWhatYouGet",
    "Selection",
    "Selections",
    "TopK",
    "TopSet",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "permute_and_flip",
    "report_noisy_max",
    "select_many",
    "top_k",
    "top_k_many",
    "unknown_domain_top_k",
]

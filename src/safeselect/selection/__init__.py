"""Choosing candidates from private scores: the door for data, and every mechanism of one call."""

from safeselect.selection._results import Selection, Selections, TopK, TopSet
from safeselect.selection.gaps import (
    exponential_mechanism_with_gap,
    permute_and_flip_with_gap,
    report_noisy_max_with_gap,
    top_k_with_gaps,
)
from safeselect.selection.many import select_many, top_k_many
from safeselect.selection.one import (
    exponential_mechanism,
    exponential_mechanism_base2,
    permute_and_flip,
    report_noisy_max,
)
from safeselect.selection.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    ReportNoisyMax,
    TopKMechanism,
)
from safeselect.selection.top_k import top_k
from safeselect.selection.top_k_above import TopAbove, top_k_above

__all__ = [
    "ExponentialMechanism",
    "ExponentialMechanismBase2",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "Selection",
    "Selections",
    "TopAbove",
    "TopK",
    "TopKMechanism",
    "TopSet",
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
]

"""Differentially private selection on exact arithmetic.

The names below are the public interface; everything else may change without notice, except the
building blocks documented in `safeselect.samplers`, `safeselect.lattice` and
`safeselect.estimates`.
"""

from safeselect.errors import (
    BudgetError,
    InputError,
    ParameterError,
    SafeSelectError,
    ScoreError,
    SourceError,
)
from safeselect.estimates import (
    estimate_from_gaps,
    estimate_from_threshold,
    expected_gap,
    gap_confidence_bound,
    gap_p_value,
)
from safeselect.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.mechanisms import (
    AdaptiveSparseVector,
    Answer,
    Answers,
    Selection,
    Selections,
    SparseVector,
    TopAbove,
    TopK,
    TopSet,
    exponential_mechanism,
    exponential_mechanism_base2,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max,
    report_noisy_max_with_gap,
    select_many,
    top_k,
    top_k_above,
    top_k_many,
    top_k_with_gaps,
)
from safeselect.sources import CallbackSource, CombinedSource, OpenSSLSource, Source, SystemSource

__all__ = [
    "AdaptiveSparseVector",
    "Answer",
    "Answers",
    "ApproximateDP",
    "BoundedRange",
    "BudgetError",
    "CallbackSource",
    "CombinedSource",
    "InputError",
    "LaplaceDominated",
    "OpenSSLSource",
    "ParameterError",
    "PureDP",
    "SafeSelectError",
    "ScoreError",
    "Selection",
    "Selections",
    "Source",
    "SourceError",
    "SparseVector",
    "SystemSource",
    "TopAbove",
    "TopK",
    "TopSet",
    "ZeroConcentratedDP",
    "estimate_from_gaps",
    "estimate_from_threshold",
    "expected_gap",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "exponential_mechanism_with_gap",
    "gap_confidence_bound",
    "gap_p_value",
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

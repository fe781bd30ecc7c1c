"""Differentially private selection on exact arithmetic.

The names below are the public interface; everything else may change without notice, except the
building blocks documented in `safeselect.samplers` and `safeselect.lattice`.
"""

from safeselect.errors import (
    BudgetError,
    InputError,
    ParameterError,
    SafeSelectError,
    ScoreError,
    SourceError,
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
    permute_and_flip,
    report_noisy_max,
    select_many,
    top_k,
    top_k_above,
    top_k_many,
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
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "permute_and_flip",
    "report_noisy_max",
    "select_many",
    "top_k",
    "top_k_above",
    "top_k_many",
]

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
    DiscoveredTopK,
    PayWhatYouGet,
    Selection,
    Selections,
    TopK,
    TopSet,
    exponential_mechanism,
    exponential_mechanism_base2,
    permute_and_flip,
    report_noisy_max,
    select_many,
    top_k,
    top_k_many,
    unknown_domain_top_k,
)
from safeselect.sources import CallbackSource, CombinedSource, OpenSSLSource, Source, SystemSource

__all__ = [
    "ApproximateDP",
    "BoundedRange",
    "BudgetError",
    "CallbackSource",
    "CombinedSource",
    "DiscoveredTopK",
    "InputError",
    "LaplaceDominated",
    "OpenSSLSource",
    "ParameterError",
    "PayWhatYouGet",
    "PureDP",
    "SafeSelectError",
    "ScoreError",
    "Selection",
    "Selections",
    "Source",
    "SourceError",
    "SystemSource",
    "TopK",
    "TopSet",
    "ZeroConcentratedDP",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "permute_and_flip",
    "report_noisy_max",
    "select_many",
    "top_k",
    "top_k_many",
    "unknown_domain_top_k",
]

"""Differentially private selection on exact arithmetic.

The names below are the public interface; everything else may change without notice, except the
building blocks documented in `safeselect.samplers` and `safeselect.lattice`.
"""

from safeselect.accounting import Budget, HmacSigner, Ledger, Receipt, Signer
from safeselect.errors import (
    BudgetError,
    InputError,
    LedgerError,
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
)
from safeselect.sources import CallbackSource, CombinedSource, OpenSSLSource, Source, SystemSource

__all__ = [
    "ApproximateDP",
    "BoundedRange",
    "Budget",
    "BudgetError",
    "CallbackSource",
    "CombinedSource",
    "HmacSigner",
    "InputError",
    "LaplaceDominated",
    "Ledger",
    "LedgerError",
    "OpenSSLSource",
    "ParameterError",
    "PureDP",
    "Receipt",
    "SafeSelectError",
    "ScoreError",
    "Selection",
    "Selections",
    "Signer",
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
]

"""Differentially private selection on exact arithmetic.

The names below are the public interface; everything else may change without notice, except the
building blocks documented in `safeselect.spec`, `safeselect.engine` and
`safeselect.estimates`.
"""

from safeselect.accounting import calibrate, compose
from safeselect.accounting.gaussian import GaussianDP
from safeselect.errors import (
    BudgetError,
    ChargeStands,
    InputError,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
    RepeatedRequest,
    SafeSelectError,
    SafeSelectWarning,
    ScoreError,
    SourceError,
)
from safeselect.estimates.explain import explain
from safeselect.ledger import Budget, Ledger
from safeselect.mechanisms.keys import partition_strategy, select_partitions
from safeselect.mechanisms.measure import measure
from safeselect.mechanisms.quantiles import quantile, quantiles
from safeselect.mechanisms.runs import best_of, first_above
from safeselect.mechanisms.select import (
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
    top_k_with_gaps,
)
from safeselect.mechanisms.sessions import AdaptiveSparseVector, SparseVector
from safeselect.mechanisms.unknown import PayWhatYouGet, unknown_domain_top_k
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.release.results import from_json
from safeselect.scores.counts import Counts

__all__ = [
    "AdaptiveSparseVector",
    "ApproximateDP",
    "BoundedRange",
    "Budget",
    "BudgetError",
    "ChargeStands",
    "Counts",
    "GaussianDP",
    "InputError",
    "LaplaceDominated",
    "Ledger",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerError",
    "LedgerRolledBack",
    "ParameterError",
    "PayWhatYouGet",
    "PureDP",
    "RepeatedRequest",
    "SafeSelectError",
    "SafeSelectWarning",
    "ScoreError",
    "SourceError",
    "SparseVector",
    "ZeroConcentratedDP",
    "best_of",
    "calibrate",
    "compose",
    "explain",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "exponential_mechanism_with_gap",
    "first_above",
    "from_json",
    "measure",
    "partition_strategy",
    "permute_and_flip",
    "permute_and_flip_with_gap",
    "quantile",
    "quantiles",
    "report_noisy_max",
    "report_noisy_max_with_gap",
    "select_many",
    "select_partitions",
    "top_k",
    "top_k_above",
    "top_k_with_gaps",
    "unknown_domain_top_k",
]

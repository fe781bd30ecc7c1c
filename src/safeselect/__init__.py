"""Differentially private selection on exact arithmetic.

The names below are the public interface; everything else may change without notice, except the
building blocks documented in `safeselect.spec`, `safeselect.engine` and
`safeselect.estimates`.
"""

from safeselect.accounting import Composition, calibrate, compose
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import PoissonRepeated, Repeated
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
from safeselect.estimates import (
    estimate_from_gaps,
    estimate_from_threshold,
    expected_error,
    expected_gap,
    explain,
    gap_confidence_bound,
    gap_p_value,
)
from safeselect.ledger import Budget, Ledger
from safeselect.mechanisms.keys import PartitionStrategy, partition_strategy, select_partitions
from safeselect.mechanisms.measure import measure
from safeselect.mechanisms.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    ReportNoisyMax,
    TopKMechanism,
)
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
from safeselect.randomness.source import OpenSSLSource, Source
from safeselect.release.results import (
    Answers,
    Batch,
    Groups,
    Numbers,
    Receipt,
    Selection,
    Statement,
    TopK,
    from_json,
    json_schema,
)
from safeselect.scores.counts import Counts
from safeselect.sources import CallbackSource, CombinedSource, SystemSource

__all__ = [
    "AdaptiveSparseVector",
    "Answers",
    "ApproximateDP",
    "Batch",
    "BoundedRange",
    "Budget",
    "BudgetError",
    "CallbackSource",
    "ChargeStands",
    "CombinedSource",
    "Composition",
    "Counts",
    "ExponentialMechanism",
    "ExponentialMechanismBase2",
    "GaussianDP",
    "Groups",
    "InputError",
    "LaplaceDominated",
    "Ledger",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerError",
    "LedgerRolledBack",
    "Numbers",
    "OpenSSLSource",
    "ParameterError",
    "PartitionStrategy",
    "PayWhatYouGet",
    "PermuteAndFlip",
    "PoissonRepeated",
    "PureDP",
    "Receipt",
    "Repeated",
    "RepeatedRequest",
    "ReportNoisyMax",
    "SafeSelectError",
    "SafeSelectWarning",
    "ScoreError",
    "Selection",
    "Source",
    "SourceError",
    "SparseVector",
    "Statement",
    "SystemSource",
    "TopK",
    "TopKMechanism",
    "ZeroConcentratedDP",
    "best_of",
    "calibrate",
    "compose",
    "estimate_from_gaps",
    "estimate_from_threshold",
    "expected_error",
    "expected_gap",
    "explain",
    "exponential_mechanism",
    "exponential_mechanism_base2",
    "exponential_mechanism_with_gap",
    "first_above",
    "from_json",
    "gap_confidence_bound",
    "gap_p_value",
    "json_schema",
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

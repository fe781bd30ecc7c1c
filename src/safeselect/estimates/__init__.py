"""What released gaps tell: better estimates, p-values and bounds, at no cost in privacy.

Everything here works on numbers that were released before; nothing is drawn and no private data is
touched.  *Rate* means the rate of a noise per score unit, 1 / scale, as the mechanism used it:
epsilon / R for one winner, epsilon / (k R) for `top_k_with_gaps`, where R is `range_`, or
`sensitivity` if monotonic, or twice the `sensitivity` (rounded up to whole steps where the scores
had a `grid`).  Proofs: `docs/mathematics.md`, section 13; a worked example: `docs/gaps.md`.
"""

from safeselect.estimates.combining import (
    error_ratio,
    estimate_from_gaps,
    estimate_from_threshold,
    threshold_error_ratio,
    variance_ratio,
)
from safeselect.estimates.inference import expected_gap, gap_confidence_bound, gap_p_value

__all__ = [
    "error_ratio",
    "estimate_from_gaps",
    "estimate_from_threshold",
    "expected_gap",
    "gap_confidence_bound",
    "gap_p_value",
    "threshold_error_ratio",
    "variance_ratio",
]

"""Plans before a release, and statistics of released gaps after it, at no cost in privacy.

Everything here works on public numbers: a made-up example, or what was already released.  Nothing
is drawn and no private data is touched.  *Rate* is the rate of the mechanism's noise per score
unit, which is 1 / scale: epsilon / R for one winner, and epsilon / (k R) for `top_k_with_gaps`.  R
is `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`; with a `grid`, R is rounded
up to whole steps.

Proofs: `docs/mathematics.md`, section 13; a worked example: `docs/gaps.md`.
"""

from safeselect.estimates.explain import expected_error, explain
from safeselect.estimates.gaps import (
    error_from_gaps,
    error_ratio,
    estimate_fixed_from_gaps,
    estimate_from_answers,
    estimate_from_gaps,
    estimate_from_threshold,
    intervals_from_gaps,
    threshold_error_ratio,
    variance_ratio,
)
from safeselect.estimates.inference import gap_confidence_bound, gap_p_value
from safeselect.estimates.users import Plan, Plans, explain_groups, explain_items, explain_keys

__all__ = ["Plan", "Plans", "error_from_gaps", "error_ratio", "estimate_fixed_from_gaps"]
__all__ += ["estimate_from_answers", "estimate_from_gaps", "estimate_from_threshold"]
__all__ += ["expected_error", "explain", "explain_groups", "explain_items", "explain_keys"]
__all__ += ["gap_confidence_bound", "gap_p_value", "intervals_from_gaps", "threshold_error_ratio"]
__all__ += ["variance_ratio"]

"""Adding up guarantees, and finding the rate that a total allows."""

from safeselect.accounting.calibration import calibrate, per_draw_epsilon
from safeselect.accounting.composition import Composition, compose, composed_epsilon
from safeselect.accounting.optimal import optimal_pure_delta
from safeselect.accounting.ranges import optimal_bounded_range_delta

__all__ = [
    "Composition",
    "calibrate",
    "compose",
    "composed_epsilon",
    "optimal_bounded_range_delta",
    "optimal_pure_delta",
    "per_draw_epsilon",
]

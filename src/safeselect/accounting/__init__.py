"""Composition of guarantees, and the noise rate that a total allows."""

from safeselect.accounting.calibration import calibrate, per_draw_epsilon
from safeselect.accounting.composition import Composition, compose, compose_delta, composed_epsilon
from safeselect.accounting.laws import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
from safeselect.accounting.theorems.equal_pure import optimal_pure_delta

__all__ = [
    "Composition",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "RandomizedResponse",
    "calibrate",
    "compose",
    "compose_delta",
    "composed_epsilon",
    "optimal_pure_delta",
    "per_draw_epsilon",
]

"""Mechanisms that read their scores once and release many times."""

from safeselect.mechanisms.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    ReportNoisyMax,
    TopKMechanism,
)

__all__ = [
    "ExponentialMechanism",
    "ExponentialMechanismBase2",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "TopKMechanism",
]

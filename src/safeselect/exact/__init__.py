"""Exact numbers: parameters as typed, and enclosures of what is irrational."""

from safeselect.exact.binomial import binomial_below
from safeselect.exact.interval import Interval, argmin, rounded_down, rounded_up
from safeselect.exact.parameters import MAX_BITS, decimal, describe, integer, rational

__all__ = [
    "MAX_BITS",
    "Interval",
    "argmin",
    "binomial_below",
    "decimal",
    "describe",
    "integer",
    "rational",
    "rounded_down",
    "rounded_up",
]

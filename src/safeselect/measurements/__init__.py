"""Measurements: integers with exact noise, which costs what it says."""

from safeselect.measurements.measure import measure
from safeselect.measurements.results import Measurement

__all__ = ["Measurement", "measure"]

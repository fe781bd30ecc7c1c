"""Quantiles on a public grid: the exponential mechanism over all its points, exactly.

Read the files in this order: `_values`, `_grid`, `_part`, `_point`, `_results`, `release`.
"""

from safeselect.grid_quantiles._results import Quantiles
from safeselect.grid_quantiles.release import quantile, quantiles

__all__ = ["Quantiles", "quantile", "quantiles"]

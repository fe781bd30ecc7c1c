"""The optimum of an adaptive composition between two bounds, and its error budget.

All that is rounded or left out is here, in bits; `tests/accounting/optimum/test_budget.py` adds it
up.  Every error moves an upper bound up and a lower bound down, so a budget that were too small
would cost precision, and only where it says so privacy.
"""

from __future__ import annotations

TAIL = 36
"""A tail of losses that is cut off lies this far below delta; it becomes an infinite loss."""
MASS = 72
"""A unit of a mass lies this far below delta and the step."""
QUICK_TAIL, QUICK_MASS = 16, 40
"""The same for an upper bound alone, on a coarse grid."""
ROUNDED = 48
"""The roundings of a backward step in floats are together less than this far below a value..."""
MARGIN = 44
"""...which is moved by this: privacy rests on it."""
SMALLEST = 1000
"""A value is moved by 2**-SMALLEST as well, below which floats lose digits."""
LOOSE_UNITS = 8
"""Units of a mass by which a lower value of a profile may be too small."""
LOOSE = 30
"""A lower profile is known to within this far below its size, or less."""

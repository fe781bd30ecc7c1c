"""Adding up guarantees, and finding the rate that a total allows.  Knows no mechanism."""

from safeselect.accounting.calibration import per_draw_epsilon
from safeselect.accounting.composition import composed_epsilon

__all__ = ["composed_epsilon", "per_draw_epsilon"]

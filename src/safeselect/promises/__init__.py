"""What is promised: five kinds of guarantee and the theorems that lead from one to another.

An arrow means "implies", by the theorem named in the docstring of the method that goes that way:

    BoundedRange(e) -> LaplaceDominated(e) -> PureDP(e) -> ZeroConcentratedDP -> ApproximateDP

Every value is an exact rational.  Where a theorem gives an irrational number it is rounded up to
64 significant bits, so that what is printed is never less than what is owed.
"""

from safeselect.promises.pure import BoundedRange, LaplaceDominated, PureDP
from safeselect.promises.relaxed import (
    ApproximateDP,
    ZeroConcentratedDP,
    above_zero,
    log_order_constant,
)

__all__ = [
    "ApproximateDP",
    "BoundedRange",
    "Guarantee",
    "LaplaceDominated",
    "PureDP",
    "ZeroConcentratedDP",
    "above_zero",
    "log_order_constant",
]

Guarantee = PureDP | LaplaceDominated | BoundedRange | ZeroConcentratedDP | ApproximateDP

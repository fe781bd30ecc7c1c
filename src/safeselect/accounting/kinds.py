"""All kinds of guarantees: those of a selection, and those that only other releases have."""

from __future__ import annotations

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.repetition import PoissonRepeated, Repeated
from safeselect.promises.guarantees import Guarantee

AnyGuarantee = Guarantee | GaussianDP | Repeated | PoissonRepeated
"""What a release may cost, of this library or of another."""

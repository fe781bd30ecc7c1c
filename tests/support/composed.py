"""The epsilon that `compose` finds for guarantees with how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from safeselect.accounting.composition import Accounted, _best, _ordered
from safeselect.promises.guarantees import ApproximateDP

FINEST = Fraction(1, 10**6)
"""The precision of `compose` unless one is given."""


def composed_epsilon(
    parts: Iterable[tuple[Accounted, int]],
    delta: Fraction | str,
    precision: Fraction | None = FINEST,
) -> Fraction:
    """Without a precision the adaptive optimum is left out."""
    found = _best(_ordered(parts), Fraction(delta), precision).guarantee
    assert isinstance(found, ApproximateDP)
    return found.epsilon

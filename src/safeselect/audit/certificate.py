"""Two-sided bounds of a mechanism's cost on a small instance, by enclosures of its laws.

For two neighbouring inputs D and D' with laws P and P', known only as low <= P(o) <= high,

    max_o low(o) / high'(o)  <=  e**epsilon  <=  max_o high(o) / low'(o),

where epsilon is the exact pure cost of this pair over these outcomes.  Both quotients are exact
rationals; their logarithms are rounded outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from safeselect.audit.cells import Enclosure
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_down, rounded_up

_NOTHING = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds of the largest pure cost over all pairs of an instance, and the claim.

    Args:
        claim: the epsilon that is promised.
        at_least: some pair is proved to cost this much; rounded down.
        at_most: no pair costs more; rounded up.
        pairs: how many ordered pairs of neighbours were compared.
    """

    claim: Fraction
    at_least: Fraction
    at_most: Fraction
    pairs: int

    @property
    def refuted(self) -> bool:
        """Whether some pair costs more than the claim: the proof of a bug."""
        return self.at_least > self.claim

    def holds(self, tolerance: Fraction = Fraction(0)) -> bool:
        """Whether no pair costs more than (1 + tolerance) times the claim."""
        return self.at_most <= self.claim * (1 + tolerance)


def neighbours(
    size: int, top: int, *, monotonic: bool
) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all ordered pairs of neighbouring integer scores of sensitivity 1, up to a shift.

    Args:
        size: how many candidates.
        top: scores of the first input lie in 0 .. top, and the least is 0.
        monotonic: all scores move the same way.
    """
    moves = [
        move
        for move in product((-1, 0, 1), repeat=size)
        if any(move) and not (monotonic and {-1, 1} <= set(move))
    ]
    for scores in product(range(top + 1), repeat=size):
        if min(scores) == 0:
            for move in moves:
                yield scores, tuple(a + b for a, b in zip(scores, move, strict=True))


def certify(
    law: Callable[[tuple[int, ...]], Enclosure],
    pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]],
    claim: Fraction,
) -> Certificate:
    """Bound the pure cost of a mechanism over pairs of neighbours.

    Args:
        law: encloses the law at some scores.  It is asked once for scores that differ by a shift
            or by the names of the candidates only if it remembers them itself.
        pairs: for each input, all neighbours to compare it with.
        claim: the epsilon that is promised.

    Raises:
        ParameterError: there are no pairs, or an outcome may be impossible on one side only, which
            leaves no upper bound.
    """
    low_ratio, high_ratio, count = Fraction(0), Fraction(0), 0
    for one, two in pairs:
        first, second = law(one), law(two)
        count += 1
        for outcome in first.keys() | second.keys():
            low, high = first.get(outcome, _NOTHING)
            other_low, other_high = second.get(outcome, _NOTHING)
            if other_high == 0 < low or other_low == 0 < high:
                raise ParameterError("an outcome may be impossible for one of two neighbours")
            if high:
                low_ratio = max(low_ratio, low / other_high)
                high_ratio = max(high_ratio, high / other_low)
    if not count:
        raise ParameterError("a certificate needs at least one pair of neighbours")
    return Certificate(claim, _log(low_ratio, rounded_down), _log(high_ratio, rounded_up), count)


def _log(ratio: Fraction, rounded: Callable[..., Fraction]) -> Fraction:
    if ratio <= 1:
        return Fraction(0)
    return rounded(lambda precision: Interval.of(ratio, precision).log(), 32)

"""The fixed pairs of a list on a grid, from above and from below.

Each side of a bracket asks for its own.  A normal law is put on a multiple of the step, of which
about `cells` make a deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.optimum.concentrated import hull, values_above
from safeselect.accounting.optimum.pairs import (
    Masses,
    Pair,
    Smooth,
    certain,
    chords,
    dots,
    symmetric,
    values_of,
    whole_line,
)
from safeselect.accounting.optimum.problem import Part
from safeselect.accounting.optimum.upper import Grid
from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.promises.guarantees import BoundedRange, PureDP, ZeroConcentratedDP


def pairs_above(parts: Sequence[tuple[Part, int]], grid: Grid) -> list[tuple[Masses, int]]:
    """Masses that bound each pair from above."""
    return [(_above(part, grid), n) for part, n in parts if not isinstance(part, BoundedRange)]


def pairs_below(
    parts: Sequence[tuple[Part, int]], grid: Grid
) -> tuple[list[tuple[Masses, int]], Fraction]:
    """Masses C that together have C(x e**shift) at most the profile, and the shift."""
    found = [
        (_below(part, grid), n)
        for part, n in parts
        if not isinstance(part, (BoundedRange, ZeroConcentratedDP))  # the latter: Gaussian noise
    ]
    shift = sum((moved * n for (_, moved), n in found), Fraction(0))
    return [(masses, n) for (masses, _), n in found], shift


def _stride(pair: Pair, grid: Grid) -> int:
    """Of the pair's own grid, in steps."""
    if not isinstance(pair, (GaussianDP, ZeroConcentratedDP)):
        return 1
    squared = 2 * pair.zcdp.rho
    deviation = rounded_down(lambda precision: Interval.of(squared, precision).sqrt())
    return max(1, -(-deviation // (grid.step * grid.cells)))


def spread(masses: Masses, stride: int) -> Masses:
    """The same masses on a finer grid."""
    weights = [0] * ((len(masses.weights) - 1) * stride + 1)
    weights[::stride] = masses.weights
    return replace(masses, first=masses.first * stride, weights=weights)


def _above(pair: Pair, grid: Grid) -> Masses:
    stride, bits = _stride(pair, grid), grid.bits
    step = grid.step * stride
    if isinstance(pair, KnownLaw):
        atoms = pair.atoms(bits)
        last = max(1, -(-atoms.losses[0][1] // step))
        return symmetric(atoms.above([step * n for n in range(last + 1)]), step, bits, upper=True)
    last = _last(pair, step, grid.tail)
    if isinstance(pair, ZeroConcentratedDP):
        # The pair whose profile is the convex envelope of the bounds of all orders.
        line = whole_line(values_above(pair.rho, step, last + 1, bits), step, bits, upper=True)
        return spread(dots(hull(line, step, bits), -last, step, bits, upper=True), stride)
    return spread(chords(pair, step, last, bits), stride)


def _last(pair: Smooth | ZeroConcentratedDP, step: Fraction, tail: Fraction) -> int:
    """Steps to the largest loss, or to where less than the tail is left."""
    own = pair.zcdp.approximate(tail) if isinstance(pair, GaussianDP | ZeroConcentratedDP) else pair
    return max(1, -(-own.epsilon // step))


def _below(pair: Smooth | KnownLaw, grid: Grid) -> tuple[Masses, Fraction]:
    """The masses of one, and its shift."""
    stride, bits = _stride(pair, grid), grid.bits
    step = grid.step * stride
    if isinstance(pair, KnownLaw):
        # Each loss of a known law is rounded down.
        first, weights = pair.atoms(bits).places(step)
        return Masses(first, weights, 0, bits, False), Fraction(0)
    # A pair that is no easier to tell apart, with atoms at multiples of the step.
    inside, whole = pair, _last(pair, step, grid.tail)
    if not isinstance(pair, GaussianDP):
        whole = pair.epsilon // step
        inside = type(pair)(whole * step)
    if not whole or (isinstance(pair, GaussianDP) and step * step > pair.mu_squared):
        # Chords this wide cannot be moved below the profile.  A pair without any loss is a valid
        # lower bound: it is no easier to tell apart.
        return certain(bits, upper=False), Fraction(0)
    lows = values_of(inside, step, whole + 1, bits, upper=False)
    masses = symmetric(lows, step, bits, upper=False)
    return spread(masses, stride), _shift(inside, step, whole)


def _shift(pair: Smooth, step: Fraction, last: int) -> Fraction:
    """How far the chords must be moved to be below: (e**step - 1)**2 h e**(step h) / 8.

    There h bounds the hazard rate of the neighbour's loss, x H'' / |H'|, between atoms: 1/2 for
    Laplace, (z + 1) / mu for the normal law at its z-th deviation (Birnbaum 1942).
    """
    if isinstance(pair, PureDP):
        return Fraction(0)
    hazard = Fraction(1, 2)
    if isinstance(pair, GaussianDP):
        squared = pair.mu_squared
        furthest = step * (last + 2) + squared / 2
        hazard = rounded_up(
            lambda precision: furthest / squared + 1 / Interval.of(squared, precision).sqrt()
        )

    def shift(precision: int) -> Interval:
        cell = Interval.of(step, precision).expm1()
        grown = Interval.of(step * hazard, precision).exp()
        return cell * cell * grown * (hazard / 8)

    return rounded_up(shift)

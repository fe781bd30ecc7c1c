"""Profiles of the fixed pairs that dominate a guarantee, as masses on a grid of losses.

A profile is the hockey-stick divergence H(x) as a function of x = e**s.  Its chords between
multiples of a step bound it from above.  From below, the chords are moved: C(x e**shift) <= H(x).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.optimum.masses import Masses, certain, dots, mirrored
from safeselect.exact.interval import Interval, rounded_down, rounded_up
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP

Pair = PureDP | LaplaceDominated | GaussianDP | KnownLaw
"""Guarantees that a fixed pair of laws dominates and attains."""

Smooth = PureDP | LaplaceDominated | GaussianDP
"""Those with a profile that is smooth but for one atom at each end."""


@dataclass(frozen=True, slots=True)
class Law:
    """A pair on a grid.

    Attributes:
        upper: masses that bound the pair.
        lower: masses C, with C(x e**shift) at most the profile.
        shift: rational, at least 0.
    """

    upper: Masses
    lower: Masses
    shift: Fraction


def grid_masses(pair: Pair, step: Fraction, bits: int, tail: Fraction, cells: int) -> Law:
    """The pair on multiples of a step; a tail of at most `tail` may be cut off.

    A normal law is put on a multiple of the step, of which about `cells` make a deviation.
    """
    if isinstance(pair, GaussianDP):
        deviation = rounded_down(lambda precision: Interval.of(pair.mu_squared, precision).sqrt())
        stride = max(1, -(-deviation // (step * cells)))
        law = _law(pair, step * stride, bits, tail)
        return Law(_spread(law.upper, stride), _spread(law.lower, stride), law.shift)
    if isinstance(pair, KnownLaw):
        return _known(pair, step, bits)
    return _law(pair, step, bits, tail)


def _spread(masses: Masses, stride: int) -> Masses:
    """The same masses on a finer grid."""
    weights = [0] * ((len(masses.weights) - 1) * stride + 1)
    weights[::stride] = masses.weights
    return replace(masses, first=masses.first * stride, weights=weights)


def _known(law: KnownLaw, step: Fraction, bits: int) -> Law:
    """Atoms, which the grid holds where it can.

    From above their chords; from below each loss is rounded down.
    """
    atoms = law.atoms(bits)
    last = max(1, -(-atoms.losses[0][1] // step))
    values = atoms.above([step * place for place in range(last + 1)])
    line = _whole_line(values, step, bits, upper=True)
    first, weights = atoms.places(step)
    lower = Masses(first, weights, 0, bits, False)
    return Law(dots(line, -last, step, bits, upper=True), lower, Fraction(0))


def _law(pair: Smooth, step: Fraction, bits: int, tail: Fraction) -> Law:
    last = max(1, _reach(pair, step, tail))
    inside, whole = _on_grid(pair, step, last)
    values = _values(pair, step, last + 1, bits)
    upper = dots(_whole_line(values[1][:-1], step, bits, upper=True), -last, step, bits, upper=True)
    coarse = isinstance(pair, GaussianDP) and step * step > pair.mu_squared
    if not whole or coarse:
        # Chords this wide cannot be moved below the profile.  A pair without any loss is a valid
        # lower bound: it is no easier to tell apart.
        return Law(upper, certain(bits, upper=False), Fraction(0))
    if inside != pair:
        values = _values(inside, step, whole + 1, bits)
    lows = _whole_line(values[0], step, bits, upper=False)
    lower = dots(lows, -whole - 1, step, bits, upper=False)
    return Law(upper, lower, _shift(inside, step, whole))


def _reach(pair: Smooth, step: Fraction, tail: Fraction) -> int:
    """Steps to the largest loss, or to where less than the tail is left."""
    if not isinstance(pair, GaussianDP):
        return -(-pair.epsilon // step)
    return -(-pair.zcdp.approximate(tail).epsilon // step)


def _on_grid(pair: Smooth, step: Fraction, last: int) -> tuple[Smooth, int]:
    """A pair that is no easier to tell apart, with atoms at multiples of the step."""
    if isinstance(pair, GaussianDP):
        return pair, last
    whole = pair.epsilon // step
    return type(pair)(whole * step), whole


def _values(pair: Smooth, step: Fraction, last: int, bits: int) -> tuple[list[int], list[int]]:
    """The profile at 0, 1, ..., last steps, rounded down and up."""
    points = [profile(pair, step * place, bits + 16).scaled(bits) for place in range(last + 1)]
    return [low for low, _ in points], [high for _, high in points]


def _whole_line(values: list[int], step: Fraction, bits: int, *, upper: bool) -> list[int]:
    """The same from -last to last steps, as the pair is symmetric."""
    return mirrored(values, step, bits, upper=upper)[:0:-1] + values


def profile(pair: Smooth | BoundedRange, s: Fraction, precision: int) -> Interval:
    """The hockey-stick divergence at e**s, s at least 0; of a class, the largest."""
    if isinstance(pair, GaussianDP):
        return pair.tails(s, precision)[0]
    if s >= pair.epsilon:
        return Interval.of(0, precision)
    if isinstance(pair, LaplaceDominated):
        return -Interval.of((s - pair.epsilon) / 2, precision).expm1()
    own, one = Interval.of(pair.epsilon, precision), Interval.of(1, precision)
    if isinstance(pair, BoundedRange):
        root = Interval.of((s - pair.epsilon) / 2, precision).expm1()
        return -(root * root / (-own).expm1())
    return -Interval.of(s - pair.epsilon, precision).expm1() / (one + (-own).exp())


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
            lambda precision: (
                Interval.of(furthest / squared, precision)
                + Interval.of(1, precision) / Interval.of(squared, precision).sqrt()
            )
        )

    def shift(precision: int) -> Interval:
        cell = Interval.of(step, precision).expm1()
        grown = Interval.of(step * hazard, precision).exp()
        return cell * cell * grown * Interval.of(hazard / 8, precision)

    return rounded_up(shift)

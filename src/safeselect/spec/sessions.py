"""Sparse vectors as published, one value at a time.

The threshold gets noise X once; each value gets a noise Y of its own for each branch.  A value is
above, by the first branch for which (value + Y) - (threshold + X) reaches the branch's margin; then
the gap, rounded down to whole cells, is released too.  Continuous noise is compared by its digits,
and refined until they decide.

Dwork and Roth (2014); Lyu, Su and Li (2017), Algorithm 1; for gaps and for two branches Ding, Wang,
Xiao, Zhang and Kifer (2023).

Reveals: running time and the number of random bits depend on the noise and on the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.samplers import LazyExponential, LazyLaplace, LazyNoise, geometric

_DIGITS = 8  # by which undecided noise is refined


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to be above.

    Attributes:
        threshold: what values are compared with, in grid steps.  The noise's mean is public, so a
            threshold may contain it.
        margin: how far above the value must be, in grid steps; at least 0.
        cost: how much of the budget such an answer takes.
        noise_rate: of the value's noise.
    """

    threshold: Fraction
    margin: Fraction
    cost: Fraction
    noise_rate: NoiseRate


def sparse_vector(
    values: Iterable[int],
    noise: str,
    noise_rate: NoiseRate,
    branches: Sequence[Branch],
    budget: Fraction,
    cell: Fraction,
    bits: Bits,
) -> Iterator[tuple[int, int] | None]:
    """Yield for each value None, or which branch finds it above and its gap in whole cells.

    Ends when the budget does not pay for the dearest branch, since an answer may take any.

    Args:
        noise: "exponential", "laplace" or "geometric".
        noise_rate: of the threshold's noise.
    """
    start = draw(noise, noise_rate, bits)
    dearest = max(branch.cost for branch in branches)
    for value in values:
        if budget < dearest:
            return
        drawn = [draw(noise, branch.noise_rate, bits) for branch in branches]
        found = None
        for place, (branch, own) in enumerate(zip(branches, drawn, strict=True)):
            lead = excess(value - branch.threshold, own, start, branch.margin, cell, bits)
            if lead is not None:
                budget, found = budget - branch.cost, (place, lead)
                break
        yield found


def draw(noise: str, noise_rate: NoiseRate, bits: Bits) -> int | LazyNoise:
    """Draw one noise: an integer of geometric noise, else a real number by its digits."""
    if noise == "geometric":
        return geometric(bits, noise_rate)
    return (LazyLaplace if noise == "laplace" else LazyExponential)(bits, noise_rate)


def excess(
    distance: Fraction,
    noise: int | LazyNoise,
    start: int | LazyNoise,
    margin: Fraction,
    cell: Fraction,
    bits: Bits,
) -> int | None:
    """Return floor((distance + noise - start) / cell) if that sum is at least `margin`, else None.

    The sum lies in an interval of digits; both noises get more of them until it is decided.
    """
    for _ in rounds(_DIGITS):
        (least, most), (lowest, highest) = _known(noise), _known(start)
        low, high = distance + least - highest, distance + most - lowest
        if high < margin:
            return None
        if low >= margin and low // cell == high // cell:
            return int(low // cell)
        for each in (noise, start):
            if not isinstance(each, int):
                each.refine(bits, _DIGITS)
    raise exhausted()


def _known(noise: int | LazyNoise) -> tuple[Fraction, Fraction]:
    if isinstance(noise, int):
        return Fraction(noise), Fraction(noise)
    unit = Fraction(1, 1 << noise.level)
    return noise.floor * unit, (noise.floor + 1) * unit

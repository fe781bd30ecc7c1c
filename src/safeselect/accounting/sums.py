"""Sums of parameters and products of deltas: exact while short, else rounded towards privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from safeselect.accounting.search import short_up
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_down
from safeselect.exact.parameters import MAX_BITS
from safeselect.promises.guarantees import ApproximateDP

Counted = Sequence[tuple[Fraction, int]]
"""Values, each with how often it occurs."""

_LONGEST = MAX_BITS // 2  # of a common denominator
_GRID = 2 * MAX_BITS  # bits after the point of a product that is rounded down


def total(values: Counted) -> Fraction:
    """The sum; rounded up to 64 significant bits where its denominator would be long."""
    common = 1
    for value, _ in values:
        common = lcm(common, value.denominator)
        if common.bit_length() > _LONGEST:
            return _total_above(values)
    return Fraction(
        sum(value.numerator * (common // value.denominator) * n for value, n in values), common
    )


def _total_above(values: Counted) -> Fraction:
    largest = max(value for value, _ in values)
    size = largest.numerator.bit_length() - largest.denominator.bit_length()
    unit = Fraction(2) ** (size - 128 - len(values).bit_length())
    units = sum(-((-value) // unit) * n for value, n in values)
    return short_up(units * unit)


def deltas_of(parts: Sequence[tuple[object, int]]) -> list[tuple[Fraction, int]]:
    """The deltas of the parts that have one."""
    return [(g.delta, count) for g, count in parts if isinstance(g, ApproximateDP)]


def sum_of_deltas(deltas: Counted) -> Fraction:
    """1 - prod (1 - delta): the chance that a guarantee fails; rounded up where it is long."""
    failing = 1 - _kept(deltas)
    return failing if failing.denominator.bit_length() <= _LONGEST else short_up(failing)


def what_is_left(delta: Fraction, deltas: Counted) -> Fraction:
    """The rest with delta = 1 - (1 - rest) prod (1 - delta_i); rounded down where it is long.

    Raises:
        ParameterError: the rest would be negative.
    """
    rest = 1 - (1 - delta) / _kept(deltas)
    if rest < 0:
        least = sum_of_deltas(deltas)
        raise ParameterError(
            f"delta must be at least {short_up(least)}, the total delta of the ApproximateDP parts"
        )
    if rest.denominator.bit_length() <= _LONGEST:
        return rest
    return rounded_down(lambda precision: Interval.of(rest, precision))


def is_exactly_left(rest: Fraction, delta: Fraction, deltas: Counted) -> bool:
    """Whether `what_is_left` surely had nothing to round."""
    bits = sum(count * each.denominator.bit_length() for each, count in deltas)
    return bits <= _GRID and (1 - rest) * _kept(deltas) == 1 - delta


def _kept(deltas: Counted) -> Fraction:
    """prod (1 - delta): exact while it is short, then rounded down to _GRID bits at each step."""
    product = Fraction(1)
    units: int | None = None  # of 2**-_GRID, once fractions would be too long to be quick
    for delta, count in deltas:
        each = 1 - delta
        if units is None:
            bits = product.denominator.bit_length() + count * each.denominator.bit_length()
            if bits <= _GRID:
                product *= each**count
                continue
            units = (product.numerator << _GRID) // product.denominator
        if count > 1:
            units = units * _power(each, count) >> _GRID
        else:
            units = units * each.numerator // each.denominator
    kept = product if units is None else Fraction(units, 1 << _GRID)
    if not kept:
        raise ParameterError(
            "the total delta, rounded up, is 1, so nothing is guaranteed; compose guarantees with "
            "smaller deltas"
        )
    return kept


def _power(value: Fraction, count: int) -> int:
    """value**count in steps of 2**-_GRID, rounded down."""
    square, product = (value.numerator << _GRID) // value.denominator, 1 << _GRID
    while count:
        if count % 2:
            product = product * square >> _GRID
        square, count = square * square >> _GRID, count // 2
    return product

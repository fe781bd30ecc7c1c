"""The noise laws, each as one decreasing function of a uniform number V in (0, 1).

Noise is always found by inversion: E = Q(V) nats, where P(E > x) = S(x) and Q is the inverse of S.
V is known only to as many binary digits as have been drawn.  So E is known as an enclosure, and
more digits make it narrower.  Nothing here depends on the noise rate, a `NoiseRate`: its `nats`
say how many nats one grid step is worth.

    exponential   S(x) = exp(-x)                                    Q(V) = -ln V
    laplace       S(x) = exp(-x)/2 for x >= 0, 1 - exp(x)/2 below   Q(V) = -ln 2V, or ln 2(1 - V)
    gumbel        S(x) = 1 - exp(-exp(-x))                          Q(V) = -ln(-ln(1 - V))

One bound supports every enclosure.  In all three laws |dQ/dV| <= 2 / min(V, 1 - V).  The derivative
is 1/V in size, then 1 / min(V, 1 - V), then 1 / ((1 - V) * -ln(1 - V)), where -ln(1 - V) >= V for
V <= 1/2 and -ln(1 - V) >= ln 2 >= 1/2 above.  So one evaluation at the left end encloses Q over a
whole cell.

MPFR takes the logarithms.  Integers take them in the ordinary case, which is quicker.  A number is
written 2**-z * x with x in [1/2, 1), and x lies in one of 1024 cells.  The cell has a factor c, a
little less than 1 / (upper end of the cell), so that c * x = 1 - r with 0 <= r < 2**-10.  This r
lies in one of 1024 cells too.  Their factor d, a little less than 1 / (1 - lower end of the cell),
gives d * (1 - r) = 1 - s with 0 <= s < 2**-20 * 513/512.  No product is rounded.  So

    -ln x = ln c + ln d - ln(1 - s),    -ln(1 - s) = s + s**2 / 2 + s**3 / 3 + ...

After two terms less than s**3 / 3 * 257/256 < 2**-61 is left, after three s**4 / 4 * 257/256 <
2**-81.  Near 1 both factors are 1, and the logarithm is the series alone: what is left after three
terms is less than 2**-61 of the value there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import gmpy2
from gmpy2 import mpfr

from safeselect.exact.interval import contexts

UNBOUNDED = 1 << 65536
"""Stands for infinity among integers: larger than any enclosure that is ever compared."""

_QUICK_BITS, QUICK_PRECISION = 80, 56

_CELLS = 1 << 10
_MANTISSA, _FIRST, _SECOND = 80, 22, 38  # digits of x, c and d behind the point
_PRODUCT = _MANTISSA + _FIRST
DIGITS = _PRODUCT + _SECOND
_ONE, _ONE_PRODUCT = 1 << DIGITS, 1 << _PRODUCT
_TO_CELL, _TO_INNER_CELL = _MANTISSA - 11, _PRODUCT - 20

Known = tuple[int, int]
"""The known digits of V: (v, bits) for v / 2**bits <= V <= (v + 1) / 2**bits."""


@cache
def _tables() -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...], int]:
    """The factors c of the cells of x, and d of those of r, each with its logarithm; and ln 2.

    Factors are in units of their last digit, logarithms in units of 2**-140 and rounded down.  The
    tables are computed when first needed, in some milliseconds.
    """
    down, _ = contexts(DIGITS + 32)

    def log(factor: int, bits: int) -> int:
        return int(down.floor(down.mul_2exp(down.log(down.div_2exp(factor, bits)), DIGITS)))

    first = [(2 * _CELLS << _FIRST) // (_CELLS + cell + 1) for cell in range(_CELLS)]
    second = [(_CELLS**2 << _SECOND) // (_CELLS**2 - cell) for cell in range(_CELLS)]
    return (
        tuple((factor, log(factor, _FIRST)) for factor in first),
        tuple((factor, log(factor, _SECOND)) for factor in second),
        log(2, 0),
    )


def ln_2() -> int:
    """The logarithm of 2 in units of 2**-140, rounded down."""
    return _tables()[2]


def minus_logs(numbers: Iterable[Known], *, close: bool = False) -> list[int]:
    """-ln(v / 2**bits) for each (v, bits), in units of 2**-140, off by less than 2**-61.

    For v = 0 it is UNBOUNDED nats.

    Requires: 0 <= v < 2**147, bits <= 140.
    Exactness: with `close`, for v of at most 80 digits, off by less than 2**-61 of its value.
        Roundings, in units of 2**-140: s**2 / 2 and s**3 / 3 down by two each, each factor's
        logarithm by one, and ln 2 by one each time it is added.  They matter only where the value
        is close to 0: there no logarithm is added, and s**2 / 2 below one unit is less than
        2**-70 s.  A v with more than 80 digits is rounded, by less than 2**-79 of its value.
    Reveals: nothing; the steps are the same for all v but 0.
    """
    cells, inner_cells, ln2 = _tables()
    found = []
    for v, bits in numbers:
        if not v:
            found.append(UNBOUNDED << DIGITS)
            continue
        length = v.bit_length()
        mantissa = (v << _MANTISSA) >> length
        factor, first = cells[(mantissa >> _TO_CELL) - _CELLS]
        product = mantissa * factor
        factor, second = inner_cells[_ONE_PRODUCT - product >> _TO_INNER_CELL]
        s = _ONE - product * factor
        square = s * s >> DIGITS
        total = first + second + (bits - length) * ln2 + s + (square >> 1)
        found.append(total + (square * s >> DIGITS) // 3 if close else total)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A noise law in nats.

    Args:
        name: for messages and tests.
        quantile: (v, bits, precision) -> an MPFR number x with Q(v / 2**bits) <= x, and x exceeds
            it by less than 2**(9 - precision).  Requires 0 < v < 2**bits, and v of at most
            `precision` digits besides zeros at its end.
        quick: Q(v / 2**bits) for each (v, bits), in units of 2**-140, off by less than 2**-60;
            UNBOUNDED nats for v = 0.  Requires v < 2**bits, bits <= 80.
        survival: (steps, precision) -> an MPFR upper bound of S(steps / 64), relatively tight.
        lowest: steps with S(lowest / 64) > 1 - 2**-16, so that every 16-bit word lies above it.
        steep: in how many of the last 16-bit words the noise may vary by more than 1/32 nat, up to
            roundings, because Q falls steeply near V = 1.
    """

    name: str
    quantile: Callable[[int, int, int], mpfr]
    quick: Callable[[list[Known]], list[int]]
    survival: Callable[[int, int], mpfr]
    lowest: int
    steep: int


def enclose(law: Law, v: int, bits: int, precision: int) -> tuple[int, int]:
    """Integers (low, high) with low <= Q(V) * 2**precision <= high for all V in [v, v+1] / 2**bits.

    Requires: 0 <= v < 2**bits.
    Exactness: see `upper_ends` and `lower_end`.
    Reveals: the only branch on v is taken with probability 2**(1 - bits), at the ends of (0, 1).
    """
    (high,) = upper_ends(law, [(v, bits)], precision)
    return lower_end(high, v, bits, precision), high


def upper_ends(law: Law, known: list[Known], precision: int) -> list[int]:
    """The upper end for each (v, bits): Q(v / 2**bits) * 2**precision, and at most 2 + 2**-4 more.

    Reveals: the only branch on v is taken with probability 2**-bits.
    """
    if precision > QUICK_PRECISION or max([bits for _, bits in known]) > _QUICK_BITS:
        return [_upper_end(law, v, bits, precision) for v, bits in known]
    cut = DIGITS - precision
    return [(noise >> cut) + 2 for noise in law.quick(known)]


def _upper_end(law: Law, v: int, bits: int, precision: int) -> int:
    """An upper end by MPFR."""
    if v == 0:
        return UNBOUNDED
    # With 16 digits more than requested, quantile's error is far below one unit.  64 more zeros
    # change no value.  Without them a V that fits a machine word would be converted on a shorter
    # path.
    working = max(precision + 16, bits)
    mantissa, exponent = law.quantile(v << 64, bits + 64, working).as_mantissa_exp()
    # Noise is below 2**32: the mantissa is an integer times 2**-exponent, exponent < 32.
    return int(-((-mantissa << precision + 32) >> 32 - exponent))


def lower_end(high: int, v: int, bits: int, precision: int) -> int:
    """The lower end of a cell whose upper end is given.

    Exactness: below `high` by the largest change of Q within the cell (the module's bound), and by
        4 more for the error of `high` and for the rounding of the quotient.
    """
    nearer = min(v, (1 << bits) - 1 - v)  # over the cell, min(V, 1 - V) >= nearer / 2**bits
    if nearer == 0:
        return -UNBOUNDED
    # 64 more digits change no value.  Without them a quotient of 0 would take less time.
    return high - ((2 << precision + 64) // nearer >> 64) - 4


@lru_cache(maxsize=256)
def _tools(bits: int, precision: int) -> tuple[mpfr, gmpy2.context, gmpy2.context]:
    """2**-bits, and MPFR contexts that round down and up; never the thread's own context.

    The product of 2**-bits with an integer that fits the precision is exact.
    """
    down, up = contexts(precision)
    return mpfr(Fraction(1, 1 << bits), 0, down), down, up


# No operator is applied to an MPFR number: -x would round to the thread's precision.


def _exponential_quantile(v: int, bits: int, precision: int) -> mpfr:
    unit, down, _ = _tools(bits, precision)
    return down.minus(down.log(down.mul(v, unit)))


def _laplace_quantile(v: int, bits: int, precision: int) -> mpfr:
    unit, down, up = _tools(bits - 1, precision)
    # V >= 1/2 is reflected.  Both sides take the same steps; the side only picks numbers.
    side = v >> (bits - 1)
    folded = (v, (1 << bits) - v)[side]
    logarithm = (down, up)[side].log(down.mul(folded, unit))
    return (down.minus(logarithm), logarithm)[side]


def _gumbel_quantile(v: int, bits: int, precision: int) -> mpfr:
    unit, down, up = _tools(bits, precision)
    # The inner positive number, -ln(1 - V), is rounded towards zero.  So the outer one is rounded
    # up.
    # MPFR's logarithm is correctly rounded relative to its value: no cancellation near V = 0.
    inner = up.log(down.mul((1 << bits) - v, unit))
    return down.minus(down.log(up.minus(inner)))


def _laplace_quick(known: list[Known]) -> list[int]:
    sides = [v >> (bits - 1) for v, bits in known]
    folded = [
        ((v, (1 << bits) - v)[side], bits - 1) for (v, bits), side in zip(known, sides, strict=True)
    ]
    found = minus_logs(folded)
    return [(log, -log)[side] for log, side in zip(found, sides, strict=True)]


def _gumbel_quick(known: list[Known]) -> list[int]:
    # The inner logarithm is relatively exact, so the outer one moves by less than 2**-61 with it.
    inner = minus_logs([((1 << bits) - v, bits) for v, bits in known], close=True)
    # At V = 0 the inner one is 0 up to roundings.
    return minus_logs([(log if v else 0, DIGITS) for log, (v, _) in zip(inner, known, strict=True)])


def _exponential_survival(steps: int, precision: int) -> mpfr:
    unit, _, up = _tools(6, precision)
    return up.exp(up.mul(-steps, unit))


def _laplace_survival(steps: int, precision: int) -> mpfr:
    unit, down, up = _tools(6, precision)
    if steps >= 0:
        return up.div(up.exp(up.mul(-steps, unit)), 2)
    return up.sub(1, down.div(down.exp(down.mul(steps, unit)), 2))


def _gumbel_survival(steps: int, precision: int) -> mpfr:
    unit, down, up = _tools(6, precision)
    inner = up.exp(up.mul(-steps, unit))
    return up.minus(down.expm1(down.minus(inner)))


EXPONENTIAL = Law("exponential", _exponential_quantile, minus_logs, _exponential_survival, 0, 0)
LAPLACE = Law("laplace", _laplace_quantile, _laplace_quick, _laplace_survival, -672, 34)
GUMBEL = Law("gumbel", _gumbel_quantile, _gumbel_quick, _gumbel_survival, -160, 5)

LAWS = {law.name: law for law in (EXPONENTIAL, LAPLACE, GUMBEL)}
"""The noise laws by name.  A new law is one more row here, once a proof shows that it keeps the
bounds on Q's first derivative (above), on its second (`tables`), on the hazard rate (`draws`)."""

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

MPFR takes the logarithms.  Integers take them in the ordinary case: quicker, and to 74 digits.
A number is written 2**-z * x with x in [1/2, 1), and x lies in one of 512 cells.  The cell has a
factor c, a little less than 1 / (upper end of the cell), so that c * x = 1 - r with 0 <= r < 2**-9,
and

    -ln x = ln c - ln(1 - r),    -ln(1 - r) = r + r**2 / 2 + r**3 / 3 + ...

Seven terms of the series are taken; the rest is less than r**8 / 8 * 513/512 < 2**-74.  In the last
cell c is 1, so near 1 the logarithm is the series alone.  Its relative error is small there too:
the rest is below 2**-65 r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import gmpy2
from gmpy2 import mpfr

from safeselect.exact.interval import Interval, contexts

UNBOUNDED = 1 << 65536
"""Stands for infinity among integers: larger than any enclosure that is ever compared."""

_QUICK_BITS, _QUICK_PRECISION = 80, 56

DIGITS = 160
_ONE = 1 << DIGITS
_CELL_BITS = 9
_CELLS = 1 << _CELL_BITS
_FACTOR_BITS = 21
_WIDTH = 168  # all arguments are brought to so many digits; the longest, 111 * 2**160, has 167


def _log(value: Fraction) -> int:
    """ln(value) in units of 2**-160, rounded down."""
    return Interval.of(value, DIGITS + 32).log().scaled(DIGITS)[0]


@cache
def _table() -> tuple[tuple[tuple[int, int], ...], int]:
    """Each cell's factor in units of 2**-21 and logarithm in units of 2**-160, and ln 2.

    The table is computed when first needed, in some milliseconds.
    """
    one = 1 << _FACTOR_BITS
    factors = [(2 * _CELLS * one) // (_CELLS + number + 1) for number in range(_CELLS)]
    return tuple((each, _log(Fraction(each, one))) for each in factors), _log(Fraction(2))


def minus_log(v: int, bits: int) -> int:
    """-ln(v / 2**bits) in units of 2**-160, off by less than 2**-74 in all.

    Requires: 0 < v < 2**168, bits <= 160.
    Exactness: off by less than 2**-65 of its value and 2**-156 where v / 2**bits is in (1023/1024,
        1).  Roundings: r up by one unit of 2**-160, each term down by two, the cell's logarithm by
        one, and ln 2 by one each time it is added.
    Reveals: nothing; the steps are the same for all v.
    """
    length = v.bit_length()
    mantissa = v << _WIDTH - length
    cells, ln2 = _table()
    factor, total = cells[(mantissa >> _WIDTH - _CELL_BITS - 1) - _CELLS]
    r = _ONE - (mantissa * factor >> _WIDTH + _FACTOR_BITS - DIGITS)
    r2 = r * r >> DIGITS
    r3 = r2 * r >> DIGITS
    r4 = r2 * r2 >> DIGITS
    total += (bits - length) * ln2 + r + (r2 >> 1) + r3 // 3 + (r4 >> 2)
    r5, r6, r7 = r4 * r >> DIGITS, r3 * r3 >> DIGITS, r4 * r3 >> DIGITS
    return total + r5 // 5 + r6 // 6 + r7 // 7


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A noise law in nats.

    Args:
        name: for messages and tests.
        quantile: (v, bits, precision) -> an MPFR number x with Q(v / 2**bits) <= x, and x exceeds
            it by less than 2**(9 - precision).  Requires 0 < v < 2**bits, and v of at most
            `precision` digits besides zeros at its end.
        quick: (v, bits) -> Q(v / 2**bits) in units of 2**-160, off by less than 2**-60.  Requires
            0 < v < 2**bits, bits <= 80.
        survival: (steps, precision) -> an MPFR upper bound of S(steps / 64), relatively tight.
        lowest: steps with S(lowest / 64) > 1 - 2**-16, so that every 16-bit word lies above it.
        steep: in how many of the last 16-bit words the noise may vary by more than 1/32 nat, up to
            roundings, because Q falls steeply near V = 1.
    """

    name: str
    quantile: Callable[[int, int, int], mpfr]
    quick: Callable[[int, int], int]
    survival: Callable[[int, int], mpfr]
    lowest: int
    steep: int


def enclose(law: Law, v: int, bits: int, precision: int) -> tuple[int, int]:
    """Integers (low, high) with low <= Q(V) * 2**precision <= high for all V in [v, v+1] / 2**bits.

    Requires: 0 <= v < 2**bits.
    Exactness: high exceeds Q(v / 2**bits) * 2**precision by 2 + 2**-4 at most.  low lies below
        high by the largest change of Q within the cell (the module's bound), and by 4 more for the
        error of high and for the rounding of the quotient.
    Reveals: the only branch on v is taken with probability 2**(1 - bits), at the ends of (0, 1).
    """
    return enclose_all(law, ((v, bits),), precision)[0]


def enclose_all(
    law: Law, known: Iterable[tuple[int, int]], precision: int
) -> list[tuple[int, int]]:
    """`enclose` for each (v, bits)."""
    found, quick, cut, two = [], law.quick, DIGITS - precision, 2 << precision + 64
    for v, bits in known:
        nearer = min(v, (1 << bits) - 1 - v)  # over the cell, min(V, 1 - V) >= nearer / 2**bits
        if nearer == 0:
            found.append((-UNBOUNDED, UNBOUNDED))
            continue
        # Here and below, 64 more zeros change no value.  Without them a V that fits a machine word
        # would be converted on a shorter path, and a quotient of 0 would take less time.
        if bits <= _QUICK_BITS and precision <= _QUICK_PRECISION:
            high = (quick(v, bits) >> cut) + 2
        else:
            # With 16 digits more than requested, quantile's error is far below one unit.
            working = max(precision + 16, bits)
            mantissa, exponent = law.quantile(v << 64, bits + 64, working).as_mantissa_exp()
            # Noise is below 2**32: the mantissa is an integer times 2**-exponent, exponent < 32.
            high = int(-((-mantissa << precision + 32) >> 32 - exponent))
        found.append((high - (two // nearer >> 64) - 4, high))
    return found


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


def _laplace_quick(v: int, bits: int) -> int:
    side = v >> (bits - 1)
    logarithm = minus_log((v, (1 << bits) - v)[side], bits - 1)
    return (logarithm, -logarithm)[side]


def _gumbel_quick(v: int, bits: int) -> int:
    # The inner logarithm is at least V >= 2**-80, and at least 2**-10 where 1 - V is not in the
    # last 1024th below 1.  So its relative error is less than 2**-63 in both cases.
    return minus_log(minus_log((1 << bits) - v, bits), DIGITS)


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


EXPONENTIAL = Law("exponential", _exponential_quantile, minus_log, _exponential_survival, 0, 0)
LAPLACE = Law("laplace", _laplace_quantile, _laplace_quick, _laplace_survival, -672, 34)
GUMBEL = Law("gumbel", _gumbel_quantile, _gumbel_quick, _gumbel_survival, -160, 5)

LAWS = {law.name: law for law in (EXPONENTIAL, LAPLACE, GUMBEL)}
"""The noise laws by name.  A new law is one more row here, once a proof shows that it keeps the
bounds on Q's first derivative (above), on its second (`tables`) and on the hazard rate (`plan`)."""

"""About the epsilon of a draw that costs a given rho: a guess, which its caller proves."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

from gmpy2 import mpfr, mpq

from safeselect.exact.interval import contexts
from safeselect.promises.guarantees import BoundedRange, Family, LaplaceDominated, PureDP

LEAST = Fraction(1, 2**60)
"""Of a rho: there an epsilon of 2**-30 cancels less than half of the digits."""

MOST = 2**26
"""Of a rho: beyond, terms leave the range of MPFR numbers."""

_BITS = 128
_SERIES = Fraction(1, 8)  # the terms that are left out fall below 2**-64 of the sum there
_TERMS = 24
_MOST_STEPS = 8  # of Newton's method; 3 are usual


def guessed_epsilon(family: Family, rho: Fraction) -> Fraction:
    """About the epsilon of a draw that costs rho, to some twenty digits; nothing is proved of it.

    Requires: rho between LEAST and MOST.
    """
    if rho > _SERIES or family is PureDP:
        return _newton_guess(family, rho)
    z = isqrt((rho.numerator << 2 * _BITS + 1) // rho.denominator)
    total = 0
    for term in _inverse_series(family):  # type: ignore[arg-type]  # mypy doubts: a class is hashable
        total = (total + term) * z >> _BITS
    return Fraction(total, 1 << _BITS)


@cache
def _inverse_series(family: Family) -> tuple[int, ...]:
    """The epsilon of a draw that costs rho, as a series in z = sqrt(2 rho), the last term first.

    The equation t - ln t = 1 + rho has a root above 1 and a root below, 1 + sum of a_n (+-z)**n.
    With t = e**-epsilon it is the cost of LaplaceDominated, so epsilon is 1 + rho less the root
    below.  That of BoundedRange is the difference of both roots, y and x in `BoundedRange.zcdp`.
    The a_n follow from (t - 1) dt/dz = t z; they are those of Stirling's series for n!.
    """
    a = [Fraction(1)]
    for n in range(2, _TERMS + 1):
        mixed = sum((k * a[k - 1] * a[n - k] for k in range(2, n)), start=Fraction(0))
        a.append((a[-1] - mixed) / (n + 1))
    if family is BoundedRange:
        terms = [(1 - (-1) ** n) * each for n, each in enumerate(a, 1)]
    else:
        terms = [-((-1) ** n) * each for n, each in enumerate(a, 1)]
        terms[1] += Fraction(1, 2)  # rho is z**2 / 2
    return tuple((each.numerator << _BITS) // each.denominator for each in reversed(terms))


def _newton_guess(family: Family, rho: Fraction) -> Fraction:
    """The guess for a large rho.

    The square root of rho is nearly linear in epsilon, so Newton's method for it converges in a few
    steps: each squares the relative error.
    """
    context, _ = contexts(_BITS)
    add, sub, mul, div = context.add, context.sub, context.mul, context.div
    cost = mpfr(mpq(rho.numerator, rho.denominator), 0, context)
    wanted = context.sqrt(cost)

    def costs(at: mpfr) -> tuple[mpfr, mpfr]:
        """The rho of this epsilon, and its derivative."""
        if family is BoundedRange:
            # With y = at / (1 - e**-at), as in `BoundedRange.zcdp`.
            rest = context.minus(context.expm1(context.minus(at)))
            y = div(at, rest)
            slope = div(sub(add(1, at), y), rest)  # of y
            return sub(sub(y, 1), context.log(y)), sub(slope, div(slope, y))
        if family is LaplaceDominated:
            lost = context.expm1(context.minus(at))
            return add(at, lost), context.minus(lost)
        tanh = context.tanh(div(at, 2))
        return mul(at, tanh), add(tanh, div(mul(at, sub(1, mul(tanh, tanh))), 2))

    # To first order rho is epsilon**2 / 8, or epsilon**2 / 2.
    at = mul(wanted, context.sqrt(8 if family is BoundedRange else 2))
    for _ in range(_MOST_STEPS):
        found, slope = costs(at)
        root = context.sqrt(found)
        missing = sub(wanted, root)
        at = add(at, div(mul(missing, mul(2, root)), slope))
        if -wanted <= context.mul_2exp(missing, _BITS // 4) <= wanted:
            break
    above, below = at.as_integer_ratio()
    return Fraction(int(above), int(below))

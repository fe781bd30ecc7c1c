"""The decision of a privacy budget: what a release costs, and whether it may be made.

Nothing here knows a ledger, a record or a file.  Amounts are exact rationals that add up, and each
has a cap.  The next release, and its guarantee, may depend on all that was released before: so what
is added up, and up to where, is fixed in caps beforehand.  Minimising over Rényi orders after the
releases are known would promise too much (`docs/ledger.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from safeselect.accounting.moments import log_moment
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.exact.interval import Interval, rounded_up
from safeselect.promises.guarantees import ApproximateDP

Amounts = dict[str, Fraction]
"""The amounts that add up, by name: epsilon; rho; epsilon and delta; or log_moment."""

Caps = Mapping[str, Fraction]
"""The largest sum of each amount; all of them must hold."""

Parts = tuple[tuple[AnyGuarantee, int], ...]
"""Guarantees that together bound all that a release shows, each with how often it occurs."""

BITS = 1024
"""The longest numerator and denominator of a cap, and the longest denominator of a sum."""

_UNIT = Fraction(1, 2**BITS)


def price(
    caps: Caps, guarantee: AnyGuarantee, parts: Parts = (), excess: Fraction = Fraction(0)
) -> Amounts | None:
    """Return the price of a release, rounded up and never zero; None if an amount is not bounded.

    Moments are those of the whole release or of its parts, whichever are less.  Of epsilon and
    delta the whole pays: which of its parts had which delta is open.

    Args:
        excess: the Rényi order less 1, where `log_moment` adds up.
    """
    views: list[Parts] = [((guarantee, 1),)]
    if parts and "epsilon" not in caps:
        views.append(parts)
    found: Amounts = {}
    for name in caps:
        sums = [each for view in views if (each := _amount(caps, name, view, excess)) is not None]
        if not sums:
            return None
        least = _rounded(min(sums))
        found[name] = least if name == "delta" else max(_UNIT, least)
    return found


def add(total: Mapping[str, Fraction], price: Mapping[str, Fraction]) -> Amounts:
    """Return the new running total.

    It is the exact sum.  Only if its denominator exceeds 1024 bits, it is rounded up to a multiple
    of 2**-1024, so that the numbers of an old ledger stay short.
    """
    return {name: _rounded(total[name] + price[name]) for name in total}


def allows(caps: Caps, price: Mapping[str, Fraction], after: Mapping[str, Fraction]) -> bool:
    """Whether a release of this price may be made, with the sums after it: the whole decision."""
    return any(price.values()) and not exceeded(caps, after)


def exceeded(caps: Caps, after: Mapping[str, Fraction]) -> list[str]:
    """Return the amounts whose sums are above their caps."""
    return [name for name, cap in caps.items() if after[name] > cap]


def _amount(caps: Caps, name: str, view: Parts, excess: Fraction) -> Fraction | None:
    """Return one amount of all guarantees of a view; None if one of them does not bound it."""
    if name == "log_moment" and all(each.zcdp is not None for each, _ in view):
        return rounded_up(lambda bits: _log_moments(view, excess, bits))
    total = Fraction(0)
    for each, count in view:
        amount = _of_one(caps, name, each)
        if amount is None:
            return None
        total += amount * count
    return total


def _of_one(caps: Caps, name: str, each: AnyGuarantee) -> Fraction | None:
    if name == "rho":
        return None if each.zcdp is None else each.zcdp.rho
    if isinstance(each, ApproximateDP) and "delta" in caps:
        return each.epsilon if name == "epsilon" else each.delta
    if each.pure is None or name == "log_moment":
        return None
    return each.pure.epsilon if name == "epsilon" else Fraction(0)


def _log_moments(view: Parts, excess: Fraction, bits: int) -> Interval:
    total = Interval.of(0, bits)
    for each, count in view:
        total = total + Interval.of(count, bits) * log_moment(each, excess, bits)
    return total


def _rounded(value: Fraction) -> Fraction:
    return value if value.denominator <= 1 << BITS else -(-value // _UNIT) * _UNIT

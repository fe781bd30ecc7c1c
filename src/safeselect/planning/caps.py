"""For how many items to count a user: a small cap hides users, a large one costs noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, integer, rational
from safeselect.mechanisms.unknown import CountNoise


@dataclass(frozen=True, slots=True)
class CapError:
    """What one cap does to the count of an item of the size that was asked about.

    Attributes:
        cap: `max_contributions`.
        lost: the share of pairs of user and item that are not counted.
        bias: how many of the item's users are missing on average: its size times `lost`.
        standard_deviation: of the noise, rounded up to a thousandth.
        error: the root of the mean squared error, of bias and noise together; rounded up to a
            thousandth.
    """

    cap: int
    lost: Fraction
    bias: Fraction
    standard_deviation: Fraction
    error: Fraction


def cap_errors(
    items_per_user: Mapping[int, int],
    *,
    size: Number,
    epsilon: Number,
    caps: Iterable[int] | None = None,
) -> tuple[CapError, ...]:
    """Return what each cap does, from a *public* distribution of items per user: a sweep.

    Take last year's published figures, another market's, or a guess; not the table itself, whose
    distribution is private (`tables.choose_cap` looks at it for a small budget).

    Method: with the cap D, a user of m > D items counts for D of them, chosen by a hash that knows
        no popularity, so each of the user's items loses the share (m - D) / m of such users.  An
        item of `size` users loses size * lost on average.  Noise has the scale D / epsilon.

    Args:
        items_per_user: number of items -> number of users who have so many.
        size: how many users the items have that matter.
        epsilon: of the release.
        caps: to look at; by default all from 1 to the largest number of items, 64 at most.

    Returns:
        tuple[CapError, ...]: one for each cap, in their order.  The cap to choose has the smallest
        `error`: min(found, key=lambda each: each.error).cap.

    Raises:
        ParameterError: a number is wrong, or there is no user.

    Example:
        >>> from safeselect.planning import cap_errors
        >>> found = cap_errors({1: 70, 3: 20, 30: 10}, size=1000, epsilon=1)
        >>> best = min(found, key=lambda each: each.error)
        >>> best.cap, float(best.lost)
        (30, 0.0)
    """
    given: object = items_per_user
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise ParameterError(
            f"items_per_user must map numbers of items to numbers of users, got {kind}; write for "
            "example {1: 70, 3: 30}"
        )
    users = {
        integer(items, "a number of items", minimum=1, maximum=2**31 - 1): integer(
            count, "a number of users", minimum=0, maximum=2**63 - 1
        )
        for items, count in given.items()
    }
    pairs = sum(items * count for items, count in users.items())
    if not pairs:
        raise ParameterError("items_per_user must name at least one user")
    whole, total = rational(size, "size"), rational(epsilon, "epsilon")
    asked = range(1, min(64, max(users)) + 1) if caps is None else caps
    found = []
    for each in asked:
        cap = integer(each, "a cap", minimum=1, maximum=2**31 - 1)
        over = sum((items - cap) * count for items, count in users.items() if items > cap)
        lost = Fraction(over, pairs)
        deviation = CountNoise.of(total, cap).standard_deviation
        square = (whole * lost) ** 2 + deviation**2
        scaled = square.numerator * 10**6 // square.denominator
        error = Fraction(isqrt(scaled) + 1, 1000)
        found.append(CapError(cap, lost, whole * lost, deviation, error))
    return tuple(found)

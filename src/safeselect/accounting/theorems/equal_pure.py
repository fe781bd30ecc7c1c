"""The smallest delta of a composition with a known worst case, exactly.

At every epsilon it is A - e**epsilon B, where A and B are the probabilities under one data set and
its neighbour that the loss, ln(likelihood ratio), exceeds epsilon.  For equal pure guarantees both
are binomial tails.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from safeselect.accounting.theorems.binomial import binomial_below
from safeselect.exact.interval import Interval, above_zero, rounded_up
from safeselect.exact.parameters import Number, integer, rational

MOST_EQUAL = 10**6
"""The optimum is computed for at most so many equal guarantees; the work grows like the root."""

_MOST_STEPS = 60  # of a search with a certified result; 5 are usual
_PRECISION = 128
_ROUGH = 80  # of one step of a search
_CLOSE = Fraction(
    1, 2**36
)  # relative slack in delta and in 1 - delta with which a search is content


class Tails(Protocol):
    """The two tails of the loss of a composition."""

    def at(self, epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        """(A, B): the smallest delta at this epsilon is A - e**epsilon B."""
        ...


@dataclass(frozen=True, slots=True)
class EqualPure:
    """`count` epsilon-DP mechanisms, adaptively chosen: as many randomized responses are worst.

    The loss is (count - 2 i) epsilon where i answers were flipped.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.
    """

    epsilon: Fraction
    count: int

    def at(self, epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        most = -((epsilon / self.epsilon - self.count) // 2) - 1  # flips, with a loss above epsilon
        own = Interval.of(self.epsilon, precision)
        log_kept = -(Interval.of(1, precision) + (-own).exp()).log()
        log_flipped = log_kept - own
        return (
            binomial_below(self.count, most, log_flipped, log_kept),
            binomial_below(self.count, most, log_kept, log_flipped),
        )


def _difference(tails: tuple[Interval, Interval], epsilon: Fraction) -> Interval:
    """Enclose A - e**epsilon B."""
    above, below = tails
    return above - Interval.of(epsilon, above.precision).exp() * below


def smallest_delta(tails: Tails, epsilon: Fraction) -> Fraction:
    """A - e**epsilon B, rounded up to 64 significant bits."""
    bound = above_zero(lambda precision: _difference(tails.at(epsilon, precision), epsilon))
    return min(Fraction(1), bound)


def exceeds(tails: Tails, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the smallest delta at this epsilon is surely more."""
    return bool(_delta_at(tails, epsilon)[0].lower > delta)


def smallest_epsilon(tails: Tails, delta: Fraction, most: Fraction) -> Fraction | None:
    """Nearly the least epsilon of 64 bits with a smallest delta that is surely at most `delta`.

    None where `most` is not surely enough.  Newton steps on ln(delta) stay between an epsilon that
    is not enough and one that was checked to be enough.  The latter is returned.
    """
    low, high, tried = Fraction(0), _short_up(most), False
    at, slack = high, _CLOSE * delta * (1 - delta)
    for number in range(_MOST_STEPS):
        value, slope = _delta_at(tails, at)
        if value.upper <= delta:
            high = at
            if value.lower >= delta - 2 * slack:
                break
        elif number == 0:
            return None
        else:
            low = at
        target = Interval.of(delta - slack, _PRECISION)
        step = (value / target).log() * value / slope
        following = _short_up(at + step.fractions()[1]) if step.bounded else low
        if not (low or tried or low < following):
            # The steps point below zero, which may be enough.
            if _delta_at(tails, low)[0].upper <= delta:
                return low
            tried = True
        at = following if low < following < high else _short_up((low + high) / 2)
        if not low < at < high:
            break
    return high


def newton_epsilon(tails: Tails, delta: Fraction, at: Fraction) -> Fraction:
    """About the least epsilon with a smallest delta of at most `delta`: one Newton step from `at`.

    It is at most `at` where `at` is surely enough, and only there.
    """
    value, slope = _delta_at(tails, at, _ROUGH)
    is_enough = value.upper <= delta
    step = (value / Interval.of(delta, _ROUGH)).log() * value / slope
    moved = at + step.fractions()[1] if step.bounded else Fraction(0) if is_enough else 2 * at
    return min(moved, at) if is_enough else max(moved, at * (1 + _CLOSE))


def _delta_at(
    tails: Tails, epsilon: Fraction, precision: int = _PRECISION
) -> tuple[Interval, Interval]:
    """Enclosures of delta, and of how fast it falls."""
    above, below = tails.at(epsilon, precision)
    falls = Interval.of(epsilon, _PRECISION).exp() * below
    return above - falls, falls


def _short_up(value: Fraction) -> Fraction:
    return rounded_up(lambda precision: Interval.of(value, precision))


def optimal_pure_delta(epsilon: Number, k: object, epsilon_g: Number) -> Fraction:
    """The smallest delta at epsilon_g of k adaptively chosen epsilon-DP mechanisms.

    Exactness: at least the true value, and at most 2**-60 of it more.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.

    Args:
        epsilon: of each mechanism; positive rational.
        k: how many, up to a million.
        epsilon_g: of all together; rational, at least 0.

    Raises:
        ParameterError: a parameter is not as above.
    """
    each = rational(epsilon, "epsilon")
    count = integer(k, "k", minimum=1, maximum=MOST_EQUAL)
    return smallest_delta(EqualPure(each, count), rational(epsilon_g, "epsilon_g", zero=True))

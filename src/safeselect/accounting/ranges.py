"""The smallest delta of many equal mechanisms of bounded range that are fixed in advance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.binomial import binomial_below
from safeselect.accounting.optimal import difference
from safeselect.exact.interval import Interval, above_zero
from safeselect.exact.parameters import integer, rational

__all__ = ["EqualBoundedRange", "optimal_bounded_range_delta"]

_MOST = 100_000  # mechanisms: the work grows at least like the root


@dataclass(frozen=True, slots=True)
class EqualBoundedRange:
    """`count` mechanisms of bounded range epsilon, all fixed in advance and not chosen adaptively.

    The worst are equal two-point laws: loss t with probability p = (e**-t - e**-epsilon) / (1 -
    e**-epsilon), else t - epsilon.  The sum over the outcomes with at most `cut` losses of the
    second kind is largest at t = (at + (cut + 1) epsilon) / (count + 1), and delta is the largest
    of these sums.
    Source: Dong, Durfee and Rogers (2020), Theorem 3.
    """

    epsilon: Fraction
    count: int

    def truncations(self, epsilon: Fraction) -> range:
        """The cuts for which t is inside (0, epsilon): at its ends the loss is surely 0."""
        return range(max(0, -((epsilon / self.epsilon - self.count) // 1)))

    def truncated(self, cut: int, epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        """(A, B) of the sum up to this cut: A - e**epsilon B is at most the smallest delta."""
        t = (epsilon + (cut + 1) * self.epsilon) / (self.count + 1)
        log_whole = (-Interval.of(-self.epsilon, precision).expm1()).log()
        log_less = (-Interval.of(-t, precision).expm1()).log() - log_whole
        log_more = (-Interval.of(t - self.epsilon, precision).expm1()).log() - log_whole
        own = Interval.of(self.epsilon, precision)
        offset = Interval.of(t, precision)
        return (
            binomial_below(self.count, cut, log_less + offset - own, log_more),
            binomial_below(self.count, cut, log_less, log_more - offset),
        )

    def at(self, epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        """(A, B) at the largest truncation that a climb finds; `optimum` certifies."""
        choices = self.truncations(epsilon)
        if not choices:
            return Interval.of(0, precision), Interval.of(0, precision)
        low, high = choices[0], choices[-1]
        while low < high:
            middle = (low + high) // 2
            if (
                self._height(middle, epsilon, 96).upper
                < self._height(middle + 1, epsilon, 96).upper
            ):
                low = middle + 1
            else:
                high = middle
        return self.truncated(low, epsilon, precision)

    def optimum(self, epsilon: Fraction, precision: int) -> Interval:
        """Enclose the largest truncation: of those that no neighbour is proved to exceed."""
        best = difference(self.at(epsilon, precision), epsilon)
        last = self.truncations(epsilon)[-1]
        signs = dict(self._signs(1, last, epsilon))
        for cut in range(last + 1):
            # The largest does not lie below its left neighbour, nor does the right one lie above.
            if signs.get(cut, 1) >= 0 >= signs.get(cut + 1, -1):
                height = self._height(cut, epsilon, precision)
                ends = max(best.lower, height.lower), max(best.upper, height.upper)
                best = Interval(*ends, precision)
        return best

    def _height(self, cut: int, epsilon: Fraction, precision: int) -> Interval:
        return difference(self.truncated(cut, epsilon, precision), epsilon)

    def _signs(self, first: int, last: int, epsilon: Fraction) -> Iterator[tuple[int, int]]:
        """(cut, the proved sign of its height less that of cut - 1, or 0) from first to last."""
        if first > last:
            return
        sign = self._sign(first, last, epsilon)
        if sign or first == last:
            yield from ((cut, sign) for cut in range(first, last + 1))
            return
        middle = (first + last) // 2
        yield from self._signs(first, middle, epsilon)
        yield from self._signs(middle + 1, last, epsilon)

    def _sign(self, first: int, last: int, epsilon: Fraction) -> int:
        """1 or -1 where all these differences are proved to have that sign, else 0.

        The difference is (k - cut)/cut (1 - w)/(w - e**-own) J'(u) - J(u), up to a positive factor
        and to how much K moves between two neighbours (`docs/mathematics.md`, section 14).
        """
        precision, k, own = 128, self.count, self.epsilon
        one, least = Interval.of(1, precision), (-Interval.of(own, precision)).exp()
        # w = e**-t at the smallest and at the largest t
        small = (-Interval.of((epsilon + first * own) / (k + 1), precision)).exp()
        large = (-Interval.of((epsilon + (last + 1) * own) / (k + 1), precision)).exp()

        def slope(hits: int, misses: int, w: Interval) -> Interval:
            """Of ln K: largest at the smallest t with the last cut, least at the other end."""
            gain = Interval.of(hits, precision) * w / (one - w)
            return gain - Interval.of(misses, precision) * w / (w - least) - one

        speed = max(
            slope(last - 1, k - last, small).upper, (-slope(first - 1, k - first, large)).upper
        )
        moved = Interval(speed, speed, precision) * Interval.of(own / (k + 1), precision)

        def sides(cut: int, w: Interval, factor: Interval) -> tuple[Interval, Interval]:
            u = Interval.of((epsilon + cut * own) / k, precision)
            rest = Interval.of(own - (epsilon + cut * own) / k, precision)
            gain = Interval.of(Fraction(k - cut, cut), precision) * (one - w) / (w - least)
            return gain * factor * ((-rest).expm1() + rest), u.expm1() - u

        more, less = sides(last, small, (-moved).exp())
        if more.lower > less.upper:
            return 1
        more, less = sides(first, large, moved.exp())
        return -1 if more.upper < less.lower else 0


def optimal_bounded_range_delta(epsilon: object, k: object, epsilon_g: object) -> Fraction:
    """The smallest delta at epsilon_g of k mechanisms of bounded range epsilon, fixed in advance.

    **Not for adaptive use**: where a mechanism is chosen after seeing what an earlier one gave, as
    in top-k by peeling, the true delta can be larger.

    Exactness: at least the true value, and at most 2**-60 of it more.
    Source: Dong, Durfee and Rogers (2020), Theorem 3.

    Args:
        epsilon: of each mechanism; positive rational.
        k: how many, up to 100 000.
        epsilon_g: of all together; rational, at least 0.

    Raises:
        ParameterError: a parameter is not as above.
    """
    each = rational(epsilon, "epsilon")
    count = integer(k, "k", minimum=1, maximum=_MOST)
    at = rational(epsilon_g, "epsilon_g", zero=True)
    family = EqualBoundedRange(each, count)
    if not family.truncations(at):
        return Fraction(0)
    return min(Fraction(1), above_zero(lambda precision: family.optimum(at, precision)))

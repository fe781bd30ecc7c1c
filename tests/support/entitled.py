"""What each mechanism may draw and what that costs, by hand: from the papers and the mathematics.

Sources: `docs/mathematics.md` and the papers that it names.  Nothing is imported from the package:
a rule that is wrong there is not wrong here as well.  Numbers that are compared with what was drawn
are rationals; composition is in floats, whose errors are far below `SLACK`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

SLACK = 1e-9


# ------------------------------------------------------------------------ how far scores move


def _step(args: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """The grid step h, and how far a number may lie from its score: section 6."""
    if args.get("grid") is None:
        return Fraction(1), Fraction(0)
    step = Fraction(args["grid"])
    if args.get("on_grid"):
        return step, Fraction(0)
    error = args.get("score_error")
    return step, step / 2 if error is None else Fraction(error)


def moves(args: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """a and b of Theorem 6.2: a score moves by -b .. a steps, or all by -a .. b."""
    (step, error), size = _step(args), Fraction(args["sensitivity"])
    if args.get("grid") is None:
        up, back = size, Fraction(0)
    elif args.get("on_grid"):
        up, back = Fraction(math.ceil(size / step)), Fraction(0)
    else:
        up, back = Fraction(math.ceil((size + 2 * error) / step)), math.ceil(2 * error / step)
    return up, Fraction(back) if args.get("monotonic") else up


def range_in_steps(args: Mapping[str, Any]) -> Fraction:
    """R in steps: Theorem 6.2 (a) and (b) for a sensitivity, (c) for a range."""
    if args.get("range_") is None:
        return sum(moves(args), Fraction(0))
    (step, error), size = _step(args), Fraction(args["range_"])
    if args.get("grid") is None:
        return size
    if args.get("on_grid"):
        return Fraction(math.ceil(size / step))
    return Fraction(math.ceil((size + 4 * error) / step) + 1)


def rounded(number: Any, args: Mapping[str, Any]) -> int:
    """The nearest step of the grid, halves up."""
    step, _ = _step(args)
    return math.floor(Fraction(number) / step + Fraction(1, 2))


# ------------------------------------------------------------------------ rankings


@dataclass(frozen=True)
class Ranked:
    """How the k best of scores are found, section 7.

    Args:
        law: of the noise.
        family: what one draw has: "BoundedRange" (Gumbel noise alone) or "LaplaceDominated".
        anew: noise is drawn anew for each place: k draws, each of the price of one winner.
        wide: one draw pays for all k places: its price is k winners'.
        gaps: gaps are released, which every winner with Gumbel noise pays by losing bounded range.
    """

    law: str
    family: str
    anew: bool = False
    wide: bool = False
    gaps: bool = False

    def paid(self, k: int) -> int:
        """How many draws one unit of privacy pays in a row of scores that it may change."""
        return 1 if self.wide else k

    def price(self, rate: Fraction, steps: Fraction, k: int) -> Fraction:
        """What one of them costs: Theorem 1 for a winner, Theorem 5 for k at once."""
        return rate * steps * (k if self.wide else 1)


_PEELED = {
    "permute_and_flip": Ranked("exponential", "LaplaceDominated", anew=True),
    "exponential": Ranked("gumbel", "BoundedRange"),
    "exponential_base2": Ranked("gumbel", "BoundedRange"),
}
_LISTS = {**_PEELED, "one_shot_exponential": Ranked("exponential", "LaplaceDominated", wide=True)}
_ONE = {
    "permute_and_flip": _PEELED["permute_and_flip"],
    "exponential_mechanism": _PEELED["exponential"],
    "exponential_mechanism_base2": _PEELED["exponential"],
    "PermuteAndFlip": _PEELED["permute_and_flip"],
    "ExponentialMechanism": _PEELED["exponential"],
    "ExponentialMechanismBase2": _PEELED["exponential"],
}
_GAPS = {"permute_and_flip_with_gap": "exponential", "exponential_mechanism_with_gap": "gumbel"}


def ranked(name: str, args: Mapping[str, Any]) -> Ranked | None:
    """The row of a public function; None where it is no ranking of this kind."""
    if name in _ONE:
        return _ONE[name]
    if name in ("report_noisy_max", "ReportNoisyMax"):
        noise = args["noise"]
        return Ranked(noise, "BoundedRange" if noise == "gumbel" else "LaplaceDominated")
    if name in (*_GAPS, "report_noisy_max_with_gap", "top_k_with_gaps", "top_k_above"):
        noise = _GAPS.get(name) or args.get("noise") or "exponential"
        return Ranked(noise, "LaplaceDominated", wide=True, gaps=True)
    alone = args.get("delta") is None and args.get("rho") is None
    if name in ("top_k", "TopKMechanism") and args.get("mechanism") != "laplace":
        default = "one_shot_exponential" if alone else "exponential"
        return _LISTS[args.get("mechanism") or default]
    if name == "select_many":
        return _PEELED[args.get("mechanism") or ("permute_and_flip" if alone else "exponential")]
    return None


# ------------------------------------------------------------------------ adding up


def concentrated(family: str, epsilon: float) -> float:
    """The rho of one draw: Theorem 2, Lemma 2.1, Lemma 2.2."""
    if family == "BoundedRange":
        x = epsilon / math.expm1(epsilon)
        return x - 1 - math.log(x)
    if family == "LaplaceDominated":
        return epsilon + math.expm1(-epsilon)
    return epsilon * math.tanh(epsilon / 2)


def concentrated_delta(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at epsilon: section 9, at the best order, 1 + x."""
    low, high = 1e-9, 1e9
    for _ in range(200):  # the slope rises with x
        x = (low + high) / 2
        slope = (1 + 2 * x) * rho - epsilon + math.log(x / (1 + x))
        low, high = (x, high) if slope < 0 else (low, x)
    return math.exp(x * (1 + x) * rho - x * epsilon + x * math.log(x) - (1 + x) * math.log1p(x))


def _moment(family: str, a: float, epsilon: float) -> float:
    """The logarithm of the largest moment of order a, sections 2 and 3."""
    if family == "BoundedRange":
        high, low = -math.expm1(-a * epsilon), math.exp(-epsilon) * -math.expm1((1 - a) * epsilon)
        found = (a - 1) * math.log(a - 1) - a * math.log(a) + a * math.log(high)
        return found - (a - 1) * math.log(low) - math.log(-math.expm1(-epsilon))
    if family == "LaplaceDominated":
        terms = (math.log(a / (2 * a - 1)) + (a - 1) * epsilon, math.log((a - 1) / (2 * a - 1)))
        first, second = terms[0], terms[1] - a * epsilon
        return first + math.log1p(math.exp(second - first))
    half = a - 0.5
    return math.log(math.cosh(half * epsilon) / math.cosh(epsilon / 2))


@cache
def composed_at_most(family: str, count: int, each: float, delta: float) -> float:
    """An epsilon that count draws keep at this delta: section 9, over many orders."""
    best = count * each
    for power in range(1, 240):
        a = 1 + 1.06**power / 50
        if (a - 1) * each > 600:
            break
        found = count * _moment(family, a, each) - math.log(delta)
        found += (a - 1) * math.log(a - 1) - a * math.log(a)
        best = min(best, found / (a - 1))
    return best


def _tail(count: int, chance: float, high: float, low: float, epsilon: float) -> float:
    """The delta at epsilon of count losses that are high with a chance, else low."""
    found = 0.0
    for lows in range(count + 1):
        loss = (count - lows) * high + lows * low
        if loss > epsilon:
            mass = math.comb(count, lows) * chance ** (count - lows) * (1 - chance) ** lows
            found += mass * -math.expm1(epsilon - loss)
    return found


@cache
def composed_at_least(family: str, count: int, each: float, epsilon: float) -> float:
    """A delta that some mechanisms of the family do have at epsilon, one after the other."""
    if family == "BoundedRange":
        places = [each * part / 32 for part in range(1, 32)]
        return max(
            _tail(count, math.expm1(t - each) / math.expm1(-each), t, t - each, epsilon)
            for t in places
        )
    # Laplace(0, 1) against Laplace(each, 1), of which only the side of each end is told.
    if family == "LaplaceDominated":
        above = 1 - math.exp(-each) / 2  # P(x < each) of the first; of the second 1/2
        high, low = math.log(2 * above), -each
        return _tail(count, above, high, low, epsilon)
    return optimum_of_pure(count, each, epsilon)


def optimum_of_pure(count: int, each: float, epsilon: float) -> float:
    """The least delta of count pure guarantees: randomized responses, Kairouz et al. (2015)."""
    return _tail(count, 1 / (1 + math.exp(-each)), each, -each, epsilon)


# ------------------------------------------------------------------------ the others


def bottom_fails(rate: float, tau: int) -> float:
    """P(X - Y > tau) of discrete Laplace X and Y, term by term."""
    ratio = math.exp(-rate)
    scale, reach = (1 - ratio) / (1 + ratio), tau + math.ceil(60 / rate)
    below, found = 0.0, 0.0  # P(Y <= y) as y rises from far below
    chance: dict[int, float] = {}
    for y in range(-reach - tau - 1, reach + 1):
        below += scale * ratio ** abs(y)
        chance[y] = below
    for x in range(-reach, reach + 1):
        found += scale * ratio ** abs(x) * chance.get(x - tau - 1, 0.0)
    return found


def grown(epsilon: Fraction) -> Fraction:
    """e**epsilon to a hundred digits, from above: its series, of a small part of epsilon."""
    halvings = max(0, math.ceil(math.log2(max(epsilon, Fraction(1, 2))))) + 8
    x, one = Fraction(epsilon, 2**halvings), 10**150
    term = total = one
    for place in range(1, 80):
        term = -(-term * x.numerator // (x.denominator * place))
        total += term
    for _ in range(halvings):
        total = -(-total * total // one)
    return Fraction(total, one)


def quantile_range(share: Fraction, replaced: bool) -> int:
    """How far t d(g) moves by one value: section 18, for the quantile s / t."""
    s, t = share.numerator, share.denominator
    if s in (0, t):
        return t
    return 2 * t if replaced else 2 * max(s, t - s)
